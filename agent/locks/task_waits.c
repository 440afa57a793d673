#include "agent/locks/task_waits.h"

#include <string.h>

#define NEEDED_MAX 256 /* tasks that are followed from one, and what one list may tell at its end */
#define STACK_SPAN (UINT64_C(1) << 20)

/* Where a Task has its fields, a List`1 and an array theirs. */
#define TASK_CONTINUATION 32
#define TASK_STATE 52
#define LIST_ITEMS 8
#define LIST_SIZE 16
#define ARRAY_LENGTH 8
#define ARRAY_FIRST 16

/* Of Task's state. */
#define STATE_INVOKED 0x20000u
#define STATE_COMPLETE 0x1600000u
#define STATE_WAITS_FOR_CHILDREN 0x800000u
#define STATE_WAITS_FOR_ACTIVATION 0x2000000u /* nothing was ever queued for it: of an async method */

#define TASKS "System.Threading.Tasks."

static bool is_one_of(const char *name, const char *const *list)
{
	while (*list && strcmp(name, *list) != 0)
		list++;
	return *list != NULL;
}

enum task_kind task_waits_kind(const char *type)
{
	static const char *const delegates[] = {TASKS "Task", TASKS "Task`1", TASKS "ContinuationTaskFromTask", TASKS "ContinuationResultTaskFromTask`1",
						TASKS "ContinuationTaskFromResultTask`1", TASKS "ContinuationResultTaskFromResultTask`2", NULL};
	static const char *const async[] = {"AsyncStateMachineBox`1", "DebugFinalizableAsyncStateMachineBox`1", NULL};
	return is_one_of(type, delegates) ? TASK_KIND_DELEGATE : is_one_of(type, async) ? TASK_KIND_ASYNC : TASK_KIND_NONE;
}

/* What is told of a task's end, and cannot be complete before: one whose completion needs only some of several is none. */
static bool needs_task(const char *type)
{
	static const char *const promises[] = {TASKS "UnwrapPromise`1", "WhenAllPromise", "WhenAllPromise`1", NULL};
	return task_waits_kind(type) == TASK_KIND_ASYNC || is_one_of(type, promises);
}

static bool is_token(const char *type)
{
	static const char *const tokens[] = {"SetOnInvokeMres", "SetOnCountdownMres", NULL};
	return is_one_of(type, tokens);
}

static bool is_cancellation(const char *type)
{
	static const char end[] = "CancellationTokenSource";
	size_t n = strlen(type);
	return n >= sizeof end - 1 && strcmp(type + n - (sizeof end - 1), end) == 0;
}

/* What the wait itself has on the stack lies nearer to its top than the token as the waiting method keeps it, or in that frame. */
uint64_t task_waits_token(struct managed_types *types, uint64_t sp, const uint64_t *words, size_t count, bool *cancelable)
{
	uint64_t token = 0;
	bool cancellation = false;
	*cancelable = false;
	for (size_t i = 0; i < count; i++) {
		if (words[i] - sp < STACK_SPAN) /* the stack itself */
			continue;
		const char *type = token && words[i] == token ? "SetOnInvokeMres" : managed_types_of(types, words[i]);
		cancellation |= is_cancellation(type);
		if (!is_token(type) || (token && words[i] != token))
			continue;
		token = words[i];
		*cancelable = cancellation;
	}
	return token;
}

static uint32_t task_state(const struct process_memory *m, uint64_t task)
{
	uint32_t state;
	return process_memory_whole(m, task + TASK_STATE, &state, sizeof state) ? state : STATE_COMPLETE;
}

enum task_kind task_waits_may_run(const struct process_memory *m, struct managed_types *types, uint64_t object)
{
	enum task_kind kind = task_waits_kind(managed_types_of(types, object));
	uint32_t state = kind == TASK_KIND_NONE ? STATE_COMPLETE : task_state(m, object);
	bool runs = kind == TASK_KIND_DELEGATE ? (state & STATE_INVOKED) && !(state & STATE_WAITS_FOR_CHILDREN) : state & STATE_WAITS_FOR_ACTIVATION;
	return runs && !(state & STATE_COMPLETE) ? kind : TASK_KIND_NONE;
}

struct task_walk {
	const struct process_memory *memory;
	struct managed_types *types;
	const uint64_t *tokens;
	size_t token_count, reached_count;
	bool *reached;
	uint64_t tasks[NEEDED_MAX]; /* met so far */
	size_t count;
};

static void meet_continuation(struct task_walk *w, uint64_t object, const char *type)
{
	for (size_t i = 0; i < w->token_count && is_token(type); i++) {
		w->reached_count += w->tokens[i] == object && !w->reached[i];
		w->reached[i] |= w->tokens[i] == object;
	}
	if (!needs_task(type) || w->count == NEEDED_MAX || (task_state(w->memory, object) & STATE_COMPLETE))
		return;
	for (size_t i = 0; i < w->count; i++)
		if (w->tasks[i] == object)
			return;
	w->tasks[w->count++] = object;
}

/* Several are in a list. */
static void meet_continuations(struct task_walk *w, uint64_t object)
{
	uint64_t items[NEEDED_MAX], array;
	uint32_t size = 0, length = 0;
	const char *type = managed_types_of(w->types, object);
	if (strcmp(type, "System.Collections.Generic.List`1") != 0) {
		meet_continuation(w, object, type);
		return;
	}
	array = process_memory_word(w->memory, object + LIST_ITEMS);
	if (!array || !process_memory_whole(w->memory, object + LIST_SIZE, &size, sizeof size) ||
	    !process_memory_whole(w->memory, array + ARRAY_LENGTH, &length, sizeof length) || size > length)
		return;
	size_t n = size < NEEDED_MAX ? size : NEEDED_MAX;
	n = process_memory_read(w->memory, array + ARRAY_FIRST, items, n * sizeof *items) / sizeof *items;
	for (size_t i = 0; i < n; i++)
		if (items[i])
			meet_continuation(w, items[i], managed_types_of(w->types, items[i]));
}

size_t task_waits_reach(const struct process_memory *m, struct managed_types *types, uint64_t task, const uint64_t *tokens, size_t count, bool *reached)
{
	struct task_walk w = {.memory = m, .types = types, .tokens = tokens, .token_count = count, .reached = reached, .tasks = {task}, .count = 1};
	for (size_t i = 0; i < w.count; i++)
		meet_continuations(&w, process_memory_word(m, w.tasks[i] + TASK_CONTINUATION));
	return w.reached_count;
}
