/* Static fields that may hold references: by the metadata of all modules, and those of the instantiations of generic types
 * (heap_generics.h). Found before the application is stopped, on own thread; their values are read while it stands. */
#ifndef DRDOTNET_HEAP_STATICS_H
#define DRDOTNET_HEAP_STATICS_H

#include "common/proto/heap_stream.h"
#include "profiler/cor_heap_abi.h"

void heap_statics_find(void *info);
/* What refers to an object now: a STATIC and a ROOT each. While the application stands. `threads`: those of threads too. */
bool heap_statics_put(void *info, struct heap_writer *w, bool threads);
/* Whether a class with such fields is there for good. After the walk; the class itself is not looked at. */
bool heap_statics_stay(cor_id cls);

#endif
