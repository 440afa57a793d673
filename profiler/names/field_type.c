/* Context: own thread. */
#include "profiler/names/field_type.h"

#include "common/proto/sig_cursor.h"

static void skip_type(struct sig_cursor *c, int depth);

static void skip_types(struct sig_cursor *c, uint32_t count, int depth)
{
	if (count > SIG_LIST_MAX)
		c->bad = true;
	for (; !c->bad && count > 0; count--)
		skip_type(c, depth);
}

static void skip_numbers(struct sig_cursor *c)
{
	for (uint32_t count = sig_number(c); !c->bad && count > 0; count--)
		sig_number(c);
}

static void skip_function(struct sig_cursor *c, int depth)
{
	uint32_t convention = sig_byte(c);

	if (convention & 0x10)
		sig_number(c);
	skip_types(c, sig_number(c) + 1, depth); /* with what it returns */
}

static void skip_type(struct sig_cursor *c, int depth)
{
	uint32_t e = depth > 0 ? sig_element(c) : 0;

	if (depth <= 0)
		c->bad = true;
	if (c->bad)
		return;
	switch (e) {
	case SIG_VALUE_TYPE:
	case SIG_CLASS:
		sig_token(c);
		break;
	case SIG_VARIABLE:
	case SIG_METHOD_VARIABLE:
		sig_number(c);
		break;
	case SIG_POINTER:
	case SIG_BY_REFERENCE:
	case SIG_VECTOR:
		skip_type(c, depth - 1);
		break;
	case SIG_ARRAY:
		skip_type(c, depth - 1);
		sig_number(c);
		skip_numbers(c);
		skip_numbers(c);
		break;
	case SIG_GENERIC:
		sig_byte(c);
		sig_token(c);
		skip_types(c, sig_number(c), depth - 1);
		break;
	case SIG_FUNCTION:
		skip_function(c, depth - 1);
		break;
	default:
		c->bad = e == 0 || e > SIG_OBJECT;
	}
}

static void read_generic(struct sig_cursor *c, struct field_type *out)
{
	uint32_t kind = sig_byte(c);

	out->token = sig_token(c);
	out->arg_count = sig_number(c);
	if ((kind != SIG_CLASS && kind != SIG_VALUE_TYPE) || out->arg_count > SIG_LIST_MAX)
		c->bad = true;
	out->kind = kind == SIG_CLASS ? FIELD_TYPE_REFERENCE : FIELD_TYPE_VALUE;
	for (uint32_t i = 0; i < out->arg_count && !c->bad; i++) {
		const uint8_t *from = c->p;
		skip_type(c, SIG_DEPTH_MAX);
		if (i < FIELD_TYPE_ARGS) {
			out->args[i].sig = from;
			out->args[i].len = (uint32_t)(c->p - from);
		}
	}
}

bool field_type_read(const uint8_t *sig, uint32_t len, struct field_type *out)
{
	struct sig_cursor c = {.p = sig, .end = sig + len};

	*out = (struct field_type){0};
	switch (sig_element(&c)) {
	case SIG_STRING:
	case SIG_CLASS:
	case SIG_ARRAY:
	case SIG_OBJECT:
	case SIG_VECTOR:
		out->kind = FIELD_TYPE_REFERENCE;
		break;
	case SIG_VALUE_TYPE:
		out->kind = FIELD_TYPE_VALUE;
		out->token = sig_token(&c);
		break;
	case SIG_VARIABLE:
		out->kind = FIELD_TYPE_VARIABLE;
		out->index = sig_number(&c);
		break;
	case SIG_GENERIC:
		read_generic(&c, out);
		break;
	default:
		break;
	}
	return !c.bad;
}
