/* Context: own thread. */
#include "profiler/heap/handle_tables.h"

#include "common/proto/difference.h"
#include "profiler/clr/cor_heap_abi.h"
#include "profiler/heap/heap_gaps.h"
#include "profiler/base/now.h"
#include "profiler/base/own_memory.h"

#include <string.h>

/* A segment is 64 KiB: a header of 4 KiB, then 120 blocks of 64 handles, each a word: the object's address. In the header:
 *
 *   0     generations (480), chains (120), free masks (960)
 *   1560  the type of each block
 *   1680  for each block, the block that has one more word for each of its handles (dependent ones: the second object)
 *   1800  locks (120), tails and hints (a byte for each type), free counts (4 bytes for each type)
 *   then  the next segment, the table
 *
 * A table begins with 4 bytes for each type, then its first segment. How many types there are differs: 12, from some version of .NET 10 on 13;
 * the last one marks the blocks of second words. */
#define SEGMENT_BYTES 0x10000u
#define HEADER_BYTES 0x1000u
#define BLOCKS 120u
#define BLOCK_HANDLES 64u
#define TYPES_AT 1560u
#define SECOND_AT 1680u
#define COUNTS_AT 1920u /* tails */
#define NO_TYPE 0xffu
#define LEAST_TYPES 12u
#define MOST_TYPES 13u

enum handle_type { HANDLE_STRONG = 2, HANDLE_PINNED = 3, HANDLE_COUNTED = 5, HANDLE_DEPENDENT = 6 };

#define TABLES_MAX 256u
#define THREADS_MAX 256u
#define THREAD_BYTES 2048u /* of the runtime's own thread object: its handles stand far in front */
#define LOOKED_MAX 512u
#define SEGMENTS_MAX 16384u /* 126 million handles */
#define PAGE_BYTES 4096u
#define NEAR_MAX (UINT32_C(8) << 20) /* from a table to the list of all: a table takes some 200 KB */

static struct {
	uintptr_t at;
	uint32_t types;
} tables[TABLES_MAX];
static uint32_t table_count;
static uintptr_t looked[LOOKED_MAX]; /* segments and what were none */
static uint32_t looked_count;
static _Alignas(8) uint8_t segment[SEGMENT_BYTES];
static size_t segment_len; /* of it there */

static uintptr_t load_word(const uint8_t *p)
{
	uintptr_t word;

	memcpy(&word, p, sizeof word);
	return word;
}

static uintptr_t next_of(uint32_t types)
{
	return load_word(segment + COUNTS_AT + 6 * types);
}

static uintptr_t segment_table(uint32_t types)
{
	return load_word(segment + COUNTS_AT + 6 * types + 8);
}

static bool is_place(uintptr_t at, uintptr_t multiple)
{
	return at && at % multiple == 0 && at < (uintptr_t)1 << 47;
}

static uintptr_t first_of(uintptr_t table, uint32_t types)
{
	uintptr_t first = 0;
	uint32_t at = (4 * types + 7) & ~7u;

	return own_memory_read(table + at, &first, sizeof first) == sizeof first && is_place(first, SEGMENT_BYTES) ? first : 0;
}

static bool has_types(uint32_t types)
{
	for (uint32_t b = 0; b < BLOCKS; b++)
		if (segment[TYPES_AT + b] >= types && segment[TYPES_AT + b] != NO_TYPE)
			return false;
	return true;
}

/* Into `segment`; false: it is none of this table. */
static bool read_segment(uintptr_t at, size_t len, uintptr_t table, uint32_t types)
{
	segment_len = own_memory_read(at, segment, len);
	return segment_len >= HEADER_BYTES && has_types(types) && segment_table(types) == table;
}

static bool table_has(uintptr_t table, uint32_t types, uintptr_t wanted)
{
	uintptr_t at = first_of(table, types);

	for (uint32_t n = 0; n < SEGMENTS_MAX && is_place(at, SEGMENT_BYTES); n++, at = next_of(types)) {
		if (!read_segment(at, HEADER_BYTES, table, types))
			return false;
		if (at == wanted)
			return true;
	}
	return false;
}

static void add_table(uintptr_t table, uint32_t types)
{
	for (uint32_t i = 0; i < table_count; i++)
		if (tables[i].at == table)
			return;
	if (table_count == TABLES_MAX)
		return;
	tables[table_count].at = table;
	tables[table_count++].types = types;
}

static bool looked_at(uintptr_t at)
{
	for (uint32_t i = 0; i < looked_count; i++)
		if (looked[i] == at)
			return true;
	if (looked_count < LOOKED_MAX)
		looked[looked_count++] = at;
	return false;
}

/* A word that may be a handle: does it lie in a segment of a table? */
static void inspect_word(uintptr_t word)
{
	uintptr_t at = word & ~(uintptr_t)(SEGMENT_BYTES - 1);

	if (!is_place(word, 8) || !is_place(at, SEGMENT_BYTES) || word < at + HEADER_BYTES || looked_at(at))
		return;
	if (own_memory_read(at, segment, HEADER_BYTES) < HEADER_BYTES || !has_types(MOST_TYPES))
		return;
	const uintptr_t names[] = {segment_table(LEAST_TYPES), segment_table(MOST_TYPES)}; /* before `segment` is another one's */
	for (uint32_t types = LEAST_TYPES; types <= MOST_TYPES; types++) {
		uintptr_t table = names[types - LEAST_TYPES];
		if (is_place(table, 8) && table_has(table, types, at)) {
			add_table(table, types);
			return;
		}
	}
}

static void look_at_thread(cor_id thread)
{
	uintptr_t words[THREAD_BYTES / sizeof(uintptr_t)];
	size_t count = own_memory_read(thread, words, sizeof words) / sizeof *words;

	for (size_t i = 0; i < count && table_count < TABLES_MAX; i++)
		inspect_word(words[i]);
}

/* Others in the runtime's list of tables, before and behind the place where one of them stands. */
static bool look_along(uintptr_t place, uint32_t types)
{
	uint32_t before = table_count;

	for (int step = -1; step <= 1; step += 2) {
		for (uintptr_t at = place + (uintptr_t)step * sizeof at;; at += (uintptr_t)step * sizeof at) {
			uintptr_t table;
			if (table_count == TABLES_MAX || own_memory_read(at, &table, sizeof table) < sizeof table || !is_place(table, 8) ||
			    !table_has(table, types, first_of(table, types)))
				break;
			add_table(table, types);
		}
	}
	return table_count > before;
}

/* Whether the list stands in this page; false, too: the page is not there. */
static bool look_in(uintptr_t page, uintptr_t table, uint32_t types, bool *there)
{
	uintptr_t words[PAGE_BYTES / sizeof(uintptr_t)];

	*there = *there && own_memory_read(page, words, sizeof words) == sizeof words;
	for (size_t i = 0; *there && i < sizeof words / sizeof *words; i++)
		if (words[i] == table && look_along(page + i * sizeof *words, types))
			return true;
	return false;
}

/* With a heap for each processor there is a table for each heap, and one that no thread has a handle in. The runtime has a list of them, which it
 * allocates with the tables: it stands near them, in the same piece of memory. */
static void look_near(uintptr_t table, uint32_t types)
{
	uintptr_t page = table & ~(uintptr_t)(PAGE_BYTES - 1);
	bool below = true, above = true;

	for (uint32_t off = 0; off < NEAR_MAX && (below || above); off += PAGE_BYTES)
		if (look_in(difference(page, off), table, types, &below) || look_in(page + off, table, types, &above))
			return;
}

void handle_tables_find(void *info)
{
	void *list = NULL;
	cor_id threads[64];
	uint32_t n, seen = 0;

	table_count = looked_count = 0;
	if (info_enum(info, INFO_ENUM_THREADS, &list) < 0 || !list)
		return;
	while (n = 0, seen < THREADS_MAX && enum_next(list, sizeof threads / sizeof *threads, threads, &n) >= 0 && n > 0)
		for (uint32_t i = 0; i < n; i++, seen++)
			look_at_thread(threads[i]);
	cor_release(list);
	if (table_count)
		look_near(tables[0].at, tables[0].types);
}

/* Roots ----------------------------------------------------------------------------------------------------------------------- */

/* 0: it does not lie within what is there. */
static uintptr_t handle_at(uint32_t block, uint32_t i)
{
	size_t at = HEADER_BYTES + ((size_t)block * BLOCK_HANDLES + i) * sizeof(uintptr_t);

	return at + sizeof(uintptr_t) <= segment_len ? load_word(segment + at) : 0;
}

static bool put_block(struct heap_writer *w, uintptr_t at, uint32_t block, uint32_t types)
{
	uint8_t type = segment[TYPES_AT + block], second = segment[SECOND_AT + block];
	bool dependent = type == HANDLE_DEPENDENT;

	if (type != HANDLE_STRONG && type != HANDLE_PINNED && type != HANDLE_COUNTED && !dependent)
		return true;
	if (dependent && (second >= BLOCKS || segment[TYPES_AT + second] + 1u != types))
		return true;
	for (uint32_t i = 0; i < BLOCK_HANDLES; i++) {
		const struct heap_root_record r = {
			.kind = dependent ? HEAP_ROOT_DEPENDENT : HEAP_ROOT_HANDLE,
			.flags = type == HANDLE_PINNED ? HEAP_ROOT_PINNED : 0,
			.id = at + HEADER_BYTES + ((uint64_t)block * BLOCK_HANDLES + i) * sizeof(uintptr_t),
			.object = handle_at(block, i),
			.second = dependent ? handle_at(second, i) : 0,
		};
		if (is_place(r.object, 8) && (!dependent || is_place(r.second, 8)) && !heap_put_root(w, &r))
			return false;
	}
	return true;
}

/* false: no more room. *whole: read to its end. */
static bool put_handle_table(struct heap_writer *w, uintptr_t table, uint32_t types, uint64_t end_ns, bool *whole)
{
	uintptr_t at = first_of(table, types);

	for (uint32_t n = 0; is_place(at, SEGMENT_BYTES); n++, at = next_of(types)) {
		*whole = n < SEGMENTS_MAX && now_ns() < end_ns && read_segment(at, SEGMENT_BYTES, table, types);
		if (!*whole)
			return true;
		for (uint32_t b = 0; b < BLOCKS; b++)
			if (!put_block(w, at, b, types))
				return false;
	}
	return true;
}

bool handle_tables_put(struct heap_writer *w, uint64_t end_ns)
{
	bool all = table_count > 0;

	for (uint32_t t = 0; t < table_count; t++) {
		bool whole = true;
		if (!put_handle_table(w, tables[t].at, tables[t].types, end_ns, &whole))
			return false;
		all &= whole;
	}
	if (!all)
		heap_gaps_note(HEAP_GAP_HANDLES, 0, 0);
	return true;
}
