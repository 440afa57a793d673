/* One walk of the heap of a process with the library attached: how long it would stop the application and whether its graph finds room here,
 * the way that fits, the walk (again when a collection came between), names. What comes of it is a whole snapshot, one of types only
 * where no other way fits and that will do (of a part of the heap only as facts.part says), or an error. The thread that owns the
 * channel; another one takes the stream while the application stands. */
#ifndef DRDOTNET_HEAP_WALK_H
#define DRDOTNET_HEAP_WALK_H

#include "agent/heap/heap_room.h"
#include "agent/heap/heap_snapshot.h"
#include "agent/profiler_channel.h"

struct heap_walk_options {
	enum heap_roots roots;
	bool strings, reveal;
	bool graph;         /* a heap_graph will be made of it: it must find room */
	bool types;         /* with HEAP_ROOTS_AUTO, types only will do where the graph does not fit */
	bool types_whole;   /* but a part of the heap will not */
	bool types_only;    /* nothing else is asked for: for measuring */
	int64_t budget_ms;  /* of each stop; 0: any */
	int dirfd;          /* for the file of a large stream: borrowed; -1: /tmp */
	int64_t files_max;  /* bytes of files there; 0: what the disk has */
	int64_t deadline_ms; /* monotonic: for all of it */
	pid_t pid;          /* the process, for its CPU limit; 0: it is not seen from here */
};

/* -1: REASON_HeapTooLarge (the predicted stop does not fit; nothing but a look was done), REASON_HeapTooLargeForAgent (its graph does not),
 * REASON_HeapWalkTorn, others of the channel. */
int heap_walk_on(struct profiler_channel *ch, const struct heap_walk_options *o, struct heap_snapshot **out, struct err *e);

/* The same for a session, by its spec: roots, budget. Its graph is asked for, types only will do; `types_whole` as above. */
struct attached_session;
int heap_walk_run(struct attached_session *s, bool types_whole, struct heap_snapshot **out, struct err *e);

/* Pure: which way. -1: none fits, with the budget, the memory or the disk that would do, or the way that was asked for is not possible. */
struct heap_prediction;
struct heap_choice {
	enum heap_way way;
	const char *why;
	int64_t predicted_us;
	struct heap_needs needs; /* HEAP_WAY_TYPES: of the walk that shows holders */
};
int heap_walk_choose(const struct heap_prediction *p, const struct heap_walk_options *o, const struct heap_room *room, struct heap_choice *out,
		     struct err *e);

/* Pure: what was predicted, when all objects have been counted: there may be fewer of them, and the graph fits after all. */
void heap_walk_revise(struct heap_prediction *p, uint64_t objects);

/* Pure: whether an exact walk that came to nothing `tries` times (a collection came between, or it had to be given up as late) is to go on
 * without a collection, as HEAP_ROOTS_AUTO allows; then *choice is that way. */
bool heap_walk_give_way(const struct heap_prediction *p, enum heap_roots roots, int64_t budget_ms, unsigned tries, bool late,
			struct heap_choice *choice);

#endif
