#include "agent/profilers/cpu/cpu_diagnosis.h"

#include "agent/profilers/cpu/cpu_explain.h"
#include "agent/profilers/cpu/cpu_headline.h"
#include "agent/stacks/cpu_edges.h"
#include "agent/stacks/cpu_phrase.h"
#include "agent/report/report.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>

/* what decides the finding */
#define IDLE_CPUS 0.02
#define METHOD_STANDS_OUT 20.0 /* percent of the samples */
#define CATEGORY_STANDS_OUT 30.0
#define FUNNEL 50.0
#define WARM_UP_MS 600000 /* what is compiled later was not there before, or is compiled again */

/* what to say ---------------------------------------------------------------------------------------------------- */

bool cpu_diagnosis_young(const struct cpu_analysis *a)
{
	return a->capture->facts.uptime_ms < WARM_UP_MS;
}

/* What a method of the application makes happen. What is compiled below it when start-up is long over is its doing, too. */
static uint32_t method_causes(const struct cpu_analysis *a, const struct cpu_method *m)
{
	return cpu_analysis_caused(m) + (cpu_diagnosis_young(a) ? 0 : m->caused[CATEGORY_JIT]);
}

/* What a method stands for in a diagnosis. */
static uint32_t method_weight(const struct cpu_analysis *a, uint32_t method)
{
	uint32_t caused = method_causes(a, &a->methods[method]);
	return caused ? caused : (uint32_t)a->methods[method].self;
}

/* Most of what stands on its stacks is its own doing, and not that of the application's methods that it calls. */
static bool is_concentrated(const struct cpu_analysis *a, uint32_t method)
{
	return (uint64_t)method_weight(a, method) * 2 >= a->methods[method].total;
}

/* The application method that causes most; without application code the method with most self time. */
static uint32_t hottest(const struct cpu_analysis *a)
{
	uint32_t best = CPU_NO_METHOD, most = 0;
	for (uint32_t i = 0; i < a->method_count; i++) {
		uint32_t caused = method_causes(a, &a->methods[i]);
		if (caused > most) {
			best = i;
			most = caused;
		}
	}
	if (best != CPU_NO_METHOD || a->method_count == 0)
		return best;
	return a->methods[a->by_self[0]].self ? a->by_self[0] : CPU_NO_METHOD;
}

/* The narrowest application method through which most of the time passes. */
static uint32_t funnel(const struct cpu_analysis *a)
{
	for (size_t i = a->method_count; i-- > 0;) {
		const struct cpu_method *m = &a->methods[a->by_total[i]];
		if (m->layer == LAYER_APPLICATION && cpu_analysis_percent(a, m->total) >= FUNNEL)
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

/* The application method that makes the runtime or the kernel do most of a kind of work, when there is one for most of it. */
static uint32_t category_cause(const struct cpu_analysis *a, enum cpu_category category)
{
	uint32_t best = CPU_NO_METHOD, most = 0;
	for (uint32_t i = 0; i < a->method_count; i++)
		if (a->methods[i].caused[category] > most) {
			most = a->methods[i].caused[category];
			best = i;
		}
	return most * 2 > a->by_category[category] ? best : CPU_NO_METHOD;
}

/* One library call of the method takes more than all compilation and makes some of it: that call is what costs ("new Regex"). What is compiled in the
 * background stands below nobody. */
static bool is_explained_by(const struct cpu_analysis *a, uint32_t method, enum cpu_category category)
{
	struct cpu_edge callee;
	return a->methods[method].caused[category] * 5ull >= a->by_category[category] && cpu_edges_callees(a, method, &callee, 1) &&
	       a->methods[callee.method].layer == LAYER_LIBRARY && callee.count * 2ull > a->methods[method].total &&
	       callee.count > a->by_category[category];
}

/* The category leads when it takes more than the work of any method. */
static bool category_leads(const struct cpu_analysis *a, const struct cpu_diagnosis *d, enum cpu_category category)
{
	if (cpu_analysis_percent(a, a->by_category[category]) < CATEGORY_STANDS_OUT)
		return false;
	if (d->method == CPU_NO_METHOD || a->methods[d->method].layer != LAYER_APPLICATION)
		return true;
	if (category == CATEGORY_JIT && !cpu_diagnosis_young(a) && is_explained_by(a, d->method, category))
		return false;
	return a->by_category[category] > cpu_analysis_worked(&a->methods[d->method]);
}

static void decide_cpu_finding(const struct cpu_analysis *a, struct cpu_diagnosis *d)
{
	const struct cpu_capture *c = a->capture;
	enum cpu_category category = top_category(a);
	if (c->total_periods > 0 && c->throttled_periods >= 0)
		d->throttled_percent = 100.0 * (double)c->throttled_periods / (double)c->total_periods;
	d->method = hottest(a);
	d->method_samples = d->method == CPU_NO_METHOD ? 0 : method_weight(a, d->method);
	d->funnel = funnel(a);
	if (a->cpus_used < IDLE_CPUS) {
		d->finding = FINDING_IDLE;
	} else if (a->samples == 0) {
		d->finding = FINDING_NO_SAMPLES;
	} else if (cpu_capture_too_few(c)) {
		d->finding = FINDING_FEW_SAMPLES;
		d->method = d->funnel = CPU_NO_METHOD;
	} else if (category_leads(a, d, category)) {
		d->finding = FINDING_CATEGORY;
		d->category = category;
		d->below = category_cause(a, category);
	} else if (cpu_analysis_percent(a, d->method_samples) >= METHOD_STANDS_OUT && is_concentrated(a, d->method)) {
		d->finding = FINDING_METHOD;
	} else {
		d->finding = FINDING_SPREAD;
	}
}

/* all of it ------------------------------------------------------------------------------------------------------ */

static void add_diagnosis_line(struct buf *text, struct buf *line)
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

/* Where the time is spent; for those who will change code. */
static void add_place(const struct cpu_analysis *a, const struct cpu_diagnosis *d, struct buf *text, struct buf *line)
{
	bool application = a->methods[d->method].layer == LAYER_APPLICATION;
	if (d->finding != FINDING_METHOD && application) {
		buf_puts(line, "Most application time is in ");
		cpu_phrase_method(line, a, d->method, PHRASE_NAME_CHARS);
		buf_putc(line, ' ');
		cpu_phrase_share(line, a, (uint32_t)a->methods[d->method].total);
		add_diagnosis_line(text, line);
	}
	cpu_explain_callers(a, d->method, line);
	add_diagnosis_line(text, line);
	cpu_explain_inside(a, d->method, line);
	add_diagnosis_line(text, line);
	cpu_explain_next(a, d->method, line);
	add_diagnosis_line(text, line);
}

void cpu_diagnosis_make(const struct cpu_analysis *a, struct cpu_diagnosis *out)
{
	AUTO_BUF struct buf text, line;
	buf_init(&text, DIAGNOSIS_MAX_BYTES + 1);
	buf_init(&line, DIAGNOSIS_MAX_BYTES);
	*out = (struct cpu_diagnosis){.method = CPU_NO_METHOD, .funnel = CPU_NO_METHOD, .below = CPU_NO_METHOD, .throttled_percent = -1};
	decide_cpu_finding(a, out);
	cpu_headline_put(a, out, &line);
	out->headline = mem_strdup(buf_str(&line));
	buf_puts(&text, out->headline);
	buf_reset(&line);
	bool idle = out->finding == FINDING_IDLE;
	if (out->method != CPU_NO_METHOD && !idle)
		add_place(a, out, &text, &line);
	if (idle)
		buf_puts(&line, "CPU use does not explain slowness here: find out what the threads wait for");
	else
		cpu_explain_busyness(a, out, &line);
	add_diagnosis_line(&text, &line);
	if (a->samples)
		cpu_explain_threads(a, &line);
	add_diagnosis_line(&text, &line);
	if (a->samples && !idle)
		cpu_explain_categories(a, &line);
	add_diagnosis_line(&text, &line);
	if (out->finding == FINDING_CATEGORY)
		cpu_explain_compilation(a, out, &line);
	add_diagnosis_line(&text, &line);
	if (!idle)
		cpu_explain_collections(a, &line);
	add_diagnosis_line(&text, &line);
	cpu_explain_honesty(a, &line);
	add_diagnosis_line(&text, &line);
	out->text = buf_steal(&text);
}

void cpu_diagnosis_fini(struct cpu_diagnosis *d)
{
	free(d->headline);
	free(d->text);
	*d = (struct cpu_diagnosis){0};
}
