/* What all report files of all profilers begin and end with: which session of what, the diagnosis, the cost. Pure; one thread. */
#ifndef DRDOTNET_REPORT_HEAD_H
#define DRDOTNET_REPORT_HEAD_H

#include "agent/report/report.h"
#include "agent/report/rules.h"
#include "agent/report/session_facts.h"
#include "common/base/buf.h"

struct report_head { /* all borrowed */
	const struct session_facts *facts;
	const struct session_spec *spec;
	const struct report_context *context;
	const char *headline; /* one line, <= HEADLINE_MAX_CHARS characters */
	const char *text;     /* <= DIAGNOSIS_MAX_BYTES; lines; the first is the headline */
	const struct findings *findings; /* what the rules say; the first one is the headline's */
};

/* What a reader sees first, into an empty buffer: the headline and the text's next line, which says where and how much; then how the process ended, where
 * the session ended with it; a line for each limit that was reached and for what else was found; then the rest of the text, what is excluded and what
 * was not measured. Whole lines, at most DIAGNOSIS_MAX_BYTES: where they are too many, the last ones are left out. */
void report_head_text(const struct report_head *h, struct buf *out);

/* "Checkout", else "process 42": what the report is about; outside text. Borrowed or from `scratch`. */
const char *report_head_subject(const struct report_head *h, char *scratch, size_t size);

/* Appends how long the profiler paused the application, all its threads, at most, and how long one thread waited for it: "the application was never
 * paused; one of its threads waited for at most 1.2 ms". Stops that follow each other at once are one pause. */
void report_head_pause(const struct session_facts *f, struct buf *out);

/* Appends which full collections stopped the application because of the session: "2 blocking garbage collections while attached, 33.1 ms"; nothing
 * where there were none. */
void report_head_collections(const struct session_facts *f, const char *before, struct buf *out);

/* Appends what stays of the library in the process, where its C library unmaps none; nothing elsewhere. */
void report_head_kept(const struct session_facts *f, const char *before, struct buf *out);

/* report.json: all up to the diagnosis, with `finding`, a word of the profiler's own. The diagnosis is left open: the profiler may add members to it,
 * ends it with json_end(), and writes members of the report. end: the limits that were reached, the cost, and the end of the file. */
void report_head_json_begin(const struct report_head *h, const char *finding, struct report_file *f);
void report_head_json_end(const struct report_head *h, struct report_file *f);

#endif
