/* What a walk did not read, in the words of a report: its limits (agent/report/limits.h), and whether what no known root holds may be held all the
 * same. Pure. */
#ifndef DRDOTNET_HEAP_GAPS_H
#define DRDOTNET_HEAP_GAPS_H

#include "agent/heap/heap_snapshot.h"
#include "agent/report/limits.h"
#include "common/proto/heap_frames.h"

/* Whether there are roots that the walk has not read: then what no root holds is not garbage. */
bool heap_gaps_hide_roots(const struct heap_walked *w, enum heap_way way);
/* Whether static fields have no names though all roots are known. */
bool heap_gaps_hide_names(const struct heap_walked *w, enum heap_way way);
void heap_gaps_note(const struct heap_walked *w, enum heap_way way, struct limits *l);

#endif
