#include "agent/profilers/cpu/cpu_summary.h"

#include "agent/report/report_markdown.h"
#include "agent/report/summary.h"
#include "agent/stacks/cpu_edges.h"
#include "agent/stacks/cpu_lines.h"
#include "agent/symbols/frame_place.h"
#include "agent/symbols/method_name.h"
#include "common/base/size_text.h"

#define NAME_CHARS 90
#define CALLER_CHARS 60

static const struct cpu_method *method_of_row(const struct cpu_analysis *a, size_t row)
{
	return &a->methods[a->by_self[row]];
}

static double self_percent(const void *source, size_t row)
{
	const struct cpu_analysis *a = ((const struct report_source *)source)->analysis;
	return cpu_analysis_percent(a, method_of_row(a, row)->self);
}

/* Who calls it, as far as that tells something: an await is resumed by the pool's own machinery. */
static void put_caller_cell(const struct cpu_analysis *a, uint32_t method, struct buf *out)
{
	struct cpu_edge caller;
	summary_cell(out);
	if (!cpu_edges_callers(a, method, &caller, 1) || caller.method == CPU_NO_METHOD)
		return;
	if (a->methods[method].marks & METHOD_ASYNC && a->methods[caller.method].layer != LAYER_APPLICATION)
		buf_puts(out, "the thread pool, after an await");
	else
		report_markdown_name(out, a->methods[caller.method].name, CALLER_CHARS);
}

/* Behind the method's name: its hottest line. */
static void put_line(const struct cpu_analysis *a, uint32_t method, struct buf *out)
{
	const struct frame *hottest = cpu_lines_hottest(a, method);
	AUTO_BUF struct buf place;
	buf_init(&place, 16 * NAME_CHARS);
	if (!hottest)
		return;
	frame_place_put(hottest, &place);
	buf_putc(out, ' ');
	report_markdown_name(out, buf_str(&place), NAME_CHARS);
}

static void put_method_row(const void *source, size_t row, struct buf *out)
{
	const struct cpu_analysis *a = ((const struct report_source *)source)->analysis;
	const struct cpu_method *m = method_of_row(a, row);
	summary_percent(out, cpu_analysis_percent(a, m->self));
	summary_percent(out, cpu_analysis_percent(a, m->total));
	summary_name(out, m->name, NAME_CHARS);
	buf_puts(out, m->marks & METHOD_ASYNC ? " async" : m->marks & METHOD_ITERATOR ? " iterator" : "");
	put_line(a, a->by_self[row], out);
	put_caller_cell(a, a->by_self[row], out);
}

void cpu_summary_write(const void *source, struct report_file *f)
{
	const struct report_source *s = source;
	const struct cpu_capture *c = s->analysis->capture;
	AUTO_BUF struct buf work;
	buf_init(&work, 400);
	size_text_counted(&work, c->sample_count, "sample", "samples");
	buf_printf(&work, " at %lld Hz (%s)", (long long)c->frequency_hertz, c->method ? c->method : "unknown");
	if (c->lost_samples + c->dropped)
		buf_printf(&work, ", %lld lost", (long long)(c->lost_samples + c->dropped));
	if (cpu_capture_incomplete(c))
		buf_printf(&work, ", %lld with an incomplete stack", (long long)cpu_capture_incomplete(c));
	const struct summary summary = {
		.head = &s->head,
		.table = {"#self|#total|method|called from", s->analysis->samples ? s->analysis->method_count : 0, self_percent, put_method_row},
		.work = buf_str(&work),
		.where = "the flame graph is in report.html",
	};
	summary_write(&summary, source, f);
}
