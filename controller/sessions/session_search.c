#include "controller/sessions/session_search.h"

static char fold_case(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

void session_search_fold(char *text)
{
	for (; text && *text; text++)
		*text = fold_case(*text);
}

bool session_search_contains(const char *bytes, size_t len, char between, const char *text, size_t text_len)
{
	for (size_t i = 0; i + text_len <= len; i++) {
		size_t k = 0;
		while (k < text_len && fold_case(bytes[i + k] ? bytes[i + k] : between) == text[k])
			k++;
		if (k == text_len)
			return true;
	}
	return false;
}
