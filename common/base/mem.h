/* Allocation for the daemons: running out of memory aborts with one log line (the process restarts and nothing is
 * lost: its state is elsewhere). Sizes that come from outside go through bounded buffers (buf.h) instead.
 * Never used by the profiler library. Any thread. */
#ifndef DRDOTNET_MEM_H
#define DRDOTNET_MEM_H

#include <stdarg.h>
#include <stddef.h>

void *mem_alloc(size_t size);                 /* zeroed; free() it */
void *mem_calloc(size_t count, size_t size);  /* zeroed, overflow-checked */
void *mem_realloc(void *p, size_t count, size_t size); /* overflow-checked; new bytes are not zeroed */
char *mem_strdup(const char *s);              /* NULL gives NULL */
char *mem_strndup(const char *s, size_t n);
char *mem_printf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Makes room for one more element in a growing array: `GROW(items, count, cap)`. */
#define GROW(items, count, cap)                                                                  \
	do {                                                                                     \
		if ((count) == (cap)) {                                                          \
			(cap) = (cap) ? (cap) * 2 : 8;                                           \
			(items) = mem_realloc((items), (cap), sizeof *(items));                  \
		}                                                                                \
	} while (0)

#endif
