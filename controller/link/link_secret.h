/* The Secret of the self-made link certificates as typed pairs. Pure: JSON in, JSON out. */
#ifndef DRDOTNET_LINK_SECRET_H
#define DRDOTNET_LINK_SECRET_H

#include "common/base/jsonx.h"
#include "controller/link/link_pki.h"

struct link_secret { /* any part may be missing: NULL texts */
	struct link_pair ca, next_ca, server;
};
void link_secret_fini(struct link_secret *s);

/* From the object. What is missing or no base64 counts as absent: it is made anew. */
void link_secret_read(const json_t *object, struct link_secret *out);

/* Into the object's data; parts that are NULL are removed, what others keep there stays. */
void link_secret_write(const struct link_secret *s, json_t *object);

#endif
