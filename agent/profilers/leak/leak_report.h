/* The report of MemoryLeak: summary.md, report.html, report.json (docs/report-schema-memoryleak.json). One thread. */
#ifndef DRDOTNET_LEAK_REPORT_H
#define DRDOTNET_LEAK_REPORT_H

#include "agent/profilers/leak/leak_finding.h"
#include "agent/profilers/leak/memory_growth.h"
#include "agent/report/report_head.h"

#define LEAK_MAPPINGS_MAX 20

/* What its writers get: finished and read-only. */
struct leak_source {
	struct report_head head;
	const struct leak_model *model;
	const struct leak_diagnosis *diagnosis;
	int64_t started_ns;                /* of the session; CLOCK_MONOTONIC */
	const struct memory_grown *grown;  /* mappings */
	size_t grown_count;
	const uint32_t *types;             /* of the model, most growth first */
	size_t type_count;
};

int64_t leak_source_type_grown(const struct leak_model *m, uint32_t type); /* bytes */

/* Makes the diagnosis and writes the files; as report_write(). */
struct report_result;
int leak_report_write(const struct leak_model *m, const struct session_facts *facts, int64_t started_ns, const struct session_spec *spec,
		      const struct report_context *context, int dirfd, struct report_result *out, struct err *e);

void leak_json_write(const void *source, struct report_file *f);
void leak_summary_write(const void *source, struct report_file *f);

const char *leak_root_name(enum leak_root r); /* "pinnedHandle" */

#endif
