#include "agent/heap/heap_index.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SLOT_BITS 10
#define NO_KEY UINT64_MAX

int heap_index_init(struct heap_index *x, struct heap_memory *memory, struct err *e)
{
	*x = (struct heap_index){.memory = memory, .slot_bits = FIRST_SLOT_BITS, .last_key = NO_KEY, .block_count = 1, .page_count = 1};
	if (heap_memory_take(memory, &x->block_array, 1024, sizeof *x->blocks, HEAP_AT_RANDOM, e) < 0 ||
	    heap_memory_take(memory, &x->page_array, 64, sizeof *x->pages, HEAP_AT_RANDOM, e) < 0 ||
	    heap_memory_take(memory, &x->slot_array, (size_t)1 << FIRST_SLOT_BITS, sizeof *x->slots, HEAP_AT_RANDOM, e) < 0) {
		heap_index_fini(x);
		return -1;
	}
	x->blocks = x->block_array.data;
	x->pages = x->page_array.data;
	x->slots = x->slot_array.data;
	return 0;
}

void heap_index_fini(struct heap_index *x)
{
	heap_memory_give(x->memory, &x->block_array);
	heap_memory_give(x->memory, &x->page_array);
	heap_memory_give(x->memory, &x->slot_array);
	*x = (struct heap_index){0};
}

/* Doubling. HEAP_INDEX_NONE bounds what counts in 32 bits. */
static int make_room(struct heap_index *x, struct heap_array *a, uint32_t count, size_t size, struct err *e)
{
	size_t need = ((size_t)count + 1) * size;

	if (count >= HEAP_INDEX_NONE / 64)
		return err_set(e, ERR_INVALID, 0, "the heap's objects lie too far apart");
	return need <= a->bytes ? 0 : heap_memory_grow(x->memory, a, 2 * a->bytes, e);
}

static void insert_slot(struct heap_index *x, struct heap_index_slot s)
{
	uint64_t at = heap_index_hash(x, s.key), mask = (UINT64_C(1) << x->slot_bits) - 1;

	while (x->slots[at].page)
		at = (at + 1) & mask;
	x->slots[at] = s;
}

static int grow_index_slots(struct heap_index *x, struct err *e)
{
	struct heap_array old = x->slot_array;
	const struct heap_index_slot *from = old.data;
	size_t count = (size_t)1 << x->slot_bits;

	if (heap_memory_take(x->memory, &x->slot_array, 2 * count, sizeof *x->slots, HEAP_AT_RANDOM, e) < 0) {
		x->slot_array = old;
		return -1;
	}
	x->slots = x->slot_array.data;
	x->slot_bits++;
	for (size_t i = 0; i < count; i++)
		if (from[i].page)
			insert_slot(x, from[i]);
	heap_memory_give(x->memory, &old);
	return 0;
}

/* The page of a key, made when there is none; 0: no memory. */
static uint32_t take_page(struct heap_index *x, uint64_t key, struct err *e)
{
	uint32_t page = heap_index_page(x, key);

	if (page)
		return page;
	if (make_room(x, &x->page_array, x->page_count, sizeof *x->pages, e) < 0)
		return 0;
	x->pages = x->page_array.data;
	if ((uint64_t)x->page_count * 2 > UINT64_C(1) << x->slot_bits && grow_index_slots(x, e) < 0)
		return 0;
	page = x->page_count++;
	insert_slot(x, (struct heap_index_slot){key, page});
	return page;
}

int heap_index_add_slow(struct heap_index *x, uint64_t key, struct err *e)
{
	uint32_t page = take_page(x, key >> (HEAP_INDEX_PAGE_SHIFT - HEAP_INDEX_BLOCK_SHIFT), e);

	if (!page)
		return -1;
	uint32_t *block = &x->pages[page].blocks[key & 63];
	if (!*block) {
		if (make_room(x, &x->block_array, x->block_count, sizeof *x->blocks, e) < 0)
			return -1;
		x->blocks = x->block_array.data;
		x->blocks[x->block_count].key = key;
		*block = x->block_count++;
	}
	x->last_key = key;
	x->last_block = *block;
	return 0;
}

static int block_by_key(const void *a, const void *b)
{
	const struct heap_index_block *x = a, *y = b;

	return (x->key > y->key) - (x->key < y->key);
}

static bool is_sorted(const struct heap_index *x)
{
	for (uint32_t i = 2; i < x->block_count; i++)
		if (x->blocks[i - 1].key > x->blocks[i].key)
			return false;
	return true;
}

static void point_to_blocks(struct heap_index *x)
{
	for (uint32_t i = 1; i < x->block_count; i++) {
		uint64_t key = x->blocks[i].key;
		uint32_t page = heap_index_page(x, key >> (HEAP_INDEX_PAGE_SHIFT - HEAP_INDEX_BLOCK_SHIFT));
		x->pages[page].blocks[key & 63] = i;
	}
}

int heap_index_finish(struct heap_index *x, struct err *e)
{
	uint64_t first = 0;

	if (!is_sorted(x)) {
		qsort(x->blocks + 1, x->block_count - 1, sizeof *x->blocks, block_by_key);
		point_to_blocks(x);
	}
	for (uint32_t i = 1; i < x->block_count; i++) {
		struct heap_index_block *b = &x->blocks[i];
		unsigned before = 0;
		b->first = (uint32_t)first;
		for (int word = 0; word < 8; word++) {
			b->before[word] = (uint8_t)before;
			before += heap_index_bits(b->bits[word]);
		}
		first += before;
	}
	return first < HEAP_INDEX_NONE ? 0 : err_set(e, ERR_INVALID, 0, "the heap has too many objects");
}

/* The last block with first <= object; the empty block 0 when there is none. */
static uint32_t block_of(const struct heap_index *x, uint32_t object)
{
	uint32_t low = 1, high = x->block_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (x->blocks[middle].first <= object)
			low = middle + 1;
		else
			high = middle;
	}
	return low - 1;
}

uint64_t heap_index_address(const struct heap_index *x, uint32_t object)
{
	const struct heap_index_block *b = &x->blocks[block_of(x, object)];
	uint32_t left = object - b->first, word = 7;

	while (word > 0 && b->before[word] > left)
		word--;
	uint64_t bits = b->bits[word];
	for (left -= b->before[word]; left > 0; left--)
		bits &= bits - 1;
	return b->key << HEAP_INDEX_BLOCK_SHIFT | (uint64_t)word << 9 | (uint64_t)__builtin_ctzll(bits) << 3;
}

/* Objects in the blocks below this key. */
static uint32_t objects_below(const struct heap_index *x, uint64_t key)
{
	uint32_t low = 1, high = x->block_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (x->blocks[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < x->block_count)
		return x->blocks[low].first;
	const struct heap_index_block *last = &x->blocks[x->block_count - 1];
	return x->block_count == 1 ? 0 : last->first + last->before[7] + heap_index_bits(last->bits[7]);
}

uint32_t heap_index_at_or_before(const struct heap_index *x, uint64_t address)
{
	uint32_t below = objects_below(x, address >> HEAP_INDEX_BLOCK_SHIFT);
	const struct heap_index_block *b = heap_index_block(x, address);
	uint64_t upto = UINT64_MAX >> (63 - (address >> 3 & 63));

	if (b != x->blocks)
		below = b->first + b->before[address >> 9 & 7] + heap_index_bits(b->bits[address >> 9 & 7] & upto);
	return below ? below - 1 : HEAP_INDEX_NONE;
}

void heap_index_walk(const struct heap_index *x, struct heap_index_walk *w)
{
	*w = (struct heap_index_walk){.x = x, .block = 1, .left = x->blocks[1].bits[0]};
}
