/* The controller's own store of reports, where there is no object storage: files in one folder, with a quota and an expiry.
 *
 * An object's key is "<namespace>/<session>-<uid8>/<pod>/<file>". An upload is allowed by a URL that is signed (HMAC-SHA256, a key that
 * lives in the folder) for exactly this key, size and sha256, until it expires; so agents need no credentials here either.
 * All calls are safe from any thread. Those that touch the disk wait for it, however long it takes: not in a thread that others wait for. */
#ifndef DRDOTNET_REPORT_STORE_H
#define DRDOTNET_REPORT_STORE_H

#include "common/base/buf.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPORT_KEY_MAX 800
#define REPORT_STORE_MAX_BYTES (64 << 20) /* of one file */

struct report_store;
struct report_upload;

struct report_store_options {
	const char *folder;       /* made when missing, 0700 */
	int64_t quota_bytes;      /* the oldest reports of the namespace that has most make room; one that does not fit at all is refused */
	int64_t expiry_seconds;   /* 0: never */
	const char *upload_base;  /* what agents reach: "https://drdotnet-controller.drdotnet-system.svc:8443" */
	const char *public_base;  /* what people reach, for the status; upload_base when NULL */
};

/* Opens the folder, counts what is there, removes torn uploads. */
struct report_store *report_store_new(const struct report_store_options *o, struct err *e);
void report_store_free(struct report_store *s);

/* True for keys of 1 to 8 segments of letters, digits, '-', '_' and '.', none "." or ".." or beginning with '.'. Pure. */
bool report_store_key_valid(const char *key);

/* Appends "<upload_base>/store/<key>?size=..&sha256=..&expires=..&signature=.." ERR_INVALID for one that would not fit into an empty store. */
int report_store_sign(const struct report_store *s, const char *key, int64_t size_bytes, const char *sha256, int64_t expires_wall_ms,
		      struct buf *url, struct err *e);

/* Appends "<public_base>/reports/<key>". */
int report_store_public_url(const struct report_store *s, const char *key, struct buf *url);

/* The size that an upload's URL was signed for; -1 with ERR_DENIED. Touches no disk, as signing does not. */
int64_t report_upload_signed_size(const struct report_store *s, const char *key, const char *query, int64_t now_wall_ms, struct err *e);

/* Starts an upload whose path (after "/store/") and query are as received. Checks signature, expiry and quota.
 * ERR_DENIED: bad or expired signature; ERR_RETRY: no room. */
struct report_upload *report_upload_begin(struct report_store *s, const char *key, const char *query, int64_t now_wall_ms, struct err *e);
int report_upload_write(struct report_upload *u, const void *data, size_t len, struct err *e);
/* Checks size and sha256, then puts the file in its place at once. Frees *u in any case. */
int report_upload_commit(struct report_upload *u, struct err *e);
void report_upload_abort(struct report_upload *u); /* takes NULL */

/* Opens an object for reading. Returns the fd and its size, or ERR_NOT_FOUND. */
int report_store_open(const struct report_store *s, const char *key, int64_t *size_bytes, struct err *e);

/* Removes what has expired; call now and then. Returns the number of files removed. */
int report_store_expire(struct report_store *s, int64_t now_wall_ms);

int64_t report_store_used_bytes(const struct report_store *s);

#endif
