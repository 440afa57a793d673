#include "agent/profilers/deadlocks/deadlock_analysis.h"

#include "agent/stacks/cpu_category.h"
#include "common/base/mem.h"

#include <stdlib.h>

static const struct waited_lock *lasting_lock(const struct deadlock_capture *c, uint32_t thread)
{
	const struct locked_thread *t = &c->threads[thread];
	return t->lasting && t->lock < c->lock_count ? &c->locks[t->lock] : NULL;
}

static bool is_task(const struct waited_lock *l)
{
	return l && l->monitor.kind == LOCK_KIND_TASK;
}

static bool lock_counted(const struct waited_lock *l)
{
	return l && l->seen == l->monitor.waiters;
}

static bool wait_agrees(const struct deadlock_capture *c, uint32_t thread)
{
	const struct waited_lock *l = lasting_lock(c, thread);
	return lock_counted(l) && (l->monitor.kind == LOCK_KIND_MONITOR || c->threads[thread].framed);
}

static void add_circle(const struct deadlock_capture *c, struct deadlock_analysis *a, uint32_t start)
{
	struct deadlock_circle x = {.counted = true, .agreed = true};
	size_t cap = 0;
	uint32_t at = start;
	do {
		GROW(x.threads, x.count, cap);
		x.threads[x.count++] = at;
		x.counted &= lock_counted(lasting_lock(c, at));
		x.agreed &= wait_agrees(c, at);
		x.timed += c->threads[at].wait.timed;
		x.cancelable += c->threads[at].cancelable;
		x.tasks += is_task(lasting_lock(c, at));
		x.behind += a->graph.behind[at];
		at = a->graph.holder[at];
	} while (at != start);
	x.behind -= x.behind < x.count - 1 ? x.behind : (uint32_t)(x.count - 1); /* those of the circle itself */
	a->circles = mem_realloc(a->circles, a->circle_count + 1, sizeof *a->circles);
	a->circles[a->circle_count++] = x;
}

static bool is_certain(const struct deadlock_circle *x)
{
	return x->agreed && !x->timed && !x->cancelable;
}

static int by_threads(const void *a, const void *b)
{
	const struct deadlock_circle *x = a, *y = b;
	if (is_certain(x) != is_certain(y))
		return is_certain(x) ? -1 : 1;
	size_t m = x->count + x->behind, n = y->count + y->behind;
	return m != n ? (m < n ? 1 : -1) : (x->threads[0] > y->threads[0]) - (x->threads[0] < y->threads[0]);
}

static void find_circles(const struct deadlock_capture *c, struct deadlock_analysis *a)
{
	for (uint32_t number = 0; number < a->graph.circles; number++) {
		uint32_t i = 0;
		while (i < c->thread_count && a->graph.circle[i] != number)
			i++;
		if (i < c->thread_count)
			add_circle(c, a, i);
	}
	if (a->circle_count)
		qsort(a->circles, a->circle_count, sizeof *a->circles, by_threads);
}

static void find_queue(const struct deadlock_capture *c, struct deadlock_analysis *a)
{
	a->head = WAIT_NONE;
	for (uint32_t i = 0; i < c->thread_count; i++) {
		if (a->graph.holder[i] != WAIT_NONE || a->graph.behind[i] <= a->queue)
			continue;
		a->head = i;
		a->queue = a->graph.behind[i];
	}
	a->queue_agreed = a->head != WAIT_NONE;
	for (uint32_t i = 0; i < c->thread_count; i++)
		if (a->head != WAIT_NONE && a->graph.last[i] == a->head && i != a->head)
			a->queue_agreed &= wait_agrees(c, i);
}

/* By thread: whom it waits for; with `in_circle`, for tasks only where that graph has it in a circle. */
static uint32_t *holders_of(const struct deadlock_capture *c, const struct wait_graph *in_circle)
{
	uint32_t *holder = mem_calloc(c->thread_count + 1, sizeof *holder);
	for (uint32_t i = 0; i < c->thread_count; i++) {
		const struct waited_lock *l = lasting_lock(c, i);
		bool counts = l && !(in_circle && is_task(l) && in_circle->circle[i] == WAIT_NONE);
		holder[i] = counts ? l->holder : WAIT_NONE;
	}
	return holder;
}

void deadlock_analysis_make(const struct deadlock_capture *c, struct deadlock_analysis *out)
{
	*out = (struct deadlock_analysis){.capture = c, .head = WAIT_NONE};
	for (uint32_t i = 0; i < c->thread_count; i++) {
		const struct waited_lock *l = lasting_lock(c, i);
		out->waiting += c->threads[i].lock != WAIT_NONE && !deadlock_analysis_on_task(c, i);
		out->lasting += l && !is_task(l);
	}
	struct wait_graph all;
	wait_graph_make_take(&all, holders_of(c, NULL), c->thread_count);
	wait_graph_make_take(&out->graph, holders_of(c, &all), c->thread_count);
	wait_graph_fini(&all);
	find_circles(c, out);
	find_queue(c, out);
}

bool deadlock_analysis_proven(const struct deadlock_analysis *a, bool named)
{
	for (size_t i = 0; i < a->circle_count; i++)
		if (!a->circles[i].timed && !a->circles[i].cancelable && (named ? a->circles[i].agreed : a->circles[i].counted))
			return true;
	return false;
}

void deadlock_analysis_fini(struct deadlock_analysis *a)
{
	for (size_t i = 0; i < a->circle_count; i++)
		free(a->circles[i].threads);
	free(a->circles);
	wait_graph_fini(&a->graph);
	*a = (struct deadlock_analysis){0};
}

bool deadlock_analysis_on_task(const struct deadlock_capture *c, uint32_t thread)
{
	uint32_t lock = c->threads[thread].lock;
	return lock < c->lock_count && is_task(&c->locks[lock]);
}

const struct frame *deadlock_analysis_place(const struct deadlock_capture *c, uint32_t thread)
{
	uint32_t depth;
	const uint32_t *stack = deadlock_capture_stack(c, thread, &depth);
	static const enum cpu_layer wanted[] = {LAYER_APPLICATION, LAYER_LIBRARY};
	for (size_t w = 0; w < 2; w++)
		for (uint32_t i = 0; i < depth; i++)
			if (cpu_layer_of(&c->stacks.frames[stack[i]]) == wanted[w])
				return &c->stacks.frames[stack[i]];
	return depth && c->named ? &c->stacks.frames[stack[0]] : NULL;
}

const struct frame *deadlock_analysis_call(const struct deadlock_capture *c, uint32_t thread)
{
	uint32_t depth;
	const uint32_t *stack = deadlock_capture_stack(c, thread, &depth);
	const struct frame *last = NULL;
	for (uint32_t i = 0; i < depth; i++) {
		enum cpu_layer layer = cpu_layer_of(&c->stacks.frames[stack[i]]);
		if (layer == LAYER_APPLICATION)
			return last;
		if (layer == LAYER_LIBRARY)
			last = &c->stacks.frames[stack[i]];
	}
	return NULL;
}
