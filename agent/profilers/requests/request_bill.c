#include "agent/profilers/requests/request_bill.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>

#define MOST_EDGES 20000 /* of one request: one with more is not seen beyond them */

enum edge_kind { EDGE_STAY, EDGE_CALL, EDGE_WINDOW };

struct edge {
	uint64_t at_ns;
	uint32_t call; /* place in the trail */
	uint8_t kind;  /* enum edge_kind */
	bool begins;
};

struct edges {
	struct edge *list;
	size_t count, cap;
	uint64_t from_ns, to_ns;
};

static void add_edges(struct edges *e, enum edge_kind kind, uint64_t from_ns, uint64_t to_ns, uint32_t call)
{
	if (from_ns < e->from_ns)
		from_ns = e->from_ns;
	if (to_ns > e->to_ns)
		to_ns = e->to_ns;
	if (from_ns >= to_ns || e->count + 2 > e->cap)
		return;
	e->list[e->count++] = (struct edge){from_ns, call, (uint8_t)kind, true};
	e->list[e->count++] = (struct edge){to_ns, call, (uint8_t)kind, false};
}

static int by_time(const void *x, const void *y)
{
	const struct edge *a = x, *b = y;
	if (a->at_ns != b->at_ns)
		return a->at_ns < b->at_ns ? -1 : 1;
	return (int)a->begins - (int)b->begins;
}

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

struct moment { /* what is true between two edges */
	unsigned stays, windows;
	uint32_t open[64]; /* calls under way, in the order of their starts; more are not told apart */
	size_t open_count;
};

static void step_moment(struct moment *m, const struct edge *x)
{
	if (x->kind == EDGE_STAY) {
		m->stays += x->begins ? 1u : -1u;
	} else if (x->kind == EDGE_WINDOW) {
		m->windows += x->begins ? 1u : -1u;
	} else if (x->begins) {
		if (m->open_count < sizeof m->open / sizeof *m->open)
			m->open[m->open_count++] = x->call;
	} else {
		size_t to = 0;
		for (size_t i = 0; i < m->open_count; i++)
			if (m->open[i] != x->call)
				m->open[to++] = m->open[i];
		m->open_count = to;
	}
}

static void bill_moment(struct request_bill *b, const struct request_trail *t, const struct moment *m, uint64_t ns)
{
	struct bill_call *c = m->open_count ? call_of(b, t->calls[m->open[m->open_count - 1]].shape) : NULL;
	if (m->stays) {
		b->thread_ns += ns;
		if (c)
			c->thread_ns += ns;
	} else if (c) {
		c->ns += ns;
	} else if (m->windows) {
		b->await_ns += ns;
	} else {
		b->unseen_ns += ns;
	}
}

static void sweep(struct request_bill *b, const struct request_trail *t, struct edges *e)
{
	struct moment m = {0};
	uint64_t at_ns = e->from_ns;
	if (e->count)
		qsort(e->list, e->count, sizeof *e->list, by_time);
	for (size_t i = 0; i < e->count; i++) {
		if (e->list[i].at_ns > at_ns)
			bill_moment(b, t, &m, e->list[i].at_ns - at_ns);
		at_ns = e->list[i].at_ns;
		step_moment(&m, &e->list[i]);
	}
	if (e->to_ns > at_ns)
		bill_moment(b, t, &m, e->to_ns - at_ns);
}

void request_bill_add(struct request_bill *b, const struct request_trail *t, const struct channel_request_done *d)
{
	size_t stays, calls, stay = request_trail_stays(t, d->number, &stays), call = request_trail_calls(t, d->number, &calls);
	size_t edges = 2 * (t->window_count + stays + calls), cap = edges < MOST_EDGES ? edges : MOST_EDGES;
	AUTO_FREE struct edge *list = mem_alloc((cap + 1) * sizeof *list);
	struct edges e = {.list = list, .cap = cap, .from_ns = d->start_ns, .to_ns = d->end_ns};
	b->requests++;
	b->total_ns += d->end_ns - d->start_ns;
	for (size_t i = 0; i < t->window_count; i++)
		add_edges(&e, EDGE_WINDOW, t->windows[i].start_ns, t->windows[i].end_ns, 0);
	for (size_t i = 0; i < stays; i++)
		add_edges(&e, EDGE_STAY, t->stays[stay + i].from_ns, t->stays[stay + i].to_ns, 0);
	for (size_t i = 0; i < calls; i++) {
		const struct channel_request_call *c = &t->calls[call + i];
		struct bill_call *x = call_of(b, c->shape);
		x->count++;
		x->failed += c->failed != 0;
		if (c->end_ns - c->start_ns > x->longest_ns)
			x->longest_ns = c->end_ns - c->start_ns;
		add_edges(&e, EDGE_CALL, c->start_ns, c->end_ns, (uint32_t)(call + i));
	}
	sweep(b, t, &e);
}

static int by_share(const void *x, const void *y)
{
	const struct bill_call *a = x, *b = y;
	uint64_t p = a->ns + a->thread_ns, q = b->ns + b->thread_ns;
	return (p < q) - (p > q);
}

void request_bill_finish(struct request_bill *b)
{
	if (b->call_count)
		qsort(b->calls, b->call_count, sizeof *b->calls, by_share);
}
