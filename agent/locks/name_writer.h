/* A name that is put together in the caller's room; what does not fit is left out. Any thread. */
#ifndef DRDOTNET_NAME_WRITER_H
#define DRDOTNET_NAME_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct name_writer {
	char *out; /* NUL-terminated */
	size_t used, size;
};

#define NAME_WRITER_ON(array) ((struct name_writer){(array), 0, sizeof(array)})

static inline bool name_writer_full(const struct name_writer *w)
{
	return w->used + 1 == w->size;
}

static inline void name_writer_put(void *writer, const char *text)
{
	struct name_writer *w = writer;
	size_t len = strlen(text), room = w->size - w->used - 1;
	len = len < room ? len : room;
	memcpy(w->out + w->used, text, len);
	w->used += len;
	w->out[w->used] = '\0';
}

#endif
