/* What requests ask of others, from its events to the agent: calls under way are in calls_open. */
#ifndef DRDOTNET_REQUEST_CALLS_H
#define DRDOTNET_REQUEST_CALLS_H

#include "profiler/clr/event_pipe.h"
#include "profiler/requests/call_event.h"
#include "profiler/requests/listener_call.h"

/* CLR callback: never wait. false: the event cannot be read. */
bool request_calls_event(enum call_kind kind, const struct event_pipe_event *e);
void request_calls_command(const struct event_pipe_event *e, const struct listener_call *c);
void request_calls_end(uint32_t number); /* that request has ended */

/* Own thread. */
void request_calls_end_window(void); /* of what the second session tells no more ends will come */
void request_calls_reset(void);      /* while there are no events */

#endif
