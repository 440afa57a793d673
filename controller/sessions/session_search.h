/* Looks for a text in any case of ASCII letters; faster on many short texts than the C library's way. Pure. */
#ifndef DRDOTNET_SESSION_SEARCH_H
#define DRDOTNET_SESSION_SEARCH_H

#include <stdbool.h>
#include <stddef.h>

/* In place; NULL is taken. */
void session_search_fold(char *text);

/* `text` is folded already. Bytes, not strings: `len` may take in several texts, and `between` stands for the end of each. */
bool session_search_contains(const char *bytes, size_t len, char between, const char *text, size_t text_len);

#endif
