#include "agent/profilers/deadlocks/deadlock_pair.h"

#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

static int by_inner_tid(const void *a, const void *b, void *threads)
{
	const struct locked_thread *t = threads;
	uint32_t x = t[*(const uint32_t *)a].wait.inner_tid, y = t[*(const uint32_t *)b].wait.inner_tid;
	return (x > y) - (x < y);
}

struct by_id {
	const struct deadlock_capture *capture;
	uint32_t *order;
};

static uint32_t thread_with_id(const struct by_id *x, uint32_t inner_tid)
{
	size_t low = 0, high = x->capture->thread_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (x->capture->threads[x->order[middle]].wait.inner_tid < inner_tid)
			low = middle + 1;
		else
			high = middle;
	}
	bool found = low < x->capture->thread_count && x->capture->threads[x->order[low]].wait.inner_tid == inner_tid;
	return found && inner_tid ? x->order[low] : WAIT_NONE;
}

/* The same thread at the first look; NULL. Both lists are in the order of their ids. */
static const struct thread_wait *before(const struct deadlock_look *first, size_t *at, pid_t tid)
{
	while (*at < first->thread_count && first->threads[*at].tid < tid)
		(*at)++;
	return *at < first->thread_count && first->threads[*at].tid == tid ? &first->threads[*at] : NULL;
}

/* A garbage collection moves objects. What a thread that has not run waits for is the same all the while: a SyncBlock stays where it is, and of a lock of
 * another kind the holder tells. */
static bool same_wait(const struct deadlock_look *first, size_t at, const struct monitor *now)
{
	uint32_t lock = first->waits_for ? first->waits_for[at] : UINT32_MAX;
	if (lock >= first->table.waited_count)
		return false;
	const struct monitor *was = &first->table.waited[lock];
	return was->kind == now->kind && was->sync_block == now->sync_block && was->owner == now->owner && now->owner != 0;
}

static void pair_threads(const struct deadlock_look *first, const struct deadlock_look *second, struct deadlock_capture *out)
{
	size_t at = 0;
	for (size_t i = 0; i < second->thread_count; i++) {
		struct locked_thread *t = &out->threads[i];
		const struct thread_wait *was = before(first, &at, second->threads[i].tid);
		uint32_t lock = second->waits_for[i];
		*t = (struct locked_thread){.wait = second->threads[i], .lock = lock < out->lock_count ? lock : WAIT_NONE, .stack = UINT32_MAX};
		t->first = was != NULL;
		t->still = was && was->switches == t->wait.switches && t->wait.state != 'R';
		t->lasting = t->still && t->lock != WAIT_NONE && same_wait(first, at, &out->locks[lock].monitor);
		if (t->lock != WAIT_NONE)
			out->locks[lock].seen++;
	}
}

void deadlock_pair_make(const struct deadlock_look *first, const struct deadlock_look *second, struct deadlock_capture *out)
{
	out->unread = first->unread ? first->unread : second->unread;
	out->table_found = second->table_found;
	out->full = first->full || second->full;
	out->monitors = second->table.entries;
	out->monitors_waited = second->monitors;
	out->first_waited = first->table.waited_count;
	out->first_look_ns = first->took_ns;
	out->second_look_ns = second->took_ns;
	out->between_ns = second->at_ns - first->at_ns;
	if (second->unread && !second->waits_for)
		return;
	out->thread_count = second->thread_count;
	out->threads = mem_calloc(out->thread_count + 1, sizeof *out->threads);
	out->lock_count = second->table.waited_count;
	out->locks = mem_calloc(out->lock_count + 1, sizeof *out->locks);
	for (size_t i = 0; i < out->lock_count; i++)
		out->locks[i].monitor = second->table.waited[i];
	pair_threads(first, second, out);
	struct by_id ids = {out, mem_calloc(out->thread_count + 1, sizeof *ids.order)};
	for (uint32_t i = 0; i < out->thread_count; i++)
		ids.order[i] = i;
	if (out->thread_count)
		qsort_r(ids.order, out->thread_count, sizeof *ids.order, by_inner_tid, out->threads);
	for (size_t i = 0; i < out->lock_count; i++)
		out->locks[i].holder = thread_with_id(&ids, out->locks[i].monitor.owner);
	free(ids.order);
}

bool deadlock_pair_matters(const struct deadlock_capture *c, uint32_t thread)
{
	if (c->threads[thread].lock != WAIT_NONE)
		return true;
	for (size_t i = 0; i < c->lock_count; i++)
		if (c->locks[i].holder == thread && c->locks[i].seen)
			return true;
	return false;
}

/* The type whose methods are on the stack of who waits for such a lock. */
static const char *type_on_stack(enum lock_kind kind)
{
	return kind == LOCK_KIND_LOCK   ? "System.Threading.Lock"
	       : kind == LOCK_KIND_TASK ? "System.Threading.Tasks.Task"
					: "System.Threading.ReaderWriterLockSlim";
}

void deadlock_pair_witness(struct deadlock_capture *c)
{
	for (uint32_t i = 0; i < c->thread_count; i++) {
		struct locked_thread *t = &c->threads[i];
		struct waited_lock *l = t->lock == WAIT_NONE ? NULL : &c->locks[t->lock];
		uint32_t depth;
		const uint32_t *stack = deadlock_capture_stack(c, i, &depth);
		bool managed = false;
		if (!l || l->monitor.kind == LOCK_KIND_MONITOR)
			continue;
		for (uint32_t k = 0; k < depth && !t->framed; k++) {
			const struct frame *f = &c->stacks.frames[stack[k]];
			managed |= f->kind == FRAME_MANAGED;
			t->framed = f->kind == FRAME_MANAGED && f->type && strcmp(f->type, type_on_stack(l->monitor.kind)) == 0;
		}
		if (!managed || t->framed)
			continue;
		t->lock = WAIT_NONE; /* it waits for something else, and the lock's address is left on its stack */
		t->lasting = t->cancelable = false;
		l->seen--;
	}
}
