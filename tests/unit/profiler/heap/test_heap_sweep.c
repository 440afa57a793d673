/* Ranges of a made-up heap, and frozen objects beside it that become more. */
#include "profiler/heap/heap_stop.h"
#include "profiler/heap/heap_sweep.h"

#include <criterion/criterion.h>
#include <string.h>

#define OBJECT_WORDS 3
#define PAGE_WORDS 512

static uint32_t plain[4] = {0, OBJECT_WORDS * 8}; /* a class: flags, base size */
static uint64_t heap[PAGE_WORDS];
static uint64_t frozen[PAGE_WORDS] __attribute__((aligned(4096)));
static struct cor_generation_range ranges[4];
static struct cor_frozen_range frozen_range;
static uint32_t range_count, frozen_count;
static uint8_t block[HEAP_RING_BLOCK_BYTES];

static hresult query(void *self, const struct guid *iid, void **out)
{
	(void)iid;
	*out = self;
	return COR_S_OK;
}

static uint32_t release(void)
{
	return 1;
}

static hresult size_of(void *self, cor_id object, uintptr_t *size)
{
	(void)self;
	(void)object;
	*size = OBJECT_WORDS * 8;
	return COR_S_OK;
}

static hresult bounds(void *self, uint32_t cap, uint32_t *count, struct cor_generation_range *out)
{
	(void)self;
	*count = range_count;
	memcpy(out, ranges, (range_count < 4 ? range_count : 4) * sizeof *out);
	cr_assert_geq(cap, 4);
	return COR_S_OK;
}

static hresult frozen_bounds(void *self, uint32_t cap, uint32_t *count, struct cor_frozen_range *out)
{
	(void)self;
	(void)cap;
	*count = frozen_count;
	*out = frozen_range;
	return COR_S_OK;
}

static void *info_table[120] = {
	[0] = (void *)query,
	[2] = (void *)release,
	[INFO_GET_OBJECT_SIZE2] = (void *)size_of,
	[INFO_GET_GENERATION_BOUNDS] = (void *)bounds,
	[INFO_GET_NON_GC_HEAP_BOUNDS] = (void *)frozen_bounds,
};
static void **info = info_table;

static bool no_more(struct heap_writer *w)
{
	(void)w;
	return false;
}

static void put(uint64_t *at, uint32_t objects)
{
	for (uint32_t i = 0; i < objects; i++)
		at[(size_t)i * OBJECT_WORDS] = (uintptr_t)plain;
}

static struct cor_generation_range range_of(uint64_t *at, uint32_t objects)
{
	put(at, objects);
	return (struct cor_generation_range){.generation = 2, .start = (cor_id)at, .length = (uintptr_t)objects * OBJECT_WORDS * 8};
}

/* The objects told; -1: the walk came to nothing, *status says why. */
static int64_t sweep(enum heap_walk_status *status)
{
	struct heap_sink sink = {.w = {.more = no_more, .at = block, .limit = block + sizeof block - HEAP_PUT_MAX}, .deadline_ns = UINT64_MAX};
	struct heap_objects h = {.info = &info, .sink = &sink};

	heap_classes_reset();
	bool whole = heap_sweep(&h);
	*status = sink.status;
	return whole ? (int64_t)sink.w.objects : -1;
}

static void make(void)
{
	memset(heap, 0, sizeof heap);
	memset(frozen, 0, sizeof frozen);
	ranges[0] = range_of(heap, 10);
	ranges[1] = range_of(heap + 100, 7);
	ranges[2] = range_of(heap + 200, 0);
	range_count = 3;
	put(frozen + 1, 5);
	frozen_range = (struct cor_frozen_range){.start = (cor_id)(frozen + 1), .length = 5 * OBJECT_WORDS * 8};
	frozen_count = 1;
	heap_stop_find_frozen(&info);
}

Test(heap_sweep, each_object_of_each_range_is_told_once)
{
	enum heap_walk_status status;

	make();
	cr_expect_eq(sweep(&status), 22);
	put(frozen + 1 + 5 * OBJECT_WORDS, 3); /* since they were asked for */
	cr_expect_eq(sweep(&status), 25);
	ranges[2] = range_of(frozen + 1, 8); /* a runtime that counts them among the generations */
	cr_expect_eq(sweep(&status), 25);
	frozen_count = 0;
	range_count = 2;
	heap_stop_find_frozen(&info);
	cr_expect_eq(sweep(&status), 17);
	cr_expect_eq(status, HEAP_WALKED_WHOLE);
}

Test(heap_sweep, what_is_no_heap_ends_the_walk)
{
	enum heap_walk_status status;

	make();
	ranges[1].length -= 8; /* the last object passes its end */
	cr_expect_eq(sweep(&status), -1);
	cr_expect_eq(status, HEAP_WALKED_REFUSED);
	make();
	heap[100 + 3] = 0; /* no class */
	cr_expect_eq(sweep(&status), -1);
	cr_expect_eq(status, HEAP_WALKED_REFUSED);
	make();
	range_count = 100000; /* more than there is room for */
	cr_expect_eq(sweep(&status), -1);
	cr_expect_eq(status, HEAP_WALKED_NO_ROOM);
	range_count = 0;
	cr_expect_eq(sweep(&status), -1);
}
