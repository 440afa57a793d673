#include "agent/heap/heap_rows.h"

#include <string.h>

#define FIRST_BYTES 65536

int heap_rows_init(struct heap_rows *r, struct heap_memory *memory, uint32_t objects, struct err *e)
{
	*r = (struct heap_rows){.memory = memory, .split = objects / 2 & ~UINT32_C(63)};
	if (heap_memory_take(memory, &r->start_array, objects / HEAP_ROWS_STEP + 1, sizeof *r->starts, HEAP_AT_RANDOM, e) < 0 ||
	    heap_memory_take(memory, &r->holder_array, objects / 64 + 1, sizeof *r->holders, HEAP_AT_RANDOM, e) < 0 ||
	    heap_memory_take(memory, &r->half[0].array, FIRST_BYTES, 1, HEAP_AT_RANDOM, e) < 0 ||
	    heap_memory_take(memory, &r->half[1].array, FIRST_BYTES, 1, HEAP_AT_RANDOM, e) < 0) {
		heap_rows_fini(r);
		return -1;
	}
	r->starts = r->start_array.data;
	r->holders = r->holder_array.data;
	return 0;
}

void heap_rows_fini(struct heap_rows *r)
{
	if (!r->memory)
		return;
	heap_memory_give(r->memory, &r->start_array);
	heap_memory_give(r->memory, &r->holder_array);
	heap_memory_give(r->memory, &r->half[0].array);
	heap_memory_give(r->memory, &r->half[1].array);
	*r = (struct heap_rows){0};
}

int heap_rows_make_room(struct heap_rows *r, unsigned half, struct err *e)
{
	struct heap_array *a = &r->half[half].array;

	return heap_memory_grow(r->memory, a, a->bytes + a->bytes / 4 + FIRST_BYTES, e);
}

/* One byte for the length, which is enough for nearly all. */
int heap_rows_begin(struct heap_rows *r, unsigned half, uint32_t object, struct err *e)
{
	struct heap_rows_half *h = &r->half[half];

	if (h->array.bytes - h->used < 32 && heap_rows_make_room(r, half, e) < 0)
		return -1;
	if (object % HEAP_ROWS_STEP == 0)
		r->starts[object / HEAP_ROWS_STEP] = h->used;
	h->row = h->used++;
	h->last = object;
	return 0;
}

/* heap_rows_put() left 16 bytes at least behind what it wrote: enough for a longer length. */
void heap_rows_end(struct heap_rows *r, unsigned half, uint32_t object)
{
	struct heap_rows_half *h = &r->half[half];
	uint8_t *row = (uint8_t *)h->array.data + h->row, length[LEB128_MAX];
	size_t bytes = h->used - h->row - 1, length_bytes = (size_t)(leb128_put(length, bytes) - length);

	if (length_bytes > 1)
		memmove(row + length_bytes, row + 1, bytes);
	memcpy(row, length, length_bytes);
	h->used += length_bytes - 1;
	if (bytes)
		r->holders[object / 64] |= UINT64_C(1) << object % 64;
}
