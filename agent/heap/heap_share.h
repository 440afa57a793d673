/* What a CPU limit makes of a predicted stop: a walk has one thread, and while its container has used up its share for the moment that thread
 * stands as well, with the application behind it. Pure. */
#ifndef DRDOTNET_HEAP_SHARE_H
#define DRDOTNET_HEAP_SHARE_H

#include "common/proto/heap_frames.h"

/* limit_millicores: of the process's group, as cgroup_read_cpu() tells it; one processor or more, 0 and -1 (unknown) change nothing. */
void heap_share_predict(struct heap_prediction *p, int64_t limit_millicores);

#endif
