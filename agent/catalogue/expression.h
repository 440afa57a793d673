/* Expressions of the catalogue's rules: comparisons of named numbers and texts, joined by and/or, evaluated by Lua (docs/decisions: why Lua). What is
 * handed to Lua has been reduced to names, constants, operators and parentheses, so that no expression can loop, allocate without bound or reach anything
 * but its scope. A scope belongs to one thread.
 *
 *   retry_per_second >= 2 and retry_type == "System.TimeoutException"
 *   known(cost_percent) and max(cost_percent, unwinding_percent) >= 5
 *
 * A comparison with a number that was not measured is open. If the rest decides, in whatever order, the expression has a value; else it is unknown. For that to
 * hold `not` stands before known(...) only, and `==` and `~=` compare texts only.
 * Functions: known(NAME), max and min (of a number and an unknown one: the number), floor, ceil, starts(TEXT, "prefix"), ends(TEXT, "suffix"),
 * contains(TEXT, "part"). */
#ifndef DRDOTNET_EXPRESSION_H
#define DRDOTNET_EXPRESSION_H

#include "common/base/buf.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>

#define EXPRESSION_MAX_BYTES 1000
#define EXPRESSION_UNKNOWN "unknown" /* a name of each scope: a number that is not known */

enum value_kind {
	VALUE_UNKNOWN, /* a number that was not measured, or a comparison that such a number left open */
	VALUE_NUMBER,
	VALUE_TEXT,
	VALUE_BOOLEAN,
};
struct value {
	enum value_kind kind;
	double number; /* VALUE_BOOLEAN: 0 or 1; VALUE_UNKNOWN: NAN, or 0 for a comparison */
	const char *text;    /* borrowed from the scope, valid until it is freed */
	const char *unknown; /* VALUE_UNKNOWN: the first unknown name that was asked for; borrowed like text. May be NULL */
};

struct scope;

struct scope *scope_new(void);
void scope_free(struct scope *s); /* NULL is fine */

/* Adds names. A later one of the same name replaces the earlier. Names, texts and expressions are copied; NAN: unknown. */
void scope_set_number(struct scope *s, const char *name, double number);
void scope_set_text(struct scope *s, const char *name, const char *text);
/* A name for an expression, evaluated when it is first asked for. */
int scope_set_expression(struct scope *s, const char *name, const char *expression, struct err *e);

/* Whether the expression is one: ERR_INVALID with what is wrong and where. Names are not looked up. */
int expression_check(const char *expression, struct err *e);
/* Evaluates. ERR_INVALID: a syntax error, a name that the scope does not have, a comparison of a number with a text. */
int scope_evaluate(struct scope *s, const char *expression, struct value *out, struct err *e);

#endif
