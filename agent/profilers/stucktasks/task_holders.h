/* Who can complete what operations wait for. Part of task_look. */
#ifndef DRDOTNET_TASK_HOLDERS_H
#define DRDOTNET_TASK_HOLDERS_H

#include "agent/profilers/stucktasks/task_look.h"

/* Marks the completions that somebody else holds than who waits for them (TASK_HELD), and the last callers to which something beside their chain refers
 * (TASK_KEPT): reads the snapshot twice more. */
void task_holders_find(struct task_look *l);

#endif
