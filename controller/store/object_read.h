/* Reads a delivered report back from its store: from the controller's own folder, or from object storage by signed requests, a piece at a
 * time, so that memory is bounded and the keys stay here. What comes is checked against the size and the SHA-256 that the session's
 * status has. One thread at a time. */
#ifndef DRDOTNET_OBJECT_READ_H
#define DRDOTNET_OBJECT_READ_H

#include "controller/store/object_store.h"

#include <sys/types.h>

struct object_read;

/* Has its first piece when it returns. ERR_NOT_FOUND: it is not, or no longer, there. `cancel_fd` is borrowed. */
struct object_read *object_read_open(const struct object_stores *s, const char *store, const char *key_prefix, const struct link_report *r,
				     int cancel_fd, struct err *e);

/* Up to `size` bytes; 0: the end; -1: failed, or it is not what was delivered. */
ssize_t object_read_next(struct object_read *o, void *out, size_t size, struct err *e);
void object_read_close(struct object_read *o);

#endif
