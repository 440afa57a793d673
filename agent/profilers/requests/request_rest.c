#include "agent/profilers/requests/request_rest.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/search.h"

#include <stdlib.h>

static int64_t least_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t most_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* making them --------------------------------------------------------------------------------------------------------- */

static int reading_by_thread(const void *x, const void *y)
{
	const struct rest_reading *a = x, *b = y;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
}

static void add_interval(struct request_work *w, const struct rest_reading *a, const struct rest_reading *b)
{
	if (a->tid != b->tid || a->at_ns >= b->at_ns || b->run_ns < a->run_ns || b->no_cpu_ns < a->no_cpu_ns)
		return;
	GROW(w->intervals, w->interval_count, w->interval_cap);
	w->intervals[w->interval_count++] = (struct work_interval){.from_ns = a->at_ns,
								   .to_ns = b->at_ns,
								   .run_ns = (int64_t)(b->run_ns - a->run_ns),
								   .no_cpu_ns = (int64_t)(b->no_cpu_ns - a->no_cpu_ns),
								   .tid = a->tid};
}

/* A thread that waits for a CPU as it is read, or runs, is told so with the next reading: what is more than that one's interval is of the one before. */
static void carry_back(struct request_work *w)
{
	for (size_t i = w->interval_count; i-- > 1;) {
		struct work_interval *x = &w->intervals[i], *before = x - 1;
		int64_t more_ns = x->run_ns + x->no_cpu_ns - (x->to_ns - x->from_ns), waited_ns = least_of(most_of(more_ns, 0), x->no_cpu_ns);
		if (more_ns <= 0)
			continue;
		x->no_cpu_ns -= waited_ns;
		x->run_ns -= more_ns - waited_ns;
		if (before->tid == x->tid && before->to_ns == x->from_ns) {
			before->no_cpu_ns += waited_ns;
			before->run_ns += more_ns - waited_ns;
		}
	}
}

static void add_told_code(void *ctx, int64_t from_ns, int64_t to_ns, enum request_doing doing, uint32_t place)
{
	int64_t *code_ns = ctx;
	(void)place;
	*code_ns += doing == DOING_CODE ? to_ns - from_ns : 0;
}

/* Where switches were recorded all is told. A thread that was woken there may have waited for a CPU before it ran: that is told as what it was woken of. */
static void leave_out_recorded(const struct request_work *w, struct work_interval *x)
{
	int64_t code_ns = 0, waited_ns = 0;
	request_work_pieces(w, x->tid, x->from_ns, x->to_ns, add_told_code, &code_ns);
	for (size_t i = request_work_span_after(w, x->tid, x->from_ns); i < w->span_count && w->spans[i].tid == x->tid && w->spans[i].from_ns < x->to_ns; i++)
		if (w->spans[i].recorded && w->spans[i].doing != DOING_UNTOLD)
			waited_ns += least_of(w->spans[i].to_ns, x->to_ns) - most_of(w->spans[i].from_ns, x->from_ns);
	x->rest_ns = most_of(x->to_ns - x->from_ns - code_ns - waited_ns, 0);
	x->run_ns = least_of(most_of(x->run_ns - code_ns, 0), x->rest_ns);
	x->no_cpu_ns = least_of(most_of(x->no_cpu_ns - waited_ns, 0), x->rest_ns - x->run_ns);
}

void request_rest_of(const struct rest_reading *list, size_t count, struct request_work *w)
{
	for (size_t i = 1; i < count; i++)
		add_interval(w, &list[i - 1], &list[i]);
	carry_back(w);
	for (size_t i = 0; i < w->interval_count; i++)
		leave_out_recorded(w, &w->intervals[i]);
}

void request_rest_make(const struct wait_capture *c, struct request_work *w)
{
	const struct wait_log *l = c->log;
	AUTO_FREE struct rest_reading *list = mem_calloc(l->reading_count + 1, sizeof *list);
	size_t count = 0;
	for (size_t i = 0; i < l->reading_count; i++) {
		const struct wait_reading *r = &l->readings[i];
		uint32_t thread = l->threads[r->thread].index;
		if (thread < c->stacks.thread_count)
			list[count++] = (struct rest_reading){r->at_ns, r->run_ns, r->delay_ns, (uint32_t)c->stacks.threads[thread].tid};
	}
	if (count)
		qsort(list, count, sizeof *list, reading_by_thread);
	request_rest_of(list, count, w);
}

/* reading them -------------------------------------------------------------------------------------------------------- */

/* The first interval of a thread that ends after `at_ns`. */
static size_t interval_after(const struct request_work *w, uint32_t tid, int64_t at_ns)
{
	return SEARCH_PAST(i, w->interval_count, w->intervals[i].tid < tid || (w->intervals[i].tid == tid && w->intervals[i].to_ns <= at_ns));
}

void request_rest_end(struct rest_counter *c)
{
	if (!c->interval)
		return;
	const struct work_interval *x = &c->work->intervals[c->interval - 1];
	int64_t others_ns = most_of(x->rest_ns - c->in_it_ns, 0);
	c->sum->run_least_ns += (uint64_t)most_of(x->run_ns - others_ns, 0);
	c->sum->run_most_ns += (uint64_t)least_of(x->run_ns, c->in_it_ns);
	c->sum->no_cpu_least_ns += (uint64_t)most_of(x->no_cpu_ns - others_ns, 0);
	c->interval = 0;
	c->in_it_ns = 0;
}

void request_rest_add(struct rest_counter *c, uint32_t tid, int64_t from_ns, int64_t to_ns)
{
	const struct request_work *w = c->work;
	int64_t unread_ns = to_ns - from_ns;
	c->sum->ns += (uint64_t)unread_ns;
	for (size_t i = interval_after(w, tid, from_ns); i < w->interval_count && w->intervals[i].tid == tid && w->intervals[i].from_ns < to_ns; i++) {
		int64_t in_it_ns = least_of(w->intervals[i].to_ns, to_ns) - most_of(w->intervals[i].from_ns, from_ns);
		if (c->interval != i + 1)
			request_rest_end(c);
		c->interval = i + 1;
		c->in_it_ns += in_it_ns;
		unread_ns -= in_it_ns;
	}
	c->sum->run_most_ns += (uint64_t)unread_ns;
}
