#include "agent/profilers/cpu/cpu_explain.h"

#include "agent/stacks/cpu_edges.h"
#include "agent/stacks/cpu_lines.h"
#include "agent/stacks/cpu_phrase.h"
#include "agent/symbols/frame_place.h"
#include "agent/symbols/method_name.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/size_text.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

/* what is worth saying, in percent */
#define FUNNEL 50.0
#define NOTABLE 5.0
#define NOTABLE_STOP_NS 50000000
#define FEW_SAMPLES 200
#define YOUNG_MINUTES 10
#define MAX_CALLER_LEVELS 3

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

struct caller_walk {
	uint32_t *nodes, *above; /* outermost nodes of the method, and for each the application caller that was reached */
	uint32_t *counts;        /* by method */
	size_t count;
};

struct caller_pair {
	uint32_t best, second; /* methods; CPU_NO_METHOD */
};

/* One level up for all nodes; the two callers with most. */
static struct caller_pair step_up(const struct cpu_analysis *a, struct caller_walk *w, uint32_t below)
{
	struct caller_pair p = {CPU_NO_METHOD, CPU_NO_METHOD};
	memset(w->counts, 0, a->method_count * sizeof *w->counts);
	for (size_t i = 0; i < w->count; i++) {
		w->above[i] = application_above(a, w->above[i], below);
		if (w->above[i] != STACK_TREE_ROOT)
			w->counts[a->tree.nodes[w->above[i]].method] += a->tree.nodes[w->nodes[i]].total;
	}
	for (uint32_t m = 0; m < a->method_count; m++) {
		if (w->counts[m] && (p.best == CPU_NO_METHOD || w->counts[m] > w->counts[p.best])) {
			p.second = p.best;
			p.best = m;
		} else if (w->counts[m] && (p.second == CPU_NO_METHOD || w->counts[m] > w->counts[p.second])) {
			p.second = m;
		}
	}
	return p;
}

static void keep_only(const struct cpu_analysis *a, struct caller_walk *w, uint32_t caller)
{
	size_t kept = 0;
	for (size_t i = 0; i < w->count; i++) {
		if (w->above[i] == STACK_TREE_ROOT || a->tree.nodes[w->above[i]].method != caller)
			continue;
		w->nodes[kept] = w->nodes[i];
		w->above[kept++] = w->above[i];
	}
	w->count = kept;
}

static void explain_caller(const struct cpu_analysis *a, uint32_t caller, double part, struct buf *text)
{
	cpu_phrase_method(text, a, caller, PHRASE_NAME_CHARS);
	if (part < 95) {
		buf_puts(text, " (");
		phrase_percent(text, part);
		buf_puts(text, " of it)");
	}
}

void cpu_explain_line(const struct cpu_analysis *a, uint32_t method, struct buf *text)
{
	const struct frame *f = cpu_lines_hottest(a, method);
	uint64_t samples = f ? a->lines[a->methods[method].first_line].total : 0;
	if (cpu_analysis_percent(a, (uint32_t)samples) < NOTABLE)
		return;
	buf_puts(text, "Hottest line: ");
	frame_place_put(f, text);
	buf_puts(text, ", with ");
	cpu_phrase_share(text, a, (uint32_t)samples);
	buf_puts(text, " of the CPU time");
}

static const char *type_of(const struct cpu_analysis *a, uint32_t method)
{
	uint32_t frame = a->methods[method].frame;
	const char *type = frame == UINT32_MAX || a->methods[method].layer != LAYER_LIBRARY ? NULL : a->capture->frames[frame].type;
	return type && strncmp(type, "System.Threading.", 17) != 0 ? type : NULL; /* it runs whatever there is */
}

/* .NET's method that calls the node's, the outermost of its type: what was called, not how it works. */
static uint32_t library_above(const struct cpu_analysis *a, uint32_t node)
{
	uint32_t found = CPU_NO_METHOD;
	const char *type = NULL, *above;
	while ((node = a->tree.nodes[node].parent) != STACK_TREE_ROOT && (above = type_of(a, a->tree.nodes[node].method)) != NULL) {
		if (type && strcmp(type, above) != 0)
			break;
		type = above;
		found = a->tree.nodes[node].method;
	}
	return found;
}

/* A delegate's code is known by who calls it, where no method of the application is above: the runtime may have inlined it there. */
static void explain_library_caller(const struct cpu_analysis *a, uint32_t method, const struct caller_walk *w, struct buf *text)
{
	uint32_t best = CPU_NO_METHOD, all = a->methods[method].total;
	memset(w->counts, 0, a->method_count * sizeof *w->counts);
	for (size_t i = 0; i < w->count; i++) {
		uint32_t m = library_above(a, w->nodes[i]);
		if (m == CPU_NO_METHOD)
			continue;
		w->counts[m] += a->tree.nodes[w->nodes[i]].total;
		if (best == CPU_NO_METHOD || w->counts[m] > w->counts[best])
			best = m;
	}
	double part = best == CPU_NO_METHOD ? 0 : 100.0 * w->counts[best] / all;
	if (part < FUNNEL)
		return;
	buf_puts(text, "Called by ");
	explain_caller(a, best, part, text);
}

void cpu_explain_callers(const struct cpu_analysis *a, uint32_t method, struct buf *text)
{
	AUTO_FREE uint32_t *nodes = mem_calloc(a->tree.count + 1, sizeof *nodes);
	AUTO_FREE uint32_t *above = mem_calloc(a->tree.count + 1, sizeof *above);
	AUTO_FREE uint32_t *counts = mem_calloc(a->method_count + 1, sizeof *counts);
	struct caller_walk w = {nodes, above, counts, outermost_nodes(a, method, nodes)};
	uint32_t below = method, all = a->methods[method].total;
	memcpy(above, nodes, w.count * sizeof *above);
	for (int level = 0; level < MAX_CALLER_LEVELS && all; level++) {
		struct caller_pair p = step_up(a, &w, below);
		double part = p.best == CPU_NO_METHOD ? 0 : 100.0 * counts[p.best] / all;
		if (part < (level ? FUNNEL : NOTABLE))
			break;
		buf_puts(text, level ? ", from " : "Called from ");
		explain_caller(a, p.best, part, text);
		double next = p.second == CPU_NO_METHOD ? 0 : 100.0 * counts[p.second] / all;
		if (level == 0 && part < 90 && next >= NOTABLE) {
			buf_puts(text, " and ");
			explain_caller(a, p.second, next, text);
			part += next;
		}
		if (level == 0 && part < 90 && a->methods[method].marks & METHOD_ASYNC)
			buf_puts(text, ", else resumed after an await");
		if (level == 0 && part < 90)
			break;
		keep_only(a, &w, p.best);
		below = p.best;
	}
	if (!text->len && a->methods[method].marks & METHOD_ASYNC)
		buf_puts(text, "It is resumed by the thread pool after an await");
	if (!text->len && a->methods[method].marks & (METHOD_LAMBDA | METHOD_LOCAL))
		explain_library_caller(a, method, &w, text);
}

void cpu_explain_inside(const struct cpu_analysis *a, uint32_t method, struct buf *text)
{
	const struct cpu_method *m = &a->methods[method];
	struct cpu_edge callees[8];
	uint32_t caused = cpu_analysis_caused(m);
	size_t n = cpu_edges_callees(a, method, callees, 8), shown = 0;
	if (caused == 0 || m->self >= caused * 9 / 10)
		return;
	for (size_t i = 0; i < n && shown < 2; i++) {
		const struct cpu_method *callee = &a->methods[callees[i].method];
		if (callee->layer == LAYER_APPLICATION || cpu_analysis_percent(a, callees[i].count) < NOTABLE)
			continue;
		buf_puts(text, shown++ ? ", " : "Its own code takes ");
		if (shown == 1) {
			cpu_phrase_share(text, a, m->self);
			buf_puts(text, ", what it calls: ");
		}
		if (callee->layer == LAYER_RUNTIME && callee->marks & METHOD_NO_SYMBOL)
			buf_puts(text, "the runtime");
		else
			cpu_phrase_method(text, a, callees[i].method, PHRASE_NAME_CHARS);
		buf_puts(text, callee->layer == LAYER_RUNTIME && !(callee->marks & METHOD_NO_SYMBOL) ? " (the runtime) " : " ");
		cpu_phrase_share(text, a, callees[i].count);
	}
}

/* Samples on whose stacks both stand. */
static uint64_t samples_with_both(const struct cpu_analysis *a, uint32_t one, uint32_t other)
{
	uint32_t below[2] = {UINT32_MAX, UINT32_MAX}; /* depth of the outermost frame of each that we are in */
	uint64_t both = 0;
	for (size_t i = 1; i < a->tree.count; i++) {
		const struct stack_node *n = &a->tree.nodes[a->tree.order[i]];
		for (int k = 0; k < 2; k++) {
			if (n->depth <= below[k])
				below[k] = UINT32_MAX;
			if (below[k] == UINT32_MAX && n->method == (k ? other : one))
				below[k] = n->depth;
		}
		both += below[0] != UINT32_MAX && below[1] != UINT32_MAX ? n->self : 0;
	}
	return both;
}

/* It is no other place: it calls the first for most of its time, or is called by it for that. */
static bool is_same_place(const struct cpu_analysis *a, uint32_t first, uint32_t method)
{
	return first != CPU_NO_METHOD && samples_with_both(a, first, method) * 2 > a->methods[method].total;
}

void cpu_explain_next(const struct cpu_analysis *a, uint32_t first, struct buf *text)
{
	uint32_t best[3], most[3];
	size_t count = 0;
	for (uint32_t i = 0; i < a->method_count; i++) {
		uint32_t caused = cpu_analysis_caused(&a->methods[i]);
		if (i == first || caused == 0 || cpu_analysis_percent(a, caused) < NOTABLE || (count == 3 && caused <= most[2]) ||
		    is_same_place(a, first, i))
			continue;
		size_t at = count < 3 ? count++ : 2;
		for (; at > 0 && most[at - 1] < caused; at--) {
			best[at] = best[at - 1];
			most[at] = most[at - 1];
		}
		best[at] = i;
		most[at] = caused;
	}
	for (size_t i = 0; i < count; i++) {
		buf_puts(text, i ? ", " : "Next: ");
		cpu_phrase_method(text, a, best[i], PHRASE_NAME_CHARS);
		buf_putc(text, ' ');
		cpu_phrase_share(text, a, (uint32_t)a->methods[best[i]].total);
	}
}

void cpu_explain_busyness(const struct cpu_analysis *a, struct buf *text)
{
	buf_puts(text, "Used ");
	cpu_phrase_cpus(text, a->cpus_used);
	if (a->limited)
		buf_printf(text, " of %.1f CPUs, %.0f%% of the container's limit", a->cpus_allowed,
			   100 * a->cpus_used / a->cpus_allowed);
	else if (a->cpus_allowed > 0)
		buf_printf(text, " of the node's %.0f CPUs%s", a->cpus_allowed,
			   a->capture->cpu_limit_millicores < 0 ? "" : " (no limit set)");
	else
		buf_puts(text, " CPUs");
}

/* "worker-12" and "worker-3" are one group. */
static size_t group_length(const char *name)
{
	size_t n = strlen(name);
	while (n > 0 && (isdigit((unsigned char)name[n - 1]) || strchr("-_#. ", name[n - 1])))
		n--;
	return n ? n : strlen(name);
}

/* A thread without a name is alone. */
static bool same_group(const struct stack_thread *x, const struct stack_thread *y)
{
	size_t n = group_length(x->name);
	return x == y || (n && n == group_length(y->name) && memcmp(x->name, y->name, n) == 0);
}

static void put_group(struct buf *text, const struct stack_thread *t, uint32_t members)
{
	if (t->name[0])
		buf_printf(text, "\"%.*s\" ", (int)(members > 1 ? group_length(t->name) : strlen(t->name)), t->name);
	else
		buf_printf(text, "the thread with id %lld ", (long long)t->tid);
}

void cpu_explain_threads(const struct cpu_analysis *a, struct buf *text)
{
	size_t all = a->capture->thread_count, shown = 0;
	buf_printf(text, "%u of %zu %s %s busy", a->busy_threads, all, size_text_plural((double)all, "thread", "threads"),
		   size_text_plural(a->busy_threads, "is", "are"));
	for (size_t i = 0; i < all && i < 256 && shown < 3; i++) {
		const struct stack_thread *t = &a->threads[a->thread_order[i]];
		uint32_t samples = 0, members = 0;
		bool earlier = false;
		for (size_t k = 0; k < i && !earlier; k++)
			earlier = same_group(&a->threads[a->thread_order[k]], t);
		for (size_t k = i; k < all && !earlier; k++) {
			const struct stack_thread *other = &a->threads[a->thread_order[k]];
			if (other->weight && same_group(other, t)) {
				samples += (uint32_t)other->weight;
				members++;
			}
		}
		if (earlier || cpu_analysis_percent(a, samples) < NOTABLE)
			continue;
		buf_puts(text, shown++ ? ", " : ": ");
		put_group(text, t, members);
		cpu_phrase_share(text, a, samples);
		if (members > 1)
			buf_printf(text, " on %u", members);
	}
}

void cpu_explain_categories(const struct cpu_analysis *a, struct buf *text)
{
	bool any = false;
	for (int i = CATEGORY_GC; i < CATEGORY_COUNT; i++) {
		if (cpu_analysis_percent(a, a->by_category[i]) < NOTABLE)
			continue;
		buf_printf(text, "%s%s ", any ? ", " : "Outside managed code: ", cpu_category_title(i));
		cpu_phrase_share(text, a, a->by_category[i]);
		any = true;
	}
}

void cpu_explain_compilation(const struct cpu_analysis *a, struct buf *text)
{
	int64_t minutes = a->capture->facts.uptime_ms / 60000;
	if (minutes < YOUNG_MINUTES)
		buf_puts(text, "Libraries generate code up to the session's end");
	else if (minutes < 120)
		buf_printf(text, "The process has run for %" PRId64 " minutes", minutes);
	else
		buf_printf(text, "The process has run for %" PRId64 " hours", minutes / 60);
	buf_puts(text, ", so this is not start-up: code is generated again and again. Look for expressions that are compiled on each call, new Regex objects "
		       "with RegexOptions.Compiled, new serializers or proxies, and plug-ins that are loaded repeatedly; create them once and keep them");
}

void cpu_explain_collections(const struct cpu_analysis *a, struct buf *text)
{
	const struct cpu_collections *c = &a->collections;
	double seconds = (double)a->capture->facts.duration_ns / 1e9, stopped = (double)c->total_ns / 1e9;
	if (c->count == 0 || seconds <= 0 || (100 * stopped < seconds && c->longest_ns < NOTABLE_STOP_NS))
		return;
	buf_printf(text, "%u garbage collection%s stopped it (generations 0, 1, 2: %u, %u, %u), ", c->count, size_text_plural(c->count, "", "s"),
		   c->by_generation[0], c->by_generation[1], c->by_generation[2]);
	phrase_percent(text, 100 * stopped / seconds);
	buf_printf(text, " of the time, at most %.1f ms", (double)c->longest_ns / 1e6);
}

static void add_sentence(struct buf *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_sentence(struct buf *text, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	if (text->len)
		buf_putc(text, ' ');
	buf_vprintf(text, format, args);
	va_end(args);
}

static void explain_stacks(const struct cpu_analysis *a, struct buf *text)
{
	static const char *const reasons[STACK_GAP_COUNT] = {
		[STACK_GAP_DEEP] = "are deeper than what is copied of a stack",
		[STACK_GAP_CODE] = "pass through code that could not be read",
		[STACK_GAP_BROKEN] = "lead nowhere",
		[STACK_GAP_ROOM] = "came faster than they could be followed",
		[STACK_GAP_REGISTERS] = "came without registers",
	};
	const struct cpu_capture *c = a->capture;
	int64_t incomplete = cpu_capture_incomplete(c);
	if (!c->exact_stacks && a->samples)
		add_sentence(text, "Stacks follow frame pointers: the callers of small methods may be missing.");
	if (incomplete == 0)
		return;
	add_sentence(text, "Callers may be missing from %lld of %u stacks:", (long long)incomplete, a->samples);
	for (int i = 0, n = 0; i < STACK_GAP_COUNT; i++)
		if (c->stack_gaps[i])
			buf_printf(text, "%s %lld %s", n++ ? "," : "", (long long)c->stack_gaps[i], reasons[i]);
	buf_putc(text, '.');
}

/* What limits the trust in the numbers, only when it does. */
void cpu_explain_honesty(const struct cpu_analysis *a, struct buf *text)
{
	const struct cpu_capture *c = a->capture;
	int64_t missing = c->lost_samples + c->dropped;
	if (c->facts.canceled && !c->facts.process_ended) /* said of all profilers alike */
		add_sentence(text, "Ended early, after %.1f s: %s.", (double)c->facts.duration_ns / 1e9,
			     c->facts.ended_why ? c->facts.ended_why : "on request");
	if (c->facts.was_stopped)
		add_sentence(text, "The process was stopped or frozen for a time.");
	if (c->fallback_reason)
		add_sentence(text, "Sampled by timers in the process (%s): short bursts are under-counted, kernel time is not seen.",
			     c->fallback_reason);
	if (missing > 0 && missing * 200 >= (int64_t)a->samples)
		add_sentence(text, "Samples lost: %lld.", (long long)missing);
	if (a->truncated_samples * 100ull >= a->samples && a->truncated_samples)
		add_sentence(text, "%.0f%% of the stacks were cut before their thread's start.", cpu_analysis_percent(a, a->truncated_samples));
	explain_stacks(a, text);
	if (c->unresolved_frames * 100 >= c->managed_frames && c->unresolved_frames > 0)
		add_sentence(text, "Of %lld frames of compiled code %lld have no name.",
			     (long long)(c->managed_frames + c->unresolved_frames), (long long)c->unresolved_frames);
	if (a->samples > 0 && a->samples < FEW_SAMPLES)
		add_sentence(text, "Only %u sample%s: shares are rough.", a->samples, size_text_plural(a->samples, "", "s"));
}
