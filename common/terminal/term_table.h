/* A table for a terminal: columns stand below each other and fit the page's width. Pure; any thread. */
#ifndef DRDOTNET_TERM_TABLE_H
#define DRDOTNET_TERM_TABLE_H

#include "common/terminal/term_text.h"

#define TERM_TABLE_COLUMNS 8

struct term_table {               /* zeroed: empty */
	char *(*cells)[TERM_TABLE_COLUMNS]; /* owned; NULL: empty. The first row holds the titles */
	size_t rows, cap, columns;
	bool right[TERM_TABLE_COLUMNS]; /* numbers */
	bool wrap_last;          /* what does not fit into the last column goes on below; else cells lose their beginnings */
};

/* Owns the cells from now on; `cells` has at most TERM_TABLE_COLUMNS of them. */
void term_table_add_row_take(struct term_table *t, char *const *cells, size_t count);

/* Appends it and leaves it empty. */
void term_table_put(const struct term_page *p, struct term_table *t, struct buf *out);

#endif
