/* Escaping of outside text for the places that show it. Pure; any thread.
 * Input is bytes, not necessarily valid UTF-8 and possibly hostile (terminal escapes, bidi controls, markup). Invalid
 * bytes become U+FFFD. All that append do so to a bounded buffer and return what buf_append() returns. */
#ifndef DRDOTNET_TEXT_H
#define DRDOTNET_TEXT_H

#include "common/base/buf.h"

#include <stddef.h>
#include <stdint.h>

/* A quoted JSON string (RFC 8259): control characters, U+2028/2029 and bidi controls as \u escapes, '<' as \u003c so
 * that the text may stand inside a <script> element. */
int text_append_json(struct buf *out, const char *s, size_t len);

/* HTML text or attribute value: & < > " ' as entities, control and bidi characters as visible U+XXXX. */
int text_append_html(struct buf *out, const char *s, size_t len);

/* For terminals and Markdown: control and bidi characters shown as \xNN or \u{XXXX}, all else as it is. */
int text_append_printable(struct buf *out, const char *s, size_t len);

/* Decodes one UTF-8 sequence at s (len > 0); gives the code point (U+FFFD when invalid) and the bytes used (>= 1). */
size_t text_decode_utf8(const char *s, size_t len, uint32_t *code_point);

/* The longest prefix of s that has at most max_bytes and does not tear a UTF-8 sequence. */
size_t text_cut_utf8(const char *s, size_t max_bytes);

/* Bytes as lower-case hex digits: 2 * count of them, and a NUL. */
void text_hex(const void *bytes, size_t count, char *out);

#endif
