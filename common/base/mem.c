#include "common/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *checked(void *p)
{
	if (!p) {
		static const char line[] = "level=error component=mem msg=\"out of memory\"\n";
		if (write(STDERR_FILENO, line, sizeof line - 1) < 0) {
			/* nothing left to do about it */
		}
		abort();
	}
	return p;
}

void *mem_alloc(size_t size)
{
	return checked(calloc(1, size ? size : 1));
}

void *mem_calloc(size_t count, size_t size)
{
	return checked(calloc(count ? count : 1, size ? size : 1));
}

void *mem_realloc(void *p, size_t count, size_t size)
{
	return checked(reallocarray(p, count ? count : 1, size ? size : 1));
}

char *mem_strdup(const char *s)
{
	return s ? checked(strdup(s)) : NULL;
}

char *mem_strndup(const char *s, size_t n)
{
	if (!s)
		return NULL;
	size_t len = strnlen(s, n); /* strndup() with strict checks of strings reads the byte after n as well */
	char *out = checked(malloc(len + 1));
	memcpy(out, s, len);
	out[len] = '\0';
	return out;
}

char *mem_printf(const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	char *out = NULL;
	if (vasprintf(&out, fmt, args) < 0)
		out = NULL;
	va_end(args);
	return checked(out);
}
