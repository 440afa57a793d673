/* Which objects each object holds: a row of numbers per object, in few bytes. A row is a varint of its length in bytes, then for each
 * reference the zigzag varint of the distance to the target before (the first: to the object itself): objects mostly hold what was made
 * with them. Where the rows begin is kept for every eighth; others are found by skipping. Written in order, each half of the objects by
 * a thread of its own; then read-only, any number of readers. */
#ifndef DRDOTNET_HEAP_ROWS_H
#define DRDOTNET_HEAP_ROWS_H

#include "agent/heap/heap_memory.h"
#include "common/base/leb128.h"

#define HEAP_ROWS_STEP 8

struct heap_rows_half {
	struct heap_array array;
	size_t used, row;   /* row: where the one that is being written begins */
	uint32_t last;
};

struct heap_rows {
	struct heap_memory *memory;
	struct heap_array start_array, holder_array;
	uint64_t *starts;   /* of every HEAP_ROWS_STEP-th row, in the bytes of its half */
	uint64_t *holders;  /* a bit for each object that holds any */
	struct heap_rows_half half[2];
	uint32_t split;     /* the second half's first object, a multiple of 64 */
};

int heap_rows_init(struct heap_rows *r, struct heap_memory *memory, uint32_t objects, struct err *e);
void heap_rows_fini(struct heap_rows *r);

/* Writing the row of the next object of that half; 0 or -1. */
int heap_rows_begin(struct heap_rows *r, unsigned half, uint32_t object, struct err *e);
int heap_rows_make_room(struct heap_rows *r, unsigned half, struct err *e);
void heap_rows_end(struct heap_rows *r, unsigned half, uint32_t object);

static inline int heap_rows_put(struct heap_rows *r, unsigned half, uint32_t target, struct err *e)
{
	struct heap_rows_half *h = &r->half[half];

	if (h->array.bytes - h->used < 32 && heap_rows_make_room(r, half, e) < 0)
		return -1;
	uint8_t *at = (uint8_t *)h->array.data + h->used;
	h->used += (size_t)(leb128_put_distance(at, h->last, target) - at);
	h->last = target;
	return 0;
}

/* Reading */
struct heap_row {
	const uint8_t *at, *end;
	uint32_t last;
	uint32_t owner; /* for who reads it */
};

static inline bool heap_rows_holds(const struct heap_rows *r, uint32_t object)
{
	return r->holders[object / 64] >> object % 64 & 1;
}

static inline void heap_rows_of(const struct heap_rows *r, uint32_t object, struct heap_row *row)
{
	const uint8_t *at = (const uint8_t *)r->half[object >= r->split].array.data + r->starts[object / HEAP_ROWS_STEP];
	uint64_t length = leb128_get(&at);

	for (uint32_t skip = object % HEAP_ROWS_STEP; skip > 0; skip--) {
		at += length;
		length = leb128_get(&at);
	}
	row->at = at;
	row->end = at + length;
	row->last = object;
}

/* Asks the processor for what heap_rows_of() will read: first where the row begins, later the row. */
static inline void heap_rows_want_start(const struct heap_rows *r, uint32_t object)
{
	__builtin_prefetch(&r->starts[object / HEAP_ROWS_STEP]);
}

static inline void heap_rows_want(const struct heap_rows *r, uint32_t object)
{
	__builtin_prefetch((const uint8_t *)r->half[object >= r->split].array.data + r->starts[object / HEAP_ROWS_STEP]);
}

/* Only while at != end. */
static inline uint32_t heap_row_next(struct heap_row *row)
{
	return row->last = leb128_get_distance(&row->at, row->last);
}

#endif
