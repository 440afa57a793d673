/* Context: own thread. */
#include "profiler/signature.h"

#define MAX_DEPTH 24
#define MAX_LIST 1024
#define MAX_ROW 0xffffffu /* a token's low 24 bits */

enum element_type {
	ELEMENT_PTR = 0x0f,
	ELEMENT_BYREF = 0x10,
	ELEMENT_VALUETYPE = 0x11,
	ELEMENT_CLASS = 0x12,
	ELEMENT_VAR = 0x13,
	ELEMENT_ARRAY = 0x14,
	ELEMENT_GENERICINST = 0x15,
	ELEMENT_FNPTR = 0x1b,
	ELEMENT_SZARRAY = 0x1d,
	ELEMENT_MVAR = 0x1e,
	ELEMENT_CMOD_REQD = 0x1f,
	ELEMENT_CMOD_OPT = 0x20,
	ELEMENT_SENTINEL = 0x41,
	ELEMENT_PINNED = 0x45,
};

struct cursor {
	const uint8_t *p, *end;
	bool bad;
	const struct signature_names *names;
	struct text *out;
};

static uint32_t next_byte(struct cursor *c)
{
	if (c->p == c->end) {
		c->bad = true;
		return 0;
	}
	return *c->p++;
}

/* Compressed unsigned integer, II.23.2: 7, 14 or 29 bits, big-endian. */
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

const char *signature_primitive(uint32_t element_type)
{
	static const char *const names[] = {
		[0x01] = "System.Void",	  [0x02] = "System.Boolean", [0x03] = "System.Char",   [0x04] = "System.SByte",
		[0x05] = "System.Byte",	  [0x06] = "System.Int16",   [0x07] = "System.UInt16", [0x08] = "System.Int32",
		[0x09] = "System.UInt32", [0x0a] = "System.Int64",   [0x0b] = "System.UInt64", [0x0c] = "System.Single",
		[0x0d] = "System.Double", [0x0e] = "System.String",  [0x16] = "System.TypedReference",
		[0x18] = "System.IntPtr", [0x19] = "System.UIntPtr", [0x1c] = "System.Object",
	};
	return element_type < sizeof names / sizeof *names ? names[element_type] : 0;
}

static void spell_type(struct cursor *c, int depth);

static void spell_list(struct cursor *c, uint32_t count, int depth)
{
	if (count > MAX_LIST)
		c->bad = true;
	for (uint32_t i = 0; i < count && !c->bad; i++) {
		if (i)
			text_puts(c->out, ",");
		spell_type(c, depth);
	}
}

static void spell_array(struct cursor *c, int depth)
{
	spell_type(c, depth);
	uint32_t rank = next_number(c);
	if (rank == 0 || rank > 32)
		c->bad = true;
	for (int list = 0; list < 2; list++) { /* sizes, then lower bounds: not shown */
		uint32_t count = next_number(c);
		for (uint32_t i = 0; i < count && !c->bad; i++)
			next_number(c);
	}
	text_puts(c->out, "[");
	for (uint32_t i = 1; i < rank && !c->bad; i++)
		text_puts(c->out, ",");
	text_puts(c->out, rank == 1 ? "*]" : "]");
}

static void spell_instance(struct cursor *c, int depth)
{
	uint32_t kind = next_byte(c);
	if (kind != ELEMENT_CLASS && kind != ELEMENT_VALUETYPE)
		c->bad = true;
	if (c->bad)
		return;
	uint32_t token = next_token(c);
	if (!c->bad)
		c->names->type(c->names->ctx, token, c->out);
	uint32_t count = next_number(c);
	text_puts(c->out, "<");
	spell_list(c, count, depth);
	text_puts(c->out, ">");
}

/* MethodDefSig: calling convention, [generic count], parameter count, return type, parameters. */
static void spell_method(struct cursor *c, bool with_return, int depth)
{
	struct text ignored = {.cut = true};
	struct text *out = c->out;
	uint32_t convention = next_byte(c);

	if (convention & 0x10)
		next_number(c);
	uint32_t count = next_number(c);
	if (!with_return)
		c->out = &ignored;
	spell_type(c, depth);
	c->out = out;
	if (with_return)
		text_puts(out, "(");
	spell_list(c, count, depth);
	if (with_return)
		text_puts(out, ")");
}

static void spell_suffixed(struct cursor *c, const char *suffix, int depth)
{
	spell_type(c, depth);
	text_puts(c->out, suffix);
}

static void spell_type(struct cursor *c, int depth)
{
	if (depth == 0 || c->bad) {
		c->bad = true;
		return;
	}
	uint32_t e = next_byte(c);
	while (!c->bad && (e == ELEMENT_CMOD_REQD || e == ELEMENT_CMOD_OPT || e == ELEMENT_PINNED || e == ELEMENT_SENTINEL)) {
		if (e == ELEMENT_CMOD_REQD || e == ELEMENT_CMOD_OPT)
			next_token(c);
		e = next_byte(c);
	}
	if (c->bad)
		return;
	if (signature_primitive(e)) {
		text_puts(c->out, signature_primitive(e));
		return;
	}
	switch (e) {
	case ELEMENT_CLASS:
	case ELEMENT_VALUETYPE: {
		uint32_t token = next_token(c);
		if (!c->bad)
			c->names->type(c->names->ctx, token, c->out);
		break;
	}
	case ELEMENT_VAR:
	case ELEMENT_MVAR: {
		uint32_t index = next_number(c);
		if (!c->bad)
			c->names->variable(c->names->ctx, e == ELEMENT_MVAR, index, c->out);
		break;
	}
	case ELEMENT_PTR:
		spell_suffixed(c, "*", depth - 1);
		break;
	case ELEMENT_BYREF:
		spell_suffixed(c, "&", depth - 1);
		break;
	case ELEMENT_SZARRAY:
		spell_suffixed(c, "[]", depth - 1);
		break;
	case ELEMENT_ARRAY:
		spell_array(c, depth - 1);
		break;
	case ELEMENT_GENERICINST:
		spell_instance(c, depth - 1);
		break;
	case ELEMENT_FNPTR:
		text_puts(c->out, "fnptr ");
		spell_method(c, true, depth - 1);
		break;
	default:
		c->bad = true;
	}
}

bool signature_params(const uint8_t *sig, size_t len, const struct signature_names *n, struct text *out)
{
	struct cursor c = {.p = sig, .end = sig + len, .names = n, .out = out};
	spell_method(&c, false, MAX_DEPTH);
	return !c.bad;
}

bool signature_type(const uint8_t *sig, size_t len, const struct signature_names *n, struct text *out)
{
	struct cursor c = {.p = sig, .end = sig + len, .names = n, .out = out};
	spell_type(&c, MAX_DEPTH);
	return !c.bad;
}
