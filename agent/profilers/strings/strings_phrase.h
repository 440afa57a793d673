/* Words that the texts about equal strings share. All append. Pure; any thread. */
#ifndef DRDOTNET_STRINGS_PHRASE_H
#define DRDOTNET_STRINGS_PHRASE_H

#include "agent/profilers/strings/strings_analysis.h"

/* What a value is, without a word of its contents: "6 digits", "3 upper-case letters", "100 characters", "the empty string". */
void strings_phrase_value(struct buf *out, const struct strings_value *v);

const char *strings_phrase_kind(unsigned bit); /* of the characters: "digit": report.json; NULL beyond the last */

/* Where to look in the source: for elements of arrays and collections the place that holds those, when it is known, else the name.
 * Borrowed or from `scratch`. */
const char *strings_phrase_place(const struct string_holder *h, char *scratch, size_t size);

double strings_phrase_percent_of(uint64_t part, uint64_t whole);

#endif
