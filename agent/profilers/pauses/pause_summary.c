#include "agent/report/phrase.h"
#include "agent/symbols/method_name.h"
#include "agent/profilers/pauses/pause_report.h"
#include "agent/report/report_file.h"
#include "agent/report/report_markdown.h"

#include <inttypes.h>

#define TOP_KINDS 8
#define TOP_GROUPS 5
#define NAME_CHARS 90

static void put_ns(struct buf *out, int64_t ns)
{
	pause_phrase_ns(out, ns);
	buf_puts(out, " | ");
}

static void put_pause_spread(struct buf *out, const char *title, const struct pause_spread *s)
{
	buf_printf(out, "| %s | ", title);
	put_ns(out, s->p50_ns);
	put_ns(out, s->p95_ns);
	put_ns(out, s->p99_ns);
	put_ns(out, s->max_ns);
	pause_phrase_ns(out, s->total_ns);
	buf_puts(out, " |\n");
}

static void put_spreads(const struct pause_analysis *a, struct buf *out)
{
	buf_puts(out, "\n| | median | p95 | p99 | longest | in all |\n|---|---:|---:|---:|---:|---:|\n");
	put_pause_spread(out, "whole pause", &a->length);
	put_pause_spread(out, "until all had stopped", &a->suspending);
	put_pause_spread(out, "stopped", &a->stopped);
}

static void put_reasons(const struct pause_analysis *a, struct buf *out)
{
	buf_puts(out, "\n| pauses | share | longest | for |\n|---:|---:|---:|---|\n");
	for (size_t i = 0; i < a->reason_count; i++) {
		const struct pause_sum *s = &a->by_reason[i];
		buf_printf(out, "| %" PRIu32 " | ", s->count);
		phrase_percent(out, pause_analysis_percent(a, s->total_ns));
		buf_puts(out, " | ");
		put_ns(out, s->longest_ns);
		buf_printf(out, "%s", pause_reason_title(s->index));
		if (s->by_generation[0] + s->by_generation[1] + s->by_generation[2])
			buf_printf(out, " (gen 0: %" PRIu32 ", gen 1: %" PRIu32 ", gen 2: %" PRIu32 ")", s->by_generation[0],
				   s->by_generation[1], s->by_generation[2]);
		buf_puts(out, " |\n");
	}
}

static void put_stack_method(const struct pause_analysis *a, uint32_t stack, struct buf *out)
{
	struct method_name name;
	uint32_t frame = pause_stack_method(&a->capture->stacks, stack);
	if (frame == PAUSE_NONE)
		return;
	method_name_make(&a->capture->stacks.frames[frame], &name);
	report_markdown_name(out, name.text, NAME_CHARS);
}

static void put_inducers_table(const struct pause_analysis *a, struct buf *out)
{
	if (!a->inducer_count)
		return;
	buf_puts(out, "\n| collections | paused | longest | asked for by |\n|---:|---:|---:|---|\n");
	for (size_t i = 0; i < a->inducer_count && i < TOP_GROUPS; i++) {
		buf_printf(out, "| %" PRIu32 " | ", a->by_inducer[i].count);
		put_ns(out, a->by_inducer[i].total_ns);
		put_ns(out, a->by_inducer[i].longest_ns);
		put_stack_method(a, a->capture->inducers[a->by_inducer[i].index], out);
		buf_puts(out, " |\n");
	}
}

static void put_late_table(const struct pause_analysis *a, struct buf *out)
{
	if (!a->late_count)
		return;
	buf_puts(out, "\n| pauses | waited for | longest | last to stop | in |\n|---:|---:|---:|---|---|\n");
	for (size_t i = 0; i < a->late_count && i < TOP_GROUPS; i++) {
		const struct pause_late *l = &a->capture->late[a->by_late[i].index];
		AUTO_BUF struct buf shown;
		buf_init(&shown, 1024);
		method_name_printable(l->thread, 40, &shown);
		buf_printf(out, "| %" PRIu32 " | ", a->by_late[i].count);
		put_ns(out, a->by_late[i].total_ns);
		put_ns(out, a->by_late[i].longest_ns);
		if (shown.len)
			report_markdown_code(out, buf_str(&shown));
		else
			buf_printf(out, "thread %" PRIu32, l->tid);
		buf_puts(out, " | ");
		put_stack_method(a, l->stack, out);
		buf_puts(out, " |\n");
	}
}

void pause_summary_write(const void *source, struct report_file *f)
{
	const struct pause_source *s = source;
	const struct pause_analysis *a = s->analysis;
	report_head_summary_begin(&s->head, f);
	if (a->capture->pause_count) {
		put_spreads(a, &f->text);
		put_reasons(a, &f->text);
		put_inducers_table(a, &f->text);
		put_late_table(a, &f->text);
	}
	const char *said;
	for (size_t i = 0; (said = pause_limit(a, i)); i++)
		buf_printf(&f->text, "\n%s\n", said);
	report_head_summary_end(&s->head, NULL, "the timeline is in report.html", f);
}
