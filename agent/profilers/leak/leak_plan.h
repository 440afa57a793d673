/* When the walks between a session's ends are made. Pure. */
#ifndef DRDOTNET_LEAK_PLAN_H
#define DRDOTNET_LEAK_PLAN_H

#include <stddef.h>
#include <stdint.h>

/* The next walk of `left`, the last of which is made at the end: what time there is from the walk before is shared evenly. So a walk that
 * was late, or took long, makes the stretches after it shorter, all alike; none is squeezed, and none falls out while there is time. */
int64_t leak_plan_next_ns(int64_t walked_ns, int64_t end_ns, size_t left);

#endif
