/* Looks at the locks that are managed objects (System.Threading.Lock, ReaderWriterLockSlim; .NET 9 and newer) while a session runs: which thread waits for
 * one, and who holds it. From outside, as lock_watch.h does it for monitors; such objects may be moved by the collector, so each look finds them anew on
 * the stacks of the threads that sleep. One thread. */
#ifndef DRDOTNET_MANAGED_WATCH_H
#define DRDOTNET_MANAGED_WATCH_H

#include "agent/locks/managed_locks.h"
#include "agent/waits/lock_watch.h"

struct managed_watch {
	struct managed_locks runtime;
	struct lock_watch *locks; /* borrowed: its sightings are these, too */
	int proc_fd;
	int64_t next_ns;
	uint32_t looks;
	size_t turn;    /* of the threads, where the next look begins */
	uint64_t *stack;
};

/* `memory`'s context and `locks` must outlive it. `may` false: none is looked for. */
void managed_watch_init(struct managed_watch *w, const struct process_memory *memory, int proc_fd, struct lock_watch *locks, bool may);
void managed_watch_fini(struct managed_watch *w); /* takes zeroed structs */

/* Looks if it is time for it. */
void managed_watch_look(struct managed_watch *w, int64_t now_ns);

#endif
