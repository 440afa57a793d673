/* How long a walk would stop the application: a look at some of the heap for PROBE_NS, and the heap's size. Own thread. */
#ifndef DRDOTNET_HEAP_PREDICT_H
#define DRDOTNET_HEAP_PREDICT_H

#include "profiler/cor_heap_abi.h"
#include "profiler/heap_sink.h"

void heap_predict(void *info, struct heap_sink *sink, bool may_collect, struct heap_prediction *out);

/* Pure: from what a probe saw. */
struct heap_probe {
	uint64_t ns, bytes;          /* of the look; 0: none was possible */
	bool whole;                  /* it came to the heap's end */
	uint64_t heap_bytes, small_bytes; /* small: what has many objects */
};
void heap_predict_from(const struct heap_probe *p, struct heap_prediction *out);

#endif
