/* Context: own thread (ranges: whoever walks). */
#include "profiler/heap/heap_stop.h"

#include "common/proto/difference.h"
#include "profiler/gc/background_gc.h"
#include "profiler/gc/gc_cost.h"
#include "profiler/heap/heap_classes.h"
#include "profiler/heap/heap_collection.h"
#include "profiler/base/now.h"
#include "profiler/base/pause_watch.h"

#include <poll.h>

#define PATIENCE_NS 5000000000u
#define SETTLE_NS 2000000000u
#define RANGES_MAX 4096u
#define FROZEN_MAX 256u

static struct cor_generation_range ranges[RANGES_MAX];
static struct cor_frozen_range frozen[FROZEN_MAX];
static uint32_t frozen_count;
static bool no_background, settled;
static uint32_t settled_at; /* heap_collection_full_count() */

void heap_stop_reset(bool none)
{
	no_background = none;
	settled = false;
	gc_cost_reset(none);
}

bool heap_stop_settle(int agent_fd)
{
	uint64_t until_ns = now_ns() + SETTLE_NS;
	struct pollfd p = {.fd = agent_fd, .events = POLLRDHUP};

	settled = no_background;
	while (!settled && now_ns() < until_ns) {
		settled_at = heap_collection_full_count();
		settled = background_gc_note();
		if (settled && !background_gc_any())
			break;
		if (poll(&p, 1, BACKGROUND_GC_NAP_MS) != 0)
			return false;
		settled = settled && heap_stop_settled();
	}
	return settled;
}

bool heap_stop_settled(void)
{
	return no_background || (settled && heap_collection_full_count() == settled_at && background_gc_slept());
}

hresult heap_stop_begin(void *info, struct heap_stop *s, int agent_fd)
{
	uint64_t until_ns = now_ns() + PATIENCE_NS;
	hresult hr;

	for (;;) {
		s->begin_ns = now_ns();
		s->watch = pause_watch_begin(CHANNEL_PAUSE_WALK);
		hr = info_suspend_runtime(info);
		if (hr >= 0)
			return hr;
		pause_watch_cancel();
		struct pollfd p = {.fd = agent_fd, .events = POLLRDHUP};
		if (now_ns() > until_ns || poll(&p, 1, 1) != 0)
			return hr;
	}
}

uint64_t heap_stop_end(void *info, struct heap_stop *s)
{
	info_resume_runtime(info);
	pause_watch_end(CHANNEL_PAUSE_WALK, s->watch);
	return difference(now_ns(), s->begin_ns);
}

hresult heap_stop_collect(void *info, uint64_t *ns)
{
	uint64_t watch = pause_watch_begin(CHANNEL_PAUSE_WALK), begin = now_ns();
	gc_cost_forcing(true);
	hresult hr = info_force_gc(info);
	gc_cost_forcing(false);

	*ns = difference(now_ns(), begin);
	pause_watch_end(CHANNEL_PAUSE_WALK, watch);
	return hr;
}

static uint32_t read_ranges(void *info)
{
	uint32_t count = 0;

	if (info_get_generation_bounds(info, RANGES_MAX, &count, ranges) < 0)
		return 0;
	return count < RANGES_MAX ? count : RANGES_MAX;
}

static bool put_ranges(struct heap_writer *w, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		const struct heap_range_record r = {
			.generation = (uint8_t)heap_stop_generation(&ranges[i]),
			.start = ranges[i].start,
			.length = ranges[i].length,
		};
		if (ranges[i].length && !heap_put_range(w, &r))
			return false;
	}
	return true;
}

static bool frozen_overlaps(const struct cor_frozen_range *f, const struct cor_generation_range *r)
{
	return is_within(r->start, f->start, f->length) || is_within(f->start, r->start, r->length);
}

/* The collector's own ranges may have them, or not. */
static bool put_frozen(struct heap_writer *w, uint32_t count)
{
	for (uint32_t i = 0; i < frozen_count; i++) {
		const struct heap_range_record r = {.generation = HEAP_GEN_FROZEN, .start = frozen[i].start, .length = frozen[i].length};
		uint32_t known = 0;
		while (known < count && !frozen_overlaps(&frozen[i], &ranges[known]))
			known++;
		if (known == count && r.length && !heap_put_range(w, &r))
			return false;
	}
	return true;
}

bool heap_stop_put_ranges(void *info, struct heap_writer *w)
{
	uint32_t count = read_ranges(info);

	return put_ranges(w, count) && put_frozen(w, count);
}

uint32_t heap_stop_ranges(void *info, const struct cor_generation_range **out)
{
	uint32_t count = 0;

	*out = ranges;
	return info_get_generation_bounds(info, RANGES_MAX, &count, ranges) < 0 || count > RANGES_MAX ? 0 : count;
}

void heap_stop_find_frozen(void *info)
{
	void *info14 = NULL;
	uint32_t count = 0;

	frozen_count = 0;
	if (cor_query(info, &cor_iid_info14, &info14) < 0 || !info14)
		return;
	if (info14_get_non_gc_heap_bounds(info14, FROZEN_MAX, &count, frozen) >= 0)
		frozen_count = count < FROZEN_MAX ? count : FROZEN_MAX;
	cor_release(info14);
}

uint32_t heap_stop_frozen(const struct cor_frozen_range **out)
{
	*out = frozen;
	return frozen_count;
}

enum heap_generation heap_stop_generation(const struct cor_generation_range *r)
{
	for (uint32_t i = 0; i < frozen_count; i++)
		if (frozen_overlaps(&frozen[i], r))
			return HEAP_GEN_FROZEN;
	return r->generation < 0 || r->generation > HEAP_GEN_POH ? HEAP_GEN_FROZEN : (enum heap_generation)r->generation;
}

bool heap_stop_put_frozen_roots(struct heap_writer *w)
{
	for (uint32_t i = 0; i < frozen_count; i++) {
		cor_id object = frozen[i].start, end = object + frozen[i].length;
		const struct heap_class *c;
		for (; object < end && (c = heap_classes_find(object_class(object))); object += heap_class_size(c, object)) {
			const struct heap_root_record r = {.kind = HEAP_ROOT_OTHER, .object = object};
			if (!heap_put_root(w, &r))
				return false;
		}
	}
	return true;
}

static bool find_object_range(void *info, cor_id object, struct cor_generation_range *r)
{
	for (uint32_t i = 0; i < frozen_count; i++)
		if (is_within(object, frozen[i].start, frozen[i].length)) {
			*r = (struct cor_generation_range){.generation = -1, .start = frozen[i].start, .length = frozen[i].length};
			return true;
		}
	return info_get_object_generation(info, object, r) >= 0 && is_within(object, r->start, r->length);
}

enum heap_generation heap_stop_range_of(void *info, cor_id object, struct cor_generation_range *range, struct heap_range_record *record)
{
	if (!find_object_range(info, object, range))
		*range = (struct cor_generation_range){.start = object, .length = 8};
	*record = (struct heap_range_record){
		.generation = (uint8_t)heap_stop_generation(range),
		.start = range->start,
		.length = range->length,
	};
	return (enum heap_generation)record->generation;
}

void heap_stop_heap_bytes(void *info, uint64_t *all, uint64_t *small)
{
	uint32_t count = read_ranges(info);

	*all = *small = 0;
	for (uint32_t i = 0; i < count; i++) {
		*all += ranges[i].length;
		*small += ranges[i].generation <= 2 ? ranges[i].length : 0;
	}
}
