/* The local command's sessions: started by requests, run in threads of their own by the same code as `drdotnet run`, kept as one folder
 * each (session.json and the report's files), so that a restart finds them again. Any thread; no callback runs with the lock held. */
#ifndef DRDOTNET_SERVE_SESSIONS_H
#define DRDOTNET_SERVE_SESSIONS_H

#include "common/base/err.h"
#include "common/base/jsonx.h"
#include "common/rest/rest_backend.h"

#include <stdbool.h>
#include <stddef.h>

#define SERVE_SESSIONS_MAX 2000 /* that are kept; then some must be deleted */
#define SERVE_QUEUE_MAX 64      /* that wait or run */

struct serve_sessions;

struct serve_sessions_config {
	const char *dir;          /* made if it is not there, 0700 */
	const char *library_path; /* libdrdotnet.so */
	size_t at_once;           /* sessions that run at the same time; the others wait */
	void (*changed)(void *ctx, const char *name); /* any thread */
	void *changed_ctx;
};

/* Reads what is in the folder. Strings are copied. */
struct serve_sessions *serve_sessions_new(const struct serve_sessions_config *c, struct err *e);

/* Ends what runs, as a cancel does, and waits for it. */
void serve_sessions_free(struct serve_sessions *s);

/* {items, total, continue?} */
int serve_sessions_list(struct serve_sessions *s, const struct rest_list_query *q, json_t **out, struct err *e);
int serve_sessions_get(struct serve_sessions *s, const char *name, json_t **out, struct err *e); /* ERR_NOT_FOUND */

/* name NULL: one is made. ERR_INVALID (the message begins with the field), ERR_CONFLICT: the name is taken, ERR_RETRY: too many. */
int serve_sessions_create(struct serve_sessions *s, const char *name, const json_t *spec, json_t **out, struct err *e);
int serve_sessions_cancel(struct serve_sessions *s, const char *name, json_t **out, struct err *e);
int serve_sessions_delete(struct serve_sessions *s, const char *name, struct err *e);

/* An open report file and what is known of it, or -1 with ERR_NOT_FOUND. */
int serve_sessions_open(struct serve_sessions *s, const char *name, const char *pod, const char *file, struct rest_report *out, struct err *e);

#endif
