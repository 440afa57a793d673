#include "agent/heap/heap_dominate.h"

/* Hangs all nodes of the path above v, as far as they are numbered above w, below the path's end, each with the least semidominator
 * on its part of the path. Up: each pointer is turned round to where we came from. Down: set right. */
static void compress(struct heap_forest *f, uint32_t v, uint32_t w)
{
	uint32_t from = v, at = f[v].up;

	while (f[at].up > w) {
		uint32_t next = f[at].up;
		f[at].up = from;
		from = at;
		at = next;
	}
	uint32_t end = f[at].up, least = f[at].least;
	for (;;) {
		uint32_t down = f[from].up;
		if (f[from].least < least)
			least = f[from].least;
		f[from].least = least;
		f[from].up = end;
		if (from == v)
			break;
		from = down;
	}
}

/* The least semidominator on the way from v up to the node below w's subtree's... end: of the nodes above w, all of which are done. */
static inline uint32_t evaluate(struct heap_forest *f, uint32_t v, uint32_t w)
{
	uint32_t up = f[v].up;

	if (up > w && f[up].up > w)
		compress(f, v, w);
	else if (up > w) { /* one step: no need to turn anything round */
		if (f[up].least < f[v].least)
			f[v].least = f[up].least;
		f[v].up = f[up].up;
	}
	return f[v].least;
}

static void semidominators_of_bucket(struct heap_dominate *d, uint32_t first, uint32_t end)
{
	struct heap_forest *f = d->forest;
	const uint32_t *sources = d->arcs->sources;
	const uint64_t *ends = d->arcs->ends;

	for (uint32_t w = end; w-- > first;) {
		uint32_t semi = d->semi[w];
		for (uint64_t i = ends[w - first], to = ends[w - first + 1]; i < to; i++) {
			uint32_t least = evaluate(f, sources[i], w);
			if (least < semi)
				semi = least;
		}
		d->semi[w] = semi;
		f[w] = (struct heap_forest){d->parent[w], semi};
	}
}

static int semidominators(struct heap_dominate *d, struct err *e)
{
	for (uint32_t end = d->count; end > 0;) {
		uint32_t bucket = (end - 1) >> HEAP_ARCS_BUCKET_BITS, first = bucket << HEAP_ARCS_BUCKET_BITS;
		if (heap_arcs_sort(d->arcs, bucket, e) < 0)
			return -1;
		semidominators_of_bucket(d, first, end);
		end = first;
	}
	return 0;
}

/* Of nodes whose dominator has them already: `up` is the jump, `least` the depth. */
static void add_jump(struct heap_dominate *d, uint32_t v)
{
	struct heap_forest *f = d->forest;
	uint32_t up = d->parent[v], jump = f[up].up;

	f[v].least = f[up].least + 1;
	f[v].up = f[up].least - f[jump].least == f[jump].least - f[f[jump].up].least ? f[jump].up : up;
}

static void dominators_by_jumps(struct heap_dominate *d, uint32_t from)
{
	struct heap_forest *f = d->forest;

	d->jumped = true;
	f[0] = (struct heap_forest){0, 0};
	for (uint32_t v = 1; v < from; v++)
		add_jump(d, v);
	for (uint32_t w = from; w < d->count; w++) {
		uint32_t at = d->parent[w];
		while (at > d->semi[w])
			at = f[at].up >= d->semi[w] ? f[at].up : d->parent[at];
		d->parent[w] = at;
		add_jump(d, w);
	}
}

/* The dominator is the nearest of the parent's dominators that is numbered no higher than the semidominator. */
static void dominators(struct heap_dominate *d)
{
	uint64_t steps = 0, most = d->steps_before_jumps ? d->steps_before_jumps : 16 * (uint64_t)d->count + 1000000;

	for (uint32_t w = 1; w < d->count; w++) {
		uint32_t at = d->parent[w];
		for (; at > d->semi[w]; steps++)
			at = d->parent[at];
		d->parent[w] = at;
		if (steps > most) {
			dominators_by_jumps(d, w + 1);
			return;
		}
	}
}

int heap_dominate(struct heap_dominate *d, struct err *e)
{
	if (semidominators(d, e) < 0)
		return -1;
	if (d->count)
		dominators(d);
	return 0;
}
