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

struct holder_search {
	struct wait_analysis *analysis;
	const struct wait_join *join;
	const uint32_t *place_of, *method_of;
	struct lock_place *locks; /* monitors, each with its place */
	size_t lock_count;
	struct vote *votes;
	size_t vote_count;
};

static uint32_t place_of_monitor(const struct holder_search *h, uint64_t lock)
{
	for (size_t i = 0; i < h->lock_count; i++)
		if (h->locks[i].lock == lock)
			return h->locks[i].place;
	return UINT32_MAX;
}

/* Other locks are moved by the collector: not their address says where they are waited for, but the wait of the thread that was seen to wait, if its stack
 * names such a lock, too. */
static uint32_t place_of_waiter(const struct holder_search *h, const struct lock_sighting *s, uint32_t owner)
{
	const struct wait_capture *c = h->analysis->capture;
	const struct wait_log_thread *t = wait_log_find(c->log, s->waiter);
	const struct joined_wait *w = t && t->index < c->stacks.thread_count && t->index != owner ? wait_join_at(h->join, t->index, s->at_ns) : NULL;
	const char *what = s->kind == LOCK_KIND_LOCK ? "Lock" : "ReaderWriterLockSlim";
	return w && w->meaning.kind == WAIT_KIND_LOCK && strcmp(w->meaning.what, what) == 0 ? h->place_of[w - h->join->list] : UINT32_MAX;
}

/* Who waits for the lock has just lost it, or has not got it yet. */
static bool waits_for_it(const struct holder_search *h, const struct joined_wait *w, const struct lock_sighting *s, uint32_t place)
{
	if (w->meaning.kind != WAIT_KIND_LOCK)
		return false;
	return s->kind == LOCK_KIND_MONITOR ? w->wait->lock == s->lock : h->place_of[w - h->join->list] == place;
}

/* One look may have met several threads that wait for the lock at one place. */
static bool is_seen_again(const struct lock_sighting *list, const uint32_t *places, size_t i)
{
	for (size_t k = i; k-- > 0 && list[k].look == list[i].look;)
		if (list[k].lock == list[i].lock && list[k].kind == list[i].kind && places[k] == places[i])
			return true;
	return false;
}

/* Looks at threads miss short waits, and with records that are missing waits are, too: who was not seen to wait need not have run. */
static bool knows_all_waits(const struct wait_capture *c)
{
	return !c->looks && c->lost + c->dropped == 0;
}

static void count_sighting(struct holder_search *h, const struct lock_sighting *s, uint32_t owner, uint32_t place)
{
	struct wait_place *p = &h->analysis->places[place];
	const struct joined_wait *w = owner == UINT32_MAX ? NULL : wait_join_at(h->join, owner, s->at_ns);
	p->sightings++;
	p->held_running += !w && knows_all_waits(h->analysis->capture);
	if (w && !waits_for_it(h, w, s, place))
		h->votes[h->vote_count++] = (struct vote){place, h->method_of[w->stack], w->called};
}

/* Who has a database locked is not known, only that the process has: the places where threads wait for one then. */
static void count_database(struct holder_search *h, int64_t at_ns)
{
	const struct wait_analysis *a = h->analysis;
	for (uint32_t i = 0; i < a->capture->stacks.thread_count; i++) {
		const struct joined_wait *w = wait_join_at(h->join, i, at_ns);
		uint32_t place = w && strcmp(w->meaning.what, WAIT_WHAT_DATABASE) == 0 ? h->place_of[w - h->join->list] : UINT32_MAX;
		if (place == UINT32_MAX || a->places[place].database_ns == at_ns)
			continue;
		a->places[place].sightings++;
		a->places[place].database_ns = at_ns;
	}
}

void wait_holders_find(struct wait_analysis *a, const struct wait_join *j, const uint32_t *place_of, const uint32_t *method_of)
{
	const struct wait_capture *c = a->capture;
	AUTO_FREE struct lock_place *locks = mem_calloc(j->count + 1, sizeof *locks);
	AUTO_FREE struct vote *votes = mem_calloc(c->sighting_count + 1, sizeof *votes);
	AUTO_FREE uint32_t *places = mem_calloc(c->sighting_count + 1, sizeof *places);
	struct holder_search h = {.analysis = a, .join = j, .place_of = place_of, .method_of = method_of, .locks = locks, .votes = votes};
	h.lock_count = main_places(a, j, place_of, locks);
	for (size_t i = 0; i < c->sighting_count; i++) {
		const struct lock_sighting *s = &c->sightings[i];
		uint32_t owner = thread_with_tid(&c->stacks, s->owner);
		if (s->kind == LOCK_KIND_DATABASE)
			count_database(&h, s->at_ns);
		places[i] = !s->owner ? UINT32_MAX : s->kind == LOCK_KIND_MONITOR ? place_of_monitor(&h, s->lock) : place_of_waiter(&h, s, owner);
		if (places[i] != UINT32_MAX && (s->kind == LOCK_KIND_MONITOR || !is_seen_again(c->sightings, places, i)))
			count_sighting(&h, s, owner, places[i]);
	}
	take_votes(a, votes, h.vote_count);
}
