#include "common/proto/signature.h"

#include "common/proto/sig_cursor.h"

struct cursor {
	struct sig_cursor in;
	const struct signature_names *names;
	void *out; /* NULL: what comes is not spelled */
};

static void spell(struct cursor *c, const char *text)
{
	if (c->out)
		c->names->put(c->out, text);
}

static void spell_token(struct cursor *c)
{
	uint32_t token = sig_token(&c->in);
	if (!c->in.bad && c->out)
		c->names->type(c->names->ctx, token, c->out);
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
	return element_type < sizeof names / sizeof *names ? names[element_type] : NULL;
}

static void spell_type(struct cursor *c, int depth);

static void spell_list(struct cursor *c, uint32_t count, int depth)
{
	if (count > SIG_LIST_MAX)
		c->in.bad = true;
	for (uint32_t i = 0; i < count && !c->in.bad; i++) {
		if (i)
			spell(c, ",");
		spell_type(c, depth);
	}
}

static void spell_array(struct cursor *c, int depth)
{
	spell_type(c, depth);
	uint32_t rank = sig_number(&c->in);
	if (rank == 0 || rank > 32)
		c->in.bad = true;
	for (int list = 0; list < 2; list++) { /* sizes, then lower bounds: not shown */
		uint32_t count = sig_number(&c->in);
		for (uint32_t i = 0; i < count && !c->in.bad; i++)
			sig_number(&c->in);
	}
	spell(c, "[");
	for (uint32_t i = 1; i < rank && !c->in.bad; i++)
		spell(c, ",");
	spell(c, rank == 1 ? "*]" : "]");
}

static void spell_instance(struct cursor *c, int depth)
{
	uint32_t kind = sig_byte(&c->in);
	if (kind != SIG_CLASS && kind != SIG_VALUE_TYPE)
		c->in.bad = true;
	if (c->in.bad)
		return;
	spell_token(c);
	uint32_t count = sig_number(&c->in);
	spell(c, "<");
	spell_list(c, count, depth);
	spell(c, ">");
}

/* MethodDefSig: calling convention, [generic count], parameter count, return type, parameters. */
static void spell_method(struct cursor *c, bool with_return, int depth)
{
	void *out = c->out;
	uint32_t convention = sig_byte(&c->in);

	if (convention & 0x10)
		sig_number(&c->in);
	uint32_t count = sig_number(&c->in);
	if (!with_return)
		c->out = NULL;
	spell_type(c, depth);
	c->out = out;
	if (with_return)
		spell(c, "(");
	spell_list(c, count, depth);
	if (with_return)
		spell(c, ")");
}

static void spell_suffixed(struct cursor *c, const char *suffix, int depth)
{
	spell_type(c, depth);
	spell(c, suffix);
}

static void spell_type(struct cursor *c, int depth)
{
	if (depth == 0 || c->in.bad) {
		c->in.bad = true;
		return;
	}
	uint32_t e = sig_element(&c->in);
	if (c->in.bad)
		return;
	if (signature_primitive(e)) {
		spell(c, signature_primitive(e));
		return;
	}
	switch (e) {
	case SIG_CLASS:
	case SIG_VALUE_TYPE:
		spell_token(c);
		break;
	case SIG_VARIABLE:
	case SIG_METHOD_VARIABLE: {
		uint32_t index = sig_number(&c->in);
		if (!c->in.bad && c->out)
			c->names->variable(c->names->ctx, e == SIG_METHOD_VARIABLE, index, c->out);
		break;
	}
	case SIG_POINTER:
		spell_suffixed(c, "*", depth - 1);
		break;
	case SIG_BY_REFERENCE:
		spell_suffixed(c, "&", depth - 1);
		break;
	case SIG_VECTOR:
		spell_suffixed(c, "[]", depth - 1);
		break;
	case SIG_ARRAY:
		spell_array(c, depth - 1);
		break;
	case SIG_GENERIC:
		spell_instance(c, depth - 1);
		break;
	case SIG_FUNCTION:
		spell(c, "fnptr ");
		spell_method(c, true, depth - 1);
		break;
	default:
		c->in.bad = true;
	}
}

bool signature_params(const uint8_t *sig, size_t len, const struct signature_names *n, void *out)
{
	struct cursor c = {.in = {.p = sig, .end = sig + len}, .names = n, .out = out};
	spell_method(&c, false, SIG_DEPTH_MAX);
	return !c.in.bad;
}

bool signature_type(const uint8_t *sig, size_t len, const struct signature_names *n, void *out)
{
	struct cursor c = {.in = {.p = sig, .end = sig + len}, .names = n, .out = out};
	spell_type(&c, SIG_DEPTH_MAX);
	return !c.in.bad;
}
