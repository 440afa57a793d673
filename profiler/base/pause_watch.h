/* How long the library holds threads of the application: each callback that the runtime makes on one and each signal handler, from
 * entry to exit; a handler, which waits for nothing, by the CPU time that it takes, so that a thread which the kernel does not let
 * run (a stopped process, a used-up quota) does not count as held. One that takes longer than the session's budget ends the session:
 * the library's thread is woken, tells the agent (if it is still there) and leaves. What the runtime stops for its own sake (a
 * collection, a suspension) is not in it, and neither is what its locks cost while a name is looked up: less than a microsecond each,
 * and nobody can tell from here who waits for them. */
#ifndef DRDOTNET_PAUSE_WATCH_H
#define DRDOTNET_PAUSE_WATCH_H

#include "common/proto/heap_frames.h"

#include <stdbool.h>
#include <stdint.h>

/* Stops for a walk that follow each other sooner are felt as one, and count as one. */
#define PAUSE_WATCH_APART_NS ((uint64_t)HEAP_STOPS_APART_MS * 1000000)

struct pause_counts {
	uint64_t count, total_ns;
	uint64_t max_pause_ns; /* the longest of all threads together: a walk of the heap */
	uint64_t max_wait_ns;  /* the longest of one thread: a callback, a handler */
};

/* CLR callback of the attach, before any other. `wake_fd`, an eventfd, is written to when the budget is exceeded; budget 0: there
 * is none. */
void pause_watch_reset(uint64_t budget_ns, int wake_fd);
/* Any context, signal handlers too. */
uint64_t pause_watch_begin(enum channel_pause_kind kind); /* for pause_watch_end() */
void pause_watch_cancel(void); /* nothing was held after all */
void pause_watch_end(enum channel_pause_kind kind, uint64_t begin_ns);
/* Own thread: how long the application has been stopped already in what it would feel as one with a stop for a walk that began now. */
uint64_t pause_watch_felt(void);
/* Of a callback that waits for nothing and comes often: what takes it longer than the budget is the kernel, which does not let its thread
 * run (a used-up quota, a stopped process). Its time counts, but ends no session. */
void pause_watch_end_brief(uint64_t begin_ns);
/* Own thread or CLR callback: whether a callback or handler runs just now. Before the library is unmapped; the runtime itself counts
 * callbacks on managed threads only, not on those of its server collector. */
bool pause_watch_busy(void);
struct pause_counts pause_watch_counts(void);       /* own thread */
bool pause_watch_exceeded(struct channel_pause *out); /* own thread; the first one */

#endif
