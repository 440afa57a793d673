/* Which thread runs a task, by its stack: the task's address lies in the frame of a function that runs tasks, not anywhere. Frames are told by the chain of
 * frame pointers. Pure; one thread. */
#ifndef DRDOTNET_TASK_FRAMES_H
#define DRDOTNET_TASK_FRAMES_H

#include "agent/arch/arch.h"
#include "agent/locks/task_waits.h"
#include "agent/stacks/sleeping_stack.h"

#define TASK_FRAMES_MAX 512 /* of one stack, from its leaf */

enum task_role {
	TASK_ROLE_NONE,
	TASK_ROLE_DELEGATE, /* calls a task's delegate */
	TASK_ROLE_ASYNC,    /* takes an async method one step further */
	TASK_ROLE_CONTEXT,  /* calls what it is given, for one of these */
	TASK_ROLE_HOOK,     /* tells what is awaited how to go on: whoever is called from there may go on elsewhere by now */
};

/* What a function does with tasks, by the runtime's names of its type and itself; NULL: it has none. */
enum task_role task_frames_role(const char *type, const char *method);

struct task_frames { /* leaf first: where each was left by a call, and which of the stack's words are its own */
	uint64_t returns[TASK_FRAMES_MAX];
	uint32_t first[TASK_FRAMES_MAX], end[TASK_FRAMES_MAX];
	uint32_t pairs[TASK_FRAMES_MAX]; /* which two words are its callee's frame pointer, as saved, and return address */
	uint32_t leads[TASK_FRAMES_MAX]; /* where that frame pointer leads: to the next pair, if there is one */
	enum task_role roles[TASK_FRAMES_MAX]; /* the caller's to fill */
	size_t count;
};

/* `words` from the stack's top at `sp`. */
void task_frames_find(const struct arch *arch, uint64_t sp, const uint64_t *words, size_t count, sleeping_stack_code_fn *is_code, void *ctx,
		      struct task_frames *out);

/* The thread is in the midst of that task. */
bool task_frames_run(const struct task_frames *f, const uint64_t *words, enum task_kind kind, uint64_t task);

#endif
