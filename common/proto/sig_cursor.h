/* The bytes of a signature (ECMA-335 II.23.2), one part after the other. They come from the application's assemblies: nothing is read beyond
 * their end; what is malformed sets `bad`, and from then on whatever comes means nothing. Pure. */
#ifndef DRDOTNET_SIG_CURSOR_H
#define DRDOTNET_SIG_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

#define SIG_DEPTH_MAX 24   /* of types within types */
#define SIG_LIST_MAX 1024u /* of parameters or arguments */

/* II.23.1.16, those that are more than a number */
enum sig_element {
	SIG_STRING = 0x0e,
	SIG_POINTER = 0x0f,
	SIG_BY_REFERENCE = 0x10,
	SIG_VALUE_TYPE = 0x11,
	SIG_CLASS = 0x12,
	SIG_VARIABLE = 0x13,
	SIG_ARRAY = 0x14,
	SIG_GENERIC = 0x15,
	SIG_FUNCTION = 0x1b,
	SIG_OBJECT = 0x1c,
	SIG_VECTOR = 0x1d,
	SIG_METHOD_VARIABLE = 0x1e,
	SIG_MODIFIER_REQUIRED = 0x1f,
	SIG_MODIFIER_OPTIONAL = 0x20,
	SIG_SENTINEL = 0x41,
	SIG_PINNED = 0x45,
};

struct sig_cursor {
	const uint8_t *p, *end;
	bool bad;
};

uint32_t sig_byte(struct sig_cursor *c);
/* A compressed unsigned integer: 7, 14 or 29 bits, big-endian. */
uint32_t sig_number(struct sig_cursor *c);
/* TypeDef, TypeRef or TypeSpec. */
uint32_t sig_token(struct sig_cursor *c);
/* The next element that is no modifier. */
uint32_t sig_element(struct sig_cursor *c);

#endif
