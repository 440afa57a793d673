/* What of an earlier look is needed to say which operations have not moved since: little, whatever its size. Pure; one thread. */
#ifndef DRDOTNET_TASK_BRIEF_H
#define DRDOTNET_TASK_BRIEF_H

#include "agent/profilers/stucktasks/task_look.h"

struct task_brief {
	uint64_t *marks;        /* of operations, sorted: where each stood, what it waited for */
	size_t mark_count;
	struct task_brief_group {
		uint64_t key;
		uint64_t count;
	} *groups;              /* by key */
	size_t group_count;
	struct task_semaphore *semaphores; /* by address */
	size_t semaphore_count;
	uint64_t *faults;       /* addresses, sorted */
	size_t fault_count;
};

void task_brief_make(const struct task_look *l, struct task_brief *out);
void task_brief_fini(struct task_brief *b); /* takes zeroed ones */

#endif
