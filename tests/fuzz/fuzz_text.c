/* Escaping: whatever the bytes, JSON's form is JSON, and no form has control characters or markup. */
#include "common/base/jsonx.h"
#include "common/base/text.h"

#include <stdlib.h>
#include <string.h>

static void check_clean(const struct buf *b, const char *forbidden, const char *allowed)
{
	for (size_t i = 0; i < b->len; i++) {
		char c = b->data[i];
		if (c == '\0' || ((unsigned char)c < 0x20 && !strchr(allowed, c)) || strchr(forbidden, c))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *s = (const char *)data;
	AUTO_BUF struct buf json = {0}, html = {0}, printable = {0};
	buf_init(&json, 1 << 20);
	buf_init(&html, 1 << 20);
	buf_init(&printable, 1 << 20);
	buf_puts(&json, "[");
	text_append_json(&json, s, size);
	buf_puts(&json, "]");
	if (json.full)
		return 0;
	AUTO_JSON json_t *doc = jsonx_parse(buf_str(&json), json.len, "text", NULL);
	if (!doc && !memchr(s, '\0', size))
		abort();
	check_clean(&json, "<", "");
	text_append_html(&html, s, size);
	if (html.len)
		check_clean(&html, "<>\"'", "\n\t");
	text_append_printable(&printable, s, size);
	if (printable.len)
		check_clean(&printable, "\x7f", "");
	for (size_t at = 0; at < size;) {
		uint32_t code_point;
		size_t used = text_decode_utf8(s + at, size - at, &code_point);
		if (used == 0 || used > size - at || code_point > 0x10FFFF)
			abort();
		at += used;
	}
	return 0;
}
