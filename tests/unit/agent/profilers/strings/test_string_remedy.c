#include "agent/profilers/strings/string_remedy.h"
#include "common/proto/string_class.h"

#include <criterion/criterion.h>

#define LETTERS (STRING_CLASS_UPPER | STRING_CLASS_LOWER)

Test(string_remedy, fits_what_the_strings_are)
{
	static const struct {
		const char *about;
		struct string_remedy_facts facts;
		const char *name;
	} rows[] = {
		{"empty", {1, 0, 0, 10, 10}, "empty"},
		{"one character", {5, 1, STRING_CLASS_UPPER, 10, 0}, "character"},
		{"two characters", {5, 2, STRING_CLASS_UPPER, 10, 10}, "enum"},
		{"few words", {32, 40, LETTERS | STRING_CLASS_PUNCTUATION, 10, 10}, "enum"},
		{"one more word", {33, 40, LETTERS, 10, 10}, "intern"},
		{"longer words", {32, 41, LETTERS, 10, 10}, "intern"},
		{"words with spaces", {3, 20, LETTERS | STRING_CLASS_SPACE, 10, 10}, "intern"},
		{"words beyond ASCII", {3, 20, LETTERS | STRING_CLASS_OTHER, 10, 10}, "intern"},
		{"unlisted: classes are not known", {3, 20, 0, 10, 10}, "intern"},
		{"the last that may be interned", {64, 20, 0, 10, 10}, "intern"},
		{"many values", {65, 20, 0, 10, 10}, "pool"},
		{"too many to be counted", {0, 20, LETTERS, 10, 10}, "pool"},
		{"digits", {0, 18, STRING_CLASS_DIGIT, 10, 10}, "number"},
		{"too many digits", {0, 19, STRING_CLASS_DIGIT, 10, 10}, "pool"},
		{"half are old", {0, 20, LETTERS, 10, 5}, "pool"},
		{"most are young", {1, 20, LETTERS, 10, 4}, "reuse"},
		{"a document", {1, 2000, LETTERS, 10, 0}, "share"},
		{"no document yet", {1, 1999, LETTERS, 10, 10}, "intern"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_str_eq(string_remedy_name(string_remedy_choose(&rows[i].facts)), rows[i].name, "%s", rows[i].about);
}
