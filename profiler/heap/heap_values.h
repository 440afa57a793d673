/* Numbers in tasks, boxes of async methods, suspended methods, semaphores and holders of exceptions (enum heap_value). Which fields they are is looked
 * up in the core library's metadata before the stop; where they stand in a class, when the walk meets it first: by GetClassIDInfo2 and GetClassLayout,
 * which take no lock and allocate nothing. Classes that the runtime makes of suspended methods (.NET 11) are in no metadata and have their numbers where
 * the class has that they are made of. */
#ifndef DRDOTNET_HEAP_VALUES_H
#define DRDOTNET_HEAP_VALUES_H

#include "common/proto/heap_stream.h"
#include "profiler/heap/heap_classes.h"

/* Own thread, before a walk. false: the core library has none of them: no object will have a value. */
bool heap_values_find(void *info);
/* Whoever walks. Sets the class's values where it has some. */
void heap_values_learn(void *info, struct heap_class *c);
/* The numbers of an object whose class has some; the caller has made room. */
void heap_values_put(void *info, struct heap_writer *w, const struct heap_class *c, cor_id object);

#endif
