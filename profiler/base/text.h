/* Text in a fixed buffer that remembers whether something did not fit. Own thread only (each text belongs to one thread).
 * What is cut stays valid UTF-8. No libc but memcpy. */
#ifndef DRDOTNET_PROFILER_TEXT_H
#define DRDOTNET_PROFILER_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	char *data;
	size_t cap, len;
	bool cut;
};

#define TEXT_ON(array) ((struct text){.data = (array), .cap = sizeof(array)})

void text_put(struct text *t, const char *s, size_t n); /* all of it or, with `cut`, nothing */
void text_puts(struct text *t, const char *s);
void text_put_u32(struct text *t, uint32_t v);
/* UTF-16, up to `n` units or the NUL; a lone surrogate becomes U+FFFD. */
void text_put_utf16(struct text *t, const uint16_t *s, size_t n);

#endif
