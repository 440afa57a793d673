/* Context: own thread. */
#include "profiler/heap/heap_census.h"

#include "common/proto/difference.h"
#include "profiler/heap/heap_stop.h"
#include "profiler/base/now.h"

#include <string.h>

#define LOOK_AT_CLOCK 2048u /* objects: some 50 us */
#define PREFAULTED 1024u    /* classes; most applications have fewer with objects */

static struct heap_count rows[HEAP_CLASSES_MAX][HEAP_GENERATIONS]; /* by index of the class: only what is used becomes memory */
static uint32_t used = PREFAULTED;

void heap_census_prepare(void)
{
	memset(rows, 0, used * sizeof rows[0]);
	used = PREFAULTED;
}

uint64_t heap_census_slice_end(uint64_t begin_ns, uint64_t end_ns, uint32_t heaps, uint32_t n)
{
	return n + 1 >= heaps || end_ns <= begin_ns ? end_ns : begin_ns + (end_ns - begin_ns) / heaps * (n + 1);
}

static bool refuse_census(struct heap_census *c, enum heap_walk_status status)
{
	if (c->sink->status == HEAP_WALKED_WHOLE)
		c->sink->status = status;
	return false;
}

static bool find_class(struct heap_census *c, cor_id object)
{
	cor_id id = object_class(object);
	const struct heap_class *is = heap_classes_find(id);

	if (!is)
		is = heap_classes_add(c->info, object, &c->code);
	if (!is)
		return refuse_census(c, HEAP_WALKED_REFUSED);
	c->id = id;
	c->class = is;
	c->row = rows[is->index];
	return true;
}

/* The runtime goes from generation 2 to 0, then to the large and the pinned objects, and on to the next heap. */
static unsigned generation_step(unsigned generation)
{
	static const uint8_t steps[HEAP_GENERATIONS] = {[HEAP_GEN2] = 0, [HEAP_GEN1] = 1, [HEAP_GEN0] = 2, [HEAP_GEN_LOH] = 3, [HEAP_GEN_POH] = 4};

	return steps[generation];
}

static bool find_census_range(struct heap_census *c, cor_id object)
{
	struct heap_range_record r;

	c->generation = heap_stop_range_of(c->info, object, &c->range, &r);
	if (c->range.length <= 8) /* not known */
		return true;
	unsigned step = generation_step(c->generation);
	if (step < c->step && !c->ended)
		c->heap++;
	if (step < c->step || c->ended)
		c->looked = LOOK_AT_CLOCK; /* is there time for this heap? */
	c->step = step;
	c->ended = false;
	return heap_put_range(&c->sink->w, &r) || refuse_census(c, HEAP_WALKED_NO_ROOM);
}

/* The runtime goes on with the next heap when it is told to stop in one. */
static bool census_in_time(struct heap_census *c)
{
	c->looked = 0;
	if (now_ns() < heap_census_slice_end(c->begin_ns, c->end_ns, c->heaps, c->heap))
		return true;
	c->part = true;
	c->ended = true;
	c->heap++;
	c->range.length = 0; /* the next object may be anywhere */
	return false;
}

static int32_t on_census_object(cor_id object, void *ctx)
{
	struct heap_census *c = ctx;

	if (object_class(object) != c->id && !find_class(c, object))
		return false;
	if (!is_within(object, c->range.start, c->range.length) && !find_census_range(c, object))
		return false;
	struct heap_count *n = &c->row[c->generation];
	n->objects++;
	n->bytes += heap_class_size(c->class, object);
	return ++c->looked < LOOK_AT_CLOCK || census_in_time(c);
}

bool heap_census_walk(struct heap_census *c, void *info15)
{
	hresult hr = info15_enumerate_gc_heap_objects(info15, on_census_object, c);
	if (hr < 0) {
		c->code = hr;
		refuse_census(c, HEAP_WALKED_REFUSED);
	}
	return c->sink->status == HEAP_WALKED_WHOLE;
}

static bool put_census_row(struct heap_writer *w, uint32_t type, const struct heap_count *row)
{
	for (unsigned g = 0; g < HEAP_GENERATIONS; g++) {
		const struct heap_count_record r = {.type = type, .generation = (uint8_t)g, .objects = row[g].objects, .bytes = row[g].bytes};
		if (r.objects && !heap_put_counted(w, &r))
			return false;
	}
	return true;
}

bool heap_census_put(struct heap_census *c)
{
	uint32_t count = heap_classes_count();

	used = count > PREFAULTED ? count : PREFAULTED;
	for (uint32_t i = 0; i < count; i++) {
		const struct heap_class *is = heap_classes_at(i);
		const struct heap_type_record r = {.index = i, .class_id = is->id, .flags = is->flags, .base_size = is->base_size};
		if (!heap_put_type(&c->sink->w, &r) || !put_census_row(&c->sink->w, i, rows[i]))
			return refuse_census(c, HEAP_WALKED_NO_ROOM);
	}
	return true;
}
