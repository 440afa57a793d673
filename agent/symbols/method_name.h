/* Names as the user wrote them, from the raw parts of a frame (agent/symbols/frame.h): the compiler's inventions are undone
 * (state machines, closures, local functions, top-level statements), generic arguments are spelled in C#'s way, parameters
 * are shown where a method is overloaded, native symbols lose their parameters and template arguments.
 *
 *   Shop.Cart+<Compute>d__5 . MoveNext               Shop.Cart.Compute          METHOD_STATE_MACHINE
 *   Shop.Cart+<>c__DisplayClass3_0 . <Total>b__1     Shop.Cart.Total.lambda_1   METHOD_LAMBDA
 *
 * The parts are outside text: any bytes, any length. The result is valid UTF-8 without control or bidi characters and
 * shorter than METHOD_NAME_SIZE; a cut one ends in an ellipsis. Pure; any thread.
 * Compiler names: C# compiler, GeneratedNames (dotnet/roslyn, docs "Generated names"). */
#ifndef DRDOTNET_METHOD_NAME_H
#define DRDOTNET_METHOD_NAME_H

#include "agent/symbols/frame.h"

#include <stddef.h>

#define METHOD_NAME_SIZE 504

enum method_mark {
	METHOD_STATE_MACHINE = 1, /* MoveNext of an async method or an iterator: the callers tell which */
	METHOD_ASYNC = 2,         /* set by the analysis */
	METHOD_ITERATOR = 4,      /* set by the analysis */
	METHOD_LAMBDA = 8,
	METHOD_LOCAL = 16,
	METHOD_DYNAMIC = 32,
	METHOD_NO_SYMBOL = 64,    /* native code of which only the module is known */
};

struct method_name {
	char text[METHOD_NAME_SIZE];
	unsigned marks;
};

void method_name_make(const struct frame *f, struct method_name *out);

/* `name` made to fit into max_chars characters (code points): first without parameters, then without generic arguments, then
 * without leading namespaces ("…Tax.Compute"), at last cut. Appends to *out. */
struct buf;
void method_name_shorten(const char *name, size_t max_chars, struct buf *out);

/* Appends outside text as it may be shown (text_append_printable), cut with an ellipsis at max_bytes. */
void method_name_printable(const char *s, size_t max_bytes, struct buf *out);

#endif
