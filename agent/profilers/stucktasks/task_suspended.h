/* Methods that the runtime suspends itself (runtime-async, .NET 11). Of each task of such there is a chain of Continuations: the method that waits first,
 * then who called it, up to the one whose task it is; helpers of the runtime's own stand between. Part of task_look. */
#ifndef DRDOTNET_TASK_SUSPENDED_H
#define DRDOTNET_TASK_SUSPENDED_H

#include "agent/profilers/stucktasks/task_look.h"

/* After task_links_follow(). The task becomes the box of its last method, the Continuations of the others boxes that it awaits; what is left of them goes on
 * with the box that it is a part of. Continuations of no such chain are none of the operations. */
void task_suspended_join(struct task_look *l);
/* The box that a Continuation is, or is a part of; itself where it is of none. */
uint32_t task_suspended_box(const struct task_look *l, uint32_t node);

#endif
