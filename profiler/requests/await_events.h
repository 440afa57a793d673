/* What the runtime's async profiler tells (.NET 11): buffers of records, one for each thread, passed on to the agent as they are
 * (agent/attach/await_buffer.h reads them). Bounded: what finds no room is counted. */
#ifndef DRDOTNET_AWAIT_EVENTS_H
#define DRDOTNET_AWAIT_EVENTS_H

#include "profiler/base/channel_io.h"

#define AWAIT_EVENTS_RECORDS_PER_SWITCH 4u /* what a record costs, of a switch */

#define AWAIT_EVENTS_NAME u"System.Runtime.CompilerServices.AsyncProfilerEventSource"

/* Of methods that the runtime suspends itself, and of state machines: their call stacks when they are resumed, and when they have come to an await or
 * their end. */
#define AWAIT_EVENTS_KEYWORDS (0x40u | 0x4u | 0x8u | 0x8000u | 0x1000u | 0x2000u)
#define AWAIT_EVENTS_ID 1u

/* CLR callback: never waits. What it cost, in switches. */
uint32_t await_events_put(const uint8_t *data, size_t len);

/* Own thread. */
void await_events_reset(void);
void await_events_send(struct channel_io *io);
/* The runtime passes a thread's buffer on when it is full, or the thread has been idle; or when what is asked for has changed, at the thread's next await: this
 * makes such a change, where any has come. While the second session runs. */
void await_events_nudge(void *info);
uint64_t await_events_dropped(void);

#endif
