/* What sessions take from the runtime's own events: allocations, exceptions, or requests. One of them runs at a time. All on our own thread. */
#ifndef DRDOTNET_FEEDS_H
#define DRDOTNET_FEEDS_H

#include "profiler/base/channel_io.h"

void feeds_reset(void);
bool feeds_answers(uint16_t request); /* whether it is a request of one of them */
bool feeds_answer(void *info, const struct channel_frame *request, struct channel_io *io); /* false: it is malformed */
int feeds_tick_ms(void); /* until the next tick; -1: nothing runs */
void feeds_tick(struct channel_io *io);
void feeds_hold(void); /* the agent takes nothing: the application makes no events for it until the next tick */
uint32_t feeds_left(void); /* enum channel_left: what cannot be undone of what they did in this session */
void feeds_stop(void *info, struct channel_io *io);

#endif
