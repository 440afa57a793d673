#include "agent/profilers/strings/strings_phrase.h"

#include "common/base/size_text.h"
#include "common/base/text.h"
#include "common/proto/string_class.h"

#include <string.h>

const char *strings_phrase_kind(unsigned bit)
{
	static const char *const kinds[] = {"digit", "upper", "lower", "space", "punctuation", "control", "other", "surrogate"};
	return bit < sizeof kinds / sizeof *kinds ? kinds[bit] : NULL;
}

/* Only where all characters were looked at. */
static const char *noun(const struct strings_value *v)
{
	const unsigned letters = STRING_CLASS_UPPER | STRING_CLASS_LOWER;
	if (v->chars > STRING_CLASS_CHARS || !v->classes)
		return "character";
	if (v->classes == STRING_CLASS_DIGIT)
		return "digit";
	if (v->classes == STRING_CLASS_UPPER)
		return "upper-case letter";
	if (v->classes == STRING_CLASS_LOWER)
		return "lower-case letter";
	return v->classes & ~letters ? "character" : "letter";
}

void strings_phrase_value(struct buf *out, const struct strings_value *v)
{
	if (v->chars == 0) {
		buf_puts(out, "the empty string");
		return;
	}
	size_text_count(out, v->chars);
	buf_printf(out, " %s%s", noun(v), size_text_plural(v->chars, "", "s"));
}

const char *strings_phrase_place(const struct string_holder *h, char *scratch, size_t size)
{
	static const char word[] = "static ";
	if (!h->held_by)
		return h->name;
	const char *from = strncmp(h->held_by, word, strlen(word)) == 0 ? h->held_by + strlen(word) : h->held_by, *end = strstr(from, " -> ");
	size_t len = text_cut_utf8(from, size - 1);
	if (end && (size_t)(end - from) < len)
		len = (size_t)(end - from);
	memcpy(scratch, from, len);
	scratch[len] = '\0';
	return scratch;
}

double strings_phrase_percent_of(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}
