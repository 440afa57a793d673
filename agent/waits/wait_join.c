#include "agent/waits/wait_join.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

/* samples by thread and time ---------------------------------------------------------------------------------------- */

static int by_thread_and_time(const void *x, const void *y, void *ctx)
{
	const struct capture_sample *s = ctx, *a = &s[*(const uint32_t *)x], *b = &s[*(const uint32_t *)y];
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

static uint32_t *order_samples(const struct cpu_capture *c)
{
	uint32_t *order = mem_calloc(c->sample_count + 1, sizeof *order);
	for (size_t i = 0; i < c->sample_count; i++)
		order[i] = (uint32_t)i;
	if (c->sample_count)
		qsort_r(order, c->sample_count, sizeof *order, by_thread_and_time, c->samples);
	return order;
}

static uint32_t stack_at(const struct cpu_capture *c, const uint32_t *order, uint32_t thread, int64_t time_ns)
{
	size_t low = 0, high = c->sample_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct capture_sample *s = &c->samples[order[middle]];
		if (s->thread < thread || (s->thread == thread && s->time_ns < time_ns))
			low = middle + 1;
		else
			high = middle;
	}
	if (low == c->sample_count)
		return UINT32_MAX;
	const struct capture_sample *s = &c->samples[order[low]];
	return s->thread == thread && s->time_ns == time_ns ? s->stack : UINT32_MAX;
}

/* what a wait means ------------------------------------------------------------------------------------------------ */

/* A thread of the application's own that waits to be told, or paces itself, keeps nobody waiting that is known of. */
static void judge_own_thread(const struct wait *w, struct wait_meaning *m)
{
	bool all_the_time = w->began_before && w->open;
	if (m->kind == WAIT_KIND_EVENT)
		*m = (struct wait_meaning){m->kind, true, "threads of the application that wait to be told"};
	else if (m->kind == WAIT_KIND_SLEEP)
		*m = (struct wait_meaning){m->kind, true, "threads of the application that sleep between rounds"};
	else if (all_the_time && m->kind == WAIT_KIND_TASK)
		*m = (struct wait_meaning){m->kind, true, "threads of the application that wait for a task all the time"};
	else if (all_the_time && m->kind == WAIT_KIND_LOCK && strcmp(m->what, "SemaphoreSlim") == 0)
		*m = (struct wait_meaning){m->kind, true, "threads of the application that wait to be told"};
}

static bool spins_first(const struct wait_meaning *m) /* before it sleeps */
{
	return m->kind == WAIT_KIND_TASK || m->kind == WAIT_KIND_LOCK || m->kind == WAIT_KIND_EVENT;
}

/* Who spins gives its CPU away many times in one wait: that is no wait of its own, unless nothing else comes of it. */
static bool is_part_of_a_wait(const struct wait *w, const struct wait_meaning *m)
{
	return w->runnable && spins_first(m) && strcmp(m->what, "SpinLock") != 0;
}

static void judge_wait(const struct wait *w, bool worker, struct wait_meaning *m)
{
	if (w->runnable && !m->idle && !spins_first(m))
		*m = (struct wait_meaning){WAIT_KIND_CPU, false, "no free CPU"};
	else if (w->fault)
		*m = (struct wait_meaning){WAIT_KIND_FAULT, false, "a page of memory"};
	else if (m->kind == WAIT_KIND_RUNTIME && !m->idle && w->lock)
		*m = (struct wait_meaning){WAIT_KIND_LOCK, false, "Monitor"};
	else if (!m->idle && !worker)
		judge_own_thread(w, m);
}

/* how much it stands for ------------------------------------------------------------------------------------------- */

#define NEAR 2 /* a wait may stand for others of the thread that are up to four times as long or as short */

struct seen_lengths { /* of a thread: the waits with a stack, and all that they stand for */
	struct wait_lengths some, all;
};

struct seen_thread {
	struct seen_lengths before_looks, beside_looks;
};

/* Looks tell of its time, if they tell of any. */
static bool is_beside_looks(const struct wait_capture *c, const struct wait *w)
{
	return c->looks && w->in_ns > c->looked_from_ns;
}

static struct seen_lengths *seen_of(const struct wait_capture *c, struct seen_thread *seen, const struct wait *w)
{
	return is_beside_looks(c, w) ? &seen[w->thread].beside_looks : &seen[w->thread].before_looks;
}

static struct wait_length *length_of(struct wait_lengths *l, const struct wait *w)
{
	return &(w->runnable ? l->ready : l->sleeping)[wait_length_of(w->in_ns - w->out_ns)];
}

static void count_seen(const struct wait_capture *c, const struct wait_join *j, struct seen_thread *seen)
{
	for (size_t i = 0; i < j->count; i++) {
		if (j->list[i].wait->looked)
			continue;
		struct wait_length *l = length_of(&seen_of(c, seen, j->list[i].wait)->some, j->list[i].wait);
		l->count++;
		l->ns += (uint64_t)(j->list[i].wait->in_ns - j->list[i].wait->out_ns);
	}
}

/* Where waits of a length have no stack at all, those of the nearest length that has stand for them. What is left has none. */
static void give_to_near(const struct wait_length *all, const struct wait_length *seen, struct wait_length *out, double *left_ns, double *left_count)
{
	for (int k = 0; k < WAIT_LENGTHS; k++) {
		int to = -1;
		for (int d = 0; d <= NEAR && to < 0; d++)
			to = k + d < WAIT_LENGTHS && seen[k + d].count ? k + d : k >= d && seen[k - d].count ? k - d : -1;
		if (to >= 0) {
			out[to].count += all[k].count;
			out[to].ns += all[k].ns;
		} else {
			*left_ns += (double)all[k].ns;
			*left_count += (double)all[k].count;
		}
	}
}

static void share_out(const struct wait_capture *c, struct wait_join *j, struct seen_thread *seen)
{
	double none = 0, looked_ns = 0, ready_ns = 0, ready_count = 0, scale = wait_capture_scale(c);
	for (size_t i = 0; i < c->log->thread_count; i++) {
		const struct wait_log_thread *t = &c->log->threads[i];
		struct seen_lengths *before = &seen[i].before_looks, *beside = &seen[i].beside_looks;
		give_to_near(t->before_looks.sleeping, before->some.sleeping, before->all.sleeping, &j->unseen_ns, &none);
		give_to_near(t->before_looks.ready, before->some.ready, before->all.ready, &j->ready_ns, &j->ready_count);
		give_to_near(t->beside_looks.sleeping, beside->some.sleeping, beside->all.sleeping, &looked_ns, &none);
		give_to_near(t->beside_looks.ready, beside->some.ready, beside->all.ready, &ready_ns, &ready_count);
	}
	j->unseen_ns += (double)c->unseen_ns; /* what looks saw of it, in place of looked_ns */
	j->ready_ns += scale * ready_ns;
	j->ready_count += scale * ready_count;
}

static void weigh_wait(const struct wait_capture *c, struct joined_wait *w, struct seen_thread *seen)
{
	bool beside = is_beside_looks(c, w->wait);
	double scale = beside ? wait_capture_scale(c) : 1, ns = (double)(w->wait->in_ns - w->wait->out_ns);
	if (w->wait->looked) {
		w->ns = ns;
		return;
	}
	struct seen_lengths *s = seen_of(c, seen, w->wait);
	const struct wait_length *all = length_of(&s->all, w->wait), *some = length_of(&s->some, w->wait);
	w->ns = beside && !w->wait->runnable ? 0 : scale * (some->ns ? ns * (double)all->ns / (double)some->ns : ns);
	w->count = scale * (some->count ? (double)all->count / (double)some->count : 1);
}

/* Where a window of records cut a wait off, looks may have seen how it went on. */
static void measure_waits(const struct wait_capture *c, struct wait_join *j)
{
	for (size_t i = 0; i < j->count; i++) {
		struct joined_wait *w = &j->list[i];
		w->length_ns = w->wait->in_ns - w->wait->out_ns;
		w->least_ns = w->wait->looked && !(w->wait->began_before && w->wait->open) ? w->wait->least_ns : w->length_ns;
		if (!c->looks || w->wait->looked || !w->wait->open)
			continue;
		const struct joined_wait *went_on = wait_join_at(j, w->thread, w->wait->in_ns);
		if (went_on && went_on->wait->in_ns - w->wait->out_ns > w->length_ns)
			w->length_ns = w->least_ns = went_on->wait->in_ns - w->wait->out_ns;
	}
}

/* all of it -------------------------------------------------------------------------------------------------------- */

static int by_thread_and_out(const void *x, const void *y)
{
	const struct joined_wait *a = x, *b = y;
	if (a->times != b->times)
		return a->times ? -1 : 1;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return (a->wait->out_ns > b->wait->out_ns) - (a->wait->out_ns < b->wait->out_ns);
}

static void find_stacks(const struct wait_capture *c, struct wait_join *j)
{
	AUTO_FREE uint32_t *order = order_samples(&c->stacks);
	for (size_t i = 0; i < c->log->wait_count; i++) {
		const struct wait *w = &c->log->waits[i];
		uint32_t thread = c->log->threads[w->thread].index;
		int64_t at_ns = w->stack_ns > c->started_ns ? w->stack_ns - c->started_ns : 0;
		uint32_t stack = thread < c->stacks.thread_count && w->stack_ns ? stack_at(&c->stacks, order, thread, at_ns) : UINT32_MAX;
		if (stack == UINT32_MAX)
			continue;
		bool times = w->looked || !is_beside_looks(c, w);
		j->list[j->count++] = (struct joined_wait){.wait = w, .thread = thread, .stack = stack, .times = times};
		j->timed_count += times;
	}
	if (j->count)
		qsort(j->list, j->count, sizeof *j->list, by_thread_and_out);
}

static const uint32_t *frames_of(const struct cpu_capture *c, uint32_t stack, size_t *depth)
{
	*depth = c->stacks[stack].depth;
	return c->stack_frames + c->stacks[stack].first;
}

static void find_workers(const struct cpu_capture *c, struct wait_join *j)
{
	j->is_worker = mem_calloc(c->thread_count + 1, sizeof *j->is_worker);
	for (size_t i = 0; i < c->thread_count; i++)
		j->is_worker[i] = wait_kind_is_pool_name(c->threads[i].name);
	for (size_t i = 0; i < j->count; i++) {
		size_t depth;
		const uint32_t *stack = frames_of(c, j->list[i].stack, &depth);
		if (!j->is_worker[j->list[i].thread])
			j->is_worker[j->list[i].thread] = wait_kind_is_pool_worker(c->frames, stack, depth);
	}
}

/* A stack that says nothing is none. */
static void leave_out_unknown(struct wait_join *j)
{
	size_t kept = 0, timed = 0;
	for (size_t i = 0; i < j->count; i++) {
		if (j->list[i].meaning.kind == WAIT_KIND_UNKNOWN) {
			j->unseen_ns += j->list[i].ns;
			continue;
		}
		timed += i < j->timed_count;
		j->list[kept++] = j->list[i];
	}
	j->count = kept;
	j->timed_count = timed;
}

void wait_join_make(const struct wait_capture *c, struct wait_join *out)
{
	*out = (struct wait_join){.list = mem_calloc(c->log->wait_count + 1, sizeof *out->list)};
	AUTO_FREE struct seen_thread *seen = mem_calloc(c->log->thread_count + 1, sizeof *seen);
	AUTO_FREE struct wait_meaning *meanings = mem_calloc(c->stacks.stack_count + 1, sizeof *meanings);
	find_stacks(c, out);
	find_workers(&c->stacks, out);
	count_seen(c, out, seen);
	share_out(c, out, seen);
	for (size_t i = 0; i < out->count; i++)
		weigh_wait(c, &out->list[i], seen);
	measure_waits(c, out);
	for (size_t i = 0; i < c->stacks.stack_count; i++) {
		size_t depth;
		const uint32_t *stack = frames_of(&c->stacks, (uint32_t)i, &depth);
		wait_kind_of_stack(c->stacks.frames, stack, depth, &meanings[i]);
	}
	for (size_t i = 0; i < out->count; i++) {
		out->list[i].meaning = meanings[out->list[i].stack];
		out->list[i].called = out->list[i].meaning.what;
		out->list[i].idles = out->list[i].meaning.idle;
		judge_wait(out->list[i].wait, out->is_worker[out->list[i].thread], &out->list[i].meaning);
		if (is_part_of_a_wait(out->list[i].wait, &out->list[i].meaning))
			out->list[i].count = 0;
	}
	leave_out_unknown(out);
}

void wait_join_fini(struct wait_join *j)
{
	free(j->list);
	free(j->is_worker);
	*j = (struct wait_join){0};
}

const struct joined_wait *wait_join_at(const struct wait_join *j, uint32_t thread, int64_t at_ns)
{
	size_t low = 0, high = j->timed_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct joined_wait *w = &j->list[middle];
		if (w->thread < thread || (w->thread == thread && w->wait->out_ns <= at_ns))
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	const struct joined_wait *w = &j->list[low - 1];
	return w->thread == thread && at_ns < w->wait->in_ns ? w : NULL;
}
