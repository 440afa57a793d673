/* How long a walk would stop the application: some of the heap is read as a walk reads it, of as much as possible the objects are counted,
 * and the rest is taken to be alike. In processor time, and the look ends by it too: to be kept waiting in it (by a used-up CPU limit, by others)
 * says nothing of the walk, and a handful of objects, met with cold memory, says nothing of the rest. Own thread. */
#ifndef DRDOTNET_HEAP_PREDICT_H
#define DRDOTNET_HEAP_PREDICT_H

#include "profiler/clr/cor_heap_abi.h"
#include "profiler/heap/heap_sink.h"

/* `flags`: what is known of the process (enum heap_prediction_flag) but for HEAP_CAN_WALK. */
void heap_predict(void *info, struct heap_sink *sink, uint32_t flags, const struct heap_predict_request *q, struct heap_prediction *out);

/* How many heaps of the collector (Server GC) the last look met with objects: at least one. */
uint32_t heap_predict_heaps(void);

/* Pure: how a look goes on. It reads for a quarter of its processor time, then it counts. Its stop is no longer than `longest_ns`; one that lasts for
 * more than twice its processor time ends as soon as it has seen enough to go by. */
enum heap_look_step {
	HEAP_LOOK_READ,
	HEAP_LOOK_COUNT,
	HEAP_LOOK_END,
};
struct heap_look_progress {
	uint64_t look_ns, longest_ns; /* of it: processor time, stop */
	uint64_t cpu_ns, wall_ns;     /* until now; to get to know classes does not count, but for as long as the look itself */
	uint64_t objects;
	bool counting;
};
enum heap_look_step heap_look_next(const struct heap_look_progress *p);
uint64_t heap_look_ns(const struct heap_predict_request *q);     /* its processor time */
uint64_t heap_look_longest_ns(const struct heap_predict_request *q); /* its stop */

/* Pure: from what a probe saw. */
struct heap_probe {
	uint64_t look_ns;                 /* processor time that it had */
	uint64_t read_ns, read_objects;   /* as a walk reads them, in processor time; 0: none */
	uint64_t classes_ns;              /* to get to know their classes; a walk does that once */
	uint64_t count_ns, count_objects; /* as the types-only walk does; 0: none */
	uint64_t wall_ns, cpu_ns;         /* of both */
	uint64_t objects, bytes;          /* counted, with those; large objects and pinned ones are few and count for little */
	bool looked;                      /* it was possible */
	bool whole;                       /* all were counted */
	uint64_t stacks_ns;               /* to go along all stacks, in processor time */
	uint64_t heap_bytes, small_bytes; /* of the heap; small: without large and pinned objects */
};
void heap_predict_from(const struct heap_probe *p, struct heap_prediction *out);

#endif
