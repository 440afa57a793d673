/* What of an exception's message may leave the process unasked: its shape. Only words of a fixed list stay (message_words.inc: words of error messages
 * that tell nothing of anybody); numbers, identifiers and the like become '#', quoted parts and all other words '*', several of them in a row one. So
 * messages that differ only in what they are about have one shape, and no text of the application's data is in it. */
#ifndef DRDOTNET_MESSAGE_SHAPE_H
#define DRDOTNET_MESSAGE_SHAPE_H

#include <stddef.h>
#include <stdint.h>

#define MESSAGE_SHAPE_BYTES 160 /* at most; ASCII, not NUL-terminated */
#define MESSAGE_SHAPE_UNITS 400 /* of a message are looked at */

/* Own thread, before the first shape: the index of the words. */
void message_shape_prepare(void);
/* Any thread. UTF-16, little-endian, perhaps unaligned. Returns the shape's length. */
size_t message_shape_make(const uint8_t *utf16, size_t units, char out[MESSAGE_SHAPE_BYTES]);

#endif
