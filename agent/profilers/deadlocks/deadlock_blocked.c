#include "agent/profilers/deadlocks/deadlock_blocked.h"

#include "agent/profilers/deadlocks/deadlock_analysis.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

bool deadlock_blocked_may(const struct locked_thread *t)
{
	return t->still && t->wait.system_call == SYS_futex && !t->wait.timed;
}

static bool begins_with(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* By the outermost of .NET's methods below the application's: BlockingCollection.Take waits in a SemaphoreSlim, and for work. */
static enum blocked_kind kind_of_call(const struct frame *f)
{
	if (!f || !f->type)
		return BLOCKED_NOT;
	if (strcmp(f->type, "System.Threading.SemaphoreSlim") == 0)
		return BLOCKED_SEMAPHORE;
	if (begins_with(f->type, "System.Threading.WaitHandle"))
		return BLOCKED_HANDLE;
	bool awaiter = begins_with(f->type, "System.Runtime.CompilerServices.") && strstr(f->type, "TaskAwait");
	return awaiter || strcmp(f->type, "System.Threading.Tasks.Task") == 0 || begins_with(f->type, "System.Threading.Tasks.Task`1") ? BLOCKED_TASK
																	: BLOCKED_NOT;
}

enum blocked_kind deadlock_blocked_kind(const struct deadlock_capture *c, uint32_t thread)
{
	const struct locked_thread *t = &c->threads[thread];
	if (!deadlock_blocked_may(t) || t->wait.inner_tid == c->main_tid)
		return BLOCKED_NOT;
	if (deadlock_analysis_on_task(c, thread))
		return BLOCKED_TASK;
	return t->lock != WAIT_NONE ? BLOCKED_LOCK : kind_of_call(deadlock_analysis_call(c, thread));
}

static bool same_method(const struct frame *a, const struct frame *b)
{
	return a == b || (a->type && b->type && a->method && b->method && strcmp(a->type, b->type) == 0 && strcmp(a->method, b->method) == 0);
}

static void add_blocked(struct deadlock_blocked *b, enum blocked_kind kind, const struct frame *place, bool worker)
{
	size_t i = 0;
	while (i < b->count && (b->items[i].kind != kind || !same_method(b->items[i].place, place)))
		i++;
	if (i == BLOCKED_GROUPS)
		return;
	if (i == b->count)
		b->items[b->count++] = (struct blocked_group){.kind = kind, .place = place};
	b->items[i].threads++;
	b->items[i].workers += worker;
}

static int by_size(const void *a, const void *b)
{
	const struct blocked_group *x = a, *y = b;
	return (y->threads > x->threads) - (y->threads < x->threads);
}

void deadlock_blocked_find(const struct deadlock_capture *c, struct deadlock_blocked *out)
{
	*out = (struct deadlock_blocked){0};
	for (uint32_t i = 0; i < c->thread_count; i++) {
		bool worker = c->threads[i].first && begins_with(c->threads[i].wait.name, ".NET TP Worker");
		enum blocked_kind kind = deadlock_blocked_kind(c, i);
		const struct frame *place = kind == BLOCKED_NOT ? NULL : deadlock_analysis_place(c, i);
		out->workers += worker;
		if (!place)
			continue;
		out->workers_blocked += worker;
		add_blocked(out, kind, place, worker);
	}
	if (out->count)
		qsort(out->items, out->count, sizeof *out->items, by_size);
}
