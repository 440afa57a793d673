/* Full collections that stop the application for their whole length because the library is there: those that it forces, and all others while the
 * runtime has been told to do without collections in the background (COR_PRF_MONITOR_GC: from the attach until the library has left). Young
 * collections stop the application with or without a session, and are not counted. From RequestProfilerDetach on the runtime tells of none, though
 * it does without background collections for the 0.3 s more that it takes to let the library go. */
#ifndef DRDOTNET_GC_COST_H
#define DRDOTNET_GC_COST_H

#include <stdbool.h>
#include <stdint.h>

struct gc_cost {
	uint64_t count, total_ns; /* from the moment at which the application stands to the collection's end */
};

/* CLR callback of the attach. `no_background`: the runtime does without collections in the background. */
void gc_cost_reset(bool no_background);
void gc_cost_forcing(bool on); /* own thread: around a collection that it asks for */
struct gc_cost gc_cost_counts(void); /* own thread or CLR callback */

/* CLR callbacks; with the server's collector not always on one thread. */
void gc_cost_started(uint32_t generation, bool induced, uint64_t now_ns);
void gc_cost_finished(uint64_t now_ns);

#endif
