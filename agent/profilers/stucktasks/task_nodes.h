/* The unfinished operations of a look, of which there may be millions, in few bytes each: a bit for where each one lies (heap_index.h), a table of the
 * types and awaits that occur, and of each its number there and two others'. Part of task_look; one thread. */
#ifndef DRDOTNET_TASK_NODES_H
#define DRDOTNET_TASK_NODES_H

#include "agent/profilers/stucktasks/task_look.h"

/* Made in two steps: first each address is noted, in any order, then they are numbered; after that each has a kind. A wrong stream may tell of objects
 * that lie in each other: of those one is left out. */
void task_nodes_init(struct task_look *l);
void task_nodes_fini(struct task_look *l);
void task_nodes_note(struct task_look *l, uint64_t address);
void task_nodes_number(struct task_look *l);
void task_nodes_set_kind(struct task_look *l, uint32_t node, struct task_kind kind);

#endif
