/* What is told of requests, on its way from the application's threads to the agent: rings that are emptied each tick, and a look at who is in flight. */
#ifndef DRDOTNET_REQUEST_SEND_H
#define DRDOTNET_REQUEST_SEND_H

#include "profiler/base/channel_io.h"
#include "profiler/requests/follow_plan.h"
#include "profiler/requests/request_table.h"

/* CLR callback: never wait. */
void request_send_done(const struct request *r, uint64_t end_ns, uint32_t tid, bool told);
void request_send_call(const struct request *call, uint64_t end_ns);
void request_send_switch(uint64_t time_ns, uint32_t tid, uint32_t number);

/* Own thread. */
void request_send_reset(void);
void request_send_all(struct channel_io *io); /* the shapes that are new, before those that have them */
void request_send_open(struct channel_io *io, uint64_t now_ns);
void request_send_round(struct channel_io *io, const struct follow_round *r, uint64_t rest_requests);
void request_send_window(struct channel_io *io, uint64_t start_ns, uint64_t end_ns); /* of switches that were sent */
uint64_t request_send_dropped(void); /* requests and calls that found no room */
uint64_t request_send_dropped_switches(void);

#endif
