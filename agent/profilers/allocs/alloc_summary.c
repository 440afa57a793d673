#include "agent/profilers/allocs/alloc_report.h"

#include "agent/report/phrase.h"
#include "agent/report/report_markdown.h"
#include "common/base/size_text.h"

#define ROWS 8
#define NAME_CHARS 80
#define LEAST_ROWS 3
#define LEAST_PERCENT 0.5

static void put_sites_table(const struct alloc_analysis *a, struct buf *out)
{
	buf_puts(out, "\n| share | rate | type | allocated in |\n|---:|---:|---|---|\n");
	for (size_t i = 0; i < a->site_count && i < ROWS; i++) {
		const struct alloc_sum *s = &a->sites[i];
		double part = alloc_analysis_percent(a, s->estimate.bytes);
		if (i >= LEAST_ROWS && part < LEAST_PERCENT)
			break;
		buf_puts(out, "| ");
		phrase_percent(out, part);
		buf_puts(out, " | ");
		alloc_phrase_rate(out, a, s->estimate.bytes);
		buf_puts(out, " | ");
		report_markdown_name(out, a->capture->types[s->type], NAME_CHARS);
		buf_puts(out, s->heap == ALLOC_LARGE ? " (large) | " : " | ");
		if (s->method == CPU_NO_METHOD)
			buf_puts(out, "not the application's code");
		else
			report_markdown_name(out, a->base.methods[s->method].name, NAME_CHARS);
		buf_puts(out, " |\n");
	}
}

void alloc_summary_write(const void *source, struct report_file *f)
{
	const struct alloc_source *s = source;
	AUTO_BUF struct buf more;
	buf_init(&more, 400);
	buf_printf(&more, "; %llu samples (%s)", (unsigned long long)s->analysis->all.samples,
		   s->analysis->capture->event == ALLOC_EVENT_TICK ? "AllocationTick" : "AllocationSampled");
	if (s->analysis->capture->dropped)
		buf_printf(&more, ", %llu lost", (unsigned long long)s->analysis->capture->dropped);
	report_head_summary_begin(&s->head, f);
	if (s->analysis->site_count)
		put_sites_table(s->analysis, &f->text);
	report_head_summary_end(&s->head, buf_str(&more), "the flame graph is in report.html", f);
}
