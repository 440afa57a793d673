/* One walk of the heap of a process with the library attached: how long it would stop the application, the way that fits, the walk (again
 * when a collection came between), names. What comes of it is a whole snapshot or an error, never a part of a heap. The thread that owns
 * the channel; another one takes the stream while the application stands. */
#ifndef DRDOTNET_HEAP_WALK_H
#define DRDOTNET_HEAP_WALK_H

#include "agent/heap/heap_snapshot.h"
#include "agent/profiler_channel.h"

struct heap_walk_options {
	enum heap_roots roots;
	bool strings, reveal;
	int64_t budget_ms;  /* of each stop; 0: any */
	int dirfd;          /* for the file of a large stream: borrowed; -1: /tmp */
	int64_t deadline_ms; /* monotonic: for all of it */
};

/* -1: REASON_HeapTooLarge (the predicted stop does not fit; nothing but a look was done), REASON_HeapWalkTorn, others of the channel. */
int heap_walk_on(struct profiler_channel *ch, const struct heap_walk_options *o, struct heap_snapshot **out, struct err *e);

/* The same for a session, by its spec: roots, budget, reveal. */
struct attached_session;
int heap_walk_run(struct attached_session *s, bool strings, struct heap_snapshot **out, struct err *e);

/* Pure: which way. -1: neither fits, with REASON_HeapTooLarge and the budget that would do, or the way that was asked for is not possible. */
struct heap_prediction;
struct heap_choice {
	enum heap_way way;
	const char *why;
	int64_t predicted_us;
};
int heap_walk_choose(const struct heap_prediction *p, enum heap_roots roots, int64_t budget_ms, struct heap_choice *out, struct err *e);

/* Pure: whether an exact walk that came to nothing `tries` times (a collection came between, or it had to be given up as late) is to go on
 * without a collection, as HEAP_ROOTS_AUTO allows; then *choice is that way. */
bool heap_walk_give_way(const struct heap_prediction *p, enum heap_roots roots, int64_t budget_ms, unsigned tries, bool late,
			struct heap_choice *choice);

#endif
