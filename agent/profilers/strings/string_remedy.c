#include "agent/profilers/strings/string_remedy.h"

#include "common/proto/string_class.h"

#define ENUM_VALUES 32      /* more different values are data, not kinds of things */
#define ENUM_CHARS 40
#define NUMBER_CHARS 18     /* fits a long */
#define INTERN_VALUES 64    /* interned strings never go: only for few values */
#define SHARE_CHARS 2000    /* documents rather than words */

static const struct {
	const char *name, *words;
} remedies[] = {
	[REMEDY_EMPTY] = {"empty", "use string.Empty"},
	[REMEDY_CHARACTER] = {"character", "keep a char, or take the strings of single characters from a table"},
	[REMEDY_ENUM] = {"enum", "use an enum or constants, or string.Intern where the values come in"},
	[REMEDY_NUMBER] = {"number", "keep the number instead of its digits, or string.Intern the text where it comes in"},
	[REMEDY_INTERN] = {"intern", "string.Intern the values where they come in"},
	[REMEDY_POOL] = {"pool", "take the values from a bounded string pool where they come in (interned strings would never go)"},
	[REMEDY_SHARE] = {"share", "make the text once and hand the one string on"},
	[REMEDY_REUSE] = {"reuse", "most are young: avoid making them (compare spans, or look the value up in a pool before making it)"},
};

enum string_remedy string_remedy_choose(const struct string_remedy_facts *f)
{
	bool few = f->values > 0 && f->values <= ENUM_VALUES;
	if (f->chars == 0)
		return REMEDY_EMPTY;
	if (f->chars == 1)
		return REMEDY_CHARACTER;
	if (f->chars >= SHARE_CHARS)
		return REMEDY_SHARE;
	if (f->old_strings * 2 < f->strings)
		return REMEDY_REUSE;
	if (f->classes == STRING_CLASS_DIGIT && f->chars <= NUMBER_CHARS)
		return REMEDY_NUMBER;
	if (few && f->chars <= ENUM_CHARS && f->classes && !(f->classes & ~(STRING_CLASS_UPPER | STRING_CLASS_LOWER | STRING_CLASS_PUNCTUATION)))
		return REMEDY_ENUM;
	return f->values > 0 && f->values <= INTERN_VALUES ? REMEDY_INTERN : REMEDY_POOL;
}

const char *string_remedy_name(enum string_remedy r)
{
	return remedies[r].name;
}

const char *string_remedy_words(enum string_remedy r)
{
	return remedies[r].words;
}
