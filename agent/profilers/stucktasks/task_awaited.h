/* What a box waits for, by the awaiters in its state machine, where nothing was found that leads back to it. Part of task_look. */
#ifndef DRDOTNET_TASK_AWAITED_H
#define DRDOTNET_TASK_AWAITED_H

#include "agent/profilers/stucktasks/task_look.h"

void task_awaited_find(struct task_look *l);
/* The type of what it waits for; TASK_NONE: nothing that is known. */
uint32_t task_awaited_type(const struct task_look *l, uint32_t node);

#endif
