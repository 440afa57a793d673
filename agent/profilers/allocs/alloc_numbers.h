/* What the rules of Allocations judge. Shares are in percent of the bytes that were allocated. Pure. */
#ifndef DRDOTNET_ALLOC_NUMBERS_H
#define DRDOTNET_ALLOC_NUMBERS_H

#include "agent/profilers/allocs/alloc_analysis.h"
#include "agent/report/rules.h"

#define ALLOC_NUMBERS(NUMBER, TEXT)                                                                                  \
	NUMBER(seconds) NUMBER(samples) NUMBER(dropped_percent) NUMBER(bytes_per_second)                                 \
	NUMBER(site_percent) TEXT(site_method)  /* the method on whose behalf most is allocated */                       \
	NUMBER(type_percent) TEXT(type_name) TEXT(type_method)                                                           \
	NUMBER(large_percent) TEXT(large_type) TEXT(large_method)                                                        \
	NUMBER(boxed_percent) TEXT(boxed_type) TEXT(boxed_method) /* values as objects */                                \
	NUMBER(collections) NUMBER(collecting_percent) NUMBER(longest_collection_ms) /* percent of the time */
RULE_STRUCT(alloc_numbers, ALLOC_NUMBERS);

void alloc_numbers_of(const struct alloc_analysis *a, struct alloc_numbers *out);

/* The first row of the method with most bytes on its behalf; of the large object heap; of values as objects. NULL: there is none. */
const struct alloc_sum *alloc_numbers_site(const struct alloc_analysis *a);
const struct alloc_sum *alloc_numbers_large(const struct alloc_analysis *a);
const struct alloc_sum *alloc_numbers_boxed(const struct alloc_analysis *a);

/* Whether a comparer makes most of these objects, to compare values. */
bool alloc_numbers_compared(const struct alloc_analysis *a, const struct alloc_sum *s);

/* Whether objects of this type are values, which the code turned into objects. By its name: those of the language, and some of .NET's. */
bool alloc_numbers_value_type(const char *type);

#endif
