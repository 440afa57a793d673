/* Sets a report's summary.md for a terminal: the title, wrapped lines, tables that fit the width. Of Markdown it knows what our summaries use
 * (a heading, paragraphs with hard line breaks, tables, `code`, backslash escapes). Pure; any thread. */
#ifndef DRDOTNET_CLI_TYPESET_H
#define DRDOTNET_CLI_TYPESET_H

#include "common/base/buf.h"

#include <stdbool.h>
#include <stddef.h>

#define CLI_TYPESET_MIN_WIDTH 40

struct cli_page {
	size_t width;  /* columns; one that is too small counts as CLI_TYPESET_MIN_WIDTH */
	bool colour;   /* with ANSI escape sequences */
};

/* Appends. `markdown` is outside text: what is no printable character comes out escaped. */
void cli_typeset(const struct cli_page *page, const char *markdown, struct buf *out);

#endif
