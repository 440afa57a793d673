#include "agent/profilers/deadlocks/deadlock_doubt.h"

#include "agent/profilers/deadlocks/deadlock_blocked.h"
#include "agent/stacks/cpu_category.h"

#include <stdlib.h>
#include <string.h>

enum lock_stand {
	STANDS_ELSEWHERE,
	STANDS_IN_LOCK, /* it wants to enter */
	STANDS_IN_WAIT, /* it waits to be told, and takes the lock again at the end */
};

static bool name_begins(const char *name, const char *with)
{
	return name && strncmp(name, with, strlen(with)) == 0;
}

static enum lock_stand stand_of(const struct frame *f)
{
	static const struct {
		const char *type, *method; /* how the method begins */
		enum lock_stand stand;
	} known[] = {
		{"System.Threading.Lock", "TryEnter", STANDS_IN_LOCK},
		{"System.Threading.Lock", "Enter", STANDS_IN_LOCK},
		{"System.Threading.Monitor", "Enter", STANDS_IN_LOCK},
		{"System.Threading.Monitor", "TryEnter", STANDS_IN_LOCK},
		{"System.Threading.Monitor", "ReliableEnter", STANDS_IN_LOCK},
		{"System.Threading.Monitor", "Wait", STANDS_IN_WAIT},
		{"System.Threading.Condition", "Wait", STANDS_IN_WAIT},
	};
	for (size_t i = 0; f->kind == FRAME_MANAGED && f->type && i < sizeof known / sizeof *known; i++)
		if (strcmp(f->type, known[i].type) == 0 && name_begins(f->method, known[i].method))
			return known[i].stand;
	return STANDS_ELSEWHERE;
}

/* By the last of what it calls before the application's code. */
static enum lock_stand thread_stands(const struct deadlock_capture *c, uint32_t thread)
{
	uint32_t depth;
	const uint32_t *stack = deadlock_capture_stack(c, thread, &depth);
	enum lock_stand last = STANDS_ELSEWHERE;
	for (uint32_t i = 0; i < depth && cpu_layer_of(&c->stacks.frames[stack[i]]) != LAYER_APPLICATION; i++) {
		enum lock_stand stand = stand_of(&c->stacks.frames[stack[i]]);
		if (stand != STANDS_ELSEWHERE)
			last = stand;
	}
	return last;
}

static bool does_not_fit(const struct deadlock_capture *c, uint32_t thread)
{
	if (c->threads[thread].lock != WAIT_NONE || !deadlock_blocked_may(&c->threads[thread]))
		return false;
	return thread_stands(c, thread) == STANDS_IN_LOCK;
}

size_t deadlock_doubt_count(const struct deadlock_capture *c)
{
	size_t count = 0;
	for (uint32_t i = 0; !c->unread && !c->full && i < c->thread_count; i++)
		count += does_not_fit(c, i);
	return count;
}

static int doubted_by_tid(const void *a, const void *b)
{
	const struct thread_wait *x = a, *y = b;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

const char *deadlock_doubt_why(const struct deadlock_capture *c, const struct thread_wait *now, size_t count)
{
	for (uint32_t i = 0; !c->unread && !c->full && i < c->thread_count && count; i++) {
		const struct thread_wait *t = &c->threads[i].wait, *later = bsearch(t, now, count, sizeof *now, doubted_by_tid);
		if (later && later->switches == t->switches && does_not_fit(c, i))
			return "threads stand in a lock that was not found among the runtime's locks";
	}
	return NULL;
}
