/* Private to the REST API's files: rest_api.c (routes, callers), rest_sessions.c, rest_reports.c, rest_zip.c, rest_diff.c, rest_events.c,
 * rest_profilers.c. */
#ifndef DRDOTNET_REST_PRIVATE_H
#define DRDOTNET_REST_PRIVATE_H

#include "common/rest/rest_api.h"

#include <pthread.h>

#define REST_ANSWER_MAX_BYTES (64u << 20)
#define REST_NO_NAMESPACE "This is no name of a namespace; expected at most 63 lower-case letters, digits and '-'."

/* One request on its way through the API. */
struct rest_call {
	struct rest_api *api;
	const struct rest_backend *backend;
	const struct web_request *q;
	struct web_response *r;
	struct rest_caller caller;
	struct rest_problem problem;
};

/* 0: answered. -1: c->problem says why not, or an answer was made before. */
typedef int rest_call_fn(struct rest_call *c);

struct rest_row {
	unsigned method;
	const char *pattern;
	rest_call_fn *fn;
	const char *const *queries; /* names that are known, ended by NULL */
};

struct rest_subscriber;

struct rest_route {
	struct rest_api *api;
	const struct rest_row *row;
};

struct rest_api {
	struct rest_backend backend;
	struct rest_route *routes;
	pthread_mutex_t lock;
	struct rest_subscriber *subscribers; /* a list, under the lock */
};

/* rest_api.c */
/* Answers with a document, which is released; GETs get an ETag. */
int rest_answer(struct rest_call *c, unsigned status, json_t *doc);
int rest_authenticate(const struct rest_backend *b, const char *token, struct rest_caller *out, struct rest_problem *p);
void rest_caller_fini(const struct rest_backend *b, struct rest_caller *c);
/* "{id}" of the path; 404 when it is no id. */
int rest_path_id(struct rest_call *c, struct rest_session_id *id);
/* The request's body as an object with at most these keys. */
json_t *rest_body(struct rest_call *c, const char *const *known);

/* rest_sessions.c */
int rest_sessions_list(struct rest_call *c);
int rest_sessions_create(struct rest_call *c);
int rest_sessions_get(struct rest_call *c);
int rest_sessions_cancel(struct rest_call *c);
int rest_sessions_delete(struct rest_call *c);

/* rest_reports.c */
int rest_reports_get(struct rest_call *c);
/* One file, whole; it is finished by the caller. */
int rest_reports_read(struct rest_call *c, const struct rest_session_id *id, const char *pod, const char *file, size_t max_bytes,
		      struct buf *out);

/* The others, each in its file. */
int rest_zip_get(struct rest_call *c);
int rest_diff_get(struct rest_call *c);
int rest_events_get(struct rest_call *c);
int rest_profilers_get(struct rest_call *c);

#endif
