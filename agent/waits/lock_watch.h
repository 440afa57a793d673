/* Looks at the runtime's monitors while a session runs: which are waited for, and who holds them. Each look reads their table from outside; they come less
 * often where that takes long. What is seen of other locks (managed_watch.h) is kept with it. One thread. */
#ifndef DRDOTNET_LOCK_WATCH_H
#define DRDOTNET_LOCK_WATCH_H

#include "agent/locks/dac_table.h"
#include "agent/locks/process_memory.h"
#include "agent/locks/sync_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOCK_SIGHTINGS_MAX 65536

struct lock_sighting { /* a lock with waiters, at one look */
	int64_t at_ns;     /* CLOCK_MONOTONIC */
	uint64_t lock;     /* a monitor's sync_block (sync_table.h); else the object */
	uint32_t owner;    /* id of the thread that holds it, as the process sees it; 0: nobody */
	uint32_t waiters;
	uint32_t waiter;   /* not of monitors: one that waits for it, as we see it; there is one sighting of each */
	uint32_t look;     /* not of monitors: which look */
	enum lock_kind kind;
};

struct lock_watch {
	const struct process_memory *memory;
	struct dac_table dac;
	const struct runtime_contract *contract;
	const char *unread; /* why nothing can be; NULL; borrowed */
	int64_t next_ns;
	uint64_t *locks; /* that were waited for at some look, sorted */
	size_t lock_count, lock_cap;
	struct lock_sighting *sightings;
	size_t sighting_count, sighting_cap;
	size_t looks;
	size_t hint; /* where the table was found last */
};

/* `memory`, `contract` and `lacks` are borrowed until lock_watch_fini(). lacks: why monitors are not read here; NULL: they are. */
void lock_watch_init(struct lock_watch *w, const struct process_memory *memory, int proc_fd, const struct runtime_contract *contract, const char *lacks);
void lock_watch_fini(struct lock_watch *w); /* takes zeroed structs */

/* Keeps one. */
void lock_watch_sighted(struct lock_watch *w, const struct lock_sighting *s);

/* Looks if it is time for it. */
void lock_watch_look(struct lock_watch *w, int64_t now_ns);

/* The first of the words that is the address of a monitor that was waited for; 0: none is. Pure. */
uint64_t lock_watch_on_stack(const struct lock_watch *w, const uint8_t *stack, size_t bytes);

#endif
