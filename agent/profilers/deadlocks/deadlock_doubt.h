/* Whether what was read of locks fits what the stacks say: a thread that stands in a lock wants one that the runtime's table has. Where it does not, the table
 * is not understood, and "none was found" says nothing. Pure; borrows from the capture. */
#ifndef DRDOTNET_DEADLOCK_DOUBT_H
#define DRDOTNET_DEADLOCK_DOUBT_H

#include "agent/profilers/deadlocks/deadlock_capture.h"

/* How many threads may not fit: as their stacks say, which were read after the locks. */
size_t deadlock_doubt_count(const struct deadlock_capture *c);

/* Why the locks are in doubt, static; NULL: they are not. `now`: the process's threads as they are after their stacks were read, by tid: one that has run
 * since the locks were read may stand elsewhere by now. */
const char *deadlock_doubt_why(const struct deadlock_capture *c, const struct thread_wait *now, size_t count);

#endif
