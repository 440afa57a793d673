/* What a thread waits for, told from the frames of its stack: the outermost function of .NET's libraries below the application's innermost method says what
 * the application asked for, whatever it is made of. Pure; any thread. */
#ifndef DRDOTNET_WAIT_KIND_H
#define DRDOTNET_WAIT_KIND_H

#include "agent/symbols/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wait_kind {
	WAIT_KIND_LOCK,    /* Monitor, Lock, SemaphoreSlim, ReaderWriterLockSlim; that of a SQLite database */
	WAIT_KIND_TASK,    /* Task.Result, Task.Wait, GetAwaiter().GetResult() */
	WAIT_KIND_SOCKET,
	WAIT_KIND_FILE,    /* files, pipes, other processes */
	WAIT_KIND_CONSOLE,
	WAIT_KIND_SLEEP,
	WAIT_KIND_EVENT,   /* to be told by another thread: events, Monitor.Wait, Thread.Join; a Mutex looks alike */
	WAIT_KIND_RUNTIME, /* the runtime: garbage collection, compilation, type loading */
	WAIT_KIND_FAULT,   /* a page of memory, or the disk below it */
	WAIT_KIND_CPU,     /* it could run, and has no CPU */
	WAIT_KIND_NATIVE,  /* in native code that the application has called */
	WAIT_KIND_UNKNOWN,
	WAIT_KIND_COUNT
};
const char *wait_kind_name(enum wait_kind k);  /* "lock", ... for report.json */
const char *wait_kind_title(enum wait_kind k); /* "locks", ... for people */

struct wait_meaning {
	enum wait_kind kind;
	bool idle;        /* it waits for work */
	const char *what; /* "Monitor", "a task", "pool workers without work"; static */
};

#define WAIT_WHAT_DATABASE "a SQLite database's lock"

/* Of a stack, leaf first; `frames` by number. */
void wait_kind_of_stack(const struct frame *frames, const uint32_t *stack, size_t depth, struct wait_meaning *out);

/* A worker of the thread pool, by its stack or by its name. */
bool wait_kind_is_pool_worker(const struct frame *frames, const uint32_t *stack, size_t depth);
bool wait_kind_is_pool_name(const char *name);

#endif
