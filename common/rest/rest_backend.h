/* What the REST API (rest_api.h) needs from the program that serves it: the controller's cluster backend and the local command's.
 *
 * Functions run in the web server's worker threads, several at once, and may block for a bounded time. They return 0 and hand over new
 * references, or -1 with *p set. The API has checked syntax before: names are valid, numbers are in range. What a caller may do is the
 * backend's to decide, in every single function. */
#ifndef DRDOTNET_REST_BACKEND_H
#define DRDOTNET_REST_BACKEND_H

#include "common/base/jsonx.h"
#include "common/rest/rest_id.h"
#include "common/rest/rest_problem.h"
#include "common/web/web_server.h"

#include <stdbool.h>
#include <stdint.h>

struct rest_caller {
	char *token; /* as it was sent; cleansed and freed by the API */
	char *user;  /* set by authenticate (mem_strdup); freed by the API */
	void *own;   /* the backend's; freed by its caller_free */
};

struct rest_list_query {
	const char *namespace, *profiler, *state, *q; /* NULL: all. q: a part of id, target, headline, state or requester, in any case */
	int64_t limit;                                /* 1..500 */
	const char *continue_token;                   /* NULL: from the start; what an earlier answer gave */
};

struct rest_report {
	char media_type[64];
	int64_t size_bytes;  /* -1: not known */
	char sha256[65];     /* "": not known; else the ETag */
	struct web_stream stream;
};

struct rest_backend {
	void *ctx;

	/* Whose token is it? c->token is set. 401 or 503. */
	int (*authenticate)(void *ctx, struct rest_caller *c, struct rest_problem *p);
	void (*caller_free)(void *ctx, struct rest_caller *c); /* c->own only; NULL: nothing to do */

	/* {mode, readOnly, features}; version and user are added by the API. */
	int (*info)(void *ctx, const struct rest_caller *c, json_t **out, struct rest_problem *p);
	/* An array of names that this caller may see. */
	int (*namespaces)(void *ctx, const struct rest_caller *c, json_t **out, struct rest_problem *p);
	/* {items, warnings} as the contract has it. namespace NULL: all that the caller may see. */
	int (*processes)(void *ctx, const struct rest_caller *c, const char *namespace, bool refresh, json_t **out, struct rest_problem *p);

	/* {items: [SessionSummary], total, continue?}, newest first. */
	int (*session_list)(void *ctx, const struct rest_caller *c, const struct rest_list_query *q, json_t **out, struct rest_problem *p);
	/* A Session: the summary's fields, spec, status. */
	int (*session_get)(void *ctx, const struct rest_caller *c, const struct rest_session_id *id, json_t **out, struct rest_problem *p);
	/* name NULL: make one. `spec` is an object whose fields the API has not looked at: the backend (or its API server) says 422 with the
	 * field. Gives the new Session. */
	int (*session_create)(void *ctx, const struct rest_caller *c, const char *namespace, const char *name, const json_t *spec,
			      json_t **out, struct rest_problem *p);
	/* Ends it early and keeps its report; ended already: nothing happens. Gives the Session. */
	int (*session_cancel)(void *ctx, const struct rest_caller *c, const struct rest_session_id *id, json_t **out, struct rest_problem *p);
	int (*session_delete)(void *ctx, const struct rest_caller *c, const struct rest_session_id *id, struct rest_problem *p);

	/* One file of one pod's report, as status.targets[].reports[] names it. The stream is the API's to close. */
	int (*report_open)(void *ctx, const struct rest_caller *c, const struct rest_session_id *id, const char *pod, const char *file,
			   struct rest_report *out, struct rest_problem *p);
};

#endif
