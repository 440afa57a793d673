#include "agent/waits/wait_log.h"

#include "common/base/index_set.h"
#include "common/base/mem.h"

#include <stdlib.h>

struct wait_log *wait_log_new(void)
{
	struct wait_log *l = mem_alloc(sizeof *l);
	l->index = mem_alloc(sizeof(struct index_set));
	return l;
}

void wait_log_free(struct wait_log *l)
{
	if (!l)
		return;
	index_set_fini(l->index);
	free(l->index);
	free(l->threads);
	free(l->waits);
	free(l->events);
	free(l->readings);
	free(l);
}

void wait_log_add(struct wait_log *l, const struct wait_event *e)
{
	GROW(l->events, l->event_count, l->event_cap);
	l->events[l->event_count++] = *e;
}

/* threads ---------------------------------------------------------------------------------------------------------- */

static uint32_t hash_of_tid(uint32_t tid)
{
	return index_hash(INDEX_HASH_START, &tid, sizeof tid);
}

struct wait_log_thread *wait_log_find(const struct wait_log *l, uint32_t tid)
{
	uint32_t hash = hash_of_tid(tid), i;
	size_t at = hash;
	while ((i = index_set_next(l->index, hash, &at)) != INDEX_NONE)
		if (l->threads[i].tid == tid)
			return &l->threads[i];
	return NULL;
}

/* NULL: there is no room. */
static struct wait_log_thread *logged_thread(struct wait_log *l, uint32_t tid)
{
	struct wait_log_thread *t = wait_log_find(l, tid);
	if (t || l->thread_count == WAIT_LOG_THREADS)
		return t;
	GROW(l->threads, l->thread_count, l->thread_cap);
	l->threads[l->thread_count] = (struct wait_log_thread){.tid = tid, .index = UINT32_MAX};
	index_set_add(l->index, hash_of_tid(tid), (uint32_t)l->thread_count);
	return &l->threads[l->thread_count++];
}

/* waits ------------------------------------------------------------------------------------------------------------ */

size_t wait_length_of(int64_t ns)
{
	uint64_t us = ns > 0 ? (uint64_t)ns / 1000 : 0;
	size_t length = us ? 64 - (size_t)__builtin_clzll(us) : 0;
	return length < WAIT_LENGTHS ? length : WAIT_LENGTHS - 1;
}

static void keep_wait(struct wait_log *l, const struct wait *w)
{
	if (l->wait_count == WAIT_LOG_WAITS) {
		l->kept_none++;
		return;
	}
	GROW(l->waits, l->wait_count, l->wait_cap);
	l->waits[l->wait_count++] = *w;
}

/* The thread may have slept in that time, or run. */
static void keep_doubt(struct wait_log *l, const struct wait_log_thread *t, int64_t from_ns, int64_t to_ns)
{
	if (l->keep_all)
		keep_wait(l, &(struct wait){.out_ns = from_ns, .in_ns = to_ns, .thread = (uint32_t)(t - l->threads), .doubtful = true});
}

static void end_wait(struct wait_log *l, struct wait_log_thread *t, int64_t in_ns, bool open)
{
	t->off = false;
	if (t->doubtful) {
		keep_doubt(l, t, t->out_ns, in_ns);
		l->lost++;
		return;
	}
	int64_t ns = in_ns > t->out_ns ? in_ns - t->out_ns : 0;
	struct wait_lengths *lengths = l->looks ? &t->beside_looks : &t->before_looks;
	struct wait_length *length = &(t->runnable ? lengths->ready : lengths->sleeping)[wait_length_of(ns)];
	length->count++;
	length->ns += (uint64_t)ns;
	if (t->stack_ns || l->keep_all)
		keep_wait(l, &(struct wait){
				     .out_ns = t->out_ns,
				     .in_ns = in_ns,
				     .stack_ns = t->stack_ns,
				     .lock = t->lock,
				     .thread = (uint32_t)(t - l->threads),
				     .runnable = t->runnable,
				     .fault = t->fault,
				     .began_before = t->began_before,
				     .open = open,
			     });
}

void wait_log_looked(struct wait_log *l, uint32_t tid, const struct wait *w)
{
	struct wait_log_thread *t = logged_thread(l, tid);
	if (!t)
		return;
	struct wait mine = *w;
	mine.thread = (uint32_t)(t - l->threads);
	mine.looked = true;
	keep_wait(l, &mine);
}

void wait_log_times(struct wait_log *l, uint32_t tid, const struct wait_reading *r)
{
	struct wait_log_thread *t = l->keep_all && l->reading_count < WAIT_LOG_READINGS ? logged_thread(l, tid) : NULL;
	if (!t)
		return;
	GROW(l->readings, l->reading_count, l->reading_cap);
	l->readings[l->reading_count] = *r;
	l->readings[l->reading_count++].thread = (uint32_t)(t - l->threads);
}

static void begin_wait(struct wait_log_thread *t, const struct wait_event *e)
{
	bool fresh = t->next_stack_ns && e->time_ns - t->next_stack_ns < WAIT_STACK_NS;
	t->off = true;
	t->out_ns = e->time_ns;
	t->runnable = e->runnable;
	t->began_before = t->doubtful = false;
	t->stack_ns = fresh ? t->next_stack_ns : 0;
	t->lock = fresh ? t->next_lock : 0;
	t->fault = fresh && t->next_fault;
	t->next_stack_ns = 0;
}

static void take_stack(struct wait_log_thread *t, const struct wait_event *e)
{
	/* It is about to lose its CPU, unless it is looked at while it sleeps; where it got its CPU unseen, that is not told apart. */
	t->next_stack_ns = e->time_ns;
	t->next_lock = e->lock;
	t->next_fault = e->fault;
	if (t->off && !t->stack_ns) {
		t->stack_ns = e->time_ns;
		t->lock = e->lock;
		t->fault = e->fault;
	}
}

static void end_all_waits(struct wait_log *l, int64_t end_ns)
{
	for (size_t i = 0; i < l->thread_count; i++) {
		l->threads[i].next_stack_ns = 0;
		if (l->threads[i].off)
			end_wait(l, &l->threads[i], end_ns, true);
	}
}

static void settle_event(struct wait_log *l, const struct wait_event *e)
{
	if (e->kind == WAIT_EVENT_PAUSE) {
		end_all_waits(l, e->time_ns);
		return;
	}
	if (e->kind == WAIT_EVENT_LOSS) {
		for (size_t i = 0; i < l->thread_count; i++)
			l->threads[i].doubtful |= l->threads[i].off;
		return;
	}
	struct wait_log_thread *t = logged_thread(l, e->tid);
	if (!t)
		return;
	switch ((enum wait_event_kind)e->kind) {
	case WAIT_EVENT_STACK:
		take_stack(t, e);
		break;
	case WAIT_EVENT_ASLEEP:
		if (!t->off)
			begin_wait(t, e);
		t->out_ns = e->time_ns;
		t->began_before = true;
		break;
	case WAIT_EVENT_OUT:
		l->lost += t->off && !t->began_before;
		if (t->off)
			keep_doubt(l, t, t->out_ns, e->time_ns);
		t->switches++;
		t->last_ns = e->time_ns;
		begin_wait(t, e);
		break;
	case WAIT_EVENT_IN:
		if (t->off)
			end_wait(l, t, e->time_ns, false);
		else
			keep_doubt(l, t, t->last_ns < l->opened_ns ? l->opened_ns : t->last_ns, e->time_ns);
		t->last_ns = e->time_ns;
		t->next_stack_ns = 0;
		break;
	case WAIT_EVENT_PAUSE:
	case WAIT_EVENT_LOSS:
		break;
	}
}

/* A stack is taken before its switch; of equal times the lower kind is the earlier one. */
static int by_event_time(const void *a, const void *b)
{
	const struct wait_event *x = a, *y = b;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return (x->kind > y->kind) - (x->kind < y->kind);
}

void wait_log_settle(struct wait_log *l, int64_t until_ns)
{
	size_t done = 0;
	if (l->event_count)
		qsort(l->events, l->event_count, sizeof *l->events, by_event_time);
	while (done < l->event_count && l->events[done].time_ns < until_ns)
		settle_event(l, &l->events[done++]);
	for (size_t i = done; i < l->event_count; i++)
		l->events[i - done] = l->events[i];
	l->event_count -= done;
	l->settled_ns = until_ns;
}

void wait_log_ended(struct wait_log *l, uint32_t tid)
{
	struct wait_log_thread *t = wait_log_find(l, tid);
	if (t)
		t->off = false;
}

void wait_log_counted(struct wait_log *l, uint32_t tid, uint64_t switches)
{
	struct wait_log_thread *t = wait_log_find(l, tid);
	if (t && t->switches == switches)
		t->doubtful = false;
}

void wait_log_finish(struct wait_log *l, int64_t end_ns)
{
	wait_log_settle(l, INT64_MAX);
	end_all_waits(l, end_ns);
}

uint64_t wait_log_switches(const struct wait_log *l)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < l->thread_count; i++)
		sum += l->threads[i].switches;
	return sum;
}
