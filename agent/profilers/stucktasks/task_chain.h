/* One operation with its callers: what makes it the same as another one (key), and the same as it was itself (mark). Pure; one thread. */
#ifndef DRDOTNET_TASK_CHAIN_H
#define DRDOTNET_TASK_CHAIN_H

#include "agent/profilers/stucktasks/task_groups.h"

/* Of where it stands: what it waits for, the awaits of all callers. Equal in different looks at one process. */
uint64_t task_chain_key(const struct task_look *l, uint32_t node);
/* Of what it is: where it lies in memory, where what it waits for does, and the await. Of objects that a collection moved it is another one. */
uint64_t task_chain_mark(const struct task_look *l, uint32_t node);
/* What it waits for. */
enum task_wait task_chain_wait(const struct task_look *l, uint32_t node);

/* The method of an async operation's type, of the snapshot; NULL: it is another one. The caller's to free. */
char *task_chain_method(const struct task_look *l, uint32_t type);

/* The group that the operation is of, without its numbers. */
void task_chain_describe(const struct task_look *l, uint32_t node, struct task_group *out);

#endif
