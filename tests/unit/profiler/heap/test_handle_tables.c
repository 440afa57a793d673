/* Tables of handles laid out in this process's own memory, as the runtime has them. */
#include "profiler/clr/cor_heap_abi.h"
#include "profiler/heap/handle_tables.h"
#include "profiler/base/own_memory.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define SEGMENT 0x10000u
#define HEADER 0x1000u
#define OBJECT(n) (0x7000000000u + 8 * (uintptr_t)(n))
#define THREADS 3

static void *info_slots[120], *list_slots[8];
static struct fake {
	void **slots;
} info = {info_slots}, list = {list_slots};
static cor_id threads[THREADS];
static uint32_t told;

static hresult enum_threads(void *o, void **out)
{
	(void)o;
	told = 0;
	*out = &list;
	return COR_S_OK;
}

static hresult next_threads(void *o, uint32_t cap, cor_id *ids, uint32_t *count)
{
	(void)o;
	*count = 0;
	while (told < THREADS && *count < cap)
		ids[(*count)++] = threads[told++];
	return COR_S_OK;
}

static uint32_t release(void *o)
{
	(void)o;
	return 0;
}

/* A segment, with a page that is not there at its end. */
static uint8_t *make_segment(uint32_t types, const void *table)
{
	uint8_t *all = mmap(NULL, 3 * SEGMENT, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(all, MAP_FAILED);
	uint8_t *s = (uint8_t *)(((uintptr_t)all + SEGMENT - 1) & ~(uintptr_t)(SEGMENT - 1));
	memset(s + 1560, 0xff, 240); /* types of blocks, blocks of second words */
	memcpy(s + 1920 + 6 * types + 8, &table, 8);
	mprotect(s + SEGMENT - 0x1000, 0x1000, PROT_NONE);
	return s;
}

static void link_segment(uint8_t *s, uint32_t types, const uint8_t *next)
{
	memcpy(s + 1920 + 6 * types, &next, 8);
}

static uintptr_t *block(uint8_t *s, uint32_t b, uint8_t type)
{
	s[1560 + b] = type;
	return (uintptr_t *)(s + HEADER + b * 64 * 8);
}

struct found {
	uint32_t strong, pinned, dependent, others;
	uintptr_t last_id, last_object, last_second;
};

static bool no_more(struct heap_writer *w)
{
	(void)w;
	return false;
}

static struct found put_all(void)
{
	static uint8_t bytes[1 << 20];
	struct heap_writer w = {.at = bytes, .limit = bytes + sizeof bytes - HEAP_PUT_MAX, .more = no_more};
	struct heap_cursor c;
	struct found f = {0};

	handle_tables_find(&info);
	cr_assert(handle_tables_put(&w, UINT64_MAX));
	heap_put_end(&w, true, 0);
	heap_cursor_init(&c, bytes, (size_t)(w.at - bytes), NULL, 0, false);
	while (heap_cursor_next(&c) == HEAP_ROOT) {
		bool dependent = c.root.kind == HEAP_ROOT_DEPENDENT, pinned = c.root.flags == HEAP_ROOT_PINNED;
		f.dependent += dependent;
		f.pinned += !dependent && pinned;
		f.strong += !dependent && !pinned && c.root.kind == HEAP_ROOT_HANDLE;
		f.others += c.root.kind != HEAP_ROOT_DEPENDENT && c.root.kind != HEAP_ROOT_HANDLE;
		f.last_id = c.root.id;
		f.last_object = c.root.object;
		f.last_second = c.root.second;
	}
	cr_expect(c.last.complete);
	return f;
}

/* The table: its types' flags, then its first segment. */
static void make_table(uint64_t table[16], uint32_t types, const uint8_t *first)
{
	memcpy((uint8_t *)table + ((4 * types + 7) & ~7u), &first, 8);
}

static uintptr_t thread_words[THREADS][256];

static void setup(void)
{
	own_memory_open();
	info_slots[INFO_ENUM_THREADS] = (void *)enum_threads;
	list_slots[2] = (void *)release;
	list_slots[7] = (void *)next_threads;
	for (int i = 0; i < THREADS; i++)
		threads[i] = (cor_id)thread_words[i];
}

TestSuite(handle_tables, .init = setup);

Test(handle_tables, roots_of_every_segment_whatever_the_number_of_types)
{
	for (uint32_t types = 12; types <= 13; types++) {
		static uint64_t table[16];
		uint8_t *a = make_segment(types, table), *b = make_segment(types, table);
		memset(thread_words, 0, sizeof thread_words);
		make_table(table, types, a);
		link_segment(a, types, b);
		uintptr_t *strong = block(a, 0, 2), *pinned = block(b, 3, 3), *keys = block(b, 4, 6), *weak = block(b, 5, 0);
		uintptr_t *values = block(b, 7, (uint8_t)(types - 1));
		b[1680 + 4] = 7;
		strong[0] = OBJECT(1);
		strong[63] = OBJECT(2);
		strong[5] = OBJECT(3) + 4; /* no object's address */
		pinned[1] = OBJECT(4);
		weak[0] = OBJECT(5);
		keys[0] = keys[1] = OBJECT(6);
		values[1] = OBJECT(7); /* the first one has no value */
		thread_words[1][9] = (uintptr_t)&weak[0]; /* in the second segment */
		struct found f = put_all();
		cr_expect_eq(f.strong, 2, "%u types: %u", types, f.strong);
		cr_expect_eq(f.pinned, 1);
		cr_expect_eq(f.dependent, 1);
		cr_expect_eq(f.others, 0);
		cr_expect_eq(f.last_id, (uintptr_t)&keys[1]);
		cr_expect_eq(f.last_object, OBJECT(6));
		cr_expect_eq(f.last_second, OBJECT(7));
	}
}

/* With a heap for each processor: the runtime's list of tables stands between them, before or behind them. */
Test(handle_tables, one_leads_to_those_that_no_thread_has_a_handle_in)
{
	static const struct {
		size_t list, tables[3];
	} places[] = {{0, {2000, 60000, 70000}}, {30000, {2000, 60000, 70000}}, {99000, {2000, 60000, 70000}}};
	static uint64_t memory[100000];
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		memset(memory, 0, sizeof memory);
		memset(thread_words, 0, sizeof thread_words);
		for (uint32_t t = 0; t < 3; t++) {
			uint64_t *table = &memory[places[i].tables[t]];
			uint8_t *s = make_segment(13, table);
			uintptr_t *strong = block(s, 0, 2);
			make_table(table, 13, s);
			memory[places[i].list + t] = (uint64_t)(uintptr_t)table;
			for (uint32_t k = 0; k <= t; k++)
				strong[k] = OBJECT(k);
			if (t == 1)
				thread_words[2][0] = (uintptr_t)strong;
		}
		memory[places[i].tables[1] + 40] = (uint64_t)(uintptr_t)&memory[places[i].tables[1]]; /* its own: no list */
		cr_expect_eq(put_all().strong, 6, "list at %zu", places[i].list);
		memory[places[i].list + 2] = 0x123456789a0; /* no table */
		cr_expect_eq(put_all().strong, 3);
	}
}

/* Whatever does not prove itself is left alone, and no address is touched. */
Test(handle_tables, what_is_laid_out_otherwise_is_none)
{
	static uint64_t table[16], other[16];
	uint8_t *a = make_segment(12, table), *b = make_segment(12, table);
	uintptr_t *strong = block(a, 0, 2);
	strong[0] = OBJECT(1);
	memset(thread_words, 0, sizeof thread_words);
	thread_words[0][0] = (uintptr_t)&strong[0];
	make_table(table, 12, a);
	cr_expect_eq(put_all().strong, 1);

	make_table(table, 12, b); /* the list does not come by it */
	cr_expect_eq(put_all().strong, 0);
	link_segment(b, 12, b);   /* nor to an end */
	cr_expect_eq(put_all().strong, 0);
	make_table(table, 12, a);
	block(a, 9, 200);         /* a type that there is not */
	cr_expect_eq(put_all().strong, 0);
	block(a, 9, 0xff);
	memcpy(a + 1920 + 6 * 12 + 8, &(const void *){other}, 8); /* another one's, whose list is empty */
	cr_expect_eq(put_all().strong, 0);
	memcpy(a + 1920 + 6 * 12 + 8, &(const uintptr_t){0x1230}, 8); /* nowhere */
	cr_expect_eq(put_all().strong, 0);
	memcpy(a + 1920 + 6 * 12 + 8, &(const void *){table}, 8);
	link_segment(a, 12, (const uint8_t *)(uintptr_t)0x7ffff0000); /* the next one is not there: what stands before it counts */
	cr_expect_eq(put_all().strong, 1);
	threads[0] = 0x1000; /* a thread that has gone */
	cr_expect_eq(put_all().strong, 0);
	threads[1] = (cor_id)thread_words[0];
	thread_words[0][1] = ~(uintptr_t)7;
	thread_words[0][2] = (uintptr_t)a + 0x18;
	cr_expect_eq(put_all().strong, 1);
}

/* A dependent handle without its block of second words, and one beyond what is there. */
Test(handle_tables, parts_that_are_not_there)
{
	static uint64_t table[16];
	uint8_t *a = make_segment(12, table);
	uintptr_t *keys = block(a, 0, 6);
	memset(thread_words, 0, sizeof thread_words);
	thread_words[0][0] = (uintptr_t)&keys[0];
	make_table(table, 12, a);
	keys[0] = OBJECT(1);
	cr_expect_eq(put_all().dependent, 0);
	a[1680] = 119; /* in the page that is not there */
	block(a, 119, 11);
	cr_expect_eq(put_all().dependent, 0);
	block(a, 118, 2);
	cr_expect_eq(put_all().strong, 0);
}
