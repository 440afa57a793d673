#include "tests/system/profiler/driver_allocs.h"

#include "agent/profilers/allocs/allocs_channel.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <string.h>

#define WAIT_MS 10000

static int64_t soon(void)
{
	return clock_mono_ms() + WAIT_MS;
}

/* What came of the sites of one type, and the first one's stack. */
struct type_sum {
	uint64_t type, sites, samples, bytes, amount, large;
	struct channel_alloc_site first;
};

struct alloc_sums {
	struct type_sum types[256];
	size_t type_count;
	struct {
		uint64_t site;
		size_t type;
	} sites[8192];
	size_t site_count;
	uint64_t samples, unknown;
};

static void on_site(void *ctx, const struct channel_alloc_site *s)
{
	struct alloc_sums *sums = ctx;
	size_t i = 0;

	while (i < sums->type_count && sums->types[i].type != s->type)
		i++;
	if (i == sizeof sums->types / sizeof *sums->types || sums->site_count == sizeof sums->sites / sizeof *sums->sites)
		return;
	struct type_sum *t = &sums->types[i];
	if (i == sums->type_count) {
		*t = (struct type_sum){.type = s->type, .first = *s};
		sums->type_count++;
	}
	t->sites++;
	t->large += (s->flags & CHANNEL_ALLOC_LARGE) != 0;
	sums->sites[sums->site_count].site = s->site;
	sums->sites[sums->site_count++].type = i;
}

static void on_count(void *ctx, const struct channel_alloc_round *r, const struct channel_alloc_count *c)
{
	struct alloc_sums *sums = ctx;

	(void)r;
	sums->samples += c->samples;
	for (size_t i = sums->site_count; i-- > 0;)
		if (sums->sites[i].site == c->site) {
			struct type_sum *t = &sums->types[sums->sites[i].type];
			t->samples += c->samples;
			t->bytes += c->size;
			t->amount += c->amount;
			return;
		}
	sums->unknown += c->samples;
}

static json_t *type_json(const struct allocs_channel *a, const struct type_sum *t)
{
	struct err e = ERR_INIT;
	const char *name = allocs_channel_type(a, t->type);
	const struct resolved_function *out[CHANNEL_MAX_DEPTH];
	json_t *stack = json_array();

	if (profiler_channel_resolve(a->feed.channel, t->first.ips, t->first.depth, out, soon(), &e) == 0)
		for (size_t i = 0; i < t->first.depth; i++)
			json_array_append_new(stack, out[i] ? json_sprintf("%s.%s", out[i]->type ? out[i]->type : "", out[i]->method)
							    : json_null());
	return json_pack("{ss* sI sI sI sI sI sI so}", "name", name, "sites", (json_int_t)t->sites, "samples", (json_int_t)t->samples, "bytes",
			 (json_int_t)t->bytes, "amount", (json_int_t)t->amount, "large", (json_int_t)t->large, "tid",
			 (json_int_t)t->first.tid, "stack", stack);
}

static int collect(struct allocs_channel *a, uint32_t event, double seconds, struct alloc_sums *sums, struct err *e)
{
	struct site_sink sink = {on_site, on_count, sums};
	int64_t until_ms = clock_mono_ms() + (int64_t)(seconds * 1000);
	int r = allocs_channel_start(a, event, soon(), e);

	while (r >= 0 && clock_mono_ms() < until_ms) {
		r = profiler_channel_poll(a->feed.channel, NULL, NULL, until_ms, e);
		site_feed_deliver(&a->feed, &sink);
	}
	if (r >= 0)
		r = allocs_channel_stop(a, soon(), e);
	site_feed_deliver(&a->feed, &sink);
	return r;
}

json_t *driver_allocs(struct profiler_channel *ch, uint32_t event, double seconds, struct err *e)
{
	AUTO_FREE struct alloc_sums *sums = mem_alloc(sizeof *sums);
	struct allocs_channel a;
	json_t *out = NULL;

	allocs_channel_init(&a, ch);
	if (collect(&a, event, seconds, sums, e) >= 0) {
		struct channel_allocs_state state = allocs_channel_state(&a);
		json_t *types = json_array();
		for (size_t i = 0; i < sums->type_count; i++)
			json_array_append_new(types, type_json(&a, &sums->types[i]));
		out = json_pack("{sb sI sI sI sI sI sI sI sf so}", "ok", 1, "event", (json_int_t)state.event, "taken", (json_int_t)state.taken,
				"dropped", (json_int_t)state.dropped, "malformed", (json_int_t)state.malformed, "samples",
				(json_int_t)sums->samples, "sites", (json_int_t)sums->site_count, "unknown", (json_int_t)sums->unknown, "sampled",
				state.covered_ns ? (double)state.sampled_ns / (double)state.covered_ns : 1.0, "types", types);
	}
	profiler_channel_on_frames(ch, NULL, NULL);
	allocs_channel_fini(&a);
	return out;
}
