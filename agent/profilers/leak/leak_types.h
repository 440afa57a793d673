/* What grows where heap walks have only counted objects by type: no holders, and garbage counts until it is collected. So the growth that
 * counts is that of old objects: the oldest generation, the large and the pinned object heap. Pure; one thread. */
#ifndef DRDOTNET_LEAK_TYPES_H
#define DRDOTNET_LEAK_TYPES_H

#include "agent/profilers/leak/leak_finding.h"

/* Sets what a diagnosis of such walks has instead of groups: type, growth, held and churn bytes. Returns the verdict of the type that grew
 * most; LEAK_STEADY: none did. */
enum leak_verdict leak_types_find(const struct leak_model *m, struct leak_diagnosis *d);

/* The course of a type's old objects. */
void leak_types_fit(const struct leak_model *m, uint32_t type, struct leak_fit *out);

/* Lines, without their ends. */
void leak_types_put_name(const struct leak_model *m, uint32_t type, size_t max_chars, struct buf *line);
void leak_types_put_headline(const struct leak_model *m, const struct leak_diagnosis *d, struct buf *line);
void leak_types_put_growth(const struct leak_model *m, const struct leak_diagnosis *d, struct buf *line);
void leak_types_put_needs(const struct leak_model *m, struct buf *line);

#endif
