/* All sessions that the watch tells of, the finished ones too, as a few hundred bytes each: what a list of them shows. Newest first,
 * filtered, in pages whose cursor stays good while sessions come and go.
 *
 * One allocation a session. Filled by the watch's thread, read by any thread. */
#ifndef DRDOTNET_SESSION_INDEX_H
#define DRDOTNET_SESSION_INDEX_H

#include "common/api/session_spec.h"
#include "common/base/err.h"
#include "common/base/jsonx.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SESSION_CURSOR_SIZE 72
#define SESSION_PAGE_MAX 500

struct session_index;

/* Texts are never NULL; "" stands for what is not known. Times are milliseconds; 0: not yet. */
struct session_summary {
	const char *namespace, *name, *uid, *profiler, *target, *state, *headline, *requested_by, *trigger;
	const char *workload; /* of its first pod: "Deployment/checkout" */
	const char *findings; /* "MemoryLeak:87 NoMemoryLimit?40": id and score, those that lead; '?': only possible */
	int64_t created_wall_ms, completed_wall_ms;
};

struct session_index *session_index_new(void);
void session_index_free(struct session_index *x);

/* The watch's side ------------------------------------------------------------------------------------------------ */

/* Takes an object of the API server. An older resourceVersion of the same object than the one known is dropped. Returns whether
 * something changed; an object without name, namespace or uid changes nothing. */
bool session_index_put(struct session_index *x, const json_t *object);
bool session_index_remove(struct session_index *x, const char *namespace, const char *name, const char *uid); /* uid NULL: any */

/* A list of a namespace (NULL: all) has begun: what is not put again until its end is removed then. */
void session_index_list_begin(struct session_index *x, const char *namespace);
/* Each that is removed is told of; `gone` may be NULL. */
typedef void session_gone_fn(void *ctx, const char *namespace, const char *name);
void session_index_list_end(struct session_index *x, const char *namespace, session_gone_fn *gone, void *ctx);

/* Reading --------------------------------------------------------------------------------------------------------- */

struct session_query {
	const char *const *namespaces; /* any of these; NULL: all */
	size_t namespace_count;
	const char *profiler, *state;  /* NULL: any */
	const char *text;              /* in id (namespace.name), target, state, headline or requester, in any case; NULL: any */
	const char *cursor;            /* of an earlier page; NULL: the first */
	size_t limit;                  /* 1..SESSION_PAGE_MAX */
};

struct session_page {
	struct session_summary *items; /* in one block with their texts */
	size_t count;
	size_t total;                  /* that pass the filters, on all pages */
	char next[SESSION_CURSOR_SIZE]; /* "": this is the last one */
};

/* ERR_INVALID for a cursor that is none. Finish the page with session_page_fini. */
int session_index_query(struct session_index *x, const struct session_query *q, struct session_page *out, struct err *e);
void session_page_fini(struct session_page *p);

/* What the index would say of this object, as a page of one. -1: it is no session. Pure. */
int session_summary_of(const json_t *object, struct session_page *out);

/* The newest session that succeeded of each workload and profiler, of all namespaces: how the workloads are. At most `most`. */
void session_index_newest(struct session_index *x, size_t most, struct session_page *out);

/* The namespaces that have sessions, at most `max`, sorted; each a new string in a new list. */
size_t session_index_namespaces(struct session_index *x, size_t max, char ***out);

struct session_index_size {
	size_t sessions, bytes; /* what the entries, the order and the hash table take, without malloc's own share */
};
struct session_index_size session_index_size(struct session_index *x);

/* Cursors: "<created>-<uid>". Pure. */
int session_cursor_parse(const char *text, int64_t *created_wall_ms, char uid[40]);

#endif
