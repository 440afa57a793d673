/* What is said of a heap whose objects were counted by type, without holders, and perhaps only in part. Pure; one thread. */
#ifndef DRDOTNET_SURVIVORS_TYPES_H
#define DRDOTNET_SURVIVORS_TYPES_H

#include "agent/profilers/survivors/survivors_diagnosis.h"
#include "common/base/buf.h"

/* Where none has most: "Types only: 85 MB, no type stands out; most, 24%, Widget x 20,000", at most max_chars characters. */
void survivors_types_headline(const struct survivors *s, size_t max_chars, struct buf *line);
/* What would show the holders; of a part of a heap, which one; what the counts mean. */
void survivors_types_put_needs(const struct survivors *s, struct buf *line);
void survivors_types_put_part(const struct survivors *s, struct buf *line);
void survivors_types_put_meaning(struct buf *line);

/* How much of the heap was seen at least, 0 to 100. */
double survivors_types_seen_percent(const struct survivors *s);

#endif
