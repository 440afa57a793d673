#include "agent/profilers/exceptions/exception_report.h"

#include "agent/report/phrase.h"
#include "agent/report/summary.h"
#include "common/base/size_text.h"

#define NAME_CHARS 80

static const struct exception_analysis *analysis_of(const void *source)
{
	return ((const struct exception_source *)source)->analysis;
}

static double throw_percent(const void *source, size_t row)
{
	return exception_analysis_percent(analysis_of(source), analysis_of(source)->sites[row].count);
}

static void put_throw_row(const void *source, size_t row, struct buf *out)
{
	const struct exception_analysis *a = analysis_of(source);
	const struct exception_sum *s = &a->sites[row];
	const struct exception_kind *k = &a->capture->kinds[s->kind];
	summary_percent(out, throw_percent(source, row));
	summary_cell(out);
	phrase_rate(out, a->seconds > 0 ? s->count / a->seconds : s->count);
	summary_name(out, k->type, NAME_CHARS);
	buf_puts(out, s->way == EXCEPTION_RETHROW ? " (again, by throw)" : s->way == EXCEPTION_AWAIT ? " (again, by await)" : "");
	if (s->method == CPU_NO_METHOD)
		summary_text(out, "not the application's code");
	else
		summary_name(out, a->base.methods[s->method].name, NAME_CHARS);
	if (s->catcher == CPU_NO_METHOD)
		summary_text(out, "not seen");
	else
		summary_name(out, a->base.methods[s->catcher].name, NAME_CHARS);
	if (k->shape[0])
		summary_code(out, k->shape);
	else
		summary_cell(out);
}

void exception_summary_write(const void *source, struct report_file *f)
{
	const struct exception_source *s = source;
	const struct exception_capture *c = s->analysis->capture;
	AUTO_BUF struct buf work;
	buf_init(&work, 400);
	size_text_counted(&work, c->counted, "exception", "exceptions");
	if (c->dropped)
		buf_printf(&work, ", %llu lost", (unsigned long long)c->dropped);
	const struct summary summary = {
		.head = &s->head,
		.table = {"#share|#a second|type|thrown in|caught in|message", s->analysis->site_count, throw_percent, put_throw_row},
		.work = buf_str(&work),
		.where = "the flame graph is in report.html",
	};
	summary_write(&summary, source, f);
}
