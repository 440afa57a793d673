/* Which way a walk of the heap takes, by what the library predicts, the budget and the room for the graph. Stops that follow each other count
 * together: the look, a forced collection, the walk. Pure. */
#ifndef DRDOTNET_HEAP_CHOICE_H
#define DRDOTNET_HEAP_CHOICE_H

#include "agent/heap/heap_room.h"
#include "agent/heap/heap_snapshot.h"
#include "agent/heap/heap_walk.h"
#include "common/proto/heap_frames.h"

/* Which way. -1: none fits, with the budget, the memory or the disk that would do, or the way that was asked for is not possible. */
struct heap_choice {
	enum heap_way way;
	const char *why;
	int64_t predicted_us;
	struct heap_needs needs; /* HEAP_WAY_TYPES: of the walk that shows holders */
};
int heap_choice_make(const struct heap_prediction *p, const struct heap_walk_options *o, const struct heap_room *room, struct heap_choice *out,
		     struct err *e);

/* Whether the way that was asked for, or with HEAP_ROOTS_AUTO any that shows holders, does not fit by this prediction: another look at the heap may
 * say otherwise. false where it is impossible for other reasons. */
bool heap_choice_falls_short(const struct heap_prediction *p, const struct heap_walk_options *o, const struct heap_room *room);

/* What was predicted, when all objects have been counted: there may be fewer of them, and the graph fits after all. */
void heap_choice_revise(struct heap_prediction *p, uint64_t objects);

/* Whether an exact walk that came to nothing `tries` times (a collection came between, or it had to be given up as late) is to go on
 * without a collection, as HEAP_ROOTS_AUTO allows; then *choice is that way. */
bool heap_choice_give_way(const struct heap_prediction *p, enum heap_roots roots, int64_t budget_ms, unsigned tries, bool late,
			struct heap_choice *choice);

/* Types only; `us`: the stop of the walk that shows holders, 0: it fits. */
int heap_choice_types(const struct heap_prediction *p, const struct heap_walk_options *o, int64_t us, const struct heap_lack *lack,
		      struct heap_choice *out);
bool heap_choice_may_count(const struct heap_prediction *p, const struct heap_walk_options *o);

int64_t heap_choice_budget(int64_t us); /* pauseBudgetMilliseconds for a stop of so long */
int heap_choice_too_large_here(uint64_t objects, const struct heap_lack *lack, struct err *e); /* REASON_HeapTooLargeForAgent */

#endif
