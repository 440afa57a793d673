/* How much memory the analysis of a heap may take: as much as is good for its speed, but only a part of what the agent's control group
 * still has. The rest goes to files. Any thread. */
#ifndef DRDOTNET_HEAP_BUDGET_H
#define DRDOTNET_HEAP_BUDGET_H

#include "agent/host/cgroup.h"

#include <stddef.h>

#define HEAP_BUDGET_RESERVE ((int64_t)48 << 20) /* for reports, symbols and whatever else runs */
#define HEAP_BUDGET_LEAST ((size_t)16 << 20)
#define HEAP_BUDGET_STREAM 30 /* percent: of a walk's stream */
#define HEAP_BUDGET_GRAPH 70  /* of what the stream has left */

/* At most `most` bytes, and that part of what is left behind the reserve. A group without a limit, or an unknown one, does not count. */
size_t heap_budget_of(size_t most, int percent, const struct cgroup_memory *group);
size_t heap_budget(size_t most, int percent); /* of this process's group */
/* That group, with what graphs in the making may still take as if it were in use: several sessions share the limit. */
void heap_budget_group(struct cgroup_memory *group);
void heap_budget_promise(int64_t bytes); /* so much more (or less) of that */
/* The same for what gets faster by all the memory that it has: where the group has a limit nobody else is short of what is below it, so that
 * part of it is taken, all of it; `unlimited` bytes where it has none. */
size_t heap_budget_wide_of(size_t unlimited, int percent, const struct cgroup_memory *group);
size_t heap_budget_wide(size_t unlimited, int percent);

#endif
