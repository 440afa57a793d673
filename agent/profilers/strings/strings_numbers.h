/* What the rules judge copies of strings by (catalogue/strings/). Never a word of a string's contents. Pure; any thread. */
#ifndef DRDOTNET_STRINGS_NUMBERS_H
#define DRDOTNET_STRINGS_NUMBERS_H

#include "agent/profilers/strings/strings_analysis.h"
#include "agent/report/rules.h"

/* holder: the field with the most wasted bytes (`place`: where to look in the source); value: what the most expensive value is, "6 digits".
 * crowded_bytes: wasted by fields beyond those that are told apart. */
#define STRINGS_NUMBERS(NUMBER, TEXT)                                                                             \
	NUMBER(heap_bytes) NUMBER(strings) NUMBER(string_bytes) NUMBER(values) NUMBER(copies) NUMBER(wasted_bytes) \
	TEXT(holder) TEXT(place) NUMBER(holder_strings) NUMBER(holder_bytes) NUMBER(holder_values)                 \
	TEXT(value) NUMBER(value_strings) NUMBER(value_bytes)                                                      \
	NUMBER(young_bytes) NUMBER(unheld_bytes) NUMBER(crowded_bytes)

RULE_STRUCT(strings_numbers, STRINGS_NUMBERS);

void strings_numbers_of(const struct strings_analysis *a, struct strings_numbers *out);

#endif
