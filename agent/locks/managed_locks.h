/* The locks that are managed objects, System.Threading.Lock and ReaderWriterLockSlim, as a thread waits for one: found by their addresses on its stack,
 * and read from outside (.NET 9 and newer). One thread.
 *
 * Source: the fields' places in .NET 9 and 10 for x64, measured against applications whose locks are known; what does not look like that is no lock. */
#ifndef DRDOTNET_MANAGED_LOCKS_H
#define DRDOTNET_MANAGED_LOCKS_H

#include "agent/locks/managed_threads.h"
#include "agent/locks/sync_table.h"

#define MANAGED_LOCK_STACK 4096 /* bytes of a stack, from its top, that are searched */

struct managed_locks {
	struct process_memory memory;
	struct runtime_contract contract; /* not known: before .NET 9, none of this can be read */
	struct managed_types *types;
	bool locks_unread; /* set by who knows that they may lie otherwise here: none is found */
};

/* `memory`'s context must outlive it. */
void managed_locks_init(struct managed_locks *l, const struct process_memory *memory, int proc_fd);
/* The same where it says nothing of itself, by what .NET 8 looks like: names of types only, no locks. */
void managed_locks_init_of_8(struct managed_locks *l, const struct process_memory *memory);
void managed_locks_fini(struct managed_locks *l); /* takes zeroed structs */

/* A lock at that address, of `kind`. False: it does not look like one. */
bool managed_lock_read(const struct process_memory *m, enum lock_kind kind, uint64_t object, const struct managed_threads *threads, struct monitor *out);

/* What a thread waits for: the innermost lock on its stack that somebody else holds and threads wait for; of a ReaderWriterLockSlim that it may upgrade, the
 * readers (no owner). `words` from the stack's top at `sp`. False: none. */
bool managed_locks_waited(struct managed_locks *l, const struct managed_threads *threads, uint32_t inner_tid, uint64_t sp, const uint64_t *words,
			  size_t count, struct monitor *out);

/* What is no lock fills the room for names of types in time: when it is full all are forgotten, and asked anew. */
void managed_locks_forget_if_full(struct managed_locks *l);

/* The name of a type, by the address of its MethodTable; "". */
const char *managed_locks_type(struct managed_locks *l, uint64_t type);

#endif
