/* What `drdotnet run` shows: the progress line, the end as text or as one JSON object. Words of the process are escaped. */
#ifndef DRDOTNET_CLI_OUTPUT_H
#define DRDOTNET_CLI_OUTPUT_H

#include "agent/session/session.h"

#include <stdbool.h>
#include <stdio.h>

/* One line without an end, rewritten in place (for terminals). */
void cli_output_progress(FILE *out, const struct session_progress *p);
void cli_output_progress_end(FILE *out);

/* The report's summary, set for a terminal, and where the files are; for a failure one line with the remedy, on `errors`. `dirfd`: the reports'
 * folder, `dir`: its path; `comparison`: with the baseline, NULL: none. */
void cli_output_text(FILE *out, FILE *errors, const struct session_outcome *o, int dirfd, const char *dir,
		     const char *comparison);

/* {"phase","reason","message","remedy","headline","diagnosis","comparison","directory","startTime","firstSampleTime","reports":[{"name","path",
 * "mediaType","sizeBytes","sha256"}],"cost":{...},"target":{"pid","entrypoint","runtimeVersion"}}; what is unknown is null. */
void cli_output_json(FILE *out, const struct session_outcome *o, const struct target *t, const char *dir, const char *comparison);

/* The same object for a failure before there was a session. */
void cli_output_error(FILE *out, FILE *errors, bool json, const struct err *e);

#endif
