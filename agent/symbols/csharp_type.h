/* Types in C#'s words from metadata text: "System.Collections.Generic.List`1<System.Int32>[]" is "List<int>[]". Pure; any
 * thread. */
#ifndef DRDOTNET_CSHARP_TYPE_H
#define DRDOTNET_CSHARP_TYPE_H

#include "agent/symbols/span.h"

#define CSHARP_MAX_DEPTH 12 /* of arguments in arguments, names in names */

struct csharp_args {
	struct span items[SPAN_MAX_ITEMS];
	size_t count, used;
};

/* Without namespaces, nested types with their outer ones. Past `depth` the text stays as it is. */
void csharp_type_put(struct buf *out, struct span type, int depth);

/* The next `count` arguments as "<int, string>"; they are used up. */
void csharp_type_put_args(struct buf *out, struct csharp_args *args, size_t count, int depth);

/* A list of types between `open` and `close`. */
void csharp_type_put_list(struct buf *out, const char *open, struct span list, const char *close);

/* A type's own word, without nesting and arity; what the compiler made of it is undone. */
void csharp_type_put_word(struct buf *out, struct span name);

/* The classes that hold lambdas and what they capture: nothing that the user wrote. */
bool csharp_type_is_closure(struct span name);

#endif
