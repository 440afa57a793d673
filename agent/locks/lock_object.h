/* A System.Threading.Lock in the memory of a process. Since .NET 11 each monitor has one, too. One thread.
 *
 * Source: the fields' places in .NET 9, 10 and 11 for x64, measured against applications whose locks are known. */
#ifndef DRDOTNET_LOCK_OBJECT_H
#define DRDOTNET_LOCK_OBJECT_H

#include "agent/locks/managed_threads.h"
#include "agent/locks/sync_table.h"

/* *out: of LOCK_KIND_LOCK. False: what lies at that address does not look like one. */
bool lock_object_read(const struct process_memory *m, uint64_t object, const struct managed_threads *threads, struct monitor *out);

#endif
