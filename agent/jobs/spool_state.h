/* A job's order and state as one JSON document, in the link's own encoding: {"order": {...}, "job": {...}}. Pure. */
#ifndef DRDOTNET_SPOOL_STATE_H
#define DRDOTNET_SPOOL_STATE_H

#include "common/base/err.h"
#include "common/link/link_msg.h"

/* A new string (free it), or NULL with ERR_INVALID when it is larger than max_bytes. */
char *spool_state_encode(const struct link_order *order, const struct link_job *job, size_t max_bytes, struct err *e);

/* Both outputs are set only on success; the caller finishes order->spec and *job. */
int spool_state_decode(const char *text, size_t len, struct link_order *order, struct link_job *job, struct err *e);

#endif
