/* Context: own thread; CLR callback of the collection that it waits for. */
#include "profiler/heap/heap_classes.h"

#include "common/proto/difference.h"
#include "common/proto/heap_stream.h"

#include <string.h>

#define TABLE_BITS 16
#define TABLE_SIZE (1u << TABLE_BITS)
_Static_assert(HEAP_CLASSES_MAX <= TABLE_SIZE / 8 * 5, "a fuller table is slow");
#define SERIES_MAX (1u << 16)
#define SERIES_OF_CLASS 512u
#define PREFAULTED 2048u /* most applications have fewer classes with objects */

static uint32_t table[TABLE_SIZE]; /* 1 + index; 0: free */
static struct heap_class classes[HEAP_CLASSES_MAX]; /* dense: only what is used becomes memory */
static struct heap_series series[SERIES_MAX];
static uint32_t count, series_count;
static struct heap_class free_space;
static uint32_t collectible = CLASS_COLLECTIBLE; /* flag of this runtime's classes */

void heap_classes_begin(void *info)
{
	uint16_t major = 0, minor, build;

	info_get_runtime_information(info, &major, &minor, &build);
	collectible = major == 8 ? CLASS_COLLECTIBLE_8 : CLASS_COLLECTIBLE;
}

bool heap_class_collectible(cor_id id)
{
	return *(const uint32_t *)id & collectible;
}

void heap_classes_reset(void)
{
	memset(table, 0, sizeof table); /* the first time, too: its pages are in place then */
	if (!count) {
		memset(classes, 0, PREFAULTED * sizeof *classes);
		memset(series, 0, PREFAULTED * sizeof *series);
	}
	count = series_count = 0;
	free_space.id = 0;
}

uint32_t heap_classes_count(void)
{
	return count;
}

const struct heap_class *heap_classes_at(uint32_t index)
{
	return &classes[index];
}

const struct heap_series *heap_classes_series(const struct heap_class *c)
{
	return series + c->first_series;
}

static WRAPS uint32_t *class_slot(cor_id id)
{
	uint32_t slot = (uint32_t)(((uint64_t)id >> 3) * 0x9e3779b97f4a7c15u >> (64 - TABLE_BITS));

	while (table[slot] && classes[table[slot] - 1].id != id)
		slot = (slot + 1) & (TABLE_SIZE - 1);
	return &table[slot];
}

struct heap_class *heap_classes_find(cor_id id)
{
	uint32_t index = *class_slot(id);

	if (index)
		return &classes[index - 1];
	return id && id == free_space.id ? &free_space : NULL;
}

/* By rising offset: the stream's slots rise. */
static void sort_series(struct heap_series *s, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		for (uint32_t k = i; k > 0 && s[k - 1].start > s[k].start; k--) {
			struct heap_series x = s[k];
			s[k] = s[k - 1];
			s[k - 1] = x;
		}
}

static bool read_series(struct heap_class *c, uint32_t n)
{
	const uintptr_t *at = (const uintptr_t *)c->id - 3; /* the highest { size, start } */
	struct heap_series *out = series + series_count;

	for (uint32_t i = 0; i < n; i++, at -= 2) {
		out[i] = (struct heap_series){.start = (uint32_t)at[1], .more = (int32_t)(intptr_t)at[0]};
		if (out[i].start < 8 || out[i].start % 8 || out[i].more % 8)
			return false;
	}
	sort_series(out, n);
	c->way = HEAP_CLASS_SERIES;
	return true;
}

static bool read_structs(struct heap_class *c, uint32_t n)
{
	const uint32_t *at = (const uint32_t *)((const uintptr_t *)c->id - 3);
	uintptr_t start = ((const uintptr_t *)c->id)[-2];
	struct heap_series *out = series + series_count;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < n; i++, at -= 2) {
		out[i] = (struct heap_series){.start = at[0], .more = (int32_t)at[1]};
		bytes += (uint64_t)at[0] * 8 + at[1];
		if (at[1] % 8 || at[1] > UINT16_MAX || at[0] > UINT16_MAX)
			return false;
	}
	c->structs_at = (uint16_t)start;
	c->way = HEAP_CLASS_STRUCTS;
	return start < UINT16_MAX && start % 8 == 0 && bytes == c->element_size;
}

static void read_references(struct heap_class *c)
{
	intptr_t n = class_series_count(c->id);
	uint32_t items = (uint32_t)(n < 0 ? -n : n);

	c->first_series = series_count;
	c->way = HEAP_CLASS_ASK;
	if (n == 0 || items > SERIES_OF_CLASS || series_count + items > SERIES_MAX || c->flags & HEAP_TYPE_COLLECTIBLE)
		return;
	if (!(n > 0 ? read_series(c, items) : read_structs(c, items))) {
		c->way = HEAP_CLASS_ASK;
		return;
	}
	c->series_count = (uint16_t)items;
	series_count += items;
}

static void read_class(struct heap_class *c)
{
	uint32_t flags = ((const uint32_t *)c->id)[0];

	c->base_size = ((const uint32_t *)c->id)[1];
	if (flags & CLASS_HAS_ELEMENTS) {
		c->element_size = (uint16_t)flags;
		c->flags |= HEAP_TYPE_VARIABLE;
		c->flags |= c->element_size == 2 && c->base_size == STRING_BASE_SIZE ? HEAP_TYPE_STRING : HEAP_TYPE_ARRAY;
	}
	if (flags & collectible)
		c->flags |= HEAP_TYPE_COLLECTIBLE;
	if (flags & (CLASS_HAS_REFERENCES | collectible))
		c->flags |= HEAP_TYPE_REFERENCES;
	if (c->flags & HEAP_TYPE_REFERENCES)
		read_references(c);
}

/* An array of bytes that is none: so free space looks. A failure: it is not known. */
static hresult is_free_space(void *info, const struct heap_class *c)
{
	uint32_t element = 0, rank = 0;
	cor_id base = 0;

	if (c->element_size != 1 || c->flags & HEAP_TYPE_REFERENCES)
		return COR_S_FALSE;
	hresult hr = info_is_array_class(info, c->id, &element, &base, &rank);
	return hr < 0 ? hr : hr == COR_S_OK ? COR_S_FALSE : COR_S_OK;
}

struct heap_class *heap_classes_add(void *info, cor_id object, hresult *code)
{
	struct heap_class *c = &classes[count];
	uintptr_t size = 0;

	*code = COR_E_FAIL;
	if (count == HEAP_CLASSES_MAX)
		return NULL;
	*c = (struct heap_class){.id = object_class(object), .index = count};
	read_class(c);
	*code = info_get_object_size2(info, object, &size);
	if (*code < 0 || ((size + 7) & ~(uintptr_t)7) != heap_class_size(c, object)) {
		*code = *code < 0 ? *code : COR_E_FAIL;
		return NULL;
	}
	*code = is_free_space(info, c);
	if (*code < 0)
		return NULL;
	if (*code == COR_S_OK) {
		free_space = *c;
		free_space.flags = HEAP_TYPE_FREE;
		return &free_space;
	}
	*code = COR_S_OK;
	*class_slot(c->id) = ++count;
	return c;
}
