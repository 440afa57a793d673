/* Text for people at a terminal: what it can show, headlines, paragraphs within its width. Any thread. */
#ifndef DRDOTNET_TERM_TEXT_H
#define DRDOTNET_TERM_TEXT_H

#include "common/base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TERM_PAGE_MIN_WIDTH 40

struct term_page {
	size_t width; /* columns; 0: without limit (no terminal); one that is too small counts as TERM_PAGE_MIN_WIDTH */
	bool colour;  /* with ANSI escape sequences */
};

/* What `out` shows: a terminal's width, and colours as people ask for them; of a file or pipe neither. */
struct term_page term_page_of(FILE *out);

/* The rest append; `text` is printable already, but for term_text_put(). */
void term_text_heading(const struct term_page *p, const char *text, struct buf *out);

/* Wrapped between words; it begins in column `at`, and further lines after `indent` spaces. */
void term_text_wrapped(const struct term_page *p, const char *text, size_t at, size_t indent, struct buf *out);

/* Lines of outside text as paragraphs, the first one as a headline where that is asked for; control characters come out escaped. */
void term_text_put(const struct term_page *p, const char *text, bool headline, struct buf *out);

/* Code points of UTF-8, taken for columns. */
size_t term_text_columns(const char *text, size_t len);
bool term_text_begins_character(char c);
size_t term_page_width(const struct term_page *p);
void term_text_spaces(struct buf *out, size_t count);

#endif
