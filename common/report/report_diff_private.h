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

report_diff_fn report_diff_cpu;

/* Reads a number (whole or not) between least and most at a dotted path; ERR_INVALID names it. */
int report_diff_number(const json_t *report, const char *path, double least, double most, double *out, struct err *e);

/* A method's or type's name cut from its left, where its namespace stands, to at most so many characters. Escaped for terminals. */
void report_diff_put_name(struct buf *out, const char *name, size_t max_chars);
void report_diff_put_percent(struct buf *out, double percent);
void report_diff_put_cpus(struct buf *out, double cpus);
size_t report_diff_chars(const char *s); /* code points of UTF-8 */

#endif
