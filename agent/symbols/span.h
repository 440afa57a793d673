/* Pieces of outside text that names are read from: borrowed, bounded, not terminated. Pure; any thread. */
#ifndef DRDOTNET_SPAN_H
#define DRDOTNET_SPAN_H

#include "common/base/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define SPAN_MAX_BYTES 4096 /* of each raw part of a name; more is not read */
#define SPAN_MAX_ITEMS 32

struct span {
	const char *s;
	size_t n;
};

struct span span_of(const char *s); /* NULL is empty */
struct span span_sub(struct span a, size_t from, size_t to);
bool span_equals(struct span a, const char *text);
bool span_starts(struct span a, const char *text);
void span_put(struct buf *out, struct span a);

/* The index after the '>' that closes the '<' at `open`; the end when it is never closed. */
size_t span_after_angle(struct span a, size_t open);

/* Splits at the commas of the outermost level; returns how many. Items past the last that fits are left out. */
size_t span_split(struct span list, struct span out[SPAN_MAX_ITEMS]);

/* Names of types in metadata: pieces stand between '+' (nesting) and '.' (namespaces), "<...>" hides both. The end of the piece
 * that starts at `from`; at_dots: a '.' ends it, too. */
size_t span_piece_end(struct span a, size_t from, bool at_dots);
struct span span_last_dotted(struct span name);

/* "List`1" gives "List" and 1. */
struct span span_without_arity(struct span name, size_t *arity);

/* The inner text of a name "<...>rest" that the compiler made: true, with *inner and *rest. */
bool span_generated(struct span name, struct span *inner, struct span *rest);

#endif
