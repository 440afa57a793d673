/* Each stop that the runtime makes of all managed threads: when it began, when all had come to a halt, when they went on; why; the
 * collections in it; who came to a halt last; and stacks of who asked for a collection and of who came late. Between begin and end, as far
 * as the runtime tells (CHANNEL_WANT_SUSPENDS at the attach). Bounded: what nobody fetches in time is counted and not kept. */
#ifndef DRDOTNET_STOP_LOG_H
#define DRDOTNET_STOP_LOG_H

#include "profiler/base/channel_io.h"

/* CLR callback of the attach, before any other. */
void stop_log_reset(void *info);

/* Own thread. */
bool stop_log_answer(const struct channel_frame *f, struct channel_io *io); /* false: not a request of ours */
bool stop_log_running(void);
void stop_log_tick(struct channel_io *io); /* some times a second: tells what there is, and weighs what it costs (detail_budget.h) */
void stop_log_hold(void); /* the agent takes nothing: no details until the next tick */
void stop_log_end(void); /* before the detach; idempotent */

/* CLR callbacks. The runtime makes one stop after the other: but for thread_halted, which comes from all threads at once, and for the end
 * of a stop, which may come when the next one has begun, they come one at a time. */
void stop_log_suspending(uint32_t reason, uint64_t at_ns);
void stop_log_suspended(uint64_t at_ns);
void stop_log_aborted(uint64_t at_ns);
void stop_log_resuming(uint64_t at_ns);
void stop_log_resumed(uint64_t at_ns);
void stop_log_thread_halted(uint64_t at_ns);
void stop_log_collection_started(uint32_t generation, bool induced, uint64_t at_ns);
void stop_log_collection_finished(uint64_t at_ns);

#endif
