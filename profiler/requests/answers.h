/* What responses tell of their clients, on its way to the agent, and connections whose clients do not take what is sent to them. Bounded: what finds no room
 * is not told. An address leaves the process as a number that is made anew in each session. */
#ifndef DRDOTNET_ANSWERS_H
#define DRDOTNET_ANSWERS_H

#include "profiler/base/channel_io.h"
#include "profiler/requests/request_event.h"
#include "profiler/requests/request_table.h"

/* Pure. Not 0. */
uint32_t answers_number_of(const struct event_text *address, uint64_t secret);

/* CLR callback: never wait. */
void answers_put(const struct request *r, uint64_t end_ns, const struct request_end *end);

/* Own thread. */
void answers_reset(void);
void answers_send(struct channel_io *io);
void answers_look(struct channel_io *io, uint64_t now_ns); /* at the connections, if it is time for it */

#endif
