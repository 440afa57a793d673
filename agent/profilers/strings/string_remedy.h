/* What would help against copies of strings, by what they are. Pure. */
#ifndef DRDOTNET_STRING_REMEDY_H
#define DRDOTNET_STRING_REMEDY_H

#include <stdbool.h>
#include <stdint.h>

enum string_remedy {
	REMEDY_EMPTY,     /* string.Empty */
	REMEDY_CHARACTER, /* a char */
	REMEDY_ENUM,      /* an enum, or constants */
	REMEDY_NUMBER,    /* the number */
	REMEDY_INTERN,    /* string.Intern */
	REMEDY_POOL,      /* a bounded pool */
	REMEDY_SHARE,     /* one string, handed on */
	REMEDY_REUSE,     /* young ones: do not make them */
	REMEDY_COUNT
};

struct string_remedy_facts {
	uint64_t values;    /* different ones; 0: many */
	uint64_t chars;     /* of the longest */
	uint8_t classes;    /* of all of them, enum string_class */
	uint64_t strings, old_strings;
};

enum string_remedy string_remedy_choose(const struct string_remedy_facts *f);
const char *string_remedy_name(enum string_remedy r); /* "intern": report.json */
/* A sentence's middle: "intern them where they come in (string.Intern)". */
const char *string_remedy_words(enum string_remedy r);

#endif
