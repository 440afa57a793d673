/* What the files of report_diff share. */
#ifndef DRDOTNET_REPORT_DIFF_PRIVATE_H
#define DRDOTNET_REPORT_DIFF_PRIVATE_H

#include "common/report/report_diff.h"

/* Appends rows and the lines of the diagnosis; the first line is the headline. `changed` starts as false. */
struct report_diff_out {
	json_t *rows;
	struct buf *lines;
	bool changed;
	const char *before_name, *after_name; /* for errors */
};

typedef int report_diff_fn(const json_t *before, const json_t *after, struct report_diff_out *out, struct err *e);

report_diff_fn report_diff_cpu, report_diff_survivors, report_diff_leak, report_diff_strings, report_diff_allocations, report_diff_pauses;
report_diff_fn report_diff_deadlocks, report_diff_exceptions, report_diff_stucktasks, report_diff_waits, report_diff_threads, report_diff_requests;

#define REPORT_DIFF_QUANTITY_MOST 1e15

/* Reads a number (whole or not) between least and most at a dotted path; ERR_INVALID names it. */
int report_diff_number(const json_t *report, const char *path, double least, double most, double *out, struct err *e);

/* Reads each entry of a list for one side of the comparison; an error names the entry. */
typedef int report_diff_entry_fn(const void *side, const json_t *entry, struct err *e);
int report_diff_list(const json_t *report, const char *list, report_diff_entry_fn *read, const void *side, struct err *e);

/* A method's or type's name cut from its left, where its namespace stands, to at most so many characters. Escaped for terminals. */
void report_diff_put_name(struct buf *out, const char *name, size_t max_chars);
void report_diff_put_percent(struct buf *out, double percent);
void report_diff_put_cpus(struct buf *out, double cpus);
/* A quantity in "B", "B/s", "B/min" (decimal units, as the reports have them), "µs" or any other unit. */
void report_diff_put_value(struct buf *out, const char *unit, double value);

/* A line that a text at a dotted path is not the same: "what: a before, b after<remark>.". Nothing when it is. */
void report_diff_put_unlike(struct buf *out, const json_t *before, const json_t *after, const char *path, const char *what, const char *remark);

/* Figures of a thousandth: more would be noise, and makes files differ that do not. */
json_t *report_diff_figure(double value);
json_t *report_diff_row(const char *kind, const char *name, const char *unit, double before, double after, const char *change);

size_t report_diff_chars(const char *s); /* code points of UTF-8 */

#endif
