#include "common/base/http_url.h"

#include <string.h>

/* Unreserved characters of RFC 3986, 2.3; all others are percent-encoded. */
static bool unreserved(unsigned char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c && strchr("-._~", c));
}

static int encode(struct buf *out, const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		int rc = unreserved(c) ? buf_putc(out, *s) : buf_printf(out, "%%%02X", c);
		if (rc < 0)
			return -1;
	}
	return 0;
}

int http_url_begin(struct buf *out, const char *base)
{
	size_t len = strlen(base);
	while (len > 0 && base[len - 1] == '/')
		len--;
	return buf_append(out, base, len);
}

int http_url_segment(struct buf *out, const char *segment)
{
	return buf_putc(out, '/') < 0 ? -1 : encode(out, segment);
}

int http_url_query(struct buf *out, const char *key, const char *value)
{
	char separator = strchr(buf_str(out), '?') ? '&' : '?';
	if (buf_putc(out, separator) < 0 || encode(out, key) < 0 || buf_putc(out, '=') < 0)
		return -1;
	return encode(out, value);
}
