/* Requests of ASP.NET Core, from the events of its hosting: each one's start and end on its way to the agent, and who is in flight. Bounded: what does not
 * fit is counted. */
#ifndef DRDOTNET_REQUESTS_H
#define DRDOTNET_REQUESTS_H

#include "common/proto/channel_requests.h"
#include "profiler/base/channel_io.h"
#include "profiler/clr/cor_abi.h"

#define REQUESTS_TICK_MS 20

/* All on our own thread. */
bool requests_answers(uint16_t request); /* whether it is one of these */
/* REQUESTS_START or REQUESTS_STOP. false: the request is malformed. */
bool requests_answer(void *info, const struct channel_frame *request, struct channel_io *io);
bool requests_running(void);
void requests_reset(void); /* of a session that begins */
uint32_t requests_left(void); /* enum channel_left */
void requests_tick(struct channel_io *io); /* every REQUESTS_TICK_MS */
void requests_hold(void); /* the agent takes nothing: makes the application make no more events until the next tick */
/* Ends the EventPipe sessions and sends what is left. Nothing when none runs. */
void requests_stop(void *info, struct channel_io *io);

#endif
