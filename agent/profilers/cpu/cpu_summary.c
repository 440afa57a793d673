#include "agent/profilers/cpu/cpu_summary.h"

#include "agent/stacks/cpu_edges.h"
#include "agent/stacks/cpu_phrase.h"
#include "agent/symbols/method_name.h"
#include "agent/report/report_markdown.h"

#define TOP_METHODS 8
#define NAME_CHARS 90
#define CALLER_CHARS 60
#define LEAST_METHODS 3   /* that many are listed however small */
#define LEAST_PERCENT 0.5

/* Who calls it, as far as that tells something: an await is resumed by the pool's own machinery. */
static void put_caller_cell(const struct cpu_analysis *a, uint32_t method, struct buf *out)
{
	struct cpu_edge caller;
	if (!cpu_edges_callers(a, method, &caller, 1) || caller.method == CPU_NO_METHOD)
		return;
	if (a->methods[method].marks & METHOD_ASYNC && a->methods[caller.method].layer != LAYER_APPLICATION)
		buf_puts(out, "the thread pool, after an await");
	else
		report_markdown_name(out, a->methods[caller.method].name, CALLER_CHARS);
}

static void put_methods_table(const struct cpu_analysis *a, struct buf *out)
{
	buf_puts(out, "\n| self | total | method | called from |\n|---:|---:|---|---|\n");
	for (size_t i = 0; i < a->method_count && i < TOP_METHODS; i++) {
		const struct cpu_method *m = &a->methods[a->by_self[i]];
		double self = cpu_analysis_percent(a, m->self);
		if (m->self == 0 || (i >= LEAST_METHODS && self < LEAST_PERCENT))
			break;
		buf_puts(out, "| ");
		phrase_percent(out, self);
		buf_puts(out, " | ");
		cpu_phrase_share(out, a, m->total);
		buf_puts(out, " | ");
		report_markdown_name(out, m->name, NAME_CHARS);
		buf_puts(out, m->marks & METHOD_ASYNC ? " async | " : m->marks & METHOD_ITERATOR ? " iterator | " : " | ");
		put_caller_cell(a, a->by_self[i], out);
		buf_puts(out, " |\n");
	}
}

void cpu_summary_write(const void *source, struct report_file *f)
{
	const struct report_source *s = source;
	const struct cpu_capture *c = s->analysis->capture;
	AUTO_BUF struct buf more;
	buf_init(&more, 400);
	buf_printf(&more, "; %lld samples at %lld Hz (%s)", (long long)c->sample_count, (long long)c->frequency_hertz,
		   c->method ? c->method : "unknown");
	if (c->lost_samples + c->dropped)
		buf_printf(&more, ", %lld lost", (long long)(c->lost_samples + c->dropped));
	if (cpu_capture_incomplete(c))
		buf_printf(&more, ", %lld with an incomplete stack", (long long)cpu_capture_incomplete(c));
	report_head_summary_begin(&s->head, f);
	if (s->analysis->samples)
		put_methods_table(s->analysis, &f->text);
	report_head_summary_end(&s->head, buf_str(&more), "the flame graph is in report.html", f);
}
