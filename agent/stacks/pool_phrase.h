/* The headline of a starved thread pool, which several profilers find. Pure; any thread. */
#ifndef DRDOTNET_POOL_PHRASE_H
#define DRDOTNET_POOL_PHRASE_H

#include "common/base/buf.h"

/* "Thread pool starved: 61 of 64 workers block in Orders.Get; 2,310 items wait": appended; the place is shortened so that it fits a headline. `items` 0:
 * nothing is said of them. */
void pool_phrase_starved(double blocked, double workers, const char *place, double items, struct buf *out);

#endif
