/* How long a walk would stop the application: by a look of the library at the heap, by longer ones before a walk is refused, and by the share of a
 * processor that the process gets. The thread that owns the channel. */
#ifndef DRDOTNET_HEAP_FORECAST_H
#define DRDOTNET_HEAP_FORECAST_H

#include "agent/heap/heap_client.h"
#include "agent/heap/heap_room.h"
#include "agent/heap/heap_share.h"
#include "agent/heap/heap_walk.h"

/* Whether the process has just now used up its CPU limit; where it has one that takes two of the limit's periods. 0: it is not seen from here. */
struct heap_share heap_forecast_share(pid_t pid);


/* What a walk finds: the processor of the process, the memory and disk of the agent. */
struct heap_surroundings {
	struct heap_share share;
	struct heap_room room;
};

/* out->probe_us: of the looks that are felt as one with the walk. */
int heap_forecast(struct heap_client *c, const struct heap_walk_options *o, const struct heap_surroundings *around, int64_t deadline_ms,
		  struct heap_prediction *out, struct err *e);

/* What stops the application at once after something else is felt as one with it. */
void heap_forecast_keep_apart(void);

/* Pure: whether there is another look after `looks` of them: they saw nothing, or a walk does not fit by what they saw. A third one only where it does not
 * by little. */
bool heap_forecast_again(const struct heap_prediction *p, const struct heap_walk_options *o, const struct heap_room *room, unsigned looks);
/* Pure: what is asked for after `looks` of them. */
struct heap_predict_request heap_forecast_look(const struct heap_walk_options *o, unsigned looks);

#endif
