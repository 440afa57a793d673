#include "agent/profilers/deadlocks/deadlock_tasks.h"

#include "agent/arch/arch.h"
#include "agent/locks/memory_pages.h"
#include "agent/locks/stack_ends.h"
#include "agent/profilers/deadlocks/deadlock_pair.h"
#include "common/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define WAITS_MAX 1024    /* threads that block on tasks */
#define TRIED_MAX 64      /* tasks on one stack */

struct blocked_side { /* threads that block on a task */
	uint32_t threads[WAITS_MAX];
	uint64_t tokens[WAITS_MAX];
	bool cancelable[WAITS_MAX], reached[WAITS_MAX];
	size_t count;
};

struct task_search {
	const struct deadlock_tasks_source *source;
	struct deadlock_capture *capture;
	struct managed_threads managed; /* threads of the runtime */
	struct stack_ends ends;
	struct blocked_side blocked;
	bool whole; /* any thread may run a task that matters */
	/* of the thread that is looked at */
	uint64_t sp;
	uint64_t *words;
	size_t count;
	struct task_frames frames;
	bool framed; /* frames are there, with their roles */
	uint64_t tried[TRIED_MAX];
	size_t tried_count;
};

static bool sleeps_on(const struct locked_thread *t)
{
	return t->still && t->wait.system_call == SYS_futex && t->wait.sp;
}

/* The top of a thread's stack. */
static void read_stack(struct task_search *x, const struct process_memory *m, uint32_t thread, size_t most)
{
	x->sp = x->capture->threads[thread].wait.sp & ~UINT64_C(7);
	x->count = process_memory_read(m, x->sp, x->words, stack_ends_bytes(&x->ends, x->sp, most)) / sizeof *x->words;
}

/* Where the runtime does not list its threads, any may be. */
static bool is_managed(const struct task_search *x, uint32_t inner_tid)
{
	if (!x->managed.count)
		return true;
	for (size_t i = 0; i < x->managed.count; i++)
		if (x->managed.items[i].inner_tid == inner_tid)
			return true;
	return false;
}

static void find_blocked(struct task_search *x, const struct process_memory *m)
{
	struct blocked_side *b = &x->blocked;
	for (uint32_t i = 0; i < x->capture->thread_count && b->count < WAITS_MAX; i++) {
		const struct locked_thread *t = &x->capture->threads[i];
		if (!sleeps_on(t) || t->lock != WAIT_NONE)
			continue;
		read_stack(x, m, i, MANAGED_LOCK_STACK);
		uint64_t token = task_waits_token(x->source->managed->types, x->sp, x->words, x->count, &b->cancelable[b->count]);
		for (size_t k = 0; k < x->count && !x->capture->tasks; k++)
			x->capture->tasks = managed_types_of(x->source->managed->types, x->words[k])[0] != '\0';
		if (!token || !is_managed(x, t->wait.inner_tid))
			continue;
		b->threads[b->count] = i;
		b->tokens[b->count++] = token;
	}
}

/* who runs a task ---------------------------------------------------------------------------------------------------- */

static void name_roles(struct task_search *x)
{
	const struct resolved_function *names[TASK_FRAMES_MAX] = {NULL};
	uint64_t ips[TASK_FRAMES_MAX];
	const struct deadlock_tasks_source *s = x->source;
	task_frames_find(&arch_ours, x->sp, x->words, x->count, s->is_code, s->code_ctx, &x->frames);
	for (size_t i = 0; i < x->frames.count; i++)
		ips[i] = x->frames.returns[i] - 1;
	x->framed = true;
	if (!x->frames.count || s->resolve(s->resolve_ctx, ips, x->frames.count, names) < 0)
		return;
	for (size_t i = 0; i < x->frames.count; i++) {
		if (!names[i])
			continue;
		struct frame frame = frame_namer_managed(names[i]);
		x->frames.roles[i] = task_frames_role(frame.type, frame.method);
	}
}

static bool was_tried(struct task_search *x, uint64_t task)
{
	for (size_t i = 0; i < x->tried_count; i++)
		if (x->tried[i] == task)
			return true;
	if (x->tried_count == TRIED_MAX)
		return true;
	x->tried[x->tried_count++] = task;
	return false;
}

/* A collection may move objects while they are read: what was found is so only if it is all there once more. */
static bool still_holds(struct task_search *x, uint32_t runner, uint64_t task, enum task_kind kind, size_t blocked)
{
	const struct process_memory *m = x->source->memory, paged = x->source->managed->memory;
	struct managed_types *types = x->source->managed->types;
	bool reached = false, cancelable;
	uint64_t token = x->blocked.tokens[blocked];
	x->source->managed->memory = *m;
	read_stack(x, m, x->blocked.threads[blocked], MANAGED_LOCK_STACK);
	bool holds = task_waits_token(types, x->sp, x->words, x->count, &cancelable) == token && task_waits_may_run(m, types, task) == kind &&
		     task_waits_reach(m, types, task, &token, 1, &reached) == 1;
	read_stack(x, m, runner, SLEEPING_STACK_BYTES);
	x->source->managed->memory = paged;
	return holds && task_frames_run(&x->frames, x->words, kind, task);
}

static uint32_t keep_task(struct deadlock_capture *c, uint64_t task, uint64_t type, uint32_t runner)
{
	for (uint32_t i = 0; i < c->lock_count; i++)
		if (c->locks[i].monitor.kind == LOCK_KIND_TASK && c->locks[i].monitor.object == task)
			return i;
	c->locks = mem_realloc(c->locks, c->lock_count + 1, sizeof *c->locks);
	c->locks[c->lock_count] = (struct waited_lock){
		.monitor = {.kind = LOCK_KIND_TASK, .object = task, .type = type, .owner = c->threads[runner].wait.inner_tid},
		.holder = runner,
	};
	return (uint32_t)c->lock_count++;
}

static void add_wait(struct task_search *x, uint32_t runner, uint64_t task, size_t blocked)
{
	struct deadlock_capture *c = x->capture;
	struct locked_thread *t = &c->threads[x->blocked.threads[blocked]];
	uint32_t lock = keep_task(c, task, process_memory_word(x->source->memory, task) & ~UINT64_C(7), runner);
	t->lock = lock;
	t->lasting = true; /* it has not run, and so waited for this at the first look, too */
	t->cancelable = x->blocked.cancelable[blocked];
	const char *type = managed_types_of(x->source->managed->types, task);
	snprintf(c->locks[lock].type, sizeof c->locks[lock].type, "%s", type);
	c->locks[lock].seen++;
	c->locks[lock].monitor.waiters++;
}

static void try_task(struct task_search *x, const struct process_memory *m, uint32_t runner, uint64_t word)
{
	struct managed_types *types = x->source->managed->types;
	struct blocked_side *b = &x->blocked;
	enum task_kind kind = task_waits_may_run(m, types, word);
	if (kind == TASK_KIND_NONE || was_tried(x, word))
		return;
	memset(b->reached, 0, sizeof b->reached);
	if (!task_waits_reach(m, types, word, b->tokens, b->count, b->reached))
		return;
	if (!x->framed)
		name_roles(x);
	for (size_t i = 0; i < b->count; i++)
		if (b->reached[i] && b->threads[i] != runner && x->capture->threads[b->threads[i]].lock == WAIT_NONE && still_holds(x, runner, word, kind, i))
			add_wait(x, runner, word, i);
}

static bool is_blocked_on_task(const struct task_search *x, uint32_t thread)
{
	for (size_t i = 0; i < x->blocked.count; i++)
		if (x->blocked.threads[i] == thread)
			return true;
	return false;
}

/* Only who waits for a lock or a task itself can be part of a circle. */
static bool may_be_runner(const struct task_search *x, uint32_t thread)
{
	const struct locked_thread *t = &x->capture->threads[thread];
	return x->whole ? t->still && t->wait.sp : sleeps_on(t) && (t->lasting || is_blocked_on_task(x, thread));
}

static void find_runners(struct task_search *x, const struct process_memory *m)
{
	for (size_t i = 0; i < x->blocked.count; i++)
		x->whole |= x->source->whole && deadlock_pair_matters(x->capture, x->blocked.threads[i]);
	for (uint32_t i = 0; i < x->capture->thread_count; i++) {
		if (!may_be_runner(x, i))
			continue;
		x->framed = false;
		x->tried_count = 0;
		read_stack(x, m, i, SLEEPING_STACK_BYTES);
		size_t count = x->count;
		for (size_t k = 0; k < count; k++)
			if (x->words[k] - x->sp >= SLEEPING_STACK_BYTES) /* not the stack itself */
				try_task(x, m, i, x->words[k]);
	}
}

void deadlock_tasks_find(const struct deadlock_tasks_source *s, struct deadlock_capture *c)
{
	if (!s->managed->contract.known || !s->resolve)
		return;
	struct task_search *x = mem_alloc(sizeof *x);
	const struct process_memory direct = s->managed->memory;
	struct memory_pages pages;
	x->source = s;
	x->capture = c;
	x->words = (uint64_t *)sleeping_stack_buffer_new();
	stack_ends_load(s->proc_fd, &x->ends);
	memory_pages_init(&pages, s->memory);
	s->managed->memory = pages.memory;
	managed_threads_read(&pages.memory, &s->managed->contract, &x->managed);
	find_blocked(x, &pages.memory);
	c->task_waiters = x->blocked.count;
	if (x->blocked.count)
		find_runners(x, &pages.memory);
	s->managed->memory = direct;
	managed_threads_fini(&x->managed);
	memory_pages_fini(&pages);
	stack_ends_fini(&x->ends);
	sleeping_stack_buffer_free((uint8_t *)x->words);
	free(x);
}
