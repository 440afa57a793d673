/* Context: own thread. */
#include "profiler/field_type.h"

#include <stddef.h>

#define DEPTH_MAX 24
#define LIST_MAX 1024u
#define MAX_ROW 0xffffffu

/* II.23.1.16 */
enum element {
	STRING = 0x0e,
	POINTER = 0x0f,
	BY_REFERENCE = 0x10,
	VALUE_TYPE = 0x11,
	CLASS = 0x12,
	VARIABLE = 0x13,
	ARRAY = 0x14,
	GENERIC = 0x15,
	FUNCTION = 0x1b,
	OBJECT = 0x1c,
	VECTOR = 0x1d,
	METHOD_VARIABLE = 0x1e,
	MODIFIER_REQUIRED = 0x1f,
	MODIFIER_OPTIONAL = 0x20,
	SENTINEL = 0x41,
	PINNED = 0x45,
};

struct cursor {
	const uint8_t *p, *end;
	bool bad;
};

static uint32_t next_byte(struct cursor *c)
{
	if (c->p == c->end) {
		c->bad = true;
		return 0;
	}
	return *c->p++;
}

/* II.23.2: 7, 14 or 29 bits, big-endian. */
static uint32_t next_number(struct cursor *c)
{
	uint32_t b = next_byte(c);

	if (!(b & 0x80))
		return b;
	if (!(b & 0x40))
		return (b & 0x3f) << 8 | next_byte(c);
	uint32_t v = b & 0x1f;
	for (int i = 0; i < 3; i++)
		v = v << 8 | next_byte(c);
	return v;
}

static uint32_t next_token(struct cursor *c)
{
	static const uint32_t tables[] = {0x02000000, 0x01000000, 0x1b000000, 0};
	uint32_t v = next_number(c);

	if (v >> 2 > MAX_ROW)
		c->bad = true;
	return tables[v & 3] | (v >> 2 & MAX_ROW);
}

static uint32_t next_element(struct cursor *c)
{
	uint32_t e = next_byte(c);

	while (!c->bad && (e == MODIFIER_REQUIRED || e == MODIFIER_OPTIONAL || e == PINNED || e == SENTINEL)) {
		if (e == MODIFIER_REQUIRED || e == MODIFIER_OPTIONAL)
			next_token(c);
		e = next_byte(c);
	}
	return e;
}

static void skip_type(struct cursor *c, int depth);

static void skip_types(struct cursor *c, uint32_t count, int depth)
{
	if (count > LIST_MAX)
		c->bad = true;
	while (!c->bad && count-- > 0)
		skip_type(c, depth);
}

static void skip_numbers(struct cursor *c)
{
	for (uint32_t count = next_number(c); !c->bad && count > 0; count--)
		next_number(c);
}

static void skip_function(struct cursor *c, int depth)
{
	uint32_t convention = next_byte(c);

	if (convention & 0x10)
		next_number(c);
	skip_types(c, next_number(c) + 1, depth); /* with what it returns */
}

static void skip_type(struct cursor *c, int depth)
{
	uint32_t e = depth > 0 ? next_element(c) : 0;

	if (depth <= 0)
		c->bad = true;
	if (c->bad)
		return;
	switch (e) {
	case VALUE_TYPE:
	case CLASS:
		next_token(c);
		break;
	case VARIABLE:
	case METHOD_VARIABLE:
		next_number(c);
		break;
	case POINTER:
	case BY_REFERENCE:
	case VECTOR:
		skip_type(c, depth - 1);
		break;
	case ARRAY:
		skip_type(c, depth - 1);
		next_number(c);
		skip_numbers(c);
		skip_numbers(c);
		break;
	case GENERIC:
		next_byte(c);
		next_token(c);
		skip_types(c, next_number(c), depth - 1);
		break;
	case FUNCTION:
		skip_function(c, depth - 1);
		break;
	default:
		c->bad = e == 0 || e > OBJECT;
	}
}

static void read_generic(struct cursor *c, struct field_type *out)
{
	uint32_t kind = next_byte(c);

	out->token = next_token(c);
	out->arg_count = next_number(c);
	if ((kind != CLASS && kind != VALUE_TYPE) || out->arg_count > LIST_MAX)
		c->bad = true;
	out->kind = kind == CLASS ? FIELD_TYPE_REFERENCE : FIELD_TYPE_VALUE;
	for (uint32_t i = 0; i < out->arg_count && !c->bad; i++) {
		const uint8_t *from = c->p;
		skip_type(c, DEPTH_MAX);
		if (i < FIELD_TYPE_ARGS) {
			out->args[i].sig = from;
			out->args[i].len = (uint32_t)(c->p - from);
		}
	}
}

bool field_type_read(const uint8_t *sig, uint32_t len, struct field_type *out)
{
	struct cursor c = {.p = sig, .end = sig + len};

	*out = (struct field_type){0};
	switch (next_element(&c)) {
	case STRING:
	case CLASS:
	case ARRAY:
	case OBJECT:
	case VECTOR:
		out->kind = FIELD_TYPE_REFERENCE;
		break;
	case VALUE_TYPE:
		out->kind = FIELD_TYPE_VALUE;
		out->token = next_token(&c);
		break;
	case VARIABLE:
		out->kind = FIELD_TYPE_VARIABLE;
		out->index = next_number(&c);
		break;
	case GENERIC:
		read_generic(&c, out);
		break;
	default:
		break;
	}
	return !c.bad;
}
