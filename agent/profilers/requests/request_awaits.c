#include "agent/profilers/requests/request_awaits.h"

#include "agent/profilers/requests/request_bill.h"
#include "agent/stacks/cpu_category.h"
#include "common/base/mem.h"
#include "common/base/search.h"
#include "common/proto/channel_allocs.h"

#include <stdlib.h>
#include <string.h>

#define LEAD_NS 100000000u /* from where the runtime notes a resumption to where the thread has the request's context: microseconds, unless it loses its CPU */
#define MOST_NESTED 32    /* chains that run on a thread, one within the other */
#define MOST_GAPS 4096 /* of one request: those beyond are not told */

/* gathering ------------------------------------------------------------------------------------------------------------- */

void request_awaits_init(struct request_awaits *a)
{
	*a = (struct request_awaits){.count = 0};
	await_widths_init(&a->widths);
}

void request_awaits_fini(struct request_awaits *a)
{
	for (size_t i = 0; i < a->stack_count; i++)
		free(a->stacks[i].ips);
	free(a->list);
	free(a->stacks);
	index_set_fini(&a->set);
	*a = (struct request_awaits){.count = 0};
}

static uint32_t intern_await_stack(struct request_awaits *a, const uint64_t *ips, uint16_t depth)
{
	uint32_t hash = index_hash(INDEX_HASH_START, ips, depth * sizeof *ips), index;
	size_t at = hash;
	while ((index = index_set_next(&a->set, hash, &at)) != INDEX_NONE) {
		const struct await_stack *s = &a->stacks[index];
		if (s->depth == depth && memcmp(s->ips, ips, depth * sizeof *ips) == 0)
			return index;
	}
	if (a->stack_count == AWAIT_STACKS_MOST)
		return INDEX_NONE;
	GROW(a->stacks, a->stack_count, a->stack_cap);
	index = (uint32_t)a->stack_count++;
	a->stacks[index] = (struct await_stack){.ips = mem_calloc(depth + 1u, sizeof *ips), .stack = UINT32_MAX, .depth = depth};
	memcpy(a->stacks[index].ips, ips, depth * sizeof *ips);
	index_set_add(&a->set, hash, index);
	return index;
}

static void on_resumed(void *ctx, const struct await_resume *r)
{
	struct request_awaits *a = ctx;
	uint64_t ips[AWAIT_BUFFER_DEPTH];
	uint16_t depth = 0;
	for (size_t i = 0; i < r->depth; i++)
		if (r->ips[i]) /* 0: a continuation that is no method's, as that of a delay */
			ips[depth++] = r->ips[i] + 1; /* a name is asked of the address before */
	if (a->count == AWAITS_MOST) {
		a->left_out++;
		return;
	}
	bool has_stack = r->kind == AWAIT_RESUMED || r->kind == AWAIT_GOES_ON;
	uint32_t stack = has_stack ? intern_await_stack(a, ips, depth) : AWAIT_NONE;
	a->left_out += has_stack && stack == AWAIT_NONE;
	GROW(a->list, a->count, a->cap);
	a->list[a->count] = (struct await_resumed){r->time_ns, r->tid, stack, (uint32_t)a->count, (uint8_t)r->kind};
	a->count++;
}

void request_awaits_buffer(struct request_awaits *a, const uint8_t *data, size_t len)
{
	if (!await_buffer_read(data, len, &a->widths, on_resumed, a))
		a->malformed++;
}

void request_awaits_name(struct request_awaits *a, struct site_stacks *into, frame_resolve_fn *resolve, void *ctx)
{
	if (a->named == a->stack_count)
		return;
	for (; a->named < a->stack_count; a->named++) {
		struct await_stack *s = &a->stacks[a->named];
		struct channel_alloc_site site = {.depth = s->depth};
		memcpy(site.ips, s->ips, s->depth * sizeof *s->ips);
		site_stacks_add(into, &site, &s->stack);
		if (site_stacks_want_flush(into))
			site_stacks_flush(into, resolve, ctx);
	}
	site_stacks_flush(into, resolve, ctx);
}

static int resumed_by_thread(const void *x, const void *y)
{
	const struct await_resumed *a = x, *b = y;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

void request_awaits_sort(struct request_awaits *a)
{
	uint32_t open[MOST_NESTED];
	size_t depth = 0; /* it may be more than has room */
	if (a->count)
		qsort(a->list, a->count, sizeof *a->list, resumed_by_thread);
	for (size_t i = 0; i < a->count; i++) {
		struct await_resumed *x = &a->list[i];
		if (x->kind == AWAIT_RESET || (i && x->tid != x[-1].tid))
			depth = 0;
		if (x->kind == AWAIT_RESUMED && depth++ < MOST_NESTED)
			open[depth - 1] = (uint32_t)i;
		else if (x->kind == AWAIT_ENDED && depth)
			depth--;
		x->order = depth && depth <= MOST_NESTED ? open[depth - 1] : AWAIT_NONE;
	}
}

/* one request ----------------------------------------------------------------------------------------------------------- */

struct await_gap { /* no thread worked for it */
	uint64_t from_ns, to_ns;
	uint32_t frame, awaited; /* AWAIT_NO_FRAME: not known */
};

struct await_reader {
	const struct request_awaits *awaits;
	const struct cpu_capture *names;
	const struct request_trail *trail;
	struct await_gap gaps[MOST_GAPS];
	size_t count, pending; /* from `pending` on: what ended them has been in the libraries so far */
	size_t at; /* of the walk over the bill */
	struct endpoint_awaits *out;
};

/* The application's innermost method in it. false: there is none. */
static bool find_application(const struct await_reader *r, uint32_t stack, uint32_t *frame, uint32_t *awaited)
{
	uint32_t index = stack < r->awaits->stack_count ? r->awaits->stacks[stack].stack : AWAIT_NONE;
	if (index >= r->names->stack_count)
		return false;
	const struct capture_stack *s = &r->names->stacks[index];
	const uint32_t *frames = r->names->stack_frames + s->first;
	for (size_t i = 0; i < s->depth; i++)
		if (r->names->frames[frames[i]].kind == FRAME_MANAGED && cpu_layer_of(&r->names->frames[frames[i]]) == LAYER_APPLICATION) {
			*frame = frames[i];
			*awaited = i && r->names->frames[frames[i - 1]].kind == FRAME_MANAGED ? frames[i - 1] : AWAIT_NO_FRAME;
			return true;
		}
	return false;
}

static void settle_gaps(struct await_reader *r, uint32_t frame, uint32_t awaited)
{
	for (; r->pending < r->count; r->pending++) {
		r->gaps[r->pending].frame = frame;
		r->gaps[r->pending].awaited = awaited;
	}
}

/* The chain that runs on the thread when that stay begins, if it was resumed after all stays before it had begun; AWAIT_NONE. `at`: the first record since. */
static uint32_t chain_of_stay(const struct await_reader *r, const struct trail_stay *s, size_t at)
{
	const struct request_trail *t = r->trail;
	const struct await_resumed *list = r->awaits->list;
	uint32_t open = at && list[at - 1].tid == s->tid ? list[at - 1].order : AWAIT_NONE;
	if (open == AWAIT_NONE || list[open].time_ns + LEAD_NS < s->from_ns)
		return AWAIT_NONE;
	size_t before = SEARCH_PAST(i, t->stay_count, t->by_thread[i].tid < s->tid || (t->by_thread[i].tid == s->tid && t->by_thread[i].from_ns < s->from_ns));
	bool older = before && t->by_thread[before - 1].tid == s->tid && list[open].time_ns < t->by_thread[before - 1].from_ns;
	return older ? AWAIT_NONE : open;
}

/* What brought that stay about, and was resumed in it: where it is the application, what was awaited until now is known; where it is libraries only, the
 * application goes on to wait. Where nothing is told to have been resumed the await is not known. */
static void read_stay(struct await_reader *r, const struct trail_stay *s)
{
	const struct request_awaits *a = r->awaits;
	uint32_t frame, awaited;
	size_t at = SEARCH_PAST(i, a->count, a->list[i].tid < s->tid || (a->list[i].tid == s->tid && a->list[i].time_ns < s->from_ns));
	uint32_t chain = chain_of_stay(r, s, at);
	bool told = chain != AWAIT_NONE;
	if (told && find_application(r, a->list[chain].stack, &frame, &awaited)) {
		settle_gaps(r, frame, awaited);
		return;
	}
	for (; at < a->count && a->list[at].tid == s->tid && a->list[at].time_ns < s->to_ns; at++) {
		const struct await_resumed *x = &a->list[at];
		if (!told && x->kind != AWAIT_RESUMED)
			break; /* of a chain whose beginning is not told */
		told = true;
		if (!find_application(r, x->stack, &frame, &awaited))
			continue;
		settle_gaps(r, frame, awaited);
		return;
	}
	if (!told)
		settle_gaps(r, AWAIT_NO_FRAME, AWAIT_NO_FRAME);
}

static void find_gaps(struct await_reader *r, const struct channel_request_done *d)
{
	size_t stays, first = request_trail_stays(r->trail, d->number, &stays);
	uint64_t until_ns = d->start_ns;
	for (size_t i = first; i < first + stays; i++) {
		const struct trail_stay *s = &r->trail->stays[i];
		uint64_t to_ns = s->from_ns < d->end_ns ? s->from_ns : d->end_ns;
		if (to_ns > until_ns && r->count < MOST_GAPS)
			r->gaps[r->count++] = (struct await_gap){until_ns, to_ns, AWAIT_NO_FRAME, AWAIT_NO_FRAME};
		if (r->pending < r->count)
			read_stay(r, s);
		if (s->to_ns > until_ns)
			until_ns = s->to_ns;
	}
}

static struct await_place *await_place_of(struct endpoint_awaits *e, const struct await_gap *g)
{
	for (size_t i = 0; i < e->count; i++)
		if (e->list[i].frame == g->frame && e->list[i].awaited == g->awaited)
			return &e->list[i];
	if (e->count == AWAIT_PLACES)
		return NULL;
	e->list[e->count] = (struct await_place){.frame = g->frame, .awaited = g->awaited};
	return &e->list[e->count++];
}

/* Moments come in the order of time, and so do the gaps. */
static void add_awaited_moment(void *ctx, const struct bill_moment *m)
{
	struct await_reader *r = ctx;
	if (m->doing < DOING_COUNT || !m->seen)
		return;
	uint64_t ns = m->to_ns - m->from_ns;
	r->out->ns += ns;
	while (r->at < r->count && r->gaps[r->at].to_ns <= m->from_ns)
		r->at++;
	const struct await_gap *g = r->at < r->count && r->gaps[r->at].from_ns <= m->from_ns ? &r->gaps[r->at] : NULL;
	struct await_place *p = g && g->frame != AWAIT_NO_FRAME ? await_place_of(r->out, g) : NULL;
	if (!p)
		return;
	r->out->told_ns += ns;
	p->ns += ns;
	p->other_ns += m->call == UINT32_MAX ? ns : 0;
	p->times += m->from_ns == g->from_ns;
}

void request_awaits_add(const struct request_awaits *a, const struct cpu_capture *names, const struct request_trail *t, const struct request_work *w,
			const struct channel_request_done *d, struct endpoint_awaits *out)
{
	if (!a->count)
		return;
	struct await_reader *r = mem_alloc(sizeof *r);
	r->awaits = a;
	r->names = names;
	r->trail = t;
	r->out = out;
	r->count = r->pending = r->at = 0;
	find_gaps(r, d);
	request_bill_walk(t, w, d, add_awaited_moment, r);
	free(r);
}

static int by_awaited_ns(const void *x, const void *y)
{
	const struct await_place *a = x, *b = y;
	return (a->ns < b->ns) - (a->ns > b->ns);
}

void request_awaits_finish(struct endpoint_awaits *e)
{
	if (e->count)
		qsort(e->list, e->count, sizeof *e->list, by_awaited_ns);
}

const struct await_place *request_awaits_main(const struct endpoint_awaits *e, uint64_t await_ns)
{
	const struct await_place *best = NULL;
	for (size_t i = 0; i < e->count; i++)
		if (!best || e->list[i].other_ns > best->other_ns)
			best = &e->list[i];
	return best && best->other_ns > await_ns / 2 ? best : NULL;
}
