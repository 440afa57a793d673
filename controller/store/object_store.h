/* The installation's named stores: S3 buckets, or the controller's own store. The agents get a signed URL per report, so keys stay
 * here. Configuration is a YAML file:
 *
 *   stores:
 *   - name: default
 *     s3:
 *       endpoint: https://s3.eu-central-1.amazonaws.com   # scheme, host, optional port
 *       region: eu-central-1
 *       bucket: diagnoses
 *       prefix: drdotnet/                                 # optional
 *       pathStyle: true                                   # https://endpoint/bucket/key instead of https://bucket.endpoint/key
 *       credentialsFolder: /etc/drdotnet/stores/default   # files accessKeyId, secretAccessKey, sessionToken (optional); re-read at each use
 *       publicEndpoint: https://...                       # optional: for the URLs in the status
 *       caFile: /etc/drdotnet/store-ca.crt                # optional: whose certificate the controller accepts when it reads reports
 *   - name: builtin
 *     builtin: {}                                         # the controller's own (report_store.h)
 *
 * Read-only after loading; safe from any thread. */
#ifndef DRDOTNET_OBJECT_STORE_H
#define DRDOTNET_OBJECT_STORE_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/link/link_msg.h"
#include "controller/store/report_store.h"

#define UPLOAD_URL_EXPIRES_SECONDS 900

struct object_stores;

/* From the file's text; `own` (may be NULL) serves builtin stores and is borrowed. Errors name the field. */
struct object_stores *object_stores_parse(const char *text, size_t len, struct report_store *own, struct err *e);
/* No configuration file: one store "default", the controller's own. */
struct object_stores *object_stores_builtin(struct report_store *own);
void object_stores_free(struct object_stores *s);

/* Can reports be put into this store? Else ERR_NOT_FOUND with REASON_StoreNotFound, which names those that there are. */
int object_stores_check(const struct object_stores *s, const char *store, struct err *e);

/* A URL for one PUT of this report under key_prefix (which ends with '/'), bound to its size, sha256 and media type. The sender must send
 * content-type, content-length and x-amz-checksum-sha256 (base64). ERR_NOT_FOUND with REASON_StoreNotFound for an unknown store. */
int object_store_grant(const struct object_stores *s, const char *store, const char *key_prefix, const struct link_report *r,
		       int64_t now_wall_ms, struct buf *url, int64_t *expires_wall_ms, struct err *e);

/* A URL for GETs of this report. ERR_NOT_FOUND with REASON_StoreNotFound for an unknown store, ERR_INVALID for a builtin one. */
int object_store_read_url(const struct object_stores *s, const char *store, const char *key_prefix, const char *report_name,
			  int64_t now_wall_ms, struct buf *url, struct err *e);
const char *object_store_ca_file(const struct object_stores *s, const char *store); /* NULL: the system's */
struct report_store *object_stores_own(const struct object_stores *s);              /* NULL: none */

/* Whose certificate the uploader has to expect. */
enum link_place object_store_place(const struct object_stores *s, const char *store);

/* The object's URL without a signature, for the status. */
int object_store_public_url(const struct object_stores *s, const char *store, const char *key_prefix, const char *report_name,
			    struct buf *url, struct err *e);

#endif
