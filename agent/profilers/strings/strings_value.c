#include "agent/profilers/strings/strings_value.h"

#include "agent/profilers/strings/strings_analysis.h"
#include "common/base/text.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

void strings_value_id(const uint8_t *secret, uint64_t digest, uint32_t chars, char out[10])
{
	unsigned char message[12], code[EVP_MAX_MD_SIZE];
	unsigned len = 0;
	memcpy(message, &digest, sizeof digest);
	memcpy(message + sizeof digest, &chars, sizeof chars);
	if (!HMAC(EVP_sha256(), secret, STRINGS_SECRET_BYTES, message, sizeof message, code, &len))
		memset(code, 0, sizeof code);
	snprintf(out, 10, "#%02x%02x%02x%02x", code[0], code[1], code[2], code[3]);
}

static void put_utf8(uint32_t c, struct buf *out)
{
	char bytes[4];
	size_t n = 0;
	if (c < 0x80) {
		bytes[n++] = (char)c;
	} else if (c < 0x800) {
		bytes[n++] = (char)(0xc0 | c >> 6);
		bytes[n++] = (char)(0x80 | (c & 0x3f));
	} else {
		if (c >= 0x10000)
			bytes[n++] = (char)(0xf0 | c >> 18);
		bytes[n++] = (char)(c >= 0x10000 ? 0x80 | (c >> 12 & 0x3f) : 0xe0 | c >> 12);
		bytes[n++] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[n++] = (char)(0x80 | (c & 0x3f));
	}
	text_append_printable(out, bytes, n);
}

void strings_value_start(const uint16_t *units, size_t count, struct buf *out)
{
	for (size_t i = 0; i < count; i++) {
		uint16_t c = units[i];
		if ((c & 0xfc00) == 0xd800 && i + 1 < count && (units[i + 1] & 0xfc00) == 0xdc00) {
			put_utf8(0x10000 + ((uint32_t)(c & 0x3ff) << 10 | (units[i + 1] & 0x3ff)), out);
			i++;
		} else if ((c & 0xf800) == 0xd800) {
			buf_printf(out, "\\u{%04X}", c);
		} else {
			put_utf8(c, out);
		}
	}
}
