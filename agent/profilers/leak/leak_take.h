/* From one heap walk to its row in the model: what hangs on which path, by type, by generation. Afterwards the graph and the snapshot
 * are no longer needed. One thread. */
#ifndef DRDOTNET_LEAK_TAKE_H
#define DRDOTNET_LEAK_TAKE_H

#include "agent/heap/heap_graph.h"
#include "agent/profilers/leak/leak_model.h"

#define LEAK_LOADER "System.Reflection.LoaderAllocator" /* one of each assembly that can be unloaded, or of its AssemblyLoadContext */

/* Adds the walk at m->walks[m->walk_count]. -1: the paths could not be found; the model is as it was, but for steps without figures. */
int leak_take(struct leak_model *m, const struct heap_graph *g, int64_t at_ns, struct err *e);
/* The same of a snapshot of types only: no paths. */
int leak_take_counts(struct leak_model *m, const struct heap_snapshot *s, int64_t at_ns, struct err *e);

#endif
