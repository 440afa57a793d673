#include "common/base/base64.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <limits.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <string.h>

/* `len` is a multiple of four; `pad` of its characters are padding. */
static char *decode(const char *text, size_t len, size_t pad, size_t *out_len)
{
	AUTO_FREE char *out = mem_alloc(len / 4 * 3 + 1);
	int n = EVP_DecodeBlock((unsigned char *)out, (const unsigned char *)text, (int)len);
	if (n != (int)(len / 4 * 3)) /* malformed, or with white space at an end, which OpenSSL leaves out */
		return NULL;
	out[(size_t)n - pad] = '\0';
	if (out_len)
		*out_len = (size_t)n - pad;
	return steal_ptr(&out);
}

char *base64_decode(const char *text, size_t max_chars, size_t *out_len)
{
	size_t len = strnlen(text, max_chars + 1), pad = 0;
	while (pad < 2 && pad < len && text[len - 1 - pad] == '=')
		pad++;
	if (len == 0 || len > max_chars || len > INT_MAX || len % 4 != 0 || memchr(text, '=', len - pad))
		return NULL;
	return decode(text, len, pad, out_len);
}

char *base64_decode_url(const char *text, size_t len, size_t max_chars, size_t *out_len)
{
	if (len == 0 || len > max_chars || len > INT_MAX - 4 || len % 4 == 1 || memchr(text, '=', len))
		return NULL;
	AUTO_FREE char *padded = mem_alloc(len + 5);
	for (size_t i = 0; i < len; i++)
		padded[i] = text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i];
	size_t full = len;
	while (full % 4)
		padded[full++] = '=';
	return decode(padded, full, full - len, out_len);
}

char *base64_encode(const void *data, size_t len)
{
	char *out = mem_alloc((len + 2) / 3 * 4 + 1);
	EVP_EncodeBlock((unsigned char *)out, data, (int)len);
	return out;
}

char *base64_from_hex(const char *hex)
{
	long len = 0;
	unsigned char *bytes = OPENSSL_hexstr2buf(hex, &len);
	char *out = bytes && len > 0 ? base64_encode(bytes, (size_t)len) : NULL;
	OPENSSL_free(bytes);
	ERR_clear_error();
	return out;
}
