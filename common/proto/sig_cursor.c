#include "common/proto/sig_cursor.h"

#define ROW_MAX 0xffffffu /* a token's low 24 bits */

uint32_t sig_byte(struct sig_cursor *c)
{
	if (c->p == c->end) {
		c->bad = true;
		return 0;
	}
	return *c->p++;
}

uint32_t sig_number(struct sig_cursor *c)
{
	uint32_t b = sig_byte(c);

	if (!(b & 0x80))
		return b;
	if (!(b & 0x40))
		return (b & 0x3f) << 8 | sig_byte(c);
	uint32_t v = b & 0x1f;
	for (int i = 0; i < 3; i++)
		v = v << 8 | sig_byte(c);
	return v;
}

uint32_t sig_token(struct sig_cursor *c)
{
	static const uint32_t tables[] = {0x02000000, 0x01000000, 0x1b000000, 0};
	uint32_t v = sig_number(c);

	if (v >> 2 > ROW_MAX)
		c->bad = true;
	return tables[v & 3] | (v >> 2 & ROW_MAX);
}

uint32_t sig_element(struct sig_cursor *c)
{
	uint32_t e = sig_byte(c);

	while (!c->bad && (e == SIG_MODIFIER_REQUIRED || e == SIG_MODIFIER_OPTIONAL || e == SIG_PINNED || e == SIG_SENTINEL)) {
		if (e == SIG_MODIFIER_REQUIRED || e == SIG_MODIFIER_OPTIONAL)
			sig_token(c);
		e = sig_byte(c);
	}
	return e;
}
