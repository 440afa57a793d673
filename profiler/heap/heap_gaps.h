/* What a walk did not read of what it should have: told with its end, so that nobody takes what was not seen for what is not there. Whoever
 * walks. */
#ifndef DRDOTNET_PROFILER_HEAP_GAPS_H
#define DRDOTNET_PROFILER_HEAP_GAPS_H

#include "common/proto/heap_frames.h"

void heap_gaps_reset(void);
/* `due` of them there are, `seen` were read; 0 and 0: nobody knows how many. Once for each kind: the first note holds. */
void heap_gaps_note(enum heap_gap_kind kind, uint64_t due, uint64_t seen);
void heap_gaps_tell(struct heap_walked *w);

#endif
