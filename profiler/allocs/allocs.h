/* Who allocates: the runtime's samples of allocations (AllocationSampled where it has it, .NET 10; else AllocationTick), each with the
 * stack that the event finds on its thread, summed by site (site_table.h) on the way to the agent. Bounded: what does not fit is counted. */
#ifndef DRDOTNET_ALLOCS_H
#define DRDOTNET_ALLOCS_H

#include "profiler/allocs/event_rounds.h"
#include "profiler/base/channel_io.h"
#include "profiler/clr/cor_abi.h"

#define ALLOCS_TICK_MS EVENT_ROUNDS_TICK_MS

/* All on our own thread. */
void allocs_reset(void);
/* ALLOCS_START or ALLOCS_STOP. false: the request is malformed. */
bool allocs_answer(void *info, const struct channel_frame *request, struct channel_io *io);
bool allocs_running(void);
void allocs_tick(struct channel_io *io); /* every ALLOCS_TICK_MS: moves what was collected into frames */
void allocs_hold(void); /* the agent takes nothing: makes the application make no more events until the next tick */
/* Ends the EventPipe session and sends what is left. Nothing when none runs. */
void allocs_stop(void *info, struct channel_io *io);

#endif
