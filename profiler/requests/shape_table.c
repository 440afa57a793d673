/* Context: CLR callback (intern) and own thread. */
#include "profiler/requests/shape_table.h"

#include <stdatomic.h>
#include <string.h>

#define PLACES 4096 /* a power of two: keys of shapes */
#define WIDE_PLACES 8192 /* of shapes with one word left out */
#define PROBES 32
#define NUMBER_BITS 16 /* a place is the upper bits of a shape's key, and its number below them: 0: free */

_Static_assert(SHAPE_TABLE_MOST < 1 << NUMBER_BITS, "a place has room for each number");

struct wide_shape {
	_Atomic uint64_t key;
	_Atomic uint32_t count;
};

static struct {
	_Atomic uint64_t places[PLACES];
	_Atomic uint32_t templates[SHAPE_TABLE_MOST + 1];
	struct wide_shape wide[WIDE_PLACES];
	char texts[SHAPE_TABLE_MOST + 1][PATH_SHAPE_BYTES];
	uint16_t lens[SHAPE_TABLE_MOST + 1];
	_Atomic bool there[SHAPE_TABLE_MOST + 1];
	_Atomic uint32_t count;
} shapes;

void shape_table_reset(void)
{
	for (size_t i = 0; i < PLACES; i++)
		atomic_store_explicit(&shapes.places[i], 0, memory_order_relaxed);
	for (size_t i = 0; i < WIDE_PLACES; i++) {
		atomic_store_explicit(&shapes.wide[i].key, 0, memory_order_relaxed);
		atomic_store_explicit(&shapes.wide[i].count, 0, memory_order_relaxed);
	}
	for (size_t i = 0; i <= SHAPE_TABLE_MOST; i++) {
		atomic_store_explicit(&shapes.there[i], false, memory_order_relaxed);
		atomic_store_explicit(&shapes.templates[i], 0, memory_order_relaxed);
	}
	atomic_store(&shapes.count, 0);
}

static bool is_of_key(uint64_t place, uint64_t key)
{
	return !((place ^ key) >> NUMBER_BITS);
}

static uint32_t number_of(uint64_t place)
{
	return place & ((1 << NUMBER_BITS) - 1);
}

/* UINT32_MAX: it is not there. */
static uint32_t find_shape(uint64_t key)
{
	for (size_t i = 0; i < PROBES; i++) {
		uint64_t place = atomic_load_explicit(&shapes.places[(key + i) % PLACES], memory_order_acquire);
		if (!place)
			break;
		if (is_of_key(place, key))
			return number_of(place);
	}
	return UINT32_MAX;
}

static struct wide_shape *wide_shape_of(uint64_t key, bool make)
{
	for (size_t i = 0; i < PROBES; i++) {
		struct wide_shape *w = &shapes.wide[(key + i) % WIDE_PLACES];
		uint64_t there = atomic_load_explicit(&w->key, memory_order_relaxed);
		if (!there && make && atomic_compare_exchange_strong(&w->key, &there, key))
			return w;
		if (there == key)
			return w;
		if (!there)
			return NULL;
	}
	return NULL;
}

static void fold_values(struct path_shape *s)
{
	for (unsigned i = 0; i < s->words;) {
		const struct wide_shape *w = wide_shape_of(path_shape_hash(s, i), false);
		if (w && atomic_load_explicit(&w->count, memory_order_relaxed) >= SHAPE_SIBLINGS)
			path_shape_fold(s, i);
		else
			i++;
	}
}

static void count_siblings(const struct path_shape *s)
{
	for (unsigned i = 0; i < s->words; i++) {
		struct wide_shape *w = wide_shape_of(path_shape_hash(s, i), true);
		if (w)
			atomic_fetch_add_explicit(&w->count, 1, memory_order_relaxed);
	}
}

/* 0: there is no room. */
static uint32_t new_number(uint32_t most)
{
	uint32_t count = atomic_load(&shapes.count);

	do
		if (count >= most)
			return 0;
	while (!atomic_compare_exchange_weak(&shapes.count, &count, count + 1));
	return count + 1;
}

/* The text is there before others can find the shape. A thread that another one was quicker than takes the other's number; its own stays unused. */
static uint32_t add_shape(const struct path_shape *s, uint64_t key, uint32_t most)
{
	uint32_t number = new_number(most);

	if (!number)
		return 0;
	memcpy(shapes.texts[number], s->text, s->len);
	shapes.lens[number] = s->len;
	atomic_store_explicit(&shapes.there[number], true, memory_order_release);
	for (size_t i = 0; i < PROBES; i++) {
		uint64_t place = 0, own = (key >> NUMBER_BITS << NUMBER_BITS) | number;
		if (atomic_compare_exchange_strong(&shapes.places[(key + i) % PLACES], &place, own)) {
			count_siblings(s);
			return number;
		}
		if (is_of_key(place, key))
			return number_of(place);
	}
	return 0;
}

uint32_t shape_table_intern(struct path_shape *s)
{
	uint64_t key = path_shape_hash(s, UINT32_MAX);
	uint32_t number = find_shape(key);

	if (number != UINT32_MAX)
		return number;
	fold_values(s);
	key = path_shape_hash(s, UINT32_MAX);
	number = find_shape(key);
	return number != UINT32_MAX ? number : add_shape(s, key, SHAPE_ROUTES_MOST);
}

uint32_t shape_table_intern_call(const struct path_shape *s)
{
	uint64_t key = path_shape_hash(s, UINT32_MAX);
	uint32_t number = find_shape(key);

	return number != UINT32_MAX ? number : add_shape(s, key, SHAPE_TABLE_MOST);
}

void shape_table_note_template(uint32_t number, uint32_t template)
{
	uint32_t was = 0;

	if (!atomic_compare_exchange_strong_explicit(&shapes.templates[number], &was, template, memory_order_relaxed, memory_order_relaxed) && was != template)
		atomic_store_explicit(&shapes.templates[number], SHAPE_TEMPLATES, memory_order_relaxed);
}

void shape_table_note_route(uint32_t number, const struct event_text *path, const struct event_text *route)
{
	struct route_values values;
	struct path_shape routed;
	uint16_t len;

	route_values_parse(route, &values);
	if (!values.count) {
		shape_table_note_template(number, number);
		return;
	}
	const char *text = shape_table_text(number, &len);
	if (!text)
		return;
	path_shape_make_routed(text, len, path, &values, &routed);
	uint32_t template = shape_table_intern(&routed);
	if (template)
		shape_table_note_template(number, template);
}

uint32_t shape_table_template(uint32_t number)
{
	return atomic_load_explicit(&shapes.templates[number], memory_order_relaxed);
}

uint32_t shape_table_count(void)
{
	return atomic_load(&shapes.count);
}

const char *shape_table_text(uint32_t number, uint16_t *len)
{
	if (!atomic_load_explicit(&shapes.there[number], memory_order_acquire))
		return NULL;
	*len = shapes.lens[number];
	return shapes.texts[number];
}
