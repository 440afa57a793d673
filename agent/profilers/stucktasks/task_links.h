/* Who goes on after whom: from each unfinished task over what stands between (delegates, lists, wrappers) to the box that goes on. Part of task_look. */
#ifndef DRDOTNET_TASK_LINKS_H
#define DRDOTNET_TASK_LINKS_H

#include "agent/profilers/stucktasks/task_look.h"

/* Who comes next in a semaphore's queue. */
struct task_queue {
	struct task_behind {
		uint32_t node, next;
	} *items; /* by node */
	size_t count, cap;
};

void task_links_follow(struct task_look *l, struct task_queue *queue);
uint32_t task_queue_next(const struct task_queue *q, uint32_t node); /* TASK_NONE: nobody */
void task_queue_fini(struct task_queue *q);

#endif
