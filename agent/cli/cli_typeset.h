/* Sets a report's summary.md for a terminal: the title, wrapped lines, tables that fit the width. Of Markdown it knows what our summaries use
 * (a heading, paragraphs with hard line breaks, tables, `code`, **emphasis**, backslash escapes). Pure; any thread. */
#ifndef DRDOTNET_CLI_TYPESET_H
#define DRDOTNET_CLI_TYPESET_H

#include "common/terminal/term_table.h"

/* Appends. `markdown` is outside text: what is no printable character comes out escaped. */
void cli_typeset(const struct term_page *p, const char *markdown, struct buf *out);

#endif
