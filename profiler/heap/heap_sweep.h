/* All objects, by going from each to the next: when a collection that blocks has ended and the application still stands
 * (GarbageCollectionFinished) they lie without a gap in the ranges that the runtime names, with its free space among them in the shape of
 * objects. For .NET 8, which has no EnumerateGCHeapObjects: its way, ObjectReferences for each object in the collection, takes much longer, and
 * memory of the process for the references of each. What the runtime would do in that way is the same walk. */
#ifndef DRDOTNET_HEAP_SWEEP_H
#define DRDOTNET_HEAP_SWEEP_H

#include "profiler/heap/heap_objects.h"

/* On the thread that collects; heap_stop_find_frozen() was before the collection. false: not all of it, see sink->status. */
bool heap_sweep(struct heap_objects *h);

#endif
