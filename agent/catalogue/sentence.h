/* The sentences of the catalogue's rules: text with slots that are filled from a scope. Pure but for the scope; a scope belongs to one thread.
 *
 *   "{thrown_per_second} exceptions/s[, thrown and caught in {near_method:fit}]"
 *   "{1000 / retry_per_second:.0} ms, {retry_count:count} {retry_count:plural time times}"
 *
 * {EXPRESSION} or {EXPRESSION:FORMAT}. A clause in brackets is left out where a slot in it is unknown, empty or does not fit; what is unknown elsewhere
 * reads "unknown". Without a format a name has that of its unit, a text its own words. Formats:
 *   .0 .1 .2        digits after the point
 *   count           1,974            rate      12,300 or 3.3 or 0.05, a second
 *   percent         41% or 0.4%      bytes mb  412 MB
 *   ns us ms s      310 us, 1.2 s    plural A B  A where the number is 1, else B
 *   method          a method's or type's name, shortened to 110 characters; "method 30": to 30
 *   fit             a name, shortened to the room that the sentence leaves */
#ifndef DRDOTNET_SENTENCE_H
#define DRDOTNET_SENTENCE_H

#include "agent/catalogue/expression.h"

/* The format of a name that has none; NULL or "": it is a text. */
struct sentence_units {
	const char *(*unit)(const void *context, const char *name);
	const void *context;
};

bool sentence_is_format(const char *format);
/* Whether slots, clauses, formats and expressions are sound: ERR_INVALID with what is wrong. */
int sentence_check(const char *sentence, const struct sentence_units *units, struct err *e);
/* Calls for each expression in a slot. */
void sentence_expressions(const char *sentence, void (*expression)(void *context, const char *expression), void *context);

/* Appends the sentence. max_chars: what {...:fit} may fill; 0: 110 for each. ERR_INVALID: an expression fails. */
int sentence_put(struct scope *s, const char *sentence, const struct sentence_units *units, size_t max_chars, struct buf *out, struct err *e);

#endif
