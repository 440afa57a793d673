/* summary.md of every profiler: the diagnosis, at most one table, what was not seen, the cost, and where to look further. The words and the
 * Markdown are here; a profiler says what its table has, row by row. Names cannot leave their cell. One thread; failures are kept in the file. */
#ifndef DRDOTNET_SUMMARY_H
#define DRDOTNET_SUMMARY_H

#include "agent/report/report_head.h"

struct summary_table {
	const char *titles; /* of the columns: "#share|type"; '#': numbers */
	size_t rows;        /* that there are; the first ones are shown */
	double (*percent)(const void *source, size_t row); /* how much of all a row is: the first of 0 ends the table; NULL: they count */
	void (*put)(const void *source, size_t row, struct buf *out); /* the row's cells, each begun by a function from below */
};

struct summary {
	const struct report_head *head;
	struct summary_table table; /* without titles or rows: none */
	const char *const *notes;   /* sentences below the table, up to NULL; NULL: none */
	const char *work;           /* what was looked at: "12 samples"; NULL: nothing to say */
	const char *where;          /* to look further: "the flame graph is in report.html" */
};

void summary_write(const struct summary *s, const void *source, struct report_file *f);

/* Begin a cell of the row and append to it. */
void summary_cell(struct buf *out); /* nothing yet */
void summary_text(struct buf *out, const char *words); /* of ours */
void summary_percent(struct buf *out, double percent);
void summary_bytes(struct buf *out, uint64_t bytes);
void summary_count(struct buf *out, uint64_t count);
void summary_bytes_change(struct buf *out, int64_t bytes);
void summary_count_change(struct buf *out, int64_t count);
void summary_name(struct buf *out, const char *name, size_t max_chars); /* outside text, shortened as a method's or type's name */
void summary_code(struct buf *out, const char *text);                   /* outside text, printable */

#endif
