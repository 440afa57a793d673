#include "common/base/buf.h"

#include "common/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_init(struct buf *b, size_t max_bytes)
{
	*b = (struct buf){.max = max_bytes};
}

void buf_fini(struct buf *b)
{
	if (!b)
		return;
	free(b->data);
	*b = (struct buf){.max = b->max};
}

void buf_reset(struct buf *b)
{
	b->len = 0;
	b->full = false;
	if (b->data)
		b->data[0] = '\0';
}

/* Room for `extra` more bytes and the NUL. */
static int reserve_buf(struct buf *b, size_t extra)
{
	if (extra > b->max || b->len > b->max - extra) {
		b->full = true;
		return -1;
	}
	size_t need = b->len + extra + 1;
	if (need <= b->cap)
		return 0;
	size_t cap = b->cap ? b->cap : 64;
	while (cap < need)
		cap += cap / 2 + 32;
	if (cap > b->max + 1)
		cap = b->max + 1;
	b->data = mem_realloc(b->data, cap, 1);
	b->cap = cap;
	return 0;
}

int buf_append(struct buf *b, const void *data, size_t len)
{
	if (reserve_buf(b, len) < 0)
		return -1;
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
	return 0;
}

int buf_puts(struct buf *b, const char *s)
{
	return buf_append(b, s, strlen(s));
}

int buf_putc(struct buf *b, char c)
{
	return buf_append(b, &c, 1);
}

int buf_vprintf(struct buf *b, const char *fmt, va_list args)
{
	va_list again;
	va_copy(again, args);
	int n = vsnprintf(NULL, 0, fmt, args);
	int rc = -1;
	if (n >= 0 && reserve_buf(b, (size_t)n) == 0) {
		vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
		b->len += (size_t)n;
		rc = 0;
	}
	va_end(again);
	return rc;
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	int rc = buf_vprintf(b, fmt, args);
	va_end(args);
	return rc;
}

void buf_consume(struct buf *b, size_t n)
{
	if (n > b->len)
		n = b->len;
	if (n == 0)
		return;
	memmove(b->data, b->data + n, b->len - n + 1);
	b->len -= n;
}

char *buf_steal(struct buf *b)
{
	char *s = b->data ? b->data : mem_strdup("");
	*b = (struct buf){.max = b->max};
	return s;
}

const char *buf_str(const struct buf *b)
{
	return b->data ? b->data : "";
}
