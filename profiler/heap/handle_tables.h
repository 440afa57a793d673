/* What GC handles hold, told without a collection: read from the runtime's own tables of handles. Their layout is no contract, so nothing
 * is believed: a table counts only when its list of segments, walked from its head, comes by the very segment that a thread's handle lies in
 * and each segment names that table as its own; all memory is read through the kernel, which answers an error where a wrong address
 * would crash. Where it is laid out otherwise there are no tables, and what they hold is "held by no known root" as before; an address
 * that is no object's is passed over by the agent. See docs/profilers/heap-walk.md. */
#ifndef DRDOTNET_HANDLE_TABLES_H
#define DRDOTNET_HANDLE_TABLES_H

#include "common/proto/heap_stream.h"

/* Own thread, before the application stands: tables last as long as the process. By the handles of the threads that there are, and the runtime's list of
 * tables. */
void handle_tables_find(void *info);
/* While it stands, until that time (CLOCK_MONOTONIC): roots of strong, pinned and dependent handles. false: no more room. */
bool handle_tables_put(struct heap_writer *w, uint64_t end_ns);

#endif
