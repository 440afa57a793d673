/* What all commands print alike. Outside text is escaped for terminals. */
#ifndef DRDOTNET_PLUGIN_PRINT_H
#define DRDOTNET_PLUGIN_PRINT_H

#include "common/base/buf.h"
#include "common/base/err.h"
#include "common/base/jsonx.h"

#include <stdio.h>

/* One line on standard error, with the remedy of its reason where there is one. */
void plugin_print_error(const struct err *e);

/* The same for a session that did not succeed. Returns PLUGIN_FAILED. */
int plugin_print_failure(const char *name, const char *reason, const char *message);

/* Indented JSON. Returns PLUGIN_OK or PLUGIN_FAILED. */
int plugin_print_json(const json_t *value, FILE *out);

/* Tables as kubectl's: upper-case heads, columns padded with three spaces between. `rows` has `row_count` * `columns` cells (borrowed). The
 * widths are those of this table, or wider ones that `widths` (may be NULL; in and out) had before. */
void plugin_print_table(const char *const *heads, size_t columns, const char *const *cells, size_t row_count, size_t *widths, struct buf *out);

/* A meta.k8s.io/v1 Table; `wide`: with the columns of lower priority; `namespaces`: with the objects' namespaces. `widths`: PLUGIN_COLUMNS
 * numbers that stay between calls, so that rows that come later stand below the first ones. */
#define PLUGIN_COLUMNS 24
void plugin_print_api_table(const json_t *table, bool wide, bool namespaces, bool heads, size_t *widths, struct buf *out);

#endif
