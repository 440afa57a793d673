#include "agent/profilers/cpu/cpu_diagnosis.h"

#include "agent/profilers/cpu/cpu_explain.h"
#include "agent/profilers/cpu/cpu_rules.h"
#include "agent/profilers/cpu/cpu_start.h"
#include "agent/stacks/cpu_phrase.h"
#include "agent/report/report.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *id;
	enum cpu_finding finding;
	enum cpu_category category;
} kinds[] = {
	{"Idle", CPU_FINDING_IDLE, CATEGORY_COUNT},
	{"NoSamplesTaken", CPU_FINDING_NO_SAMPLES, CATEGORY_COUNT},
	{"TooFewSamples", CPU_FINDING_FEW_SAMPLES, CATEGORY_COUNT},
	{"StartWaits", CPU_FINDING_MACHINE, CATEGORY_COUNT},
	{"SpinningThreads", CPU_FINDING_METHOD, CATEGORY_COUNT},
	{"RegexBacktracking", CPU_FINDING_METHOD, CATEGORY_COUNT},
	{"ConcurrentDictionaryMisuse", CPU_FINDING_METHOD, CATEGORY_COUNT},
	{"HotMethod", CPU_FINDING_METHOD, CATEGORY_COUNT},
	{"MethodThatHasNotReturned", CPU_FINDING_METHOD, CATEGORY_COUNT},
	{"GarbageCollection", CPU_FINDING_CATEGORY, CATEGORY_GC},
	{"WarmingUp", CPU_FINDING_CATEGORY, CATEGORY_JIT},
	{"JitContinues", CPU_FINDING_CATEGORY, CATEGORY_JIT},
	{"ExceptionsThrown", CPU_FINDING_CATEGORY, CATEGORY_EXCEPTIONS},
	{"KernelTime", CPU_FINDING_CATEGORY, CATEGORY_KERNEL},
	{"RuntimeWork", CPU_FINDING_CATEGORY, CATEGORY_RUNTIME},
	{"ThreadPoolAndLocks", CPU_FINDING_CATEGORY, CATEGORY_SCHEDULING},
	{"CpuThrottled", CPU_FINDING_MACHINE, CATEGORY_COUNT},
	{"NodeIsFull", CPU_FINDING_MACHINE, CATEGORY_COUNT},
	{"ServerGCInSmallContainer", CPU_FINDING_MACHINE, CATEGORY_COUNT},
	{"ObserverCost", CPU_FINDING_MACHINE, CATEGORY_COUNT},
};

/* One of the rules always finds something: the process was idle, there were no samples, its time is spread, or there is more. */
static void decide_cpu_finding(const struct cpu_analysis *a, struct cpu_diagnosis *d)
{
	const struct finding *lead = findings_lead(&d->findings);
	d->finding = CPU_FINDING_SPREAD;
	d->category = CATEGORY_COUNT;
	for (size_t i = 0; lead && i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(kinds[i].id, lead->id) == 0) {
			d->finding = kinds[i].finding;
			d->category = kinds[i].category;
		}
	if (d->category == CATEGORY_JIT && d->numbers.type_loading_percent > d->numbers.jit_percent)
		d->category = CATEGORY_TYPE_LOADING;
	d->method = d->finding == CPU_FINDING_FEW_SAMPLES ? CPU_NO_METHOD : cpu_numbers_hottest(a, cpu_numbers_compiles_on(&d->numbers));
}

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
	const struct finding *lead = findings_lead(&d->findings);
	bool hot = lead && strcmp(lead->id, "HotMethod") == 0;
	if (hot && cpu_rules_in_library(&d->numbers))
		buf_puts(line, ".NET's own code works there without being called by the application, or the runtime has inlined the application's method "
			       "into it");
	add_diagnosis_line(text, line);
	if (application && !hot) { /* "its" of the lines below is this */
		buf_puts(line, "Most application time is in ");
		cpu_phrase_method(line, a, d->method, PHRASE_NAME_CHARS);
		buf_putc(line, ' ');
		cpu_phrase_share(line, a, (uint32_t)a->methods[d->method].total);
		add_diagnosis_line(text, line);
	}
	cpu_explain_line(a, d->method, line);
	add_diagnosis_line(text, line);
	cpu_explain_callers(a, d->method, line);
	add_diagnosis_line(text, line);
	cpu_explain_inside(a, d->method, line);
	add_diagnosis_line(text, line);
	cpu_explain_next(a, d->method, line);
	add_diagnosis_line(text, line);
}

static void add_lines(const struct cpu_analysis *a, const struct cpu_diagnosis *d, struct buf *text, struct buf *line)
{
	bool idle = d->finding == CPU_FINDING_IDLE;
	if (d->method != CPU_NO_METHOD && !idle)
		add_place(a, d, text, line);
	if (idle)
		buf_puts(line, "CPU use does not explain slowness here: find out what the threads wait for");
	else
		cpu_explain_busyness(a, line);
	add_diagnosis_line(text, line);
	cpu_start_explain(a, line);
	add_diagnosis_line(text, line);
	cpu_start_explain_path(a, line);
	add_diagnosis_line(text, line);
	if (a->samples)
		cpu_explain_threads(a, line);
	add_diagnosis_line(text, line);
	if (a->samples && !idle)
		cpu_explain_categories(a, line);
	add_diagnosis_line(text, line);
	if (findings_find(&d->findings, "JitContinues"))
		cpu_explain_compilation(a, line);
	add_diagnosis_line(text, line);
	if (!idle)
		cpu_explain_collections(a, line);
	add_diagnosis_line(text, line);
	cpu_explain_honesty(a, line);
	add_diagnosis_line(text, line);
}

void cpu_diagnosis_make(const struct cpu_analysis *a, struct cpu_diagnosis *out)
{
	AUTO_BUF struct buf text, line;
	buf_init(&text, DIAGNOSIS_MAX_BYTES + 1);
	buf_init(&line, DIAGNOSIS_MAX_BYTES);
	*out = (struct cpu_diagnosis){.method = CPU_NO_METHOD};
	cpu_numbers_of(a, &out->numbers);
	rules_run(cpu_rules, CPU_RULE_COUNT, &cpu_numbers_fields, &out->numbers, &out->findings);
	if (a->capture->fallback_reason || a->capture->facts.engines.partly & ENGINE_BIT(ENGINE_SAMPLING))
		findings_withhold(&out->findings, cpu_engines, &a->capture->facts.engines);
	decide_cpu_finding(a, out);
	const struct finding *lead = findings_lead(&out->findings);
	if (!lead && out->findings.withheld)
		findings_put_withheld(&out->findings, &text);
	else
		buf_puts(&text, lead ? lead->message : "Nothing stands out");
	out->headline = mem_strdup(buf_str(&text));
	add_lines(a, out, &text, &line);
	out->text = buf_steal(&text);
}

void cpu_diagnosis_fini(struct cpu_diagnosis *d)
{
	findings_fini(&d->findings);
	free(d->headline);
	free(d->text);
	*d = (struct cpu_diagnosis){0};
}
