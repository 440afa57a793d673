/* A made-up heap, in the layout that the runtime and its collector agree on, read as the library reads it: what comes out of the stream is what
 * the heap was made of. */
#include "profiler/heap/heap_objects.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 40000
#define BLOCK 2048
#define EDGES_MAX 100000

enum kind { NODE, PLAIN, ARRAY, STRUCTS, BYTES, FREE_SPACE, LIAR, KINDS };

static uintptr_t tables[KINDS][16]; /* a class begins in the middle: its series stand before it */
static uint64_t heap[WORDS];
static struct edge {
	cor_id object, slot, target;
} edges[EDGES_MAX];
static uint32_t edge_count, object_count;

static struct written {
	struct heap_sink sink; /* first */
	uint8_t block[BLOCK];
	uint8_t all[WORDS * 16];
	size_t len;
} written;

static cor_id class_id(enum kind k)
{
	return (cor_id)&tables[k][8];
}

static void make_class(enum kind k, uint32_t flags, uint32_t base_size, intptr_t series, const intptr_t *words)
{
	uint32_t head[2] = {flags, base_size};

	memcpy(&tables[k][8], head, sizeof head);
	tables[k][7] = (uintptr_t)series;
	for (intptr_t i = 0; i < 2 * labs(series) && words; i++)
		tables[k][6 - i] = (uintptr_t)words[i];
}

static void make_classes(void)
{
	/* two runs: one reference at 8, two at 24 */
	make_class(NODE, CLASS_HAS_REFERENCES, 48, 2, (const intptr_t[]){24, 16 - 48, 8, 8 - 48});
	make_class(PLAIN, 0, 24, 0, NULL);
	make_class(ARRAY, CLASS_HAS_ELEMENTS | CLASS_HAS_REFERENCES | 8, 24, 1, (const intptr_t[]){16, -24});
	/* a reference, then 8 bytes without */
	make_class(STRUCTS, CLASS_HAS_ELEMENTS | CLASS_HAS_REFERENCES | 16, 24, -1, (const intptr_t[]){16, (intptr_t)(UINT64_C(8) << 32 | 1)});
	make_class(BYTES, CLASS_HAS_ELEMENTS | 1, 24, 0, NULL);
	make_class(FREE_SPACE, CLASS_HAS_ELEMENTS | 1, 24, 0, NULL);
	/* says one run, has another */
	make_class(LIAR, CLASS_HAS_REFERENCES, 32, 1, (const intptr_t[]){8, 8 - 32});
}

static cor_id anywhere(void)
{
	return (cor_id)&heap[rand() % WORDS] & ~(cor_id)7;
}

static void put_reference(uint64_t *object, uint32_t word)
{
	cor_id target = rand() % 4 ? anywhere() : rand() % 2 ? 0 : (cor_id)object;

	object[word] = target;
	if (target)
		edges[edge_count++] = (struct edge){(cor_id)object, (cor_id)&object[word], target};
}

static uint32_t words_of(enum kind k, uint32_t elements)
{
	switch (k) {
	case NODE:
		return 6;
	case PLAIN:
		return 3;
	case LIAR:
		return 4;
	case ARRAY:
		return 3 + elements;
	case STRUCTS:
		return 3 + 2 * elements;
	default:
		return 3 + (elements + 7) / 8;
	}
}

static void fill(uint64_t *object, enum kind k, uint32_t elements)
{
	object[0] = class_id(k);
	if (k >= ARRAY && k != LIAR)
		memcpy(&object[1], &elements, sizeof elements);
	if (k == NODE)
		for (const uint32_t *at = (const uint32_t[]){1, 3, 4, 0}; *at; at++)
			put_reference(object, *at);
	if (k == LIAR) { /* caught by its first object */
		object[2] = anywhere();
		edges[edge_count++] = (struct edge){(cor_id)object, (cor_id)&object[2], object[2]};
	}
	for (uint32_t i = 0; (k == ARRAY || k == STRUCTS) && i < elements; i++)
		put_reference(object, 2 + (k == ARRAY ? i : 2 * i));
}

/* Of all sizes around those that are written in one go. */
static cor_id make_heap(unsigned seed)
{
	static const uint32_t sizes[] = {0, 1, 2, 7, 13, 14, 15, 16, 28, 29, 30, 31, 300};
	uint32_t at = 0;

	srand(seed);
	make_classes();
	memset(heap, 0, sizeof heap);
	edge_count = object_count = 0;
	for (;;) {
		enum kind k = (enum kind)(rand() % KINDS);
		uint32_t elements = sizes[(size_t)rand() % (sizeof sizes / sizeof *sizes)], words = words_of(k, elements);
		if (at + words > WORDS)
			return (cor_id)&heap[at];
		fill(&heap[at], k, elements);
		object_count += k != FREE_SPACE;
		at += words;
	}
}

static bool more(struct heap_writer *w)
{
	struct written *x = (struct written *)w;

	memcpy(x->all + x->len, x->block, (size_t)(w->at - x->block));
	x->len += (size_t)(w->at - x->block);
	w->at = x->block;
	return true;
}

/* The runtime's answers. */
static hresult another_size(void *self, cor_id object, uintptr_t *size)
{
	(void)self;
	(void)object;
	*size = 8;
	return COR_S_OK;
}

static hresult size_of(void *self, cor_id object, uintptr_t *size)
{
	(void)self;
	cor_id cls = object_class(object);
	uint32_t elements = object_length(object), element = *(const uint32_t *)cls & CLASS_HAS_ELEMENTS ? *(const uint16_t *)cls : 0;
	*size = ((const uint32_t *)cls)[1] + (uintptr_t)element * elements;
	return COR_S_OK;
}

static hresult enumerate(void *self, cor_id object, cor_reference_fn *fn, void *ctx)
{
	(void)self;
	for (uint32_t i = 0; i < edge_count; i++) {
		union {
			cor_id address;
			cor_id *slot;
		} at = {edges[i].slot};
		if (edges[i].object == object && !fn(object, at.slot, ctx))
			break;
	}
	return COR_S_OK;
}

static hresult is_array(void *self, cor_id cls, uint32_t *element, cor_id *base, uint32_t *rank)
{
	(void)self;
	*element = *rank = 0;
	*base = 0;
	return cls == class_id(FREE_SPACE) ? COR_S_FALSE : COR_S_OK;
}

static void *info_table[120] = {
	[INFO_GET_OBJECT_SIZE2] = (void *)size_of,
	[INFO_ENUMERATE_OBJECT_REFERENCES] = (void *)enumerate,
	[INFO_IS_ARRAY_CLASS] = (void *)is_array,
};
static void **info = info_table;

static void begin(struct heap_objects *h)
{
	heap_classes_reset();
	written.len = 0;
	written.sink = (struct heap_sink){.w = {.more = more, .at = written.block, .limit = written.block + BLOCK - HEAP_PUT_MAX},
					  .deadline_ns = UINT64_MAX};
	*h = (struct heap_objects){.info = &info, .sink = &written.sink};
}

static void expect_edges(struct heap_cursor *c, uint32_t *next)
{
	uint64_t offset, target;

	while (heap_cursor_edge(c, &offset, &target)) {
		cr_assert_lt(*next, edge_count);
		const struct edge *e = &edges[(*next)++];
		cr_assert(e->object == c->object.address && e->slot - e->object == offset && e->target == target, "reference %u", *next - 1);
	}
	cr_assert(*next == edge_count || edges[*next].object != c->object.address, "reference %u was left out", *next);
}

static void expect_all(void)
{
	struct heap_shape shapes[KINDS] = {0};
	struct heap_cursor c;
	uint32_t objects = 0, next = 0;
	enum heap_record r;

	heap_cursor_init(&c, written.all, written.len, shapes, 0, false);
	while ((r = heap_cursor_next(&c)) != HEAP_END) {
		cr_assert(r == HEAP_TYPE || r == HEAP_OBJECT, "%d", r);
		if (r == HEAP_TYPE) {
			shapes[c.shape_count++] = (struct heap_shape){.flags = c.type.flags, .base_size = c.type.base_size};
			continue;
		}
		objects++;
		expect_edges(&c, &next);
	}
	cr_expect(c.last.complete);
	cr_expect_eq(objects, object_count);
	cr_expect_eq(next, edge_count);
	cr_expect_eq(c.shape_count, KINDS - 1);
}

Test(heap_objects, a_heap_without_gaps_is_told_whole)
{
	for (unsigned seed = 0; seed < 10; seed++) {
		struct heap_objects h;
		cor_id end = make_heap(seed);

		begin(&h);
		cr_assert_eq(heap_objects_put_run(&h, (cor_id)heap, end), end);
		heap_put_end(&written.sink.w, true, 0);
		more(&written.sink.w);
		expect_all();
	}
}

Test(heap_objects, memory_without_a_class_ends_the_walk)
{
	struct heap_objects h;
	cor_id end = make_heap(1);

	begin(&h);
	heap[0] = 0;
	cr_expect_eq(heap_objects_put_run(&h, (cor_id)heap, end), 0);
	cr_expect(written.sink.status == HEAP_WALKED_REFUSED && written.sink.w.bad);
}

Test(heap_objects, a_class_whose_size_is_not_the_runtimes_ends_the_walk)
{
	struct heap_objects h;
	cor_id end = make_heap(2);

	begin(&h);
	info_table[INFO_GET_OBJECT_SIZE2] = (void *)another_size;
	cr_expect_eq(heap_objects_put_run(&h, (cor_id)heap, end), 0);
	info_table[INFO_GET_OBJECT_SIZE2] = (void *)size_of;
	cr_expect_eq(written.sink.status, HEAP_WALKED_REFUSED);
}
