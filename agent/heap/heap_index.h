/* Where objects begin: a bit for each 8 bytes of the heap that has any, with counts, so that an address gives its object's number (in
 * the order of addresses) and a number its address, without a search through all of them. Made in two steps: every object is added once,
 * in any order of addresses, then it is finished. After that any number of readers.
 *
 * A block covers 4 KB of addresses in 88 bytes (a fiftieth of the heap), a page 64 blocks, and a hash table finds the pages: heaps lie
 * scattered over the address space. (Rank and select on bit vectors: Jacobson 1989; the layout with counts beside the words is that of
 * Vigna, "Broadword implementation of rank/select queries", 2008.) */
#ifndef DRDOTNET_HEAP_INDEX_H
#define DRDOTNET_HEAP_INDEX_H

#include "agent/heap/heap_memory.h"

#define HEAP_INDEX_NONE UINT32_MAX
#define HEAP_INDEX_LEAST_SIZE 16 /* bytes of an object: less is none of .NET (24), and a block counts in bytes */
#define HEAP_INDEX_BLOCK_SHIFT 12
#define HEAP_INDEX_PAGE_SHIFT 18

struct heap_index_block {
	uint64_t bits[8];
	uint64_t key;      /* address >> HEAP_INDEX_BLOCK_SHIFT */
	uint8_t before[8]; /* objects in the words before */
	uint32_t first;    /* objects in the blocks before */
	uint32_t unused;
};

struct heap_index_page {
	uint32_t blocks[64]; /* 0: none */
};

struct heap_index {
	struct heap_memory *memory;
	struct heap_array block_array, page_array, slot_array;
	struct heap_index_block *blocks; /* [0] is none; finished: by address */
	struct heap_index_page *pages;   /* [0] is none */
	struct heap_index_slot {
		uint64_t key;            /* address >> HEAP_INDEX_PAGE_SHIFT */
		uint32_t page;           /* 0: free */
	} *slots;
	uint32_t block_count, page_count, slot_bits;
	uint64_t last_key;               /* while it is made: the block of the object before */
	uint32_t last_block;
};

int heap_index_init(struct heap_index *x, struct heap_memory *memory, struct err *e);
void heap_index_fini(struct heap_index *x);
int heap_index_add_slow(struct heap_index *x, uint64_t key, struct err *e);
/* Sorts. The number of objects must be below HEAP_INDEX_NONE. */
int heap_index_finish(struct heap_index *x, struct err *e);

/* `address` a multiple of 8. -1: no memory, or objects so far apart that the index would be bigger than what it points to. */
static inline int heap_index_add(struct heap_index *x, uint64_t address, struct err *e)
{
	uint64_t key = address >> HEAP_INDEX_BLOCK_SHIFT;

	if (key != x->last_key && heap_index_add_slow(x, key, e) < 0)
		return -1;
	x->blocks[x->last_block].bits[address >> 9 & 7] |= UINT64_C(1) << (address >> 3 & 63);
	return 0;
}

/* Bits that are set. The compiler's own calls a function where the processor's instruction may be missing. */
static inline uint32_t heap_index_bits(uint64_t v)
{
	v -= v >> 1 & UINT64_C(0x5555555555555555);
	v = (v & UINT64_C(0x3333333333333333)) + (v >> 2 & UINT64_C(0x3333333333333333));
	v = (v + (v >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (uint32_t)(v * UINT64_C(0x0101010101010101) >> 56);
}

static inline uint64_t heap_index_hash(const struct heap_index *x, uint64_t key)
{
	return key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - x->slot_bits);
}

static inline uint32_t heap_index_page(const struct heap_index *x, uint64_t key)
{
	uint64_t at = heap_index_hash(x, key), mask = (UINT64_C(1) << x->slot_bits) - 1;

	while (x->slots[at].page && x->slots[at].key != key)
		at = (at + 1) & mask;
	return x->slots[at].page;
}

static inline const struct heap_index_block *heap_index_block(const struct heap_index *x, uint64_t address)
{
	uint32_t page = heap_index_page(x, address >> HEAP_INDEX_PAGE_SHIFT);

	return &x->blocks[x->pages[page].blocks[address >> HEAP_INDEX_BLOCK_SHIFT & 63]];
}

/* The object that begins at this address; HEAP_INDEX_NONE: none does. */
static inline uint32_t heap_index_find(const struct heap_index *x, uint64_t address)
{
	const struct heap_index_block *b = heap_index_block(x, address);
	uint64_t word = b->bits[address >> 9 & 7], bit = UINT64_C(1) << (address >> 3 & 63);

	if (!(word & bit) || (address & 7))
		return HEAP_INDEX_NONE;
	return b->first + b->before[address >> 9 & 7] + heap_index_bits(word & (bit - 1));
}

/* The last object that begins at or before this address; HEAP_INDEX_NONE: none does. */
uint32_t heap_index_at_or_before(const struct heap_index *x, uint64_t address);
/* Where the object begins; it must be one. */
uint64_t heap_index_address(const struct heap_index *x, uint32_t object);

/* The addresses of all objects, rising: heap_index_walk(), then heap_index_walk_next() once for each. */
struct heap_index_walk {
	const struct heap_index *x;
	uint32_t block, word;
	uint64_t left;
};
void heap_index_walk(const struct heap_index *x, struct heap_index_walk *w);
static inline uint64_t heap_index_walk_next(struct heap_index_walk *w)
{
	const struct heap_index_block *b = &w->x->blocks[w->block];

	while (!w->left) {
		if (++w->word == 8) {
			w->word = 0;
			b = &w->x->blocks[++w->block];
		}
		w->left = b->bits[w->word];
	}
	uint64_t bit = (uint64_t)__builtin_ctzll(w->left);
	w->left &= w->left - 1;
	return b->key << HEAP_INDEX_BLOCK_SHIFT | (uint64_t)w->word << 9 | bit << 3;
}

#endif
