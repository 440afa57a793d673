/* What kinds of characters a string has: all that the library tells of its contents beside a digest. */
#ifndef DRDOTNET_STRING_CLASS_H
#define DRDOTNET_STRING_CLASS_H

/* Looked for in the first STRING_CLASS_CHARS ones. */
enum string_class {
	STRING_CLASS_DIGIT = 1,        /* 0-9 */
	STRING_CLASS_UPPER = 2,        /* A-Z */
	STRING_CLASS_LOWER = 4,        /* a-z */
	STRING_CLASS_SPACE = 8,        /* space, tab, line ends */
	STRING_CLASS_PUNCTUATION = 16, /* the rest of what can be seen in ASCII */
	STRING_CLASS_CONTROL = 32,     /* the rest of ASCII, NUL among them */
	STRING_CLASS_OTHER = 64,       /* beyond ASCII */
	STRING_CLASS_SURROGATE = 128,  /* halves of characters beyond the first 65,536, paired or not */
};
#define STRING_CLASS_CHARS 64u

#endif
