/* A table for a terminal: columns stand below each other and fit the page's width. Pure; any thread. */
#ifndef DRDOTNET_CLI_TABLE_H
#define DRDOTNET_CLI_TABLE_H

#include "common/base/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define CLI_PAGE_MIN_WIDTH 40
#define CLI_TABLE_COLUMNS 8

struct cli_page {
	size_t width; /* columns; 0: without limit (no terminal); one that is too small counts as CLI_PAGE_MIN_WIDTH */
	bool colour;  /* with ANSI escape sequences */
};

struct cli_table {               /* zeroed: empty */
	char *(*cells)[CLI_TABLE_COLUMNS]; /* owned; NULL: empty. The first row holds the titles */
	size_t rows, cap, columns;
	bool right[CLI_TABLE_COLUMNS]; /* numbers */
	bool wrap_last;          /* what does not fit into the last column goes on below; else cells lose their beginnings */
};

/* Owns the cells from now on; `cells` has at most CLI_TABLE_COLUMNS of them. */
void cli_table_add_row_take(struct cli_table *t, char *const *cells, size_t count);

/* Appends it and leaves it empty. */
void cli_table_put(const struct cli_page *p, struct cli_table *t, struct buf *out);

/* Appends `text`, wrapped between words; it begins in column `at`, and further lines after `indent` spaces. */
void cli_table_put_wrapped(const struct cli_page *p, const char *text, size_t at, size_t indent, struct buf *out);

#endif
