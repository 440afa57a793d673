/* The runtime's table of monitors, read from outside: which objects are locked, by whom, and how many wait. An object is in the table as soon as somebody
 * has waited for its lock. Nothing in the process is stopped or asked: entries that change meanwhile are left out.
 *
 * Source: the layout that .NET 8, 9 and 10 have for x64, and what .NET 11 says of itself, measured against applications whose locks are known, and checked
 * entry by entry: the table is what `g_dacTable`, which the runtime exports for debuggers, leads to; entry j names an object whose header names j.
 * One thread. */
#ifndef DRDOTNET_SYNC_TABLE_H
#define DRDOTNET_SYNC_TABLE_H

#include "agent/locks/managed_threads.h"

#define SYNC_TABLE_MAX (1u << 20) /* entries looked at */
#define SYNC_TABLE_WAITED 4096    /* monitors with waiters that are kept */

enum lock_kind {
	LOCK_KIND_MONITOR,       /* lock, Monitor.Enter: of any object */
	LOCK_KIND_LOCK,          /* System.Threading.Lock */
	LOCK_KIND_READER_WRITER, /* ReaderWriterLockSlim */
	LOCK_KIND_TASK,          /* a task, which the thread that runs it holds until it is complete: for those who think in locks; not read here */
	LOCK_KIND_DATABASE,      /* the file of a SQLite database; not read here either */
};

struct monitor { /* or a lock of another kind: then it has no sync_block */
	enum lock_kind kind;
	uint64_t object, sync_block, type; /* addresses; type: of its MethodTable; sync_block, .NET 11: of the Lock that a monitor has */
	uint32_t owner;                    /* OS thread id, as the process sees it; 0: nobody holds it */
	uint32_t recursion;                /* so many times more than once */
	uint32_t waiters;
};

struct sync_table {
	struct monitor *waited; /* those with waiters, by their sync_block */
	size_t waited_count;
	size_t entries;         /* monitors in the table */
	bool full;              /* there are more */
};

/* The table's address in `dac`, the words of g_dacTable; 0: it is not there: no thread has ever waited for a monitor, or the runtime is another one. */
uint64_t sync_table_find(const struct process_memory *m, const uint64_t *dac, size_t words);

/* The same when it was found before behind the word with the number *hint, for little; else *hint is set. */
uint64_t sync_table_find_again(const struct process_memory *m, const uint64_t *dac, size_t words, size_t *hint);

/* Reads it. `c`, `threads`: what the runtime says, and of what threads; *out is the caller's to finish. */
void sync_table_read(const struct process_memory *m, uint64_t table, const struct runtime_contract *c, const struct managed_threads *threads,
		     struct sync_table *out);
void sync_table_fini(struct sync_table *t);

/* The monitor whose sync_block a stack holds, the innermost first: what a thread waits for that sleeps on a futex. UINT32_MAX: none. `words` from the
 * stack's top; t->waited as sync_table_read() gives it. Pure. */
uint32_t sync_table_waited(const struct sync_table *t, const uint64_t *words, size_t count);

#endif
