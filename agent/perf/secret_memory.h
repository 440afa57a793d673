/* Memory for what the profiled process computes with: not in core dumps, empty in a child process, overwritten before it is given back. */
#ifndef DRDOTNET_SECRET_MEMORY_H
#define DRDOTNET_SECRET_MEMORY_H

#include <stddef.h>

/* Zeroed, page-aligned; takes memory only as far as it is written to. Aborts where there is no address space. */
void *secret_memory_new(size_t bytes);
/* Overwrites the first `used` bytes, all that were written; much of it is given back. */
void secret_memory_clear(void *p, size_t used);
/* Overwrites the first `used` bytes, all that were written. NULL is taken. */
void secret_memory_free(void *p, size_t bytes, size_t used);

#endif
