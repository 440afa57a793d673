#include "agent/waits/wait_looks.h"

#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define LATE_NS 1000000000 /* who looks was stopped, or got no CPU */

void wait_looks_init(struct wait_looks *l, struct wait_log *log, int64_t first_ns)
{
	*l = (struct wait_looks){.log = log, .first_ns = first_ns};
}

void wait_looks_fini(struct wait_looks *l)
{
	free(l->threads);
	*l = (struct wait_looks){0};
}

void wait_looks_begin(struct wait_looks *l, int64_t now_ns, int64_t due_ns)
{
	l->now_ns = now_ns;
	l->late = l->last_ns && due_ns && now_ns - due_ns > LATE_NS;
	l->stalled_ns += l->late ? now_ns - l->last_ns : 0;
	l->looks++;
	for (size_t i = 0; i < l->count; i++)
		l->threads[i].met = false;
}

struct look_thread *wait_looks_thread(struct wait_looks *l, uint32_t tid)
{
	size_t low = 0, high = l->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (l->threads[middle].tid < tid)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == l->count || l->threads[low].tid != tid) {
		GROW(l->threads, l->count, l->cap);
		memmove(l->threads + low + 1, l->threads + low, (l->count - low) * sizeof *l->threads);
		l->threads[low] = (struct look_thread){.tid = tid, .ran = UINT64_MAX};
		l->count++;
	}
	l->threads[low].met = true;
	return &l->threads[low];
}

/* When what was seen at the last look ended: of a long time nothing is guessed. */
static int64_t ended_ns(const struct wait_looks *l)
{
	return !l->last_ns ? l->first_ns : l->late ? l->last_ns : l->last_ns + (l->now_ns - l->last_ns) / 2;
}

/* When what is seen at this look began. */
static int64_t began_ns(const struct wait_looks *l)
{
	return l->late ? l->now_ns : ended_ns(l);
}

static void end_looked(struct wait_looks *l, struct look_thread *t, int64_t at_ns, bool open)
{
	if (!t->asleep)
		return;
	t->asleep = false;
	if (!t->stack_ns) {
		l->unseen_ns += at_ns - t->from_ns;
		return;
	}
	wait_log_looked(l->log, t->tid, &(struct wait){
						.out_ns = t->from_ns,
						.in_ns = at_ns,
						.stack_ns = t->stack_ns,
						.least_ns = l->last_ns - t->seen_ns,
						.lock = t->lock,
						.fault = t->fault,
						.began_before = t->began_before,
						.open = open,
					});
}

static void log_reading(struct wait_looks *l, struct look_thread *t)
{
	if (t->read.at_ns && t->logged_ns != t->read.at_ns)
		wait_log_times(l->log, t->tid, &t->read);
	t->logged_ns = t->read.at_ns;
}

void wait_looks_times(struct wait_looks *l, struct look_thread *t, const struct wait_reading *r)
{
	bool differs = !t->read.at_ns || t->read.run_ns != r->run_ns || t->read.delay_ns != r->delay_ns;
	if (differs)
		log_reading(l, t);
	t->read = *r;
	if (differs)
		log_reading(l, t);
}

void wait_looks_change(struct wait_looks *l, struct look_thread *t, uint64_t ran, bool asleep, const struct wait_event *stack)
{
	end_looked(l, t, ended_ns(l), false);
	t->ran = ran;
	t->asleep = asleep;
	t->began_before = asleep && !l->last_ns;
	t->from_ns = began_ns(l);
	t->seen_ns = l->now_ns;
	t->stack_ns = asleep ? stack->time_ns : 0;
	t->lock = asleep ? stack->lock : 0;
	t->fault = asleep && stack->fault;
}

void wait_looks_adopt(struct wait_looks *l)
{
	for (size_t i = 0; i < l->count; i++) {
		struct look_thread *t = &l->threads[i];
		struct wait_log_thread *recorded = wait_log_find(l->log, t->tid);
		t->began_before = false;
		if (!t->asleep || !recorded || !recorded->off || recorded->doubtful)
			continue;
		t->from_ns = t->seen_ns = recorded->out_ns;
		t->began_before = recorded->began_before;
		recorded->off = false;
	}
}

void wait_looks_end(struct wait_looks *l)
{
	size_t kept = 0;
	for (size_t i = 0; i < l->count; i++) {
		if (l->threads[i].met) {
			l->threads[kept++] = l->threads[i];
			continue;
		}
		end_looked(l, &l->threads[i], ended_ns(l), false);
		log_reading(l, &l->threads[i]);
	}
	l->count = kept;
	l->last_ns = l->now_ns;
}

void wait_looks_finish(struct wait_looks *l, int64_t end_ns)
{
	for (size_t i = 0; i < l->count; i++) {
		end_looked(l, &l->threads[i], end_ns, true);
		log_reading(l, &l->threads[i]);
	}
	l->count = 0;
}
