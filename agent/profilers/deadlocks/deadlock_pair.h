/* Two looks at the same process become a capture: what waited at both, and did not run in between. Pure; one thread. */
#ifndef DRDOTNET_DEADLOCK_PAIR_H
#define DRDOTNET_DEADLOCK_PAIR_H

#include "agent/profilers/deadlocks/deadlock_capture.h"
#include "agent/profilers/deadlocks/deadlock_look.h"

/* Fills all of *out but the stacks. */
void deadlock_pair_make(const struct deadlock_look *first, const struct deadlock_look *second, struct deadlock_capture *out);

/* When the stacks have names: who waits for a lock that is no monitor has its methods on its stack; who has not does not wait for it. */
void deadlock_pair_witness(struct deadlock_capture *c);

/* The thread waits for a lock, or holds one that others wait for: its stack is of interest. */
bool deadlock_pair_matters(const struct deadlock_capture *c, uint32_t thread);

#endif
