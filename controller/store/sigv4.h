/* AWS Signature Version 4, query form ("presigned URL"): docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html.
 * Pure: the time is an argument. Any thread. */
#ifndef DRDOTNET_SIGV4_H
#define DRDOTNET_SIGV4_H

#include "common/base/buf.h"
#include "common/base/err.h"

#include <stdint.h>

struct sigv4_credentials {
	const char *access_key_id, *secret_access_key;
	const char *session_token; /* NULL or "": none */
};

struct sigv4_header {
	const char *name, *value; /* name in lower case */
};

#define SIGV4_MAX_HEADERS 8

struct sigv4_request {
	const char *method;
	const char *scheme;         /* "https" or "http" */
	const char *host;           /* with the port where it is not the scheme's own */
	const char *path;           /* "/bucket/key", not encoded */
	const char *region;
	struct sigv4_header headers[SIGV4_MAX_HEADERS]; /* signed beside host; sorted by name; ended by a NULL name */
	const char *payload_sha256; /* hex, or "UNSIGNED-PAYLOAD" */
	int64_t wall_ms;            /* signing time */
	int64_t expires_seconds;    /* 1..604800 */
};

/* Appends the signed URL. Who sends it must send the signed headers with these values. ERR_INVALID when out is full. */
int sigv4_presign(const struct sigv4_request *q, const struct sigv4_credentials *c, struct buf *out, struct err *e);

/* Percent-encoding as the signature wants it (unreserved characters stay; '/' stays too when keep_slash). */
void sigv4_encode(struct buf *out, const char *s, bool keep_slash);

#endif
