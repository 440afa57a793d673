/* From a capture to the diagnosis and the report files. Analysis is pure; writing goes to a folder descriptor. One thread. */
#ifndef DRDOTNET_REPORT_H
#define DRDOTNET_REPORT_H

#include "agent/capture.h"
#include "common/api/session_spec.h"
#include "common/base/err.h"
#include "common/link/link_msg.h"

#define DIAGNOSIS_MAX_BYTES 2048
#define HEADLINE_MAX_CHARS 80

struct report_context {
	const char *session_name, *session_namespace, *session_uid; /* "" for the local command */
	const char *pod_name, *container;                           /* "" for the local command */
	const char *node_name;
};

struct report_result {
	char *headline;          /* one line, <= 80 characters */
	char *diagnosis;         /* <= 2 KiB, first line = headline */
	struct link_report reports[LINK_MAX_REPORTS]; /* name, media type, size, sha256 of each file written */
	size_t report_count;
};
void report_result_fini(struct report_result *r);

/* Writes summary.md, report.html, report.json, profile.pb.gz, stacks.folded and profile.speedscope.json into the folder `dirfd`
 * (files 0644, each complete or absent). -1: one or more could not be written; those that were, the headline and the diagnosis are in *out
 * all the same. */
int report_write_cpu(const struct cpu_capture *c, const struct session_spec *spec, const struct report_context *ctx, int dirfd,
		     struct report_result *out, struct err *e);

#endif
