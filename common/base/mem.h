/* Allocation for the daemons: running out of memory aborts with one log line (the process restarts and nothing is
 * lost: its state is elsewhere). Sizes that come from outside go through bounded buffers (buf.h) instead.
 * Never used by the profiler library. Any thread. */
#ifndef DRDOTNET_MEM_H
#define DRDOTNET_MEM_H

#include <stdarg.h>
#include <stddef.h>

/* What they give is as large as is said here: the compiler warns, and a fortified build ends the process, where more is written. */
#define MEM_SIZED(...) __attribute__((alloc_size(__VA_ARGS__), returns_nonnull, warn_unused_result))

void *mem_alloc(size_t size) MEM_SIZED(1) __attribute__((malloc));                /* zeroed; free() it */
void *mem_calloc(size_t count, size_t size) MEM_SIZED(1, 2) __attribute__((malloc)); /* zeroed, overflow-checked */
void *mem_realloc(void *p, size_t count, size_t size) MEM_SIZED(2, 3);            /* overflow-checked; new bytes are not zeroed */
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
