/* One walk of the heap of a process, with the library attached for it alone: how long it would stop the application and whether its graph finds
 * room here, the way that fits, the walk (again when a collection came between), names. What comes of it is a whole snapshot, one of types only
 * where no other way fits and that will do (of a part of the heap only as facts.part says), or an error. The calling thread owns the
 * channel meanwhile; another one takes the stream while the application stands. */
#ifndef DRDOTNET_HEAP_WALK_H
#define DRDOTNET_HEAP_WALK_H

#include "agent/heap/heap_snapshot.h"
#include "agent/report/limits.h"
#include "agent/attach/profiler_channel.h"

struct heap_walk_options {
	enum heap_roots roots;
	bool strings, reveal;
	bool values;        /* the numbers of enum heap_value with the objects that have them */
	bool graph;         /* a heap_graph will be made of it: it must find room */
	bool types;         /* with HEAP_ROOTS_AUTO, types only will do where the graph does not fit */
	bool types_whole;   /* but a part of the heap will not */
	bool types_only;    /* nothing else is asked for: for measuring */
	int64_t budget_ms;  /* of each stop; 0: any */
	int dirfd;          /* for the file of a large stream: borrowed; -1: /tmp */
	int64_t files_max;  /* bytes of files there; 0: what the disk has */
	size_t settle;      /* bytes of the stream that may stay in memory when the application goes on; 0: as many as while it stands */
	int64_t deadline_ms; /* monotonic: for all of it */
	pid_t pid;          /* the process, for its CPU limit; 0: it is not seen from here */
	struct limits *limits; /* what the walk did not read is noted there; NULL: nowhere */
};

/* Who attaches the library, and takes it out again: the runtime does without collections in the background from an attach for a collection with its
 * roots until the library has left, so each walk attaches as it must, and for no longer than it takes. attach() fails with nothing left
 * to do; the channel is there until leave(). */
struct heap_walk_host {
	int (*attach)(void *ctx, uint32_t features, struct profiler_channel **ch, struct err *e); /* enum channel_want */
	void (*leave)(void *ctx);
	void *ctx;
};

/* -1: REASON_HeapTooLarge (the predicted stop does not fit; nothing was done but to look), REASON_HeapTooLargeForAgent (its graph does not),
 * REASON_HeapWalkTorn, others of the channel. */
int heap_walk_on(const struct heap_walk_host *host, const struct heap_walk_options *o, struct heap_snapshot **out, struct err *e);

/* The same on a session's process (one that visits it, see struct session_profiler); and by its spec: roots, budget. Its graph is asked for then,
 * types only will do; `types_whole` as above. */
struct attached_session;
int heap_walk_visit(struct attached_session *s, const struct heap_walk_options *o, struct heap_snapshot **out, struct err *e);
int heap_walk_run(struct attached_session *s, bool types_whole, struct heap_snapshot **out, struct err *e);

#endif
