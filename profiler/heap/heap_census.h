/* The types-only walk: objects and bytes are counted by class and generation while the application stands, in a table that is there already.
 * No references, no roots, nothing on the way; the counts go into the stream when the application runs again. It ends itself when its time
 * is over: what was seen by then is told, and that it is a part. Own thread. */
#ifndef DRDOTNET_HEAP_CENSUS_H
#define DRDOTNET_HEAP_CENSUS_H

#include "profiler/clr/cor_heap_abi.h"
#include "profiler/heap/heap_classes.h"
#include "profiler/heap/heap_sink.h"

struct heap_count {
	uint64_t objects, bytes;
};

struct heap_census {
	void *info;
	struct heap_sink *sink;
	uint64_t begin_ns, end_ns; /* CLOCK_MONOTONIC */
	uint32_t heaps;            /* of the collector, that share the time; see heap_predict_heaps() */
	hresult code;              /* of the runtime's refusal */
	bool part;                 /* the time was over before the last object */
	/* private */
	cor_id id;                 /* of the class of the last object; 0: none */
	const struct heap_class *class;
	struct heap_count *row;    /* of that class, by generation */
	struct cor_generation_range range;
	unsigned generation, step;
	uint32_t heap, looked;
	bool ended;                /* this heap's time is over */
};

/* Before the stop: the table's first pages in place, counts at zero. */
void heap_census_prepare(void);
/* In the stop. false: sink->status says why. */
bool heap_census_walk(struct heap_census *c, void *info15);
/* After it: the types and their counts. false: no room. */
bool heap_census_put(struct heap_census *c);

/* Pure: when the time of the n-th of `heaps` is over. */
uint64_t heap_census_slice_end(uint64_t begin_ns, uint64_t end_ns, uint32_t heaps, uint32_t n);

#endif
