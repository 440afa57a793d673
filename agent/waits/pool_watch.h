/* Looks at the length of the thread pool's queue while a session runs, from outside (.NET 9 and newer). One thread. */
#ifndef DRDOTNET_POOL_WATCH_H
#define DRDOTNET_POOL_WATCH_H

#include "agent/locks/managed_locks.h"
#include "agent/locks/pool_queue.h"

#define POOL_WATCH_WORKERS 16
#define POOL_SIGHTS_MOST 65536

struct pool_sight {
	int64_t at_ns, length; /* CLOCK_MONOTONIC; items */
};

struct pool_sights { /* items that waited at the looks */
	size_t looks;    /* at which the length could be read; 0: the rest says nothing */
	int64_t least, most, last;
	double sum;
	struct pool_sight *list; /* of each look, by time, as far as there is room */
	size_t count, cap;
};

struct pool_watch {
	struct managed_locks runtime;
	int proc_fd;
	bool may;
	int64_t next_ns, list_ns;
	struct thread_wait workers[POOL_WATCH_WORKERS]; /* whose stacks are read for the queue's address */
	size_t worker_count;
	struct pool_sights sights;
};

/* `memory`'s context must outlive it. `may` false: the queue is not looked for. */
void pool_watch_init(struct pool_watch *w, const struct process_memory *memory, int proc_fd, bool may);
void pool_watch_fini(struct pool_watch *w); /* takes zeroed structs */

/* Looks if it is time for it. */
void pool_watch_look(struct pool_watch *w, int64_t now_ns);

/* One look's length. Pure. */
void pool_sights_add(struct pool_sights *s, int64_t at_ns, int64_t length);
void pool_sights_fini(struct pool_sights *s); /* takes zeroed structs */

#endif
