/* How long a walk would stop the application: some of the heap is read as a walk reads it, of as much as possible the objects are counted,
 * all within some milliseconds and half of the budget, and the rest is taken to be alike. In processor time: a look is short, and to be kept
 * waiting once in it says nothing of the walk. Own thread. */
#ifndef DRDOTNET_HEAP_PREDICT_H
#define DRDOTNET_HEAP_PREDICT_H

#include "profiler/clr/cor_heap_abi.h"
#include "profiler/heap/heap_sink.h"

/* `flags`: what is known of the process (enum heap_prediction_flag) but for HEAP_CAN_WALK. */
void heap_predict(void *info, struct heap_sink *sink, uint32_t flags, uint64_t budget_us, struct heap_prediction *out);

/* How many heaps of the collector (Server GC) the last look met with objects: at least one. */
uint32_t heap_predict_heaps(void);

/* Pure: from what a probe saw. */
struct heap_probe {
	uint64_t read_ns, read_objects;   /* as a walk reads them, in processor time; 0: none */
	uint64_t classes_ns;              /* to get to know their classes; a walk does that once */
	uint64_t count_ns, count_objects; /* as the types-only walk does; 0: none */
	uint64_t wall_ns, cpu_ns;         /* of both */
	uint64_t objects, bytes;          /* counted, with those; large objects and pinned ones are few and count for little */
	bool whole;                       /* all were counted */
	uint64_t stacks_ns;               /* to go along all stacks, in processor time */
	uint64_t heap_bytes, small_bytes; /* of the heap; small: without large and pinned objects */
};
void heap_predict_from(const struct heap_probe *p, struct heap_prediction *out);

#endif
