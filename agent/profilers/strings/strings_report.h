/* The report of DuplicatedStrings: summary.md, report.html, report.json (docs/report-schema-duplicatedstrings.json). One thread. */
#ifndef DRDOTNET_STRINGS_REPORT_H
#define DRDOTNET_STRINGS_REPORT_H

#include "agent/report/report_head.h"
#include "agent/profilers/strings/strings_diagnosis.h"

/* What its writers get: finished and read-only. */
struct strings_source {
	struct report_head head;
	const struct strings_analysis *analysis;
	const struct strings_diagnosis *diagnosis;
};

/* Makes the diagnosis and writes the files; as report_write(). */
int strings_report_write(const struct strings_analysis *a, const struct session_facts *facts, const struct session_spec *spec,
			 const struct report_context *context, int dirfd, struct report_result *out, struct err *e);

struct report_file;
void strings_json_write(const void *source, struct report_file *f);
void strings_summary_write(const void *source, struct report_file *f);

/* What of the contents the files show, in a sentence. */
const char *strings_report_shown(const struct strings_analysis *a);
/* The longest stop of the application for the look. */
int64_t strings_report_stop_us(const struct strings_analysis *a);

#endif
