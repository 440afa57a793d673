/* What changed between two sessions of one profiler: two report.json documents (docs/report-schema.md) in, one document out, for
 * people and programs. Noise-aware: a difference that sampling alone explains is not called one. Pure; any thread.
 *
 * The result (docs/kubectl.md has its fields in words):
 *   {schema: "drdotnet.dev/diff/v1", profiler, headline (<= 80 characters), diagnosis (some lines, the first is the headline), changed,
 *    before, after: {session, namespace, pod, startedAt, durationSeconds, samples},
 *    rows: [{kind, name, unit, before, after, delta, change, ...}]}
 * `kind` and the row's further fields are the profiler's own; `change` is "grew", "shrank", "new", "vanished" or "same".
 *
 * A profiler takes part by one row of the table in report_diff.c. */
#ifndef DRDOTNET_REPORT_DIFF_H
#define DRDOTNET_REPORT_DIFF_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/jsonx.h"

#define REPORT_DIFF_SCHEMA "drdotnet.dev/diff/v1"
#define REPORT_DIFF_FILE_MAX_BYTES (64 * 1024 * 1024) /* of one report.json */
#define REPORT_DIFF_HEADLINE_CHARS 80

/* A new reference, or NULL with ERR_INVALID that says which of the two is wrong and how: no report, another version of the schema, a
 * profiler that cannot be compared or not the same one, a field that is missing or impossible. The arguments are only read. */
json_t *report_diff_make(const json_t *before, const json_t *after, struct err *e);

/* The same for the files' text; `before_name` and `after_name` name them in errors. */
json_t *report_diff_make_text(const char *before, size_t before_len, const char *before_name, const char *after, size_t after_len,
			      const char *after_name, struct err *e);

/* For a terminal: the diagnosis and a table of what changed, outside text escaped. `diff` is a result of the above. */
int report_diff_print(const json_t *diff, struct buf *out);

#endif
