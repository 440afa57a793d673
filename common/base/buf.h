/* A growing byte buffer that is born with a maximum (after curl's dynbuf). Owned by one thread at a time.
 *
 * An append that would pass the maximum returns -1, leaves the buffer as it was before the call and sets `full`,
 * which stays set: a chain of appends may be checked once at its end. The content is always followed by a NUL that
 * `len` does not count; `data` is NULL until the first append. */
#ifndef DRDOTNET_BUF_H
#define DRDOTNET_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct buf {
	char *data;
	size_t len, cap, max;
	bool full;
};

void buf_init(struct buf *b, size_t max_bytes);
void buf_fini(struct buf *b); /* takes zeroed structs; the struct may be initialised again */
void buf_reset(struct buf *b); /* empties it, keeps the memory, clears `full` */

int buf_append(struct buf *b, const void *data, size_t len);
int buf_puts(struct buf *b, const char *s);
int buf_putc(struct buf *b, char c);
int buf_printf(struct buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int buf_vprintf(struct buf *b, const char *fmt, va_list args);

/* Removes the first `n` bytes (all of them when there are fewer). */
void buf_consume(struct buf *b, size_t n);

/* The content as a NUL-terminated string that the caller frees; the buffer is empty afterwards. Never NULL. */
char *buf_steal(struct buf *b);

/* Borrowed NUL-terminated content, "" when empty. */
const char *buf_str(const struct buf *b);

#define AUTO_BUF __attribute__((cleanup(buf_fini)))

#endif
