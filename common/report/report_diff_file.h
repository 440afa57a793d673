/* Comparison of two reports on disk, for the local command and kubectl's plugin. One thread. */
#ifndef DRDOTNET_REPORT_DIFF_FILE_H
#define DRDOTNET_REPORT_DIFF_FILE_H

#include "common/base/err.h"
#include "common/base/jsonx.h"

#include <stdbool.h>
#include <stdio.h>

/* `before` and `after` are report.json files or folders that hold one. Writes what changed as text, or one JSON object, to the file
 * `output` (atomically) or, when that is NULL, to `out`. */
int report_diff_files(const char *before, const char *after, bool json, const char *output, FILE *out, struct err *e);

/* The report.json of that path, or of that folder; a new reference. NULL: it cannot be read. */
json_t *report_diff_file_read(const char *given, struct err *e);

/* Is this a report of this profiler? ERR_INVALID says what it is instead. */
int report_diff_file_check(const char *path, const char *profiler, struct err *e);

/* The comparison itself; NULL: failed. */
json_t *report_diff_file_make(const char *before, const char *after, struct err *e);

/* The same for a comparison that was made already. */
int report_diff_write(const json_t *diff, bool json, const char *output, FILE *out, struct err *e);

#endif
