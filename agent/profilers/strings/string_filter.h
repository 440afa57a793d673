/* Which strings may have an equal one: a bit for each value seen and one for each value seen again, by digest. A first look over all
 * strings fills it, so that the second keeps in memory only strings with copies (and some others that share a bit with one):
 * 10 million different strings need 4 MiB here instead of hundreds in a table. Never says no to a string that has a copy. One thread. */
#ifndef DRDOTNET_STRING_FILTER_H
#define DRDOTNET_STRING_FILTER_H

#include <stdbool.h>
#include <stdint.h>

struct string_filter {
	uint64_t *seen, *again; /* bits */
	uint64_t mask;
	uint64_t added, repeated; /* strings; those whose bit was set already: at least as many as there are copies */
};

/* `strings`: how many there will be, at the most. */
void string_filter_init(struct string_filter *f, uint64_t strings);
void string_filter_fini(struct string_filter *f);
void string_filter_add(struct string_filter *f, uint64_t digest);
bool string_filter_may_repeat(const struct string_filter *f, uint64_t digest);

#endif
