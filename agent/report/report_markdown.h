/* Outside text in summary.md: names cannot leave their table cell, texts are no markup. All append. Pure; any thread. */
#ifndef DRDOTNET_REPORT_MARKDOWN_H
#define DRDOTNET_REPORT_MARKDOWN_H

#include "common/base/buf.h"

void report_markdown_code(struct buf *out, const char *text);  /* a code span, also inside a table cell */
void report_markdown_prose(struct buf *out, const char *text); /* running text */
void report_markdown_name(struct buf *out, const char *name, size_t max_chars); /* method_name_shorten() as a code span */

#endif
