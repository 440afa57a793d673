#include "agent/profilers/requests/request_bill.h"

#include "common/base/mem.h"

#include <stdlib.h>

#define MOST_EDGES 40000 /* of one request: one with more is not seen beyond them */
#define OPEN_CALLS 64    /* under way at once; more are not told apart */

/* Kinds of edges: what a thread does, and ... */
enum { EDGE_CALL = DOING_COUNT, EDGE_WINDOW, EDGE_STOP };

struct edge {
	uint64_t at_ns;
	uint32_t what; /* a call: its place in the trail; what a thread does: where */
	uint8_t kind;
	bool begins;
};

struct edges {
	struct edge *list;
	size_t count, cap;
	uint64_t from_ns, to_ns;
};

static void add_edges(struct edges *e, unsigned kind, uint64_t from_ns, uint64_t to_ns, uint32_t what)
{
	if (from_ns < e->from_ns)
		from_ns = e->from_ns;
	if (to_ns > e->to_ns)
		to_ns = e->to_ns;
	if (from_ns >= to_ns || e->count + 2 > MOST_EDGES)
		return;
	GROW(e->list, e->count, e->cap);
	e->list[e->count++] = (struct edge){from_ns, what, (uint8_t)kind, true};
	GROW(e->list, e->count, e->cap);
	e->list[e->count++] = (struct edge){to_ns, what, (uint8_t)kind, false};
}

static int by_time(const void *x, const void *y)
{
	const struct edge *a = x, *b = y;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (int)a->begins - (int)b->begins;
}

/* all that happens in one request ------------------------------------------------------------------------------------ */

static void add_piece(void *ctx, int64_t from_ns, int64_t to_ns, enum request_doing doing, uint32_t place)
{
	if (doing != DOING_IDLE)
		add_edges(ctx, doing, (uint64_t)from_ns, (uint64_t)to_ns, place);
}

static void add_stays(struct edges *e, const struct request_trail *t, const struct request_work *w, uint32_t number)
{
	size_t stays, first = request_trail_stays(t, number, &stays);
	for (size_t i = first; i < first + stays; i++) {
		uint64_t from_ns = t->stays[i].from_ns > e->from_ns ? t->stays[i].from_ns : e->from_ns;
		uint64_t to_ns = t->stays[i].to_ns < e->to_ns ? t->stays[i].to_ns : e->to_ns;
		if (from_ns < to_ns)
			request_work_pieces(w, t->stays[i].tid, (int64_t)from_ns, (int64_t)to_ns, add_piece, e);
	}
}

static void add_calls(struct edges *e, const struct request_trail *t, uint32_t number)
{
	size_t calls, first = request_trail_calls(t, number, &calls);
	for (size_t i = first; i < first + calls; i++)
		add_edges(e, EDGE_CALL, t->calls[i].start_ns, t->calls[i].end_ns, (uint32_t)i);
}

static void collect_edges(struct edges *e, const struct request_trail *t, const struct request_work *w, uint32_t number)
{
	for (size_t i = 0; i < t->window_count; i++)
		add_edges(e, EDGE_WINDOW, t->windows[i].start_ns, t->windows[i].end_ns, 0);
	for (size_t i = request_work_stop_after(w, (int64_t)e->from_ns); i < w->stop_count && (uint64_t)w->stops[i].from_ns < e->to_ns; i++)
		add_edges(e, EDGE_STOP, (uint64_t)w->stops[i].from_ns, (uint64_t)w->stops[i].to_ns, 0);
	add_calls(e, t, number);
	add_stays(e, t, w, number);
	if (e->count)
		qsort(e->list, e->count, sizeof *e->list, by_time);
}

/* the sweep ----------------------------------------------------------------------------------------------------------- */

struct sweep_state { /* what is true between two edges */
	unsigned threads[DOING_COUNT], windows, stops;
	uint32_t place[DOING_COUNT];
	uint32_t open[OPEN_CALLS]; /* calls under way, in the order of their starts */
	size_t open_count;
};

static void step_call(struct sweep_state *s, const struct edge *x)
{
	size_t to = 0;
	if (x->begins) {
		if (s->open_count < OPEN_CALLS)
			s->open[s->open_count++] = x->what;
		return;
	}
	for (size_t i = 0; i < s->open_count; i++)
		if (s->open[i] != x->what)
			s->open[to++] = s->open[i];
	s->open_count = to;
}

static void step_sweep(struct sweep_state *s, const struct edge *x)
{
	unsigned change = x->begins ? 1u : -1u;
	if (x->kind == EDGE_CALL) {
		step_call(s, x);
	} else if (x->kind == EDGE_WINDOW) {
		s->windows += change;
	} else if (x->kind == EDGE_STOP) {
		s->stops += change;
	} else {
		s->threads[x->kind] += change;
		if (x->begins)
			s->place[x->kind] = x->what;
	}
}

static struct bill_moment moment_now(const struct request_trail *t, const struct sweep_state *s, uint64_t from_ns, uint64_t to_ns)
{
	unsigned doing = 0;
	while (doing < DOING_COUNT && !s->threads[doing])
		doing++;
	uint32_t place = doing < DOING_COUNT ? s->place[doing] : WORK_NO_PLACE;
	if (s->stops && doing < DOING_COUNT) {
		doing = DOING_GC;
		place = WORK_NO_PLACE;
	}
	return (struct bill_moment){
		.from_ns = from_ns,
		.to_ns = to_ns,
		.call = s->open_count ? t->calls[s->open[s->open_count - 1]].shape : UINT32_MAX,
		.place = place,
		.doing = (uint8_t)doing,
		.seen = s->windows > 0,
	};
}

void request_bill_walk(const struct request_trail *t, const struct request_work *w, const struct channel_request_done *d, request_bill_fn *moment, void *ctx)
{
	struct edges e = {.from_ns = d->start_ns, .to_ns = d->end_ns};
	struct sweep_state s = {0};
	uint64_t at_ns = e.from_ns;
	collect_edges(&e, t, w, d->number);
	for (size_t i = 0; i <= e.count; i++) {
		uint64_t to_ns = i < e.count ? e.list[i].at_ns : e.to_ns;
		if (to_ns > at_ns) {
			struct bill_moment m = moment_now(t, &s, at_ns, to_ns);
			moment(ctx, &m);
			at_ns = to_ns;
		}
		if (i < e.count)
			step_sweep(&s, &e.list[i]);
	}
	free(e.list);
}

/* the bill ------------------------------------------------------------------------------------------------------------ */

static struct bill_call *call_of(struct request_bill *b, uint32_t shape)
{
	for (size_t i = 0; i < b->call_count; i++)
		if (b->calls[i].shape == shape)
			return &b->calls[i];
	if (b->call_count >= BILL_CALLS) {
		b->calls[BILL_CALLS].shape = UINT32_MAX;
		b->call_count = BILL_CALLS + 1;
		return &b->calls[BILL_CALLS];
	}
	b->calls[b->call_count] = (struct bill_call){.shape = shape};
	return &b->calls[b->call_count++];
}

static void add_to_bill_place(struct request_bill *b, const struct bill_moment *m)
{
	size_t i = 0;
	while (i < b->place_count && (b->places[i].place != m->place || b->places[i].doing != m->doing))
		i++;
	if (i == BILL_PLACES)
		return;
	if (i == b->place_count)
		b->places[b->place_count++] = (struct bill_place){.place = m->place, .doing = m->doing};
	b->places[i].ns += m->to_ns - m->from_ns;
	b->places[i].waits++;
}

static void bill_moment(void *ctx, const struct bill_moment *m)
{
	struct request_bill *b = ctx;
	uint64_t ns = m->to_ns - m->from_ns;
	struct bill_call *c = m->call != UINT32_MAX ? call_of(b, m->call) : NULL;
	if (m->doing < DOING_COUNT) {
		b->thread_ns += ns;
		b->doing_ns[m->doing] += ns;
		if (m->place != WORK_NO_PLACE)
			add_to_bill_place(b, m);
		if (c) {
			c->thread_ns += ns;
			b->task_call_ns += m->doing == DOING_TASK ? ns : 0;
		}
	} else if (c) {
		c->ns += ns;
	} else if (m->seen) {
		b->await_ns += ns;
	} else {
		b->unseen_ns += ns;
	}
}

struct sample_counter {
	struct request_bill *bill;
	struct rest_counter rest;
	uint32_t tid;
};

static void count_samples(void *ctx, int64_t from_ns, int64_t to_ns, enum request_doing doing, uint32_t place)
{
	struct sample_counter *x = ctx;
	size_t count;
	(void)place;
	request_work_samples(x->rest.work, x->tid, from_ns, to_ns, &count);
	x->bill->samples += count;
	if (doing != DOING_UNTOLD)
		return;
	x->bill->untold_samples += count;
	request_rest_add(&x->rest, x->tid, from_ns, to_ns);
}

static void count_all_samples(struct request_bill *b, const struct request_trail *t, const struct request_work *w, const struct channel_request_done *d)
{
	size_t stays, first = request_trail_stays(t, d->number, &stays);
	for (size_t i = first; i < first + stays; i++) {
		const struct trail_stay *s = &t->stays[i];
		uint64_t from_ns = s->from_ns > d->start_ns ? s->from_ns : d->start_ns, to_ns = s->to_ns < d->end_ns ? s->to_ns : d->end_ns;
		struct sample_counter x = {b, {.work = w, .sum = &b->rest}, s->tid};
		if (from_ns < to_ns)
			request_work_pieces(w, s->tid, (int64_t)from_ns, (int64_t)to_ns, count_samples, &x);
		request_rest_end(&x.rest);
	}
}

void request_bill_add(struct request_bill *b, const struct request_trail *t, const struct request_work *w, const struct channel_request_done *d)
{
	size_t calls, first = request_trail_calls(t, d->number, &calls);
	b->requests++;
	b->total_ns += d->end_ns - d->start_ns;
	for (size_t i = first; i < first + calls; i++) {
		const struct channel_request_call *c = &t->calls[i];
		struct bill_call *x = call_of(b, c->shape);
		x->count++;
		x->failed += c->failed != 0;
		if (c->end_ns - c->start_ns > x->longest_ns)
			x->longest_ns = c->end_ns - c->start_ns;
	}
	request_bill_walk(t, w, d, bill_moment, b);
	count_all_samples(b, t, w, d);
}

static int by_share(const void *x, const void *y)
{
	const struct bill_call *a = x, *b = y;
	uint64_t p = a->ns + a->thread_ns, q = b->ns + b->thread_ns;
	return (p < q) - (p > q);
}

static int by_place_ns(const void *x, const void *y)
{
	const struct bill_place *a = x, *b = y;
	return (a->ns < b->ns) - (a->ns > b->ns);
}

static uint64_t beyond(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Of what is left. Where several threads worked for a request at once another one may have been told in the place of one that was not. */
static void share_out_rest(struct request_bill *b, int64_t period_ns)
{
	uint64_t *untold_ns = &b->doing_ns[DOING_UNTOLD], elsewhere_ns = beyond(b->rest.ns, *untold_ns);
	uint64_t no_cpu_ns = beyond(b->rest.no_cpu_least_ns, elsewhere_ns), run_least_ns = beyond(b->rest.run_least_ns, elsewhere_ns);
	uint64_t ran_ns = period_ns > 0 ? b->untold_samples * (uint64_t)period_ns : 0;
	if (ran_ns > b->rest.run_most_ns)
		ran_ns = b->rest.run_most_ns;
	if (ran_ns < run_least_ns)
		ran_ns = run_least_ns;
	if (ran_ns > *untold_ns - no_cpu_ns)
		ran_ns = *untold_ns - no_cpu_ns;
	*untold_ns -= no_cpu_ns + ran_ns;
	b->doing_ns[DOING_NO_CPU] += no_cpu_ns;
	b->doing_ns[DOING_CODE] += ran_ns;
}

void request_bill_finish(struct request_bill *b, int64_t period_ns)
{
	share_out_rest(b, period_ns);
	if (b->call_count)
		qsort(b->calls, b->call_count, sizeof *b->calls, by_share);
	if (b->place_count)
		qsort(b->places, b->place_count, sizeof *b->places, by_place_ns);
}

double request_bill_mean_ms(const struct request_bill *b)
{
	return b->requests ? (double)b->total_ns / 1e6 / (double)b->requests : 0;
}
