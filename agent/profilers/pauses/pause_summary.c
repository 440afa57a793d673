#include "agent/profilers/pauses/pause_report.h"
#include "agent/report/phrase.h"
#include "agent/report/summary.h"

#include <inttypes.h>

#define NOTES 4

static void put_reason_row(const void *source, size_t row, struct buf *out)
{
	const struct pause_analysis *a = ((const struct pause_source *)source)->analysis;
	const struct pause_sum *s = &a->by_reason[row];
	summary_count(out, s->count);
	summary_percent(out, pause_analysis_percent(a, s->total_ns));
	summary_cell(out);
	phrase_duration(out, s->longest_ns);
	summary_text(out, pause_reason_title(s->index));
	if (s->by_generation[0] + s->by_generation[1] + s->by_generation[2])
		buf_printf(out, " (gen 0: %" PRIu32 ", gen 1: %" PRIu32 ", gen 2: %" PRIu32 ")", s->by_generation[0], s->by_generation[1],
			   s->by_generation[2]);
}

void pause_summary_write(const void *source, struct report_file *f)
{
	const struct pause_source *s = source;
	const char *notes[NOTES + 1] = {NULL};
	for (size_t i = 0; i < NOTES && (notes[i] = pause_limit(s->analysis, i)); i++)
		;
	const struct summary summary = {
		.head = &s->head,
		.table = {"#pauses|#share|#longest|for", s->analysis->reason_count, NULL, put_reason_row},
		.notes = notes,
		.where = "the timeline is in report.html",
	};
	summary_write(&summary, source, f);
}
