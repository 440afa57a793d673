/* Context: own thread; CLR callback of the collection that it waits for. */
#include "profiler/heap/heap_objects.h"

#include "common/proto/difference.h"
#include "profiler/heap/heap_stop.h"
#include "profiler/heap/heap_values.h"
#include "profiler/base/now.h"

#define LOOK_AT_CLOCK 4096u /* objects */
#define COMPARED_MAX 256u  /* references of the first object of a class */
#define FEW_BYTES 256u     /* an object of so many has at most 32 references, whose number is one byte */
#define FEW_ROOM (HEAP_PUT_MAX + FEW_BYTES / 8 * HEAP_EDGE_MAX)

static bool fail_walk(struct heap_objects *h, enum heap_walk_status status)
{
	if (h->sink->status == HEAP_WALKED_WHOLE)
		h->sink->status = status;
	h->sink->w.bad = true;
	return false;
}

/* References ------------------------------------------------------------------------------------------------------------------ */

/* What is done with each reference of an object: counted, written, compared. */
struct visit {
	struct heap_writer *w; /* NULL: only counted */
	cor_id object, last;   /* the slot before */
	uint64_t count;
	cor_id *kept;          /* the first COMPARED_MAX slots; NULL: not kept */
	cor_id end;            /* of the object, when the runtime is asked */
};

static inline WRAPS bool visit_slot(struct visit *v, cor_id slot, cor_id target)
{
	if (v->w) {
		if (!heap_room(v->w))
			return false;
		heap_put_edge(v->w, slot - v->last, v->object, target);
		v->last = slot;
	} else if (v->kept && v->count < COMPARED_MAX) {
		v->kept[v->count] = slot;
	}
	v->count++;
	return true;
}

static inline bool visit_run(struct visit *v, cor_id from, cor_id to)
{
	for (; from < to; from += 8) {
		cor_id target = *(const cor_id *)from;
		if (target && !visit_slot(v, from, target))
			return false;
	}
	return true;
}

static bool visit_structs(struct visit *v, const struct heap_class *c, uint64_t size)
{
	const struct heap_series *s = heap_classes_series(c);
	cor_id at = v->object + c->structs_at, end = v->object + difference(size, 8);

	while (at < end)
		for (uint32_t i = 0; i < c->series_count; i++) {
			if (!visit_run(v, at, at + 8 * (cor_id)s[i].start))
				return false;
			at += 8 * (cor_id)s[i].start + (cor_id)s[i].more;
		}
	return true;
}

static inline bool visit_series(struct visit *v, const struct heap_class *c, uint64_t size)
{
	const struct heap_series *s = heap_classes_series(c);

	for (uint32_t i = 0; i < c->series_count; i++) {
		cor_id from = v->object + s[i].start;
		if (!visit_run(v, from, from + size + (cor_id)(intptr_t)s[i].more))
			return false;
	}
	return true;
}

/* Slots outside of the object stand for the owner of a collectible class. They come in an order of the runtime's own; one that does not
 * rise is told as if it were the one before. */
static int32_t visit_asked(cor_id object, cor_id *slot, void *ctx)
{
	struct visit *v = ctx;
	cor_id at = (cor_id)slot;

	(void)object;
	return !*slot || visit_slot(v, at > v->last && at < v->end ? at : v->last, *slot);
}

static bool visit_asking(struct heap_objects *h, struct visit *v, uint64_t size)
{
	v->end = v->object + size;
	info_enumerate_object_references(h->info, v->object, visit_asked, v);
	return !v->w || !v->w->bad;
}

static inline bool visit_all(struct heap_objects *h, struct visit *v, const struct heap_class *c, uint64_t size)
{
	switch (c->way) {
	case HEAP_CLASS_SERIES:
		return visit_series(v, c, size);
	case HEAP_CLASS_STRUCTS:
		return visit_structs(v, c, size);
	case HEAP_CLASS_ASK:
		return visit_asking(h, v, size);
	default:
		return true;
	}
}

/* A new class ----------------------------------------------------------------------------------------------------------------- */
struct slots {
	cor_id items[COMPARED_MAX];
	uint32_t count;
};

static int32_t collect_slot(cor_id object, cor_id *slot, void *ctx)
{
	struct slots *s = ctx;

	(void)object;
	if (s->count < COMPARED_MAX)
		s->items[s->count] = (cor_id)slot;
	return ++s->count <= COMPARED_MAX;
}

static void sort_ids(cor_id *items, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		for (uint32_t k = i; k > 0 && items[k - 1] > items[k]; k--) {
			cor_id x = items[k];
			items[k] = items[k - 1];
			items[k - 1] = x;
		}
}

/* What was read of the class against what the runtime says of its first object. */
static void compare_slots(struct heap_objects *h, struct heap_class *c, cor_id object, struct slots *said)
{
	static struct slots own;
	struct visit v = {.object = object, .last = object, .kept = own.items};

	visit_all(h, &v, c, heap_class_size(c, object));
	bool all = said->count <= COMPARED_MAX;
	bool right = all ? v.count == said->count : v.count > COMPARED_MAX;
	uint32_t n = all ? said->count : COMPARED_MAX;
	if (right && all) { /* long ones are arrays, whose order is the same */
		sort_ids(own.items, n);
		sort_ids(said->items, n);
	}
	for (uint32_t i = 0; right && i < n; i++)
		right = own.items[i] == said->items[i];
	if (!right)
		c->way = HEAP_CLASS_ASK;
}

static bool tell_class(struct heap_objects *h, const struct heap_class *c)
{
	const struct heap_type_record r = {.index = c->index, .class_id = c->id, .flags = c->flags, .base_size = c->base_size, .values = c->values};

	return heap_put_type(&h->sink->w, &r);
}

static struct heap_class *new_class(struct heap_objects *h, cor_id object)
{
	static struct slots asked; /* one walks at a time, and its stack may be the application's */
	struct heap_class *c = object_class(object) ? heap_classes_add(h->info, object, &h->code) : NULL;

	if (!c) {
		fail_walk(h, HEAP_WALKED_REFUSED);
		return NULL;
	}
	if (c->flags & HEAP_TYPE_FREE)
		return c;
	if (c->way == HEAP_CLASS_SERIES || c->way == HEAP_CLASS_STRUCTS) {
		asked.count = 0;
		info_enumerate_object_references(h->info, object, collect_slot, &asked);
		compare_slots(h, c, object, &asked);
	}
	if (h->values)
		heap_values_learn(h->info, c);
	return tell_class(h, c) ? c : NULL;
}

static struct heap_class *new_class_timed(struct heap_objects *h, cor_id object)
{
	uint64_t begin_ns = h->timed ? now_of(CLOCK_THREAD_CPUTIME_ID) : 0;
	struct heap_class *c = new_class(h, object);

	h->classes_ns += h->timed ? difference(now_of(CLOCK_THREAD_CPUTIME_ID), begin_ns) : 0;
	return c;
}

static inline struct heap_class *object_heap_class(struct heap_objects *h, cor_id object)
{
	cor_id id = object_class(object);
	struct heap_class *c = h->last;

	if (c && c->id == id)
		return c;
	c = heap_classes_find(id);
	if (!c)
		c = new_class_timed(h, object);
	return h->last = c;
}

/* Strings --------------------------------------------------------------------------------------------------------------------- */
static bool put_string_record(struct heap_objects *h, cor_id object)
{
	const uint16_t *units = (const uint16_t *)(object + STRING_CHARS_AT);
	struct heap_string_record r = {.length = object_length(object)};
	struct string_digest d;

	if (!string_digest_make(h->key, units, object_length(object), h->sink->deadline_ns, &d))
		return fail_walk(h, HEAP_WALKED_LATE);
	r.digest = d.hash;
	r.classes = d.classes;
	for (; h->reveal && r.revealed < r.length && r.revealed < HEAP_REVEAL_MAX; r.revealed++)
		r.units[r.revealed] = units[r.revealed];
	return heap_put_string(&h->sink->w, &r);
}

/* Objects --------------------------------------------------------------------------------------------------------------------- */
static bool put_object_references(struct heap_objects *h, const struct heap_class *c, cor_id object, uint64_t size)
{
	struct visit v = {.object = object, .last = object};

	if (!visit_all(h, &v, c, size))
		return false;
	heap_put_count(&h->sink->w, v.count);
	if (v.count == 0)
		return true;
	v.w = &h->sink->w;
	return visit_all(h, &v, c, size);
}

/* The same for a small object, for all of which there is room: its references are looked at once, their number is set afterwards. */
static inline WRAPS void put_few_references(struct heap_objects *h, const struct heap_class *c, cor_id object, uint64_t size)
{
	const struct heap_series *s = heap_classes_series(c), *end = s + c->series_count;
	struct heap_writer *w = &h->sink->w;
	uint8_t *number = w->at, *at = number + 1;
	cor_id last = object;
	uint32_t count = 0;

	for (; s < end; s++) {
		cor_id slot = object + s->start, to = slot + size + (cor_id)(intptr_t)s->more;
		for (; slot < to; slot += 8) {
			cor_id target = *(const cor_id *)slot;
			if (!target)
				continue;
			at = heap_edge_at(at, slot - last, object, target);
			last = slot;
			count++;
		}
	}
	*number = (uint8_t)count;
	w->edges += count;
	w->at = at;
}

static bool tell_range(struct heap_objects *h, cor_id object)
{
	struct heap_range_record r;

	heap_stop_range_of(h->info, object, &h->range, &r);
	return r.length <= 8 || heap_put_range(&h->sink->w, &r);
}

static inline bool begin_object(struct heap_objects *h, const struct heap_class *c, cor_id object, uint64_t size, uint32_t room)
{
	struct heap_writer *w = &h->sink->w;
	bool values = c->flags & HEAP_TYPE_VALUES;

	if (values)
		room += HEAP_VALUES_MAX * HEAP_VALUE_BYTES_MAX;
	if (!heap_room_for(w, room) || (w->objects % LOOK_AT_CLOCK == 0 && !heap_sink_in_time(h->sink)))
		return false;
	if (h->ranges && !is_within(object, h->range.start, h->range.length) && !(tell_range(h, object) && heap_room_for(w, room)))
		return false;
	if (object < h->lowest || !h->lowest)
		h->lowest = object;
	if (object > h->highest)
		h->highest = object;
	heap_put_object(w, c->index, object, size, c->flags & HEAP_TYPE_VARIABLE);
	if (values)
		heap_values_put(h->info, w, c, object);
	return true;
}

static inline bool put_object(struct heap_objects *h, const struct heap_class *c, cor_id object, uint64_t size)
{
	if (c->way == HEAP_CLASS_SERIES && size <= FEW_BYTES) {
		if (!begin_object(h, c, object, size, FEW_ROOM))
			return false;
		put_few_references(h, c, object, size);
		return true;
	}
	if (c->flags & HEAP_TYPE_FREE)
		return true;
	if (!begin_object(h, c, object, size, HEAP_PUT_MAX))
		return false;
	if (c->flags & HEAP_TYPE_REFERENCES)
		return put_object_references(h, c, object, size);
	return !h->key || !(c->flags & HEAP_TYPE_STRING) || put_string_record(h, object);
}

bool heap_objects_put(struct heap_objects *h, cor_id object)
{
	const struct heap_class *c = object_heap_class(h, object);

	return c && put_object(h, c, object, heap_class_size(c, object));
}

cor_id heap_objects_put_run(struct heap_objects *h, cor_id at, cor_id end)
{
	while (at < end) {
		const struct heap_class *c = object_heap_class(h, at);
		uint64_t size = c ? heap_class_size(c, at) : 0;

		if (!c || !put_object(h, c, at, size))
			return 0;
		at += size;
	}
	return at;
}
