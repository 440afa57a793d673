/* A report: its headline, its diagnosis, its files in a folder. One thread. */
#ifndef DRDOTNET_REPORT_H
#define DRDOTNET_REPORT_H

#include "common/api/finding.h"
#include "common/api/session_spec.h"
#include "common/base/err.h"
#include "common/link/link_msg.h"

#define DIAGNOSIS_MAX_BYTES 2048
#define HEADLINE_MAX_CHARS 80

struct report_context {
	const char *session_name, *session_namespace, *session_uid; /* "" for the local command */
	const char *pod_name, *container;                           /* "" for the local command */
	const char *node_name;
	const char *requested_by; /* who asked for the session; NULL or "": not known */
};

struct report_result {
	char *headline;          /* one line, <= 80 characters */
	char *diagnosis;         /* <= 2 KiB, first line = headline */
	struct link_report reports[LINK_MAX_REPORTS]; /* name, media type, size, sha256 of each file written */
	size_t report_count;
	struct finding *findings; /* found and possible ones */
	size_t finding_count;     /* <= FINDINGS_REPORTED */
};
void report_result_fini(struct report_result *r);

struct report_file;
struct report_head;
/* Writes one file; `source` is what the profiler gave to report_write(). */
typedef void report_write_fn(const void *source, struct report_file *f);

struct report_writer {
	const char *name, *media_type;
	report_write_fn *write;
};

struct report_page { /* agent/report/report_view.h */
	const char *eyebrow;             /* HTML: "CPU hot paths" */
	const char *footer;              /* HTML: where the same is in other forms */
	const char *script, *script_end; /* of EMBED_FILE(); calls Report.show() */
};

/* The files of a profiler's reports: summary.md, report.json, report.html and, where there are any, more. */
struct report_files {
	report_write_fn *summary, *json;
	struct report_page page;
	const struct report_writer *more;
	size_t more_count;
};

/* The first line of a diagnosis, the caller's. */
char *report_headline(const char *text);

/* Writes the files into the folder `dirfd` (0644, each complete or absent). -1: one or more could not be written; those that were, the
 * headline and the diagnosis are in *out all the same. At most LINK_MAX_REPORTS. */
int report_write(const struct report_files *files, const void *source, const struct report_head *h, int dirfd, struct report_result *out,
		 struct err *e);

#endif
