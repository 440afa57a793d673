/* Static fields that may hold references: by the metadata of all modules, and those of the instantiations of generic types
 * (heap_generics.h). Found before the application is stopped, on own thread; their values are read while it stands. */
#ifndef DRDOTNET_HEAP_STATICS_H
#define DRDOTNET_HEAP_STATICS_H

#include "profiler/clr/cor_heap_abi.h"
#include "profiler/heap/heap_sink.h"

/* `generics`: those of instantiations too. */
void heap_statics_find(void *info, bool generics);
/* What refers to an object now: a STATIC and a ROOT each. While the application stands. Those of threads are read until that time
 * (CLOCK_MONOTONIC; 0: not at all). false: the walk is over. */
bool heap_statics_put(void *info, struct heap_sink *sink, uint64_t threads_end_ns);
/* Whether a class with such fields is there for good. After the walk; the class itself is not looked at. */
bool heap_statics_stay(cor_id cls);

#endif
