/* What a thread is for, and what it waits for: told from the functions that it began with, those that it stands in, and its name. A name is the process's
 * own word, and a thread without one has its maker's: frames are believed first. Pure; any thread. */
#ifndef DRDOTNET_THREAD_KIND_H
#define DRDOTNET_THREAD_KIND_H

#include "agent/symbols/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(identifier, word in report.json, one for people, many) */
#define THREAD_KINDS(X)                                                                          \
	X(APPLICATION, "application", "application thread", "application threads")               \
	X(MAIN, "main", "main thread", "main threads")                                           \
	X(WORKER, "poolWorker", "pool worker", "pool workers")                                   \
	X(POOL, "pool", "thread of the pool's own", "threads of the pool's own")                 \
	X(TIMER, "timer", "timer thread", "timer threads")                                       \
	X(SOCKETS, "sockets", "socket engine", "socket engines")                                 \
	X(LIBRARY, "library", "thread of .NET's libraries", "threads of .NET's libraries")       \
	X(FINALIZER, "finalizer", "finalizer thread", "finalizer threads")                       \
	X(GC, "gc", "garbage collector thread", "garbage collector threads")                     \
	X(TIERING, "tieredCompilation", "tiered compilation thread", "tiered compilation threads") \
	X(SIGNALS, "signals", "signal thread", "signal threads")                                 \
	X(DIAGNOSTICS, "diagnostics", "diagnostics thread", "diagnostics threads")               \
	X(DEBUGGER, "debugger", "debugger thread", "debugger threads")                           \
	X(RUNTIME, "runtime", "runtime thread", "runtime threads")                               \
	X(PROFILER, "profiler", "thread of this profiler", "threads of this profiler")           \
	X(NATIVE, "native", "native thread", "native threads")                                   \
	X(UNKNOWN, "unknown", "thread of unknown kind", "threads of unknown kind")

/* X(identifier, word, what one does, what many do) */
#define THREAD_WAITS(X)                                                                    \
	X(RUNS, "runs", "runs", "run")                                                     \
	X(LOCK, "lock", "waits for a lock", "wait for a lock")                             \
	X(TASK, "task", "waits for a task", "wait for a task")                             \
	X(JOIN, "join", "waits for a thread to end", "wait for a thread to end")           \
	X(EVENT, "event", "waits for an event", "wait for an event")                       \
	X(RUNTIME, "runtime", "waits in the runtime", "wait in the runtime")               \
	X(NATIVE, "native", "is in a native call", "are in native calls")                  \
	X(QUEUE, "queue", "waits for work", "wait for work")                               \
	X(FINALIZERS, "finalizers", "waits for finalizers", "wait for finalizers")         \
	X(IO, "io", "waits for input or output", "wait for input or output")               \
	X(SLEEP, "sleep", "sleeps", "sleep")                                               \
	X(IDLE, "idle", "is without work", "are without work")                             \
	X(OTHER, "other", "waits", "wait")

#define THREAD_KIND_ID(id, ...) THREAD_KIND_##id,
#define THREAD_WAIT_ID(id, ...) THREAD_WAIT_##id,
enum thread_kind { THREAD_KINDS(THREAD_KIND_ID) THREAD_KIND_COUNT };
enum thread_wait_kind { THREAD_WAITS(THREAD_WAIT_ID) THREAD_WAIT_COUNT };

struct thread_words {
	const char *word, *one, *many;
};
extern const struct thread_words thread_kind_words[THREAD_KIND_COUNT];
extern const struct thread_words thread_wait_words[THREAD_WAIT_COUNT];

struct thread_clues {
	const struct frame *frames;
	const uint32_t *stack; /* leaf first, indexes into frames */
	uint32_t depth;        /* 0: not known */
	bool cut;              /* its outer end is missing */
	const char *name;      /* the kernel's; outside text */
	bool first_of_name;    /* the oldest thread with that name: the runtime's own are older than those of the application */
	bool main;             /* the process's first thread */
	bool asleep;           /* in a system call */
	bool futex;            /* which is futex(2) */
	bool monitor;          /* it waits for a monitor, as the runtime's table of them says */
};

struct thread_nature {
	enum thread_kind kind;
	enum thread_wait_kind wait;
	uint32_t place; /* in `stack`: the innermost frame of the application, UINT32_MAX: none */
	uint32_t call;  /* what that called: the outermost frame of .NET's libraries below it; UINT32_MAX */
	uint32_t entry; /* the application's first function; UINT32_MAX */
};

void thread_kind_of(const struct thread_clues *c, struct thread_nature *out);

#endif
