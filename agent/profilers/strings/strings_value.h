/* What a report may say of one value: a name that tells nothing, and where the session may reveal, its first characters. Pure. */
#ifndef DRDOTNET_STRINGS_VALUE_H
#define DRDOTNET_STRINGS_VALUE_H

#include "common/base/buf.h"

#include <stddef.h>
#include <stdint.h>

/* "#" and 8 hexadecimal digits: HMAC-SHA-256 of the digest and the length with a secret that is thrown away after the session. The
 * contents cannot be guessed from it, however short they are: whoever wants to try one needs the secret. */
void strings_value_id(const uint8_t *secret, uint64_t digest, uint32_t chars, char out[10]);

/* UTF-16 as UTF-8 as it may be shown: controls and bidirectional characters escaped, lone surrogates as \u{D800}. */
void strings_value_start(const uint16_t *units, size_t count, struct buf *out);

#endif
