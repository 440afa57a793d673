#include "agent/waits/wait_holders.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

struct lock_place { /* where threads wait for a monitor */
	uint64_t lock;
	uint32_t place;
	double ns;
};

static int by_lock(const void *x, const void *y)
{
	const struct lock_place *a = x, *b = y;
	if (a->lock != b->lock)
		return a->lock < b->lock ? -1 : 1;
	return (a->place > b->place) - (a->place < b->place);
}

/* For each monitor the place where most of the waiting for it is. */
static size_t main_places(const struct wait_analysis *a, const struct wait_join *j, const uint32_t *place_of, struct lock_place *list)
{
	size_t count = 0, kept = 0;
	for (size_t i = 0; i < j->count; i++)
		if (j->list[i].wait->lock && place_of[i] != UINT32_MAX && a->places[place_of[i]].meaning.kind == WAIT_KIND_LOCK)
			list[count++] = (struct lock_place){j->list[i].wait->lock, place_of[i], j->list[i].ns};
	qsort(list, count, sizeof *list, by_lock);
	for (size_t i = 0, end; i < count; i = end) {
		struct lock_place sum = list[i];
		for (end = i + 1; end < count && by_lock(&list[i], &list[end]) == 0; end++)
			sum.ns += list[end].ns;
		if (kept && list[kept - 1].lock == sum.lock) {
			if (sum.ns > list[kept - 1].ns)
				list[kept - 1] = sum;
		} else {
			list[kept++] = sum;
		}
	}
	return kept;
}

static uint32_t thread_with_tid(const struct cpu_capture *c, uint32_t tid)
{
	for (size_t i = 0; i < c->thread_count; i++)
		if (c->threads[i].tid == (int64_t)tid)
			return (uint32_t)i;
	return UINT32_MAX;
}

struct vote {
	uint32_t place, method;
	const char *what;
};

static int by_vote(const void *x, const void *y)
{
	const struct vote *a = x, *b = y;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->method != b->method)
		return a->method < b->method ? -1 : 1;
	return (a->what > b->what) - (a->what < b->what);
}

static void take_votes(struct wait_analysis *a, struct vote *votes, size_t count)
{
	if (count)
		qsort(votes, count, sizeof *votes, by_vote);
	for (size_t i = 0, end; i < count; i = end) {
		struct wait_place *p = &a->places[votes[i].place];
		for (end = i + 1; end < count && by_vote(&votes[i], &votes[end]) == 0; end++)
			;
		if (end - i <= p->held_known)
			continue;
		p->held_known = (uint32_t)(end - i);
		p->holder = votes[i].method;
		p->holder_what = votes[i].what;
	}
}

void wait_holders_find(struct wait_analysis *a, const struct wait_join *j, const uint32_t *place_of, const uint32_t *method_of)
{
	const struct wait_capture *c = a->capture;
	AUTO_FREE struct lock_place *locks = mem_calloc(j->count + 1, sizeof *locks);
	AUTO_FREE struct vote *votes = mem_calloc(c->sighting_count + 1, sizeof *votes);
	size_t lock_count = main_places(a, j, place_of, locks), count = 0, at;
	for (size_t i = 0; i < c->sighting_count; i++) {
		const struct lock_sighting *s = &c->sightings[i];
		for (at = 0; at < lock_count && locks[at].lock != s->lock; at++)
			;
		if (at == lock_count || !s->owner)
			continue;
		struct wait_place *p = &a->places[locks[at].place];
		uint32_t thread = thread_with_tid(&c->stacks, s->owner);
		const struct joined_wait *w = thread == UINT32_MAX ? NULL : wait_join_at(j, thread, s->at_ns);
		p->sightings++;
		p->held_running += !w;
		if (w && !(w->meaning.kind == WAIT_KIND_LOCK && w->wait->lock == s->lock))
			votes[count++] = (struct vote){locks[at].place, method_of[w->stack], w->called};
	}
	take_votes(a, votes, count);
}
