/* Sets a report's summary.md for a terminal: the title, wrapped lines, tables that fit the width. Of Markdown it knows what our summaries use
 * (a heading, paragraphs with hard line breaks, tables, `code`, **emphasis**, backslash escapes). Pure; any thread. */
#ifndef DRDOTNET_CLI_TYPESET_H
#define DRDOTNET_CLI_TYPESET_H

#include "agent/cli/cli_table.h"

/* Appends. `markdown` is outside text: what is no printable character comes out escaped. */
void cli_typeset(const struct cli_page *p, const char *markdown, struct buf *out);

#endif
