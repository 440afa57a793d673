/* Base64 (RFC 4648) of small texts, over OpenSSL. Any thread. */
#ifndef DRDOTNET_BASE64_H
#define DRDOTNET_BASE64_H

#include <stddef.h>

/* Standard alphabet with padding. New NUL-terminated text, its length in *out_len (may be NULL); NULL when `text` is empty, malformed or
 * longer than max_chars. */
char *base64_decode(const char *text, size_t max_chars, size_t *out_len);

/* The URL-safe alphabet without padding, `len` characters; otherwise the same. */
char *base64_decode_url(const char *text, size_t len, size_t max_chars, size_t *out_len);

/* New NUL-terminated text. */
char *base64_encode(const void *data, size_t len);

/* The bytes that hexadecimal digits stand for (a digest), in base64. NULL when the text is not made of pairs of them. */
char *base64_from_hex(const char *hex);

#endif
