/* Bytes that arrive in order and are read as one piece afterwards: in memory, past `memory_max` in a file without a name. One thread at
 * a time. */
#ifndef DRDOTNET_HEAP_STORE_H
#define DRDOTNET_HEAP_STORE_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_store {
	uint8_t *data;     /* while it grows: only with fd -1 */
	size_t len, cap, memory_max, max;
	int dirfd, fd;     /* -1: in memory */
	bool sealed;
};

/* `dirfd`: where the file goes, borrowed; -1: /tmp. `max`: more bytes are refused. */
void heap_store_init(struct heap_store *s, int dirfd, size_t memory_max, size_t max);
void heap_store_fini(struct heap_store *s);
/* Room for so many bytes (at most memory_max) with its pages in place: what is appended while an application stands then waits for no page
 * fault. Best effort. */
void heap_store_prefault(struct heap_store *s, size_t bytes);
/* -1: more than `max` (ERR_INVALID), or no room (ERR_RETRY ...). */
int heap_store_append(struct heap_store *s, const void *data, size_t len, struct err *e);
/* No more bytes come, and nobody waits for it any more: more than `most` of them go to the file as well. Best effort. */
void heap_store_settle(struct heap_store *s, size_t most);
/* No more bytes come: data[0, len) is all of them, to be read until fini. */
int heap_store_seal(struct heap_store *s, struct err *e);

#endif
