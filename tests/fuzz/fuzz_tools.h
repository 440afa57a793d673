/* What several fuzzers need. */
#ifndef TESTS_FUZZ_TOOLS_H
#define TESTS_FUZZ_TOOLS_H

#include "common/base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline void check(bool right)
{
	if (!right)
		abort();
}

struct kernel_symbols *__wrap_kernel_symbols_load(const char *proc_root);

/* In the place of the real one where the linker is told so (tests.mk): this machine's kernel is no part of an input, and five megabytes to read for each. */
__attribute__((weak)) struct kernel_symbols *__wrap_kernel_symbols_load(const char *proc_root)
{
	(void)proc_root;
	return NULL;
}

/* The bytes with a NUL behind them, at the very end of what is allocated; to be freed. */
static inline char *text_of(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/* Reports are made of these: UTF-8 that a terminal can be given. NULL is right, too. */
static inline void check_name(const char *s)
{
	for (size_t left = s ? strlen(s) : 0; left;) {
		uint32_t c = 0;
		size_t n = text_decode_utf8(s, left, &c);
		check(c >= 0x20 && c != 0x7f && !(c == 0xfffd && n == 1));
		s += n;
		left -= n;
	}
}

#endif
