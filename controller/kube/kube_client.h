/* Small calls to the Kubernetes API server over http.h. A client belongs to one thread and keeps one connection; make one
 * per thread. Documents go in and out as json_t and are turned into typed structs by the caller at once.
 *
 * Errors carry the kind (NOT_FOUND, CONFLICT, GONE, DENIED, INVALID, RETRY, ...), the HTTP status in `code` and the API
 * server's own Status message. A 429 with Retry-After is obeyed here: the call waits as long as its time allows, and when that is
 * too short the client's next calls fail without a request until then. A 401 reads the token file again and tries once more.
 * An answer that is not the object or the list that was asked for is ERR_PROTOCOL. Bearer tokens in files are read again at least each minute. */
#ifndef DRDOTNET_KUBE_CLIENT_H
#define DRDOTNET_KUBE_CLIENT_H

#include "common/base/http.h"
#include "common/base/jsonx.h"
#include "controller/kube/kube_config.h"

#define KUBE_TIMEOUT_MS 15000

struct kube_client;

/* `config` must outlive the client. `cancel_fd` (readable: stop) may be -1; it is borrowed. */
struct kube_client *kube_client_new(const struct kube_config *config, int cancel_fd, struct err *e);
void kube_client_free(struct kube_client *c);

/* The bound of one call with all its repetitions and waits (KUBE_TIMEOUT_MS when not set). */
void kube_client_set_timeout(struct kube_client *c, int64_t timeout_ms);

/* Speaks as somebody else from the next call on: for a client whose configuration has no credentials of its own (a client certificate would
 * count before any token). The token is copied, and cleansed when the next one comes; NULL: nobody. */
void kube_client_set_token(struct kube_client *c, const char *token);

/* What the API server said of its last refusal to this client, beside the error: Status.reason ("Invalid"), and the field of its
 * first cause ("spec.durationSeconds"); "" when it did not. */
struct kube_refusal {
	char reason[64], field[128];
};
const struct kube_refusal *kube_client_refusal(const struct kube_client *c);

/* Who patches, for managedFields: "drdotnet-controller" when not set. Static storage. */
void kube_client_set_manager(struct kube_client *c, const char *manager);

/* What a call is about. `api` is "/api/v1" or "/apis/<group>/<version>"; namespace, name and subresource may be NULL. */
struct kube_ref {
	const char *api, *plural;
	const char *namespace, *name, *subresource;
	const char *field_selector, *label_selector; /* of a list or a watch; NULL: none */
};

#define KUBE_CORE "/api/v1"
#define KUBE_LEASES "/apis/coordination.k8s.io/v1"
#define KUBE_SESSIONS "/apis/drdotnet.dev/v1alpha1"

enum kube_patch { KUBE_PATCH_MERGE, KUBE_PATCH_JSON, KUBE_PATCH_APPLY };

/* *out is a new reference; it may be NULL where the answer does not matter. */
int kube_get(struct kube_client *c, const struct kube_ref *ref, json_t **out, struct err *e);
/* The object, or all of the collection, as a meta.k8s.io/v1 Table: what kubectl prints. */
int kube_get_table(struct kube_client *c, const struct kube_ref *ref, json_t **out, struct err *e);
int kube_create(struct kube_client *c, const struct kube_ref *ref, const json_t *body, json_t **out, struct err *e);
int kube_update(struct kube_client *c, const struct kube_ref *ref, const json_t *body, json_t **out, struct err *e);

/* Apply forces ownership (field manager "drdotnet-controller"). */
int kube_patch(struct kube_client *c, const struct kube_ref *ref, enum kube_patch type, const json_t *body, json_t **out, struct err *e);

/* With preconditions where they are not NULL. An object that is not there any more is ERR_NOT_FOUND. */
int kube_delete(struct kube_client *c, const struct kube_ref *ref, const char *uid, const char *resource_version, struct err *e);

/* Lists in pages of `limit`, smaller where objects are large; on_item is called for each object (borrowed), -1 from it ends the list with its *e. The list's
 * resourceVersion is copied to rv[64] (may be NULL). A continue token that expired in the
 * middle is ERR_GONE: start again. */
typedef int kube_item_fn(void *ctx, const json_t *item, struct err *e);
int kube_list(struct kube_client *c, const struct kube_ref *ref, int limit, kube_item_fn *on_item, void *ctx, char rv[64], struct err *e);

/* The same; 1 and nothing was told when the server says that more than `most` are left after the first page. */
int kube_list_few(struct kube_client *c, const struct kube_ref *ref, int limit, int64_t most, kube_item_fn *on_item, void *ctx, char rv[64],
		  struct err *e);

/* A watch from `rv` until the server ends it, `timeout_seconds` and a bit pass, no byte came for stall_timeout_ms, or on_body fails. */
struct kube_watch_request {
	const char *rv;
	bool initial_events; /* all objects first, then a bookmark that says so; rv is "". ERR_INVALID from servers that cannot (before 1.32) */
	int timeout_seconds;
	int64_t stall_timeout_ms;
	http_body_fn *on_body;
	void *ctx;
};
int kube_watch_once(struct kube_client *c, const struct kube_ref *ref, const struct kube_watch_request *q, struct err *e);

/* Sets *e from an answer of the API server that is not 2xx. Pure. */
int kube_status_error(int status, const char *body, size_t len, const char *operation, struct err *e);

#endif
