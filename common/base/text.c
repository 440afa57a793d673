#include "common/base/text.h"

#include <string.h>

size_t text_decode_utf8(const char *s, size_t len, uint32_t *code_point)
{
	const unsigned char *u = (const unsigned char *)s;
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	size_t need = u[0] < 0x80 ? 1 : u[0] >= 0xF8 ? 0 : u[0] >= 0xF0 ? 4 : u[0] >= 0xE0 ? 3 : u[0] >= 0xC0 ? 2 : 0;
	if (need == 1) {
		*code_point = u[0];
		return 1;
	}
	*code_point = 0xFFFD;
	if (need == 0 || need > len)
		return 1;
	uint32_t c = u[0] & (0xFFu >> (need + 1));
	for (size_t i = 1; i < need; i++) {
		if ((u[i] & 0xC0) != 0x80)
			return 1;
		c = c << 6 | (u[i] & 0x3Fu);
	}
	if (c < least[need] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
		return 1;
	*code_point = c;
	return need;
}

size_t text_cut_utf8(const char *s, size_t max_bytes)
{
	size_t n = strnlen(s, max_bytes + 1);
	if (n <= max_bytes)
		return n;
	n = max_bytes;
	while (n > 0 && ((unsigned char)s[n] & 0xC0) == 0x80)
		n--;
	return n;
}

/* Unicode's Bidi_Control property and the line separators: they change how text around them is shown. */
static bool changes_layout(uint32_t c)
{
	return c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069) ||
	       c == 0xFEFF;
}

static bool is_control(uint32_t c)
{
	return c < 0x20 || (c >= 0x7F && c < 0xA0) || changes_layout(c);
}

static int append_code_point(struct buf *out, uint32_t c, const char *raw, size_t used)
{
	return c == 0xFFFD ? buf_append(out, "\xEF\xBF\xBD", 3) : buf_append(out, raw, used);
}

static int append_json_char(struct buf *out, uint32_t c, const char *raw, size_t used)
{
	switch (c) {
	case '"':
		return buf_puts(out, "\\\"");
	case '\\':
		return buf_puts(out, "\\\\");
	case '\n':
		return buf_puts(out, "\\n");
	case '\t':
		return buf_puts(out, "\\t");
	default:
		if (c == '<' || is_control(c))
			return buf_printf(out, "\\u%04x", (unsigned)c);
		return append_code_point(out, c, raw, used);
	}
}

static int append_html_char(struct buf *out, uint32_t c, const char *raw, size_t used)
{
	switch (c) {
	case '&':
		return buf_puts(out, "&amp;");
	case '<':
		return buf_puts(out, "&lt;");
	case '>':
		return buf_puts(out, "&gt;");
	case '"':
		return buf_puts(out, "&quot;");
	case '\'':
		return buf_puts(out, "&#39;");
	default:
		if (is_control(c) && c != '\n' && c != '\t')
			return buf_printf(out, "U+%04X", (unsigned)c);
		return append_code_point(out, c, raw, used);
	}
}

static int append_printable_char(struct buf *out, uint32_t c, const char *raw, size_t used)
{
	if (is_control(c))
		return c < 0x100 ? buf_printf(out, "\\x%02x", (unsigned)c) : buf_printf(out, "\\u{%04X}", (unsigned)c);
	return append_code_point(out, c, raw, used);
}

typedef int append_char_fn(struct buf *out, uint32_t c, const char *raw, size_t used);

static int append_all(struct buf *out, const char *s, size_t len, append_char_fn *append)
{
	while (len > 0) {
		uint32_t c;
		size_t used = text_decode_utf8(s, len, &c);
		if (append(out, c, s, used) < 0)
			return -1;
		s += used;
		len -= used;
	}
	return 0;
}

int text_append_json(struct buf *out, const char *s, size_t len)
{
	if (buf_putc(out, '"') < 0 || append_all(out, s, len, append_json_char) < 0)
		return -1;
	return buf_putc(out, '"');
}

int text_append_html(struct buf *out, const char *s, size_t len)
{
	return append_all(out, s, len, append_html_char);
}

int text_append_printable(struct buf *out, const char *s, size_t len)
{
	return append_all(out, s, len, append_printable_char);
}

void text_hex(const void *bytes, size_t count, char *out)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *b = bytes;
	for (size_t i = 0; i < count; i++) {
		*out++ = digits[b[i] >> 4];
		*out++ = digits[b[i] & 15];
	}
	*out = '\0';
}
