#include "agent/cpu_diagnosis.h"

#include "agent/method_name.h"
#include "agent/report.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <ctype.h>
#include <string.h>

/* what counts as notable, in percent */
#define IDLE_CPUS 0.02
#define METHOD_STANDS_OUT 20.0
#define CATEGORY_STANDS_OUT 30.0
#define FUNNEL 50.0
#define NOTABLE 5.0
#define THROTTLED_NOTABLE 5.0
#define THROTTLED_HEADLINE 25.0
#define FEW_SAMPLES 200

#define NAME_CHARS 110 /* of a name in a line below the headline */
#define MAX_CALLER_LEVELS 3

void cpu_diagnosis_put_percent(struct buf *out, double percent)
{
	buf_printf(out, percent >= 9.95 ? "%.0f %%" : percent >= 0.095 || percent <= 0 ? "%.1f %%" : "%.2f %%", percent);
}

static double share(const struct cpu_analysis *a, uint32_t count)
{
	return cpu_analysis_percent(a, count);
}

static void put_name(struct buf *out, const struct cpu_analysis *a, uint32_t method, size_t max_chars)
{
	method_name_shorten(a->methods[method].name, max_chars, out);
}

/* what to say ---------------------------------------------------------------------------------------------------- */

/* The application method that causes most; without application code the method with most self time. */
static uint32_t hottest(const struct cpu_analysis *a)
{
	uint32_t best = CPU_NO_METHOD;
	for (uint32_t i = 0; i < a->method_count; i++)
		if (a->methods[i].caused && (best == CPU_NO_METHOD || a->methods[i].caused > a->methods[best].caused))
			best = i;
	if (best != CPU_NO_METHOD || a->method_count == 0)
		return best;
	return a->methods[a->by_self[0]].self ? a->by_self[0] : CPU_NO_METHOD;
}

static uint32_t weight(const struct cpu_analysis *a, uint32_t method)
{
	const struct cpu_method *m = &a->methods[method];
	return m->caused ? m->caused : m->self;
}

/* The narrowest application method through which most of the time passes. */
static uint32_t funnel(const struct cpu_analysis *a)
{
	for (size_t i = a->method_count; i-- > 0;) {
		const struct cpu_method *m = &a->methods[a->by_total[i]];
		if (m->layer == LAYER_APPLICATION && share(a, m->total) >= FUNNEL)
			return a->by_total[i];
	}
	return CPU_NO_METHOD;
}

/* Only what the application did not write itself competes with its methods. */
static enum cpu_category top_category(const struct cpu_analysis *a)
{
	enum cpu_category best = CATEGORY_GC;
	for (int i = CATEGORY_GC; i < CATEGORY_COUNT; i++)
		if (i != CATEGORY_NATIVE && i != CATEGORY_UNKNOWN && a->by_category[i] > a->by_category[best])
			best = i;
	return best;
}

static void decide(const struct cpu_analysis *a, struct cpu_diagnosis *d)
{
	const struct cpu_capture *c = a->capture;
	enum cpu_category category = top_category(a);
	d->throttled_percent = c->total_periods > 0 && c->throttled_periods >= 0
				       ? 100.0 * (double)c->throttled_periods / (double)c->total_periods
				       : -1;
	d->method = hottest(a);
	if (a->cpus_used < IDLE_CPUS) {
		d->finding = FINDING_IDLE;
	} else if (a->samples == 0) {
		d->finding = FINDING_NO_SAMPLES;
	} else if (share(a, a->by_category[category]) >= CATEGORY_STANDS_OUT &&
		   (d->method == CPU_NO_METHOD || a->by_category[category] > weight(a, d->method) ||
		    a->methods[d->method].layer != LAYER_APPLICATION)) {
		d->finding = FINDING_CATEGORY;
		d->category = category;
	} else if (d->method != CPU_NO_METHOD && share(a, weight(a, d->method)) >= METHOD_STANDS_OUT) {
		d->finding = FINDING_METHOD;
	} else {
		d->finding = FINDING_SPREAD;
	}
}

/* the headline --------------------------------------------------------------------------------------------------- */

static size_t chars_in(const char *s)
{
	size_t count = 0;
	for (; *s; s++)
		count += ((unsigned char)*s & 0xC0) != 0x80;
	return count;
}

static size_t room(const struct buf *line)
{
	size_t used = chars_in(buf_str(line));
	return used < HEADLINE_MAX_CHARS ? HEADLINE_MAX_CHARS - used : 0;
}

/* Adds the phrase only when the line stays short enough. */
static void put_if_room(struct buf *line, const char *phrase)
{
	if (chars_in(phrase) <= room(line))
		buf_puts(line, phrase);
}

static void put_cpus(struct buf *out, double cpus)
{
	buf_printf(out, cpus >= 0.095 ? "%.1f" : cpus >= 0.0095 ? "%.2f" : "%.3f", cpus);
}

static const char *category_headline(enum cpu_category c)
{
	switch (c) {
	case CATEGORY_GC:
		return " of CPU in garbage collection: too much is allocated";
	case CATEGORY_JIT:
		return " of CPU in JIT compilation: it is still warming up";
	case CATEGORY_TYPE_LOADING:
		return " of CPU in type loading: it is still warming up";
	case CATEGORY_SCHEDULING:
		return " of CPU in the thread pool, spinning and locks, not in work";
	case CATEGORY_EXCEPTIONS:
		return " of CPU in throwing and catching exceptions";
	case CATEGORY_KERNEL:
		return " of CPU in the kernel";
	default:
		return " of CPU in the runtime itself";
	}
}

/* For kernel time: the managed method below which most of it lies. */
static uint32_t kernel_entry(const struct cpu_analysis *a)
{
	AUTO_FREE uint32_t *counts = mem_calloc(a->method_count + 1, sizeof *counts);
	uint32_t best = CPU_NO_METHOD;
	for (size_t i = 1; i < a->tree.count; i++) {
		uint32_t node = (uint32_t)i;
		if (!a->tree.nodes[i].self || a->methods[a->tree.nodes[i].method].layer != LAYER_KERNEL)
			continue;
		while (node != STACK_TREE_ROOT && a->methods[a->tree.nodes[node].method].layer > LAYER_LIBRARY)
			node = a->tree.nodes[node].parent;
		if (node == STACK_TREE_ROOT)
			continue;
		uint32_t method = a->tree.nodes[node].method;
		counts[method] += a->tree.nodes[i].self;
		if (best == CPU_NO_METHOD || counts[method] > counts[best])
			best = method;
	}
	return best;
}

static void headline_category(const struct cpu_analysis *a, const struct cpu_diagnosis *d, struct buf *line)
{
	cpu_diagnosis_put_percent(line, share(a, a->by_category[d->category]));
	buf_puts(line, category_headline(d->category));
	uint32_t entry = d->category == CATEGORY_KERNEL ? kernel_entry(a) : CPU_NO_METHOD;
	if (entry != CPU_NO_METHOD) {
		buf_puts(line, ", below ");
		put_name(line, a, entry, room(line));
	}
}

static void headline_spread(const struct cpu_analysis *a, const struct cpu_diagnosis *d, struct buf *line)
{
	uint32_t through = funnel(a);
	if (through != CPU_NO_METHOD) {
		buf_puts(line, "No single hot spot; ");
		cpu_diagnosis_put_percent(line, share(a, a->methods[through].total));
		buf_puts(line, " passes through ");
		put_name(line, a, through, room(line));
	} else if (d->method != CPU_NO_METHOD) {
		buf_puts(line, "CPU is spread widely; most, ");
		cpu_diagnosis_put_percent(line, share(a, weight(a, d->method)));
		buf_puts(line, ", in ");
		put_name(line, a, d->method, room(line));
	} else {
		buf_puts(line, "CPU is spread widely, none of it in code that has a name");
	}
}

static void put_headline(const struct cpu_analysis *a, const struct cpu_diagnosis *d, struct buf *line)
{
	switch (d->finding) {
	case FINDING_IDLE:
		buf_puts(line, "Idle: ");
		put_cpus(line, a->cpus_used);
		if (a->cpus_allowed > 0)
			buf_printf(line, " of %.1f", a->cpus_allowed);
		buf_printf(line, " CPUs used in %.0f s", (double)a->capture->duration_ns / 1e9);
		break;
	case FINDING_NO_SAMPLES:
		put_cpus(line, a->cpus_used);
		buf_puts(line, " CPUs were used, but no sample could be taken");
		break;
	case FINDING_METHOD:
		cpu_diagnosis_put_percent(line, share(a, weight(a, d->method)));
		buf_puts(line, " of CPU in ");
		put_name(line, a, d->method, room(line));
		break;
	case FINDING_SPREAD:
		headline_spread(a, d, line);
		break;
	case FINDING_CATEGORY:
		headline_category(a, d, line);
		break;
	}
	if (d->finding != FINDING_IDLE && d->throttled_percent >= THROTTLED_HEADLINE)
		put_if_room(line, "; throttled");
}

/* the lines below ------------------------------------------------------------------------------------------------ */

/* A node's nearest application ancestor of another method than `below`; the root when there is none. */
static uint32_t application_above(const struct cpu_analysis *a, uint32_t node, uint32_t below)
{
	do
		node = a->tree.nodes[node].parent;
	while (node != STACK_TREE_ROOT && (a->methods[a->tree.nodes[node].method].layer != LAYER_APPLICATION ||
					   a->tree.nodes[node].method == below));
	return node;
}

/* Outermost nodes of the method; returns how many. */
static size_t outermost_nodes(const struct cpu_analysis *a, uint32_t method, uint32_t *out)
{
	size_t count = 0;
	uint32_t inside = UINT32_MAX;
	for (size_t i = 1; i < a->tree.count; i++) {
		const struct stack_node *n = &a->tree.nodes[a->tree.order[i]];
		if (n->depth <= inside)
			inside = UINT32_MAX;
		if (n->method != method || inside != UINT32_MAX)
			continue;
		inside = n->depth;
		out[count++] = a->tree.order[i];
	}
	return count;
}

static void put_callers(const struct cpu_analysis *a, uint32_t method, struct buf *text)
{
	AUTO_FREE uint32_t *nodes = mem_calloc(a->tree.count + 1, sizeof *nodes);
	AUTO_FREE uint32_t *above = mem_calloc(a->tree.count + 1, sizeof *above);
	AUTO_FREE uint32_t *counts = mem_calloc(a->method_count + 1, sizeof *counts);
	size_t count = outermost_nodes(a, method, nodes);
	uint32_t below = method, all = a->methods[method].total;
	memcpy(above, nodes, count * sizeof *above);
	for (int level = 0; level < MAX_CALLER_LEVELS; level++) {
		uint32_t best = CPU_NO_METHOD, second = CPU_NO_METHOD;
		memset(counts, 0, (a->method_count + 1) * sizeof *counts);
		for (size_t i = 0; i < count; i++) {
			above[i] = application_above(a, above[i], below);
			if (above[i] != STACK_TREE_ROOT)
				counts[a->tree.nodes[above[i]].method] += a->tree.nodes[nodes[i]].total;
		}
		for (uint32_t m = 0; m < a->method_count; m++) {
			if (counts[m] && (best == CPU_NO_METHOD || counts[m] > counts[best])) {
				second = best;
				best = m;
			} else if (counts[m] && (second == CPU_NO_METHOD || counts[m] > counts[second])) {
				second = m;
			}
		}
		if (best == CPU_NO_METHOD)
			break;
		double part = all ? 100.0 * counts[best] / all : 0;
		if (part < FUNNEL && level > 0)
			break;
		buf_puts(text, level ? ", from " : "Called from ");
		put_name(text, a, best, NAME_CHARS);
		if (part < 95) {
			buf_puts(text, " (");
			cpu_diagnosis_put_percent(text, part);
			buf_puts(text, " of it)");
		}
		if (part < 90 && level == 0 && second != CPU_NO_METHOD) {
			buf_puts(text, " and ");
			put_name(text, a, second, NAME_CHARS);
			buf_puts(text, " (");
			cpu_diagnosis_put_percent(text, all ? 100.0 * counts[second] / all : 0);
			buf_puts(text, ")");
			break;
		}
		size_t kept = 0;
		for (size_t i = 0; i < count; i++)
			if (above[i] != STACK_TREE_ROOT && a->tree.nodes[above[i]].method == best) {
				nodes[kept] = nodes[i];
				above[kept++] = above[i];
			}
		count = kept;
		below = best;
	}
}

/* When the method's time passes in libraries that it calls, say in which. */
static void put_inside(const struct cpu_analysis *a, uint32_t method, struct buf *text)
{
	const struct cpu_method *m = &a->methods[method];
	struct cpu_edge callees[8];
	size_t n = cpu_analysis_callees(a, method, callees, 8), shown = 0;
	if (m->caused == 0 || m->self >= m->caused * 9 / 10)
		return;
	for (size_t i = 0; i < n && shown < 2; i++) {
		if (a->methods[callees[i].method].layer == LAYER_APPLICATION || share(a, callees[i].count) < NOTABLE)
			continue;
		buf_puts(text, shown++ ? ", " : "Its own code takes ");
		if (shown == 1) {
			cpu_diagnosis_put_percent(text, share(a, m->self));
			buf_puts(text, "; the rest is in what it calls: ");
		}
		put_name(text, a, callees[i].method, NAME_CHARS);
		buf_putc(text, ' ');
		cpu_diagnosis_put_percent(text, share(a, callees[i].count));
	}
}

static void put_next(const struct cpu_analysis *a, uint32_t first, struct buf *text)
{
	uint32_t best[3];
	size_t count = 0;
	for (uint32_t i = 0; i < a->method_count; i++) {
		if (i == first || !a->methods[i].caused || share(a, a->methods[i].caused) < NOTABLE)
			continue;
		if (count == 3 && a->methods[i].caused <= a->methods[best[2]].caused)
			continue;
		size_t at = count < 3 ? count++ : 2;
		for (; at > 0 && a->methods[best[at - 1]].caused < a->methods[i].caused; at--)
			best[at] = best[at - 1];
		best[at] = i;
	}
	for (size_t i = 0; i < count; i++) {
		buf_puts(text, i ? ", " : "Next: ");
		put_name(text, a, best[i], NAME_CHARS);
		buf_putc(text, ' ');
		cpu_diagnosis_put_percent(text, share(a, a->methods[best[i]].caused));
	}
}

static void put_busyness(const struct cpu_analysis *a, const struct cpu_diagnosis *d, struct buf *text)
{
	buf_puts(text, "Used ");
	put_cpus(text, a->cpus_used);
	if (a->limited)
		buf_printf(text, " of %.1f CPUs, %.0f %% of the container's limit", a->cpus_allowed,
			   100 * a->cpus_used / a->cpus_allowed);
	else if (a->cpus_allowed > 0)
		buf_printf(text, " of the node's %.0f CPUs (no limit set)", a->cpus_allowed);
	else
		buf_puts(text, " CPUs");
	if (d->throttled_percent >= THROTTLED_NOTABLE) {
		buf_puts(text, "; throttled in ");
		cpu_diagnosis_put_percent(text, d->throttled_percent);
		buf_puts(text, " of the periods");
		if (a->capture->throttled_ns > 0)
			buf_printf(text, ", %.1f s in all", (double)a->capture->throttled_ns / 1e9);
		buf_puts(text, ": the limit slows it down");
	} else if (d->throttled_percent >= 0 && a->limited) {
		buf_puts(text, ", not throttled");
	}
}

/* "worker-12" and "worker-3" are one group. */
static size_t group_length(const char *name)
{
	size_t n = strlen(name);
	while (n > 0 && (isdigit((unsigned char)name[n - 1]) || strchr("-_#. ", name[n - 1])))
		n--;
	return n ? n : strlen(name);
}

static bool same_group(const char *a, const char *b)
{
	size_t n = group_length(a);
	return n == group_length(b) && memcmp(a, b, n) == 0;
}

static void put_threads(const struct cpu_analysis *a, struct buf *text)
{
	size_t all = a->capture->thread_count, shown = 0;
	buf_printf(text, "%u of %zu threads %s busy", a->busy_threads, all, a->busy_threads == 1 ? "is" : "are");
	for (size_t i = 0; i < all && i < 256 && shown < 3; i++) {
		const struct cpu_thread *t = &a->threads[a->thread_order[i]];
		uint32_t samples = 0, members = 0;
		bool earlier = false;
		for (size_t k = 0; k < i && !earlier; k++)
			earlier = same_group(a->threads[a->thread_order[k]].name, t->name);
		for (size_t k = i; k < all && !earlier; k++) {
			const struct cpu_thread *other = &a->threads[a->thread_order[k]];
			if (other->samples && same_group(other->name, t->name)) {
				samples += other->samples;
				members++;
			}
		}
		if (earlier || share(a, samples) < NOTABLE)
			continue;
		buf_puts(text, shown++ ? ", " : ": ");
		if (members > 1)
			buf_printf(text, "%u x \"%.*s\" ", members, (int)group_length(t->name), t->name);
		else
			buf_printf(text, "\"%s\" ", t->name);
		cpu_diagnosis_put_percent(text, share(a, samples));
	}
}

static void put_categories(const struct cpu_analysis *a, struct buf *text)
{
	bool any = false;
	for (int i = CATEGORY_GC; i < CATEGORY_COUNT; i++) {
		if (share(a, a->by_category[i]) < NOTABLE)
			continue;
		buf_printf(text, "%s%s ", any ? ", " : "Outside managed code: ", cpu_category_title(i));
		cpu_diagnosis_put_percent(text, share(a, a->by_category[i]));
		any = true;
	}
}

static void put_sentence(struct buf *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put_sentence(struct buf *text, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	if (text->len)
		buf_putc(text, ' ');
	buf_vprintf(text, format, args);
	va_end(args);
}

/* What limits the trust in the numbers, only when it does. */
static void put_honesty(const struct cpu_analysis *a, struct buf *text)
{
	const struct cpu_capture *c = a->capture;
	int64_t missing = c->lost_samples + c->dropped;
	if (c->canceled)
		put_sentence(text, "Ended early, after %.1f s.", (double)c->duration_ns / 1e9);
	if (c->fallback_reason)
		put_sentence(text, "Sampled by timers in the process (%s): short bursts are under-counted, kernel time is not seen.",
			     c->fallback_reason);
	if (missing > 0 && missing * 200 >= (int64_t)a->samples)
		put_sentence(text, "%lld samples were lost.", (long long)missing);
	if (a->truncated_samples * 100ull >= a->samples && a->truncated_samples)
		put_sentence(text, "%.0f %% of the stacks were cut before their thread's start.", share(a, a->truncated_samples));
	if (c->unresolved_frames * 100 >= c->managed_frames && c->unresolved_frames > 0)
		put_sentence(text, "%lld frames of compiled code have no name.", (long long)c->unresolved_frames);
	if (a->samples > 0 && a->samples < FEW_SAMPLES)
		put_sentence(text, "Only %u samples: shares are rough.", a->samples);
}

/* all of it ------------------------------------------------------------------------------------------------------ */

static void add_line(struct buf *text, struct buf *line)
{
	if (line->len && text->len + line->len + 1 <= DIAGNOSIS_MAX_BYTES) {
		buf_putc(text, '\n');
		buf_append(text, line->data, line->len);
		buf_putc(text, '.');
		if (line->data[line->len - 1] == '.')
			text->data[--text->len] = '\0';
	}
	buf_reset(line);
}

void cpu_diagnosis_make(const struct cpu_analysis *a, struct cpu_diagnosis *out)
{
	AUTO_BUF struct buf text, line;
	buf_init(&text, DIAGNOSIS_MAX_BYTES + 1);
	buf_init(&line, DIAGNOSIS_MAX_BYTES);
	*out = (struct cpu_diagnosis){.method = CPU_NO_METHOD};
	decide(a, out);
	put_headline(a, out, &line);
	out->headline = mem_strdup(buf_str(&line));
	buf_puts(&text, out->headline);
	buf_reset(&line);
	if (out->method != CPU_NO_METHOD && out->finding != FINDING_IDLE) {
		if (out->finding != FINDING_METHOD) {
			buf_puts(&line, "Most application time is in ");
			put_name(&line, a, out->method, NAME_CHARS);
			buf_putc(&line, ' ');
			cpu_diagnosis_put_percent(&line, share(a, weight(a, out->method)));
			if (a->methods[out->method].layer != LAYER_APPLICATION)
				buf_reset(&line);
		}
		add_line(&text, &line);
		put_callers(a, out->method, &line);
		add_line(&text, &line);
		put_inside(a, out->method, &line);
		add_line(&text, &line);
		put_next(a, out->method, &line);
		add_line(&text, &line);
	}
	if (out->finding != FINDING_IDLE)
		put_busyness(a, out, &line);
	else
		buf_puts(&line, "Nothing here explains slowness by CPU: look at what its threads wait for");
	add_line(&text, &line);
	if (a->samples)
		put_threads(a, &line);
	add_line(&text, &line);
	if (a->samples && out->finding != FINDING_IDLE)
		put_categories(a, &line);
	add_line(&text, &line);
	put_honesty(a, &line);
	add_line(&text, &line);
	out->text = buf_steal(&text);
}

void cpu_diagnosis_fini(struct cpu_diagnosis *d)
{
	free(d->headline);
	free(d->text);
	*d = (struct cpu_diagnosis){0};
}
