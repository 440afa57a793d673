/* Kubernetes' LabelSelector (meta/v1): read from JSON with validation, written as JSON and as the labelSelector query of a list. Pure. */
#ifndef DRDOTNET_LABEL_SELECTOR_H
#define DRDOTNET_LABEL_SELECTOR_H

#include "common/api/session_spec.h"

/* Reads matchLabels and matchExpressions of `selector` (at `path` for messages). An empty selector is refused: it would mean
 * every pod. *out is heap; label_requirements_free() it. */
int label_selector_from_json(const json_t *selector, const char *path, struct label_requirement **out, size_t *count, struct err *e);
json_t *label_selector_to_json(const struct label_requirement *reqs, size_t count);

/* "app=checkout,tier in (a,b),!legacy": the query form, also for printer columns. */
int label_selector_to_query(const struct label_requirement *reqs, size_t count, struct buf *out);

void label_requirements_free(struct label_requirement *reqs, size_t count);
struct label_requirement *label_requirements_copy(const struct label_requirement *reqs, size_t count);

#endif
