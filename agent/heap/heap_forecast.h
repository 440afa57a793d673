/* How long a walk would stop the application: by a look of the library at the heap, by some more where that is worth it, and by the share of a
 * processor that the process gets. The thread that owns the channel. */
#ifndef DRDOTNET_HEAP_FORECAST_H
#define DRDOTNET_HEAP_FORECAST_H

#include "agent/heap/heap_client.h"
#include "agent/heap/heap_share.h"
#include "agent/heap/heap_walk.h"

/* Whether the process has just now used up its CPU limit; where it has one that takes two of the limit's periods. 0: it is not seen from here. */
struct heap_share heap_forecast_share(pid_t pid);

/* out->probe_us: of the looks that are felt as one with the walk. */
int heap_forecast(struct heap_client *c, const struct heap_walk_options *o, const struct heap_share *share, int64_t deadline_ms,
		  struct heap_prediction *out, struct err *e);

/* What stops the application at once after something else is felt as one with it. */
void heap_forecast_keep_apart(void);

/* Pure: whether the prediction is worth another look of some milliseconds: it saw nothing, or the stop is longer than the budget, but not by far. */
bool heap_forecast_again(const struct heap_prediction *p, const struct heap_walk_options *o);

#endif
