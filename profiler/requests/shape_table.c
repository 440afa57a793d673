/* Context: CLR callback (intern) and own thread. */
#include "profiler/requests/shape_table.h"

#include <stdatomic.h>
#include <string.h>

#define PLACES 4096 /* a power of two: keys of shapes */
#define WIDE_PLACES 8192 /* of shapes with one word left out */
#define PROBES 32
#define PATIENCE 2000 /* tries: some tens of microseconds */

struct wide_shape {
	_Atomic uint64_t key;
	_Atomic uint32_t count;
};

static struct {
	_Atomic uint64_t keys[PLACES];
	_Atomic uint32_t numbers[PLACES]; /* 0: not there yet */
	struct wide_shape wide[WIDE_PLACES];
	char texts[SHAPE_TABLE_MOST + 1][PATH_SHAPE_BYTES];
	uint16_t lens[SHAPE_TABLE_MOST + 1];
	_Atomic uint32_t count;
	atomic_flag lock;
} shapes = {.lock = ATOMIC_FLAG_INIT};

void shape_table_reset(void)
{
	for (size_t i = 0; i < PLACES; i++) {
		atomic_store_explicit(&shapes.keys[i], 0, memory_order_relaxed);
		atomic_store_explicit(&shapes.numbers[i], 0, memory_order_relaxed);
	}
	for (size_t i = 0; i < WIDE_PLACES; i++) {
		atomic_store_explicit(&shapes.wide[i].key, 0, memory_order_relaxed);
		atomic_store_explicit(&shapes.wide[i].count, 0, memory_order_relaxed);
	}
	atomic_store(&shapes.count, 0);
	atomic_flag_clear(&shapes.lock);
}

/* UINT32_MAX: it is not there. */
static uint32_t find_shape(uint64_t key)
{
	for (size_t i = 0; i < PROBES; i++) {
		size_t at = (key + i) % PLACES;
		uint64_t there = atomic_load_explicit(&shapes.keys[at], memory_order_acquire);
		if (there == key)
			return atomic_load_explicit(&shapes.numbers[at], memory_order_acquire);
		if (!there)
			break;
	}
	return UINT32_MAX;
}

static struct wide_shape *wide_shape_of(uint64_t key, bool make)
{
	for (size_t i = 0; i < PROBES; i++) {
		struct wide_shape *w = &shapes.wide[(key + i) % WIDE_PLACES];
		uint64_t there = atomic_load_explicit(&w->key, memory_order_relaxed);
		if (there == key)
			return w;
		if (there)
			continue;
		if (!make)
			return NULL;
		atomic_store_explicit(&w->key, key, memory_order_relaxed);
		return w;
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

/* Whoever has the lock is done in a microsecond, unless it loses its CPU: then nobody waits for it any longer. */
static bool lock_shapes(void)
{
	for (unsigned i = 0; i < PATIENCE; i++)
		if (!atomic_flag_test_and_set_explicit(&shapes.lock, memory_order_acquire))
			return true;
	return false;
}

/* 0: there is no room, or the lock was not to be had. */
static uint32_t add_shape(const struct path_shape *s, uint64_t key, uint32_t most)
{
	uint32_t number = 0;

	if (atomic_load_explicit(&shapes.count, memory_order_relaxed) >= most || !lock_shapes())
		return 0;
	uint32_t there = find_shape(key), count = atomic_load(&shapes.count);
	for (size_t i = 0; there == UINT32_MAX && count < most && !number && i < PROBES; i++) {
		size_t at = (key + i) % PLACES;
		if (atomic_load_explicit(&shapes.keys[at], memory_order_relaxed))
			continue;
		number = count + 1;
		memcpy(shapes.texts[number], s->text, s->len);
		shapes.lens[number] = s->len;
		atomic_store(&shapes.count, number);
		atomic_store_explicit(&shapes.numbers[at], number, memory_order_release);
		atomic_store_explicit(&shapes.keys[at], key, memory_order_release);
		count_siblings(s);
	}
	atomic_flag_clear(&shapes.lock);
	return there == UINT32_MAX ? number : there;
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

uint32_t shape_table_count(void)
{
	return atomic_load(&shapes.count);
}

const char *shape_table_text(uint32_t number, uint16_t *len)
{
	*len = shapes.lens[number];
	return shapes.texts[number];
}
