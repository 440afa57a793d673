/* What the doctor found, in its order; as a table or JSON. */
#ifndef DRDOTNET_DOCTOR_FINDINGS_H
#define DRDOTNET_DOCTOR_FINDINGS_H

#include "common/base/buf.h"
#include "common/base/jsonx.h"

enum doctor_level { DOCTOR_OK, DOCTOR_WARN, DOCTOR_FAIL };

struct doctor_finding {
	enum doctor_level level;
	const char *check; /* static storage */
	char *what;        /* what was found; escaped for terminals */
	const char *remedy; /* static storage; NULL: none is needed */
};

#define DOCTOR_LEFT_OUT_MAX 16

struct doctor_findings {
	struct doctor_finding *items;
	size_t count, cap;
	const char *left_out[DOCTOR_LEFT_OUT_MAX]; /* checks that the caller has no right to make, each once; static storage */
	size_t left_out_count;
};

/* `fmt` may hold outside text: it is escaped and bounded here. */
void doctor_findings_add(struct doctor_findings *f, enum doctor_level level, const char *check, const char *remedy, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));
/* The caller may not look at what this check looks at. */
void doctor_findings_leave_out(struct doctor_findings *f, const char *check);
void doctor_findings_fini(struct doctor_findings *f);

enum doctor_level doctor_findings_worst(const struct doctor_findings *f);
void doctor_findings_print(const struct doctor_findings *f, struct buf *out);
json_t *doctor_findings_json(const struct doctor_findings *f); /* {ok, findings: [{level, check, found, remedy}]} */

#endif
