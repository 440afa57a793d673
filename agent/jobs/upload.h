/* Sends one report file to a granted URL. One thread per call. */
#ifndef DRDOTNET_UPLOAD_H
#define DRDOTNET_UPLOAD_H

#include "common/base/err.h"
#include "common/link/link_msg.h"

struct upload_options {
	const char *ca_file;        /* for https; NULL: the system's */
	int64_t timeout_ms;         /* the whole attempt; 0: no bound */
	int64_t stall_timeout_ms;   /* no progress for so long ends the attempt */
	int cancel_fd;              /* or -1; readable: ERR_CANCELED */
	int64_t *retry_after_ms;    /* set to what the store's Retry-After says, when it says so; may be NULL */
};

/* PUTs the file (open descriptor, read from its start; must still have the size and sha256 of *r) with the headers that the grant was
 * signed for. 0: the store answered 2xx. ERR_RETRY/ERR_TIMEOUT: try again later with the same or a new URL; ERR_DENIED: ask for a new
 * grant (403, also an expired one, or an expired session token); ERR_INVALID: the file has changed. Messages carry the store's code
 * ("AccessDenied") but never the URL's query. */
int upload_put(const char *url, int fd, const struct link_report *r, const struct upload_options *o, struct err *e);

#endif
