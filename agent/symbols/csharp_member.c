#include "agent/symbols/csharp_member.h"

#include "agent/symbols/csharp_type.h"
#include "agent/symbols/method_name.h"

#include <ctype.h>
#include <string.h>

static const char *operator_word(struct span name)
{
	static const char *const words[][2] = {
		{"op_Addition", "operator +"},	    {"op_Subtraction", "operator -"},	  {"op_Multiply", "operator *"},
		{"op_Division", "operator /"},	    {"op_Modulus", "operator %"},	  {"op_Equality", "operator =="},
		{"op_Inequality", "operator !="},   {"op_LessThan", "operator <"},	  {"op_GreaterThan", "operator >"},
		{"op_LessThanOrEqual", "operator <="}, {"op_GreaterThanOrEqual", "operator >="},
		{"op_BitwiseAnd", "operator &"},    {"op_BitwiseOr", "operator |"},	  {"op_ExclusiveOr", "operator ^"},
		{"op_LogicalNot", "operator !"},    {"op_OnesComplement", "operator ~"},  {"op_LeftShift", "operator <<"},
		{"op_RightShift", "operator >>"},   {"op_UnsignedRightShift", "operator >>>"},
		{"op_UnaryNegation", "operator -"}, {"op_UnaryPlus", "operator +"},	  {"op_Increment", "operator ++"},
		{"op_Decrement", "operator --"},    {"op_True", "operator true"},	  {"op_False", "operator false"},
		{"op_Implicit", "implicit operator"}, {"op_Explicit", "explicit operator"},
	};
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (span_equals(name, words[i][0]))
			return words[i][1];
	return NULL;
}

/* "get_Net" is the property Net: "Net.get". */
static bool put_accessor(struct buf *out, struct span name)
{
	static const char *const words[] = {"get", "set", "add", "remove"};
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		size_t n = strlen(words[i]);
		if (!span_starts(name, words[i]) || name.n < n + 2 || name.s[n] != '_')
			continue;
		struct span property = span_sub(name, n + 1, name.n);
		if (i < 2 && span_equals(property, "Item"))
			buf_puts(out, "this[]");
		else
			span_put(out, property);
		buf_printf(out, ".%s", words[i]);
		return true;
	}
	return false;
}

/* The number after the last '_' of "b__3_1": the compiler's own, as traces of exceptions have it. It is not the lambda's place among those in the source:
 * local functions are counted with them, and a switch is compiled in another order than it is written. The first number tells nothing. */
static void put_lambda_ordinal(struct buf *out, struct span rest)
{
	unsigned long ordinal = 0;
	size_t i = rest.n;
	while (i > 0 && isdigit((unsigned char)rest.s[i - 1]))
		i--;
	for (; i < rest.n && ordinal < 100000; i++)
		ordinal = ordinal * 10 + (unsigned long)(rest.s[i] - '0');
	if (ordinal)
		buf_printf(out, ".lambda_%lu", ordinal);
	else
		buf_puts(out, ".lambda");
}

static bool put_generated_member(struct buf *out, struct span name, unsigned *marks, int depth)
{
	struct span inner, rest;
	if (!span_generated(name, &inner, &rest))
		return false;
	if (span_equals(rest, "$")) { /* <Main>$ of top-level statements, <Clone>$ of records */
		span_put(out, inner);
	} else if (span_starts(rest, "b__")) {
		csharp_member_put(out, inner, marks, depth);
		put_lambda_ordinal(out, rest);
		*marks |= METHOD_LAMBDA;
	} else if (span_starts(rest, "g__")) {
		csharp_member_put(out, inner, marks, depth);
		const char *bar = memchr(rest.s, '|', rest.n);
		buf_putc(out, '.');
		span_put(out, span_sub(rest, 3, bar ? (size_t)(bar - rest.s) : rest.n));
		*marks |= METHOD_LOCAL;
	} else {
		return false;
	}
	return true;
}

/* "Shop.IDiscount.Apply" implemented explicitly: "IDiscount.Apply". */
static bool put_explicit(struct buf *out, struct span name, unsigned *marks, int depth)
{
	struct span member = span_last_dotted(name);
	if (member.n == name.n || member.n == 0 || member.s - 1 == name.s)
		return false;
	csharp_type_put(out, span_sub(name, 0, (size_t)(member.s - name.s) - 1), depth);
	buf_putc(out, '.');
	csharp_member_put(out, member, marks, depth);
	return true;
}

void csharp_member_put(struct buf *out, struct span name, unsigned *marks, int depth)
{
	const char *word;
	if (depth <= 0)
		span_put(out, name);
	else if (span_equals(name, ".ctor") || span_equals(name, ".cctor"))
		span_put(out, span_sub(name, 1, name.n));
	else if (put_generated_member(out, name, marks, depth - 1) || put_accessor(out, name))
		return;
	else if ((word = operator_word(name)))
		buf_puts(out, word);
	else if (!put_explicit(out, name, marks, depth - 1))
		span_put(out, name);
}
