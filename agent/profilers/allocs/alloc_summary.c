#include "agent/profilers/allocs/alloc_report.h"

#include "agent/report/summary.h"
#include "common/base/size_text.h"

#define NAME_CHARS 80

static double site_percent(const void *source, size_t row)
{
	const struct alloc_analysis *a = ((const struct alloc_source *)source)->analysis;
	return alloc_analysis_percent(a, a->sites[row].estimate.bytes);
}

static void put_site_row(const void *source, size_t row, struct buf *out)
{
	const struct alloc_analysis *a = ((const struct alloc_source *)source)->analysis;
	const struct alloc_sum *s = &a->sites[row];
	summary_percent(out, site_percent(source, row));
	summary_cell(out);
	alloc_phrase_rate(out, a, s->estimate.bytes);
	summary_name(out, a->capture->types[s->type], NAME_CHARS);
	buf_puts(out, s->heap == ALLOC_LARGE ? " (large)" : "");
	if (s->method == CPU_NO_METHOD)
		summary_text(out, "not the application's code");
	else
		summary_name(out, a->base.methods[s->method].name, NAME_CHARS);
}

void alloc_summary_write(const void *source, struct report_file *f)
{
	const struct alloc_source *s = source;
	const struct alloc_capture *c = s->analysis->capture;
	AUTO_BUF struct buf work;
	buf_init(&work, 400);
	size_text_counted(&work, s->analysis->all.samples, "sample", "samples");
	buf_printf(&work, " (%s)", c->event == ALLOC_EVENT_TICK ? "AllocationTick" : "AllocationSampled");
	if (c->dropped)
		buf_printf(&work, ", %llu lost", (unsigned long long)c->dropped);
	const struct summary summary = {
		.head = &s->head,
		.table = {"#share|#rate|type|allocated in", s->analysis->site_count, site_percent, put_site_row},
		.work = buf_str(&work),
		.where = "the flame graph is in report.html",
	};
	summary_write(&summary, source, f);
}
