/* Big arrays of zeros within a budget of memory: what would pass it lies in an unlinked file that is mapped, where the kernel writes it
 * out when memory is short. Arrays that are read and written in order leave memory first: they lose little by it. Two
 * threads may take and grow arrays at once, each its own. */
#ifndef DRDOTNET_HEAP_MEMORY_H
#define DRDOTNET_HEAP_MEMORY_H

#include "common/base/err.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct heap_memory {
	size_t budget, used;     /* bytes in memory */
	uint64_t spilled;        /* bytes in files, of all times */
	int dirfd;               /* where the files are made; -1: the temporary folder */
	pthread_mutex_t lock;
};

enum heap_access { HEAP_AT_RANDOM, HEAP_IN_ORDER };

struct heap_array { /* zeroed: none */
	void *data;
	size_t bytes;
	int file; /* descriptor + 1; 0: in memory */
};

void heap_memory_init(struct heap_memory *m, size_t budget, int dirfd);
void heap_memory_fini(struct heap_memory *m); /* after all arrays were given back */

/* ERR_RETRY when there is no memory, or no room for the file. */
int heap_memory_take(struct heap_memory *m, struct heap_array *a, size_t count, size_t size, enum heap_access how, struct err *e);
/* The same with more bytes; it may move. */
int heap_memory_grow(struct heap_memory *m, struct heap_array *a, size_t bytes, struct err *e);
void heap_memory_give(struct heap_memory *m, struct heap_array *a); /* takes a zeroed one */

#endif
