#include "agent/profilers/cpu/cpu_headline.h"

#include "agent/stacks/cpu_edges.h"
#include "agent/stacks/cpu_phrase.h"
#include "agent/report/report.h"
#include "agent/symbols/method_name.h"
#include "common/base/cleanup.h"

#include <ctype.h>
#include <string.h>

#define THROTTLED_HEADLINE 25.0 /* percent of the periods */
#define LEAST_NAME_CHARS 16     /* a shorter piece of a name tells nothing */

static size_t cpu_line_room(const struct buf *line)
{
	size_t used = phrase_chars(buf_str(line));
	return used < HEADLINE_MAX_CHARS ? HEADLINE_MAX_CHARS - used : 0;
}

/* Adds the phrase only when the line stays short enough. */
static void put_cpu_phrase_if_room(struct buf *line, const char *phrase)
{
	if (phrase_chars(phrase) <= cpu_line_room(line))
		buf_puts(line, phrase);
}

static const char *category_headline(enum cpu_category c, bool young)
{
	switch (c) {
	case CATEGORY_GC:
		return " of CPU in garbage collection";
	case CATEGORY_JIT:
		return young ? " of CPU in JIT compilation: it is still warming up" : " of CPU in JIT compilation";
	case CATEGORY_TYPE_LOADING:
		return young ? " of CPU in type loading: it is still warming up" : " of CPU in type loading";
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

static void put_category(const struct cpu_analysis *a, const struct cpu_diagnosis *d, struct buf *line)
{
	cpu_phrase_share(line, a, a->by_category[d->category]);
	buf_puts(line, category_headline(d->category, cpu_diagnosis_young(a)));
	const char *below = d->category == CATEGORY_GC ? ", triggered below " : ", below ";
	if (d->below != CPU_NO_METHOD && cpu_line_room(line) > LEAST_NAME_CHARS + strlen(below)) {
		buf_puts(line, below);
		cpu_phrase_method(line, a, d->below, cpu_line_room(line));
	} else if (d->category == CATEGORY_GC) {
		put_cpu_phrase_if_room(line, ": too much is allocated");
	}
}

/* "JsonSerializer.Serialize", "Regex construction": type and method without namespace, arguments and parameters. */
static void put_callee_brief(struct buf *out, const char *name)
{
	bool construction = strncmp(name, "new ", 4) == 0;
	char plain[METHOD_NAME_SIZE];
	size_t n = 0, depth = 0;
	for (const char *p = construction ? name + 4 : name; *p && *p != '(' && n + 1 < sizeof plain; p++) {
		bool opens = *p == '<' && n && (isalnum((unsigned char)plain[n - 1]) || plain[n - 1] == '_');
		depth += opens || (*p == '<' && depth);
		if (!depth)
			plain[n++] = *p;
		depth -= *p == '>' && depth;
	}
	plain[n] = '\0';
	const char *brief = plain + n;
	for (int parts = construction ? 1 : 2; brief > plain; brief--)
		if (brief[-1] == '.' && --parts == 0)
			break;
	buf_printf(out, " (%s%s)", brief, construction ? " construction" : "");
}

/* What of the libraries costs in a method that does little itself. */
static void put_callee(const struct cpu_analysis *a, const struct cpu_diagnosis *d, struct buf *line)
{
	struct cpu_edge callee;
	if (a->methods[d->method].layer != LAYER_APPLICATION || cpu_edges_callees(a, d->method, &callee, 1) == 0 ||
	    a->methods[callee.method].layer != LAYER_LIBRARY || callee.count * 2ull <= a->methods[d->method].total)
		return;
	AUTO_BUF struct buf brief;
	buf_init(&brief, METHOD_NAME_SIZE + 32);
	put_callee_brief(&brief, a->methods[callee.method].name);
	put_cpu_phrase_if_room(line, buf_str(&brief));
}

static void put_cpu_spread(const struct cpu_analysis *a, const struct cpu_diagnosis *d, struct buf *line)
{
	uint32_t through = d->funnel;
	if (through != CPU_NO_METHOD) {
		buf_puts(line, "No single hot spot; ");
		cpu_phrase_share(line, a, a->methods[through].total);
		buf_puts(line, " passes through ");
		cpu_phrase_method(line, a, through, cpu_line_room(line));
	} else if (d->method != CPU_NO_METHOD) {
		buf_puts(line, "CPU is spread widely; most, ");
		cpu_phrase_share(line, a, (uint32_t)a->methods[d->method].total);
		buf_puts(line, ", in ");
		cpu_phrase_method(line, a, d->method, cpu_line_room(line));
	} else {
		buf_puts(line, "CPU is spread widely, none of it in code that has a name");
	}
}

void cpu_headline_put(const struct cpu_analysis *a, const struct cpu_diagnosis *d, struct buf *line)
{
	switch (d->finding) {
	case FINDING_IDLE:
		buf_puts(line, "Idle: ");
		cpu_phrase_cpus(line, a->cpus_used);
		if (a->cpus_allowed > 0)
			buf_printf(line, " of %.1f", a->cpus_allowed);
		buf_printf(line, " CPUs used in %.0f s", (double)a->capture->facts.duration_ns / 1e9);
		break;
	case FINDING_NO_SAMPLES:
		cpu_phrase_cpus(line, a->cpus_used);
		buf_puts(line, " CPUs were used, but no sample could be taken");
		break;
	case FINDING_FEW_SAMPLES:
		buf_printf(line, "No verdict: %u sample%s came where %lld were due", a->samples, a->samples == 1 ? "" : "s",
			   (long long)cpu_capture_due(a->capture));
		break;
	case FINDING_METHOD:
		cpu_phrase_share(line, a, (uint32_t)a->methods[d->method].total);
		buf_puts(line, " of CPU in ");
		cpu_phrase_method(line, a, d->method, cpu_line_room(line));
		put_callee(a, d, line);
		break;
	case FINDING_SPREAD:
		put_cpu_spread(a, d, line);
		break;
	case FINDING_CATEGORY:
		put_category(a, d, line);
		break;
	}
	if (d->finding != FINDING_IDLE && d->throttled_percent >= THROTTLED_HEADLINE)
		put_cpu_phrase_if_room(line, "; throttled");
}
