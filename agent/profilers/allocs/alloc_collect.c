#include "agent/profilers/allocs/alloc_collect.h"

#include "agent/heap/heap_type_name.h"
#include "agent/profilers/allocs/alloc_estimate.h"
#include "agent/stacks/site_stacks.h"
#include "common/base/index_set.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define HASH_FUNCTION(key, len, hash) ((hash) = index_hash(INDEX_HASH_START, (key), (len))) /* the pod chooses the keys */
#include "common/base/hash.h"

#define UNKNOWN_TYPE "(unknown type)"

struct site {
	UT_hash_handle hh;
	uint64_t id;
	bool described;
	struct alloc_site a; /* stack UINT32_MAX: no name yet, or none at all */
	uint64_t type;
};

struct type {
	UT_hash_handle hh;
	uint64_t type;
	uint32_t index; /* in the capture */
};

struct name {
	UT_hash_handle hh;
	uint32_t index;
	char text[];
};

struct rounds {
	int64_t time_ns; /* the one under way */
	uint64_t sampled_ns, covered_ns;
	double bytes;
	double all_bytes, all_ns; /* of all of them, with the time that was not sampled */
	/* Of those with such time: how many, and sums of the weight of their error, with their bytes per nanosecond and its square. */
	double count, weights, rates, squares;
};

struct alloc_collect {
	struct alloc_collect_options o;
	struct site_stacks *stacks;
	struct site *sites;
	size_t site_count;
	struct type *types;
	struct name *names;
	uint64_t samples;
	struct rounds rounds;
};

struct alloc_collect *alloc_collect_new(const struct alloc_collect_options *o)
{
	struct alloc_collect *c = mem_alloc(sizeof *c);
	c->o = *o;
	c->stacks = site_stacks_new(&o->capture->stacks, o->proc_fd);
	if (o->il)
		site_stacks_tell_lines(c->stacks, o->il, o->il_ctx);
	return c;
}

void alloc_collect_free(struct alloc_collect *c)
{
	struct site *s, *next_site;
	struct type *t, *next_type;
	struct name *n, *next_name;
	if (!c)
		return;
	HASH_ITER(hh, c->sites, s, next_site) {
		HASH_DEL(c->sites, s);
		free(s);
	}
	HASH_ITER(hh, c->types, t, next_type) {
		HASH_DEL(c->types, t);
		free(t);
	}
	HASH_ITER(hh, c->names, n, next_name) {
		HASH_DEL(c->names, n);
		free(n);
	}
	site_stacks_free(c->stacks);
	free(c);
}

/* taking ---------------------------------------------------------------------------------------------------------- */

static struct site *find_site(struct alloc_collect *c, uint64_t id)
{
	struct site *s;
	HASH_FIND(hh, c->sites, &id, sizeof id, s);
	if (s || c->site_count >= ALLOC_MAX_SITES)
		return s;
	s = mem_alloc(sizeof *s);
	s->id = id;
	s->a.stack = s->a.thread = UINT32_MAX;
	HASH_ADD(hh, c->sites, id, sizeof s->id, s);
	c->site_count++;
	return s;
}

static void on_site(void *ctx, const struct channel_alloc_site *x)
{
	struct alloc_collect *c = ctx;
	struct site *s = find_site(c, x->site);
	if (!s || s->described)
		return;
	s->described = true;
	s->type = x->type;
	s->a.heap = x->flags & CHANNEL_ALLOC_LARGE ? ALLOC_LARGE : x->flags & CHANNEL_ALLOC_PINNED ? ALLOC_PINNED : ALLOC_SMALL;
	s->a.incomplete = x->flags & CHANNEL_ALLOC_INCOMPLETE;
	s->a.boxed = x->flags & CHANNEL_ALLOC_BOXED;
	s->a.thread = site_stacks_thread(c->stacks, x->tid);
	site_stacks_add(c->stacks, x, &s->a.stack);
}

/* How much one part of the time differs from the next, where some of it was not sampled. Counts of a round may come in several frames. */
static void end_sampling_round(struct alloc_collect *c)
{
	struct rounds *r = &c->rounds;
	if (!r->sampled_ns)
		return;
	double sampled = (double)r->sampled_ns, covered = (double)r->covered_ns, rate = r->bytes / sampled, weight = covered * (covered - sampled);
	double *parts;
	size_t count = site_time_round(&c->o.capture->time, r->time_ns - c->o.started_ns, r->covered_ns, &parts);
	for (size_t i = 0; i < count; i++)
		parts[i] += (double)alloc_whole(rate * covered / (double)count);
	r->all_bytes += rate * covered;
	r->all_ns += covered;
	r->count += weight > 0;
	r->weights += weight;
	r->rates += weight * rate;
	r->squares += weight * rate * rate;
	r->bytes = 0;
	r->sampled_ns = 0;
}

static void note_round(struct alloc_collect *c, const struct channel_alloc_round *x, double bytes)
{
	struct rounds *r = &c->rounds;
	if (r->time_ns != x->time_ns)
		end_sampling_round(c);
	r->time_ns = x->time_ns;
	r->sampled_ns = x->sampled_ns;
	r->covered_ns = x->covered_ns;
	r->bytes += bytes;
}

static void on_count(void *ctx, const struct channel_alloc_round *r, const struct channel_alloc_count *x)
{
	struct alloc_collect *c = ctx;
	struct alloc_estimate e = {0};
	struct site *s = find_site(c, x->site);
	if (!s) {
		c->o.capture->dropped += x->samples;
		c->o.capture->dropped_size += x->size;
		c->o.capture->dropped_amount += x->amount;
		return;
	}
	alloc_estimate_add(&e, c->o.capture->event, x->samples, x->size, x->amount);
	note_round(c, r, e.bytes);
	alloc_estimate_spread(&e, (double)r->covered_ns / (double)r->sampled_ns);
	alloc_estimate_merge(&s->a.estimate, &e);
	s->a.samples += x->samples;
	s->a.size += x->size;
	c->samples += x->samples;
}

bool alloc_collect_take(struct alloc_collect *c, struct allocs_channel *from)
{
	c->o.capture->event = allocs_channel_state(from).event;
	site_feed_deliver(&from->feed, &(struct site_sink){on_site, on_count, c});
	return site_stacks_want_flush(c->stacks);
}

void alloc_collect_flush(struct alloc_collect *c, frame_resolve_fn *resolve, void *ctx)
{
	site_stacks_flush(c->stacks, resolve, ctx);
}

/* the end --------------------------------------------------------------------------------------------------------- */

/* Types of one name are one: those of an assembly that is loaded again and again. */
static uint32_t index_of_name(struct alloc_collect *c, const char *text)
{
	struct alloc_capture *into = c->o.capture;
	size_t len = strlen(text);
	struct name *n;
	HASH_FIND(hh, c->names, text, len, n);
	if (n)
		return n->index;
	n = mem_alloc(sizeof *n + len + 1);
	memcpy(n->text, text, len + 1);
	n->index = (uint32_t)into->type_count;
	HASH_ADD(hh, c->names, text, len, n);
	GROW(into->types, into->type_count, into->type_cap);
	into->types[into->type_count++] = mem_strdup(text);
	return n->index;
}

static uint32_t index_of_type(struct alloc_collect *c, const struct allocs_channel *from, uint64_t type)
{
	struct heap_type named = {0};
	struct type *t;
	HASH_FIND(hh, c->types, &type, sizeof type, t);
	if (t)
		return t->index;
	const char *raw = allocs_channel_type(from, type);
	if (raw)
		heap_type_set_name(&named, raw);
	t = mem_alloc(sizeof *t);
	t->type = type;
	t->index = index_of_name(c, named.name && named.name[0] ? named.name : UNKNOWN_TYPE);
	HASH_ADD(hh, c->types, type, sizeof t->type, t);
	free(named.name);
	free(named.short_name);
	free(named.space);
	return t->index;
}

/* Of all that the rounds stand for, as far as their time was not sampled: there a round may be as far from the truth as it is from the mean. */
static double time_error(const struct alloc_collect *c)
{
	const struct rounds *r = &c->rounds;
	if (r->count < 2 || r->all_bytes <= 0)
		return 0;
	double mean = r->all_bytes / r->all_ns, error = r->squares - 2 * mean * r->rates + mean * mean * r->weights;
	return error <= 0 ? 0 : error * r->count / (r->count - 1) / (r->all_bytes * r->all_bytes);
}

void alloc_collect_finish(struct alloc_collect *c, const struct allocs_channel *from)
{
	struct alloc_capture *into = c->o.capture;
	struct channel_allocs_state state = allocs_channel_state(from);
	for (struct site *s = c->sites; s; s = s->hh.next) {
		if (!s->a.samples)
			continue;
		GROW(into->sites, into->site_count, into->site_cap);
		struct alloc_site *a = &into->sites[into->site_count++];
		*a = s->a;
		a->type = index_of_type(c, from, s->type);
		into->samples += a->samples;
		into->incomplete += a->incomplete ? a->samples : 0;
		a->stack = a->stack == UINT32_MAX ? site_stacks_none(c->stacks) : a->stack;
		a->thread = a->thread == UINT32_MAX ? site_stacks_nobody(c->stacks) : a->thread;
		if (a->stack == UINT32_MAX || a->thread == UINT32_MAX)
			into->site_count--; /* a capture without room for either */
	}
	into->dropped += state.dropped;
	into->dropped_size += state.dropped_size;
	into->dropped_amount += state.dropped_amount;
	into->malformed = state.malformed;
	into->time.covered_ns = (int64_t)state.covered_ns;
	into->time.sampled_ns = (int64_t)state.sampled_ns;
	end_sampling_round(c);
	into->time_error = time_error(c);
	into->stacks.dropped += (int64_t)into->dropped;
	site_stacks_account(c->stacks, &into->stacks.sources);
}

uint64_t alloc_collect_samples(const struct alloc_collect *c)
{
	return c->samples;
}

void alloc_capture_fini(struct alloc_capture *c)
{
	for (size_t i = 0; i < c->type_count; i++)
		free(c->types[i]);
	free(c->types);
	free(c->sites);
	site_time_fini(&c->time);
	cpu_capture_fini(&c->stacks);
	*c = (struct alloc_capture){0};
}
