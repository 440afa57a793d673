/* Context: CLR callback (GarbageCollectionFinished). */
#include "profiler/heap/heap_sweep.h"

#include "common/proto/difference.h"
#include "profiler/heap/heap_stop.h"

#define PAGE ((cor_id)4096)

static bool fail_sweep(struct heap_objects *h, enum heap_walk_status status)
{
	if (h->sink->status == HEAP_WALKED_WHOLE)
		h->sink->status = status;
	h->sink->w.bad = true;
	return false;
}

static bool sweep_range(struct heap_objects *h, cor_id start, cor_id end)
{
	cor_id at = heap_objects_put_run(h, start, end);

	return at && (at == end || fail_sweep(h, HEAP_WALKED_REFUSED));
}

static bool is_swept(const struct cor_frozen_range *f, const struct cor_generation_range *ranges, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (is_within(f->start, ranges[i].start, ranges[i].length))
			return true;
	return false;
}

/* Frozen objects were added meanwhile: those that begin in a page that is there, where nothing is yet there are zeros. */
static bool sweep_frozen(struct heap_objects *h, const struct cor_frozen_range *f)
{
	cor_id at = f->start + f->length;

	if (!sweep_range(h, f->start, at))
		return false;
	while (at % PAGE && object_class(at)) {
		at = heap_objects_put_run(h, at, at + 1);
		if (!at)
			return false;
	}
	return true;
}

bool heap_sweep(struct heap_objects *h)
{
	const struct cor_generation_range *ranges;
	const struct cor_frozen_range *frozen;
	uint32_t count = heap_stop_ranges(h->info, &ranges), frozen_count = heap_stop_frozen(&frozen);

	if (!count)
		return fail_sweep(h, HEAP_WALKED_NO_ROOM);
	for (uint32_t i = 0; i < count; i++)
		if (!sweep_range(h, ranges[i].start, ranges[i].start + ranges[i].length))
			return false;
	for (uint32_t i = 0; i < frozen_count; i++)
		if (!is_swept(&frozen[i], ranges, count) && !sweep_frozen(h, &frozen[i]))
			return false;
	return true;
}
