#include "agent/profilers/exceptions/exception_collect.h"

#include "agent/heap/heap_type_name.h"
#include "agent/stacks/site_stacks.h"
#include "common/base/cleanup.h"
#include "common/base/index_set.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define HASH_FUNCTION(key, len, hash) ((hash) = index_hash(INDEX_HASH_START, (key), (len))) /* the pod chooses the keys */
#include "common/base/hash.h"

#define UNKNOWN_TYPE "(unknown type)"

struct throw_site {
	UT_hash_handle hh;
	uint64_t id, type; /* type: of a throw its kind, of a catch the site of the throw */
	bool described, caught;
	struct exception_site x;
};

struct kind_index {
	UT_hash_handle hh;
	uint64_t kind;
	uint32_t index; /* in the capture */
};

struct exception_collect {
	struct exception_collect_options o;
	struct site_stacks *stacks;
	struct throw_site *sites;
	size_t site_count;
	struct kind_index *kinds;
	uint64_t counted;
};

struct exception_collect *exception_collect_new(const struct exception_collect_options *o)
{
	struct exception_collect *c = mem_alloc(sizeof *c);
	c->o = *o;
	c->stacks = site_stacks_new(&o->capture->stacks, o->proc_fd);
	if (o->il)
		site_stacks_tell_lines(c->stacks, o->il, o->il_ctx);
	return c;
}

void exception_collect_free(struct exception_collect *c)
{
	struct throw_site *s, *next_site;
	struct kind_index *k, *next_kind;
	if (!c)
		return;
	HASH_ITER(hh, c->sites, s, next_site) {
		HASH_DEL(c->sites, s);
		free(s);
	}
	HASH_ITER(hh, c->kinds, k, next_kind) {
		HASH_DEL(c->kinds, k);
		free(k);
	}
	site_stacks_free(c->stacks);
	free(c);
}

/* taking ---------------------------------------------------------------------------------------------------------- */

static struct throw_site *find_throw_site(struct exception_collect *c, uint64_t id, bool make)
{
	struct throw_site *s;
	HASH_FIND(hh, c->sites, &id, sizeof id, s);
	if (s || !make || c->site_count >= EXCEPTION_MAX_SITES)
		return s;
	s = mem_alloc(sizeof *s);
	s->id = id;
	s->x.stack = s->x.thread = UINT32_MAX;
	HASH_ADD(hh, c->sites, id, sizeof s->id, s);
	c->site_count++;
	return s;
}

static void on_throw_site(void *ctx, const struct channel_alloc_site *x)
{
	struct exception_collect *c = ctx;
	struct throw_site *s = find_throw_site(c, x->site, true);
	if (!s || s->described)
		return;
	s->described = true;
	s->type = x->type;
	s->caught = x->flags & CHANNEL_EXCEPTION_CAUGHT;
	s->x.inner = x->flags & CHANNEL_EXCEPTION_INNER;
	s->x.nested = x->flags & CHANNEL_EXCEPTION_NESTED;
	s->x.rethrown = x->flags & CHANNEL_EXCEPTION_RETHROWN;
	s->x.incomplete = x->flags & CHANNEL_ALLOC_INCOMPLETE;
	s->x.thread = site_stacks_thread(c->stacks, x->tid);
	site_stacks_add(c->stacks, x, &s->x.stack);
	if (c->o.threw && !s->caught)
		c->o.threw(c->o.threw_ctx, x->ips, x->depth);
}

static void on_throw_count(void *ctx, const struct channel_alloc_round *r, const struct channel_alloc_count *x)
{
	struct exception_collect *c = ctx;
	struct throw_site *s = find_throw_site(c, x->site, true);
	if (!s) {
		c->o.capture->dropped += x->samples;
		return;
	}
	double estimate = (double)x->samples * ((double)r->covered_ns / (double)r->sampled_ns);
	s->x.counted += x->samples;
	s->x.estimate += estimate;
	if (s->caught)
		return;
	int64_t at = r->time_ns - c->o.started_ns;
	s->x.first_ns = s->x.first_ns ? s->x.first_ns : at;
	s->x.last_ns = at;
	c->counted += x->samples;
	double *parts;
	size_t count = site_time_round(&c->o.capture->time, at, r->covered_ns, &parts);
	for (size_t i = 0; i < count; i++)
		parts[i] += s->x.rethrown ? 0 : estimate / (double)count;
}

bool exception_collect_take(struct exception_collect *c, struct exception_channel *from)
{
	site_feed_deliver(&from->feed, &(struct site_sink){on_throw_site, on_throw_count, c});
	return site_stacks_want_flush(c->stacks);
}

void exception_collect_flush(struct exception_collect *c, frame_resolve_fn *resolve, void *ctx)
{
	site_stacks_flush(c->stacks, resolve, ctx);
}

/* the end --------------------------------------------------------------------------------------------------------- */

/* The runtime writes generic arguments in brackets, and so does what is shown make of them. Arrays have brackets, too: "[]", "[,]". */
static char *shown_type(const char *runtime_name)
{
	struct heap_type named = {0};
	AUTO_FREE char *text = mem_strdup(runtime_name);
	size_t open = 0;
	for (char *at = text; *at; at++) {
		if (*at == '[' && at[1] != ']' && at[1] != ',' && at[1] != '*') {
			*at = '<';
			open++;
		} else if (*at == '[') {
			at += strcspn(at, "]");
			at -= *at == '\0';
		} else if (*at == ']' && open) {
			*at = '>';
			open--;
		}
	}
	if (text[0])
		heap_type_set_name(&named, text);
	char *shown = mem_strdup(named.name && named.name[0] ? named.name : UNKNOWN_TYPE);
	free(named.name);
	free(named.short_name);
	free(named.space);
	return shown;
}

static uint32_t index_of_kind(struct exception_collect *c, const struct exception_channel *from, uint64_t kind)
{
	struct exception_capture *into = c->o.capture;
	struct exception_words words = {.type = "", .shape = ""};
	struct kind_index *k;
	HASH_FIND(hh, c->kinds, &kind, sizeof kind, k);
	if (k)
		return k->index;
	exception_channel_kind(from, kind, &words);
	k = mem_alloc(sizeof *k);
	k->kind = kind;
	k->index = (uint32_t)into->kind_count;
	HASH_ADD(hh, c->kinds, kind, sizeof k->kind, k);
	GROW(into->kinds, into->kind_count, into->kind_cap);
	into->kinds[into->kind_count++] = (struct exception_kind){
		.type = shown_type(words.type),
		.shape = mem_strdup(words.shape),
		.message = words.message ? mem_strdup(words.message) : NULL,
		.hresult = words.hresult,
	};
	return k->index;
}

struct caught_at {
	uint32_t site; /* in the capture */
	struct exception_catch catch;
};

static int caught_by_site(const void *x, const void *y)
{
	const struct caught_at *a = x, *b = y;
	if (a->site != b->site)
		return a->site < b->site ? -1 : 1;
	return a->catch.stack < b->catch.stack ? -1 : a->catch.stack > b->catch.stack;
}

/* Those of one site and one method are one. */
static void keep_catches(struct exception_capture *into, struct caught_at *caught, size_t count)
{
	qsort(caught, count, sizeof *caught, caught_by_site);
	for (size_t i = 0; i < count; i++) {
		struct exception_site *s = &into->sites[caught[i].site];
		struct exception_catch *last = s->catch_count ? &into->catches[into->catch_count - 1] : NULL;
		if (last && last->stack == caught[i].catch.stack) {
			last->counted += caught[i].catch.counted;
			continue;
		}
		GROW(into->catches, into->catch_count, into->catch_cap);
		s->first_catch = s->catch_count++ ? s->first_catch : (uint32_t)into->catch_count;
		into->catches[into->catch_count++] = caught[i].catch;
	}
}

/* `place`: of each throw's site in the capture, by its number. */
static void finish_catches(struct exception_collect *c, const struct kind_index *place)
{
	AUTO_FREE struct caught_at *caught = mem_calloc(c->site_count + 1, sizeof *caught);
	size_t count = 0;
	for (struct throw_site *s = c->sites; s; s = s->hh.next) {
		const struct kind_index *p = NULL;
		if (s->caught && s->x.counted && s->x.stack != UINT32_MAX)
			HASH_FIND(hh, place, &s->type, sizeof s->type, p);
		if (p)
			caught[count++] = (struct caught_at){p->index, {s->x.stack, s->x.counted}};
	}
	keep_catches(c->o.capture, caught, count);
}

static bool finish_site(struct exception_collect *c, const struct exception_channel *from, const struct throw_site *s)
{
	struct exception_capture *into = c->o.capture;
	struct exception_site x = s->x;
	x.stack = x.stack == UINT32_MAX ? site_stacks_none(c->stacks) : x.stack;
	x.thread = x.thread == UINT32_MAX ? site_stacks_nobody(c->stacks) : x.thread;
	if (x.stack == UINT32_MAX || x.thread == UINT32_MAX) {
		into->dropped += x.counted; /* a capture without room for either */
		return false;
	}
	x.kind = index_of_kind(c, from, s->type);
	into->counted += x.counted;
	into->incomplete += x.incomplete ? x.counted : 0;
	GROW(into->sites, into->site_count, into->site_cap);
	into->sites[into->site_count++] = x;
	return true;
}

void exception_collect_finish(struct exception_collect *c, const struct exception_channel *from)
{
	struct exception_capture *into = c->o.capture;
	struct channel_exceptions_state state = exception_channel_state(from);
	struct kind_index *place = NULL, *p, *next;
	for (struct throw_site *s = c->sites; s; s = s->hh.next) {
		if (s->caught || !s->x.counted)
			continue;
		if (!finish_site(c, from, s))
			continue;
		p = mem_alloc(sizeof *p);
		p->kind = s->id;
		p->index = (uint32_t)into->site_count - 1;
		HASH_ADD(hh, place, kind, sizeof p->kind, p);
	}
	finish_catches(c, place);
	HASH_ITER(hh, place, p, next) {
		HASH_DEL(place, p);
		free(p);
	}
	into->catchers = state.wanted & CHANNEL_EXCEPTIONS_CATCHERS;
	into->revealed = state.wanted & CHANNEL_EXCEPTIONS_REVEAL;
	into->dropped += state.dropped;
	into->malformed = state.malformed;
	into->shapeless = state.shapeless;
	into->time.covered_ns = (int64_t)state.covered_ns;
	into->time.sampled_ns = (int64_t)state.sampled_ns;
	into->cpu_ns = (int64_t)state.cpu_ns;
	into->again = state.again;
	into->timed = state.timed;
	into->timed_ns = (int64_t)state.timed_ns;
	into->stacks.dropped += (int64_t)into->dropped;
	site_stacks_account(c->stacks, &into->stacks.sources);
}

uint64_t exception_collect_counted(const struct exception_collect *c)
{
	return c->counted;
}

void exception_capture_fini(struct exception_capture *c)
{
	for (size_t i = 0; i < c->kind_count; i++) {
		free(c->kinds[i].type);
		free(c->kinds[i].shape);
		free(c->kinds[i].message);
	}
	free(c->kinds);
	free(c->sites);
	free(c->catches);
	site_time_fini(&c->time);
	cpu_capture_fini(&c->stacks);
	*c = (struct exception_capture){0};
}
