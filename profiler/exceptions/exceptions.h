/* What is thrown, from where and who catches it: the runtime's events about exceptions, each throw with the stack that the event finds on its
 * thread, summed by site (profiler/allocs/site_table.h) on the way to the agent. Where they are many, a part of the time is sampled.
 * Bounded: what does not fit is counted. */
#ifndef DRDOTNET_EXCEPTIONS_H
#define DRDOTNET_EXCEPTIONS_H

#include "profiler/allocs/event_rounds.h"
#include "profiler/base/channel_io.h"
#include "profiler/clr/cor_abi.h"

#define EXCEPTIONS_TICK_MS EVENT_ROUNDS_TICK_MS

/* All on our own thread. */
void exceptions_reset(void);
bool exceptions_answers(uint16_t request); /* whether it is one of these */
/* EXCEPTIONS_START or EXCEPTIONS_STOP. false: the request is malformed. */
bool exceptions_answer(void *info, const struct channel_frame *request, struct channel_io *io);
bool exceptions_running(void);
void exceptions_tick(struct channel_io *io); /* every EXCEPTIONS_TICK_MS: moves what was collected into frames */
void exceptions_hold(void); /* the agent takes nothing: makes the application make no more events until the next tick */
/* Ends the EventPipe session and sends what is left. Nothing when none runs. */
void exceptions_stop(void *info, struct channel_io *io);

#endif
