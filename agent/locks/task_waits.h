/* Threads that block until a task is complete (Task.Wait, Task.Result, GetAwaiter().GetResult(), Task.WaitAll), and tasks that are being run, read from
 * outside (.NET 9 and newer). Who blocks so has made an object that the task tells of its end, its token: an unfinished task that leads to a token cannot be
 * over before whoever made the token goes on, and is woken by nothing else but a time limit or a cancellation. One thread.
 *
 * Source: the fields' places in .NET 9 and 10 for x64, measured against applications whose tasks are known; each object's type is asked by its name. */
#ifndef DRDOTNET_TASK_WAITS_H
#define DRDOTNET_TASK_WAITS_H

#include "agent/locks/managed_types.h"

enum task_kind {
	TASK_KIND_NONE,     /* none, or of a type that is not known to run */
	TASK_KIND_DELEGATE, /* it runs a delegate */
	TASK_KIND_ASYNC,    /* of an async method */
};

/* By the name of its type. Pure. */
enum task_kind task_waits_kind(const char *type);

/* The token on the stack of a thread that sleeps, from its top at `sp`; 0: it does not block on a task. *cancelable: a CancellationToken may wake it, too. */
uint64_t task_waits_token(struct managed_types *types, uint64_t sp, const uint64_t *words, size_t count, bool *cancelable);

/* Whether an object is a task that a thread may be running now: its delegate was called and has not come back, or it is of an async method that has not
 * ended (which may wait as well as run: only a stack tells). */
enum task_kind task_waits_may_run(const struct process_memory *m, struct managed_types *types, uint64_t object);

/* Which of the tokens cannot be told before that task is complete: its own, and those of tasks that need it (async methods that await it, Task.WhenAll,
 * Task.Unwrap). Gives how many; reached[i] is set for these, and left for others. */
size_t task_waits_reach(const struct process_memory *m, struct managed_types *types, uint64_t task, const uint64_t *tokens, size_t count, bool *reached);

#endif
