/* What the types of a heap are to async operations: boxes of async methods, other tasks, sources of value tasks, what stands between a task and who goes
 * on after it. By the names of types and fields in .NET 8 to 11. Pure; any thread. */
#ifndef DRDOTNET_TASK_TYPE_H
#define DRDOTNET_TASK_TYPE_H

#include "agent/heap/heap_snapshot.h"
#include "common/base/buf.h"

#define TASK_NO_FIELD UINT32_MAX

enum task_role {
	TASK_ROLE_NONE,
	TASK_ROLE_BOX,       /* of an async method: it goes on with what it calls, and is waited for itself */
	TASK_ROLE_PROMISE,   /* another task */
	TASK_ROLE_SOURCE,    /* of value tasks: a socket operation, a channel's reader, a timer */
	TASK_ROLE_LINK,      /* between a task and who goes on: a delegate, a list, a wrapper; `next` leads on */
	TASK_ROLE_LINKS,     /* an array of such */
	TASK_ROLE_BLOCKER,   /* wakes a thread that blocks on a task */
	TASK_ROLE_COMPLETER, /* TaskCompletionSource */
	TASK_ROLE_SEMAPHORE,
	TASK_ROLE_FAULT,     /* TaskExceptionHolder */
	TASK_ROLE_POOL,      /* of connections */
	TASK_ROLE_SUSPENDED, /* Continuation: what the runtime keeps of a method that it has suspended itself */
};

/* What an operation waits for. */
enum task_wait {
	TASK_WAIT_UNKNOWN,
	TASK_WAIT_NOTHING,   /* it runs, or will run soon */
	TASK_WAIT_COMPLETION, /* a TaskCompletionSource, or another task that somebody must complete */
	TASK_WAIT_WORK,      /* a delegate on the thread pool */
	TASK_WAIT_SEMAPHORE,
	TASK_WAIT_TIMER,
	TASK_WAIT_SOCKET,
	TASK_WAIT_CHANNEL,
	TASK_WAIT_PIPE,
	TASK_WAIT_HTTP,
	TASK_WAIT_DATABASE,
	TASK_WAIT_SERVER,    /* Kestrel: for a connection or its next request */
	TASK_WAIT_OTHER,
	TASK_WAITS,
};

struct task_type {
	enum task_role role;
	enum task_wait wait;  /* of what an operation may wait for */
	uint32_t next;        /* BOX, PROMISE, SOURCE: offset of who goes on; LINK: of where it leads; SEMAPHORE: of the first that waits;
			       * SUSPENDED: of its caller */
	uint32_t second;      /* BOX: of the state machine, where that may be an object of its own; semaphore's node: of the next one; COMPLETER: of its task;
			       * a task of the runtime's: of its first Continuation; SUSPENDED: a helper's, of what it waits for */
	uint32_t awaited[4];  /* BOX, or a state machine that is an object: offsets of its awaiters' references */
	uint8_t awaited_count;
	bool feeds;           /* a block of the dataflow library, which hands out messages as a channel does, or a part of one */
	bool runtime_async;   /* PROMISE: of methods that .NET 11 suspends itself, without state machines: task_suspended.h */
	uint32_t action;      /* PROMISE: offset of the delegate that it runs */
};

void task_type_of(const struct heap_type *t, struct task_type *out);

/* The metadata's name of a box's state machine: "Shop.Orders+<LoadAsync>d__0"; "" none, or it is an object of its own. Appends. */
void task_type_machine(const struct heap_type *t, struct buf *out);
/* The method of a state machine, as the user wrote it: "Shop.Orders.LoadAsync". Appends. */
void task_type_method(const char *machine, struct buf *out);
/* Whether its state is a number of awaits: compilers of C# and Visual Basic make such. */
bool task_type_counts_awaits(const char *machine);
bool task_type_is_framework(const char *machine);

const char *task_wait_key(enum task_wait w);   /* in report.json */
const char *task_wait_words(enum task_wait w); /* "a SemaphoreSlim" */

#endif
