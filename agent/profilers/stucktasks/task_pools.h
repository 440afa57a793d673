/* The pools of connections in a look (HttpClient's, Npgsql's), by the numbers that they keep themselves, and whose operations are at which. */
#ifndef DRDOTNET_TASK_POOLS_H
#define DRDOTNET_TASK_POOLS_H

#include "agent/profilers/stucktasks/task_look.h"

/* Part of task_look_make(); fini takes zeroed ones. */
void task_pools_find(struct task_look *l);
void task_pools_fini(struct task_look *l);

/* The pool that the operation, or who called it, is at; NULL: none. */
struct task_pool *task_pools_of(const struct task_look *l, uint32_t node);

#endif
