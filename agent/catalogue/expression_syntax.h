/* What an expression may be made of (expression.h), and what is handed to Lua of it. Pure; any thread. */
#ifndef DRDOTNET_EXPRESSION_SYNTAX_H
#define DRDOTNET_EXPRESSION_SYNTAX_H

#include "common/base/buf.h"
#include "common/base/err.h"

#include <stddef.h>

/* Appends the expression as a chunk of Lua. ERR_INVALID: something in it is neither a name, a constant, an operator nor a call of one of the functions. */
int expression_translate(const char *expression, struct buf *out, struct err *e);

/* Calls for each name that the expression asks for, those of functions left out; an expression that is none has no names. */
void expression_names(const char *expression, void (*name)(void *context, const char *name, size_t length), void *context);

/* Calls for each two names that are compared by == or ~=, which must be texts. */
void expression_equalities(const char *expression, void (*pair)(void *context, const char *names[2], const size_t lengths[2]), void *context);

#endif
