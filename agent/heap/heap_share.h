/* What a processor that others want too makes of a predicted stop. The library predicts in processor time; a walk has one thread, and while its
 * container has used up its CPU limit for the moment that thread stands as well, with the application behind it. What other processes take
 * cannot be known in advance: a walk gives up by its own clock when they take too much. A forced collection cannot be given up, so it is
 * taken to wait for as long as the look did, and to begin when nothing of the limit is left. Pure. */
#ifndef DRDOTNET_HEAP_SHARE_H
#define DRDOTNET_HEAP_SHARE_H

#include "agent/host/cgroup.h"
#include "common/proto/heap_frames.h"

#define HEAP_SHARE_PERIOD_US 100000 /* of a CPU limit: the kubelet's default */

struct heap_share {
	int64_t limit_millicores; /* of the process's group, as cgroup_read_cpu() tells it; 0 and -1 (unknown): none */
	bool used_up;             /* the group had to stand for it just now */
};

/* From two readings, more than a period apart. */
struct heap_share heap_share_of(const struct cgroup_cpu *before, const struct cgroup_cpu *after);
void heap_share_predict(struct heap_prediction *p, const struct heap_share *s);

/* The shorter stops and the fewer objects of two looks: what kept one of them waiting, or its processor's memory cold, says nothing of the walk, and
 * a heap of which little was seen is taken for larger than it is. A look that saw nothing (a collection was under way) does not count. */
void heap_share_least(struct heap_prediction *p, const struct heap_prediction *other);

#endif
