/* What went wrong with a REST call, in the fields of application/problem+json. Pure; any thread. */
#ifndef DRDOTNET_REST_PROBLEM_H
#define DRDOTNET_REST_PROBLEM_H

#include "common/base/err.h"

#include <stdbool.h>

struct web_response;

struct rest_problem {
	unsigned status;     /* HTTP; 0: none */
	char reason[64];     /* common/api/reason.h or the API server's own; "": none */
	char field[128];     /* "spec.durationSeconds"; "": none */
	char detail[1024];   /* what is wrong and what to do about it */
	int retry_after_s;   /* 0: not said */
};

#define REST_PROBLEM_INIT {0}

/* reason and field may be NULL. Returns -1. */
int rest_problem_set(struct rest_problem *p, unsigned status, const char *reason, const char *field, const char *fmt, ...)
	__attribute__((format(printf, 5, 6)));

/* The status by the error's kind: INVALID 422, DENIED 403 (401 where its code is 401), NOT_FOUND 404, GONE 410, CONFLICT 409,
 * RETRY 503, TIMEOUT 504, PROTOCOL 502, else 500. A message "path: why" of an INVALID gives the field; the reason's remedy is added to
 * the detail. Returns -1. */
int rest_problem_from_err(struct rest_problem *p, const struct err *e);

void rest_problem_respond(const struct rest_problem *p, struct web_response *r);

#endif
