#include "agent/locks/code_map.h"

#include <string.h>

#define TRIES 64           /* addresses by which the ranges are looked for */
#define FRAGMENTS_MAX 64   /* of a chunk */
#define HIGHEST_BITS 49    /* from these on an address says which part of the highest level it is in; five levels of 8 bits */
#define CHUNK_BITS 17
#define RANGE_IS_HEAP 2u   /* of its flags: code that was compiled in the process */
#define CODE_MAX (1u << 26) /* bytes of a method */
#define UNIT_BYTES 256     /* of code, of which a word of the map tells */
#define BUCKET_BYTES 32
#define UNITS_BACK 1024    /* that are looked at for a method's beginning */
#define STUBS 15           /* what stands before code that is no method's */
#define UNWINDS_MAX 4096
#define FUNCTIONS_MAX (1u << 24)
#define PARTS_MAX 64       /* handlers and filters of a method, which have functions of their own */
#define SLOTS 4
#define SLOTS_BYTES 64
#define PROBES_MAX 64
#define MAP_BUCKETS 16     /* in the map: a pointer to its buckets */

struct code_range {
	uint64_t begin, end, module, heap;
	uint32_t flags;
};

void code_map_init(struct code_map *c, const struct process_memory *m, const struct code_contract *contract, const uint64_t *dac, size_t words)
{
	*c = (struct code_map){.memory = m, .contract = contract, .dac = dac, .words = words, .ranges = contract->ranges, .arch = &arch_ours};
}

static uint32_t word32(const struct process_memory *m, uint64_t at)
{
	uint32_t x = 0;
	return process_memory_whole(m, at, &x, sizeof x) ? x : 0;
}

/* A function of a table of the runtime's, from and to behind `base`. false: it has no end that can be read. */
static bool read_function(const struct code_map *c, uint64_t base, uint64_t at, uint32_t *begin, uint32_t *end)
{
	uint32_t words[2];
	if (!process_memory_whole(c->memory, at, words, sizeof words))
		return false;
	*begin = words[0];
	*end = words[1];
	if (!c->arch->packed_bytes)
		return true;
	uint32_t bytes = c->arch->packed_bytes(words[1]);
	*end = *begin + (bytes ? bytes : c->arch->record_bytes(word32(c->memory, base + words[1])));
	return *end > *begin;
}

/* the ranges ------------------------------------------------------------------------------------------------------- */

/* The first of the parts of ranges in the chunk of the address; 0: none. */
static uint64_t first_fragment(const struct process_memory *m, uint64_t level, uint64_t ip)
{
	for (int shift = HIGHEST_BITS; level && shift >= CHUNK_BITS; shift -= 8)
		level = process_memory_word(m, level + (ip >> shift & 255) * 8) & ~UINT64_C(1);
	return level;
}

static bool read_range(const struct code_map *c, uint64_t at, struct code_range *out)
{
	const struct code_contract *k = c->contract;
	*out = (struct code_range){
		.begin = process_memory_word(c->memory, at + k->range_begin),
		.end = process_memory_word(c->memory, at + k->range_end),
		.module = process_memory_word(c->memory, at + k->range_module),
		.heap = process_memory_word(c->memory, at + k->range_heap),
		.flags = word32(c->memory, at + k->range_flags),
	};
	return out->begin < out->end;
}

static bool range_in(const struct code_map *c, uint64_t ranges, uint64_t ip, struct code_range *out)
{
	const struct code_contract *k = c->contract;
	uint64_t at = first_fragment(c->memory, ranges, ip);
	for (int i = 0; at && i < FRAGMENTS_MAX; i++) {
		if (ip >= process_memory_word(c->memory, at + k->fragment_begin) && ip < process_memory_word(c->memory, at + k->fragment_end))
			return read_range(c, process_memory_word(c->memory, at + k->fragment_range), out) && ip >= out->begin && ip < out->end;
		at = process_memory_word(c->memory, at + k->fragment_next) & ~UINT64_C(1);
	}
	return false;
}

static bool find_code_range(struct code_map *c, uint64_t ip, struct code_range *out)
{
	if (c->ranges)
		return range_in(c, c->ranges, ip, out);
	if (c->tries++ >= TRIES)
		return false;
	for (size_t i = 0; i < c->words; i++)
		if (c->dac[i] && range_in(c, c->dac[i], ip, out)) {
			c->ranges = c->dac[i];
			return true;
		}
	return false;
}

/* code that was compiled in the process ---------------------------------------------------------------------------- */

/* A unit that lies within one method as a whole tells where that begins (.NET 10); 0: it is none. */
static bool unit_points(uint32_t unit, uint64_t *offset)
{
	uint32_t low = unit & 15;
	*offset = (unit & ~UINT32_C(15)) + ((low - 9) << 2);
	return low >= 9 && low <= 12;
}

/* The last method that begins in buckets 0 to `last` of a unit: its offset in the unit. */
static bool last_start(uint32_t unit, int last, uint64_t *offset)
{
	for (int bucket = last; bucket >= 0; bucket--) {
		uint32_t nibble = unit >> (28 - 4 * bucket) & 15;
		if (nibble) {
			*offset = (uint64_t)bucket * BUCKET_BYTES + (nibble - 1) * 4;
			return true;
		}
	}
	return false;
}

uint64_t code_map_method_start(const struct process_memory *m, uint64_t base, uint64_t nibbles, uint64_t ip)
{
	uint64_t number = (ip - base) / UNIT_BYTES, within = (ip - base) % UNIT_BYTES, offset;
	int bucket = (int)(within / BUCKET_BYTES);
	for (unsigned steps = 0; ip >= base && steps < UNITS_BACK; steps++, number--, bucket = 7) {
		uint32_t unit = word32(m, nibbles + 4 * number);
		if (unit_points(unit, &offset))
			return base + offset;
		if (steps == 0 && last_start(unit, bucket, &offset) && offset > within) /* behind the address, in its own bucket */
			bucket--;
		if (last_start(unit, bucket, &offset))
			return base + number * UNIT_BYTES + offset;
		if (number == 0)
			break;
	}
	return 0;
}

static bool find_in_heap(const struct code_map *c, const struct code_range *r, uint64_t ip, struct managed_code *out)
{
	const struct code_contract *k = c->contract;
	const struct process_memory *m = c->memory;
	if (ip < process_memory_word(m, r->heap + k->heap_start) || ip >= process_memory_word(m, r->heap + k->heap_end))
		return false;
	uint64_t start = code_map_method_start(m, process_memory_word(m, r->heap + k->heap_base), process_memory_word(m, r->heap + k->heap_map), ip);
	uint64_t header = start > r->begin && start <= ip ? process_memory_word(m, start - 8) : 0;
	if (header <= STUBS)
		return false;
	uint32_t parts = word32(m, header + k->header_unwinds), begin, end, last;
	uint64_t at = header + k->header_unwind;
	if (!parts || parts > UNWINDS_MAX || !read_function(c, r->begin, at, &begin, &end) ||
	    !read_function(c, r->begin, at + (uint64_t)(parts - 1) * c->arch->function_bytes, &last, &end))
		return false;
	if (r->begin + begin != start || end <= begin || end - begin > CODE_MAX || ip >= r->begin + end)
		return false;
	*out = (struct managed_code){.start = start, .bytes = end - begin, .method = process_memory_word(m, header + k->header_method)};
	return out->method != 0;
}

/* code that lies in an image --------------------------------------------------------------------------------------- */

uint64_t code_map_entry_point(const struct process_memory *m, uint64_t map, uint64_t entry)
{
	uint64_t buckets = process_memory_word(m, map + MAP_BUCKETS), words[2 * SLOTS];
	uint32_t size = buckets ? word32(m, buckets) : 0;
	if (size < 3)
		return 0;
	uint32_t at = (uint32_t)(entry >> 2), step = 1 + ((uint32_t)(entry >> 5) + 1) % (size - 1);
	for (unsigned probe = 0; probe < PROBES_MAX && probe < size; probe++, at += step) {
		if (!process_memory_whole(m, buckets + SLOTS_BYTES * (1 + (uint64_t)(at % size)), words, sizeof words))
			return 0;
		for (size_t i = 0; i < SLOTS; i++)
			if (words[i] == entry)
				return words[SLOTS + i] << 1;
		if (!(words[SLOTS] >> 63)) /* none was put elsewhere for want of room here */
			return 0;
	}
	return 0;
}

/* The last function that begins at or before `rva`; `count`: none. */
static uint32_t function_at(const struct code_map *c, uint64_t functions, uint32_t count, uint32_t rva)
{
	uint32_t low = 0, high = count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (word32(c->memory, functions + (uint64_t)middle * c->arch->function_bytes) <= rva)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : count;
}

/* Handlers and filters of a method lie behind it, and are no entry points. */
static bool find_in_image(const struct code_map *c, const struct code_range *r, uint64_t ip, struct managed_code *out)
{
	const struct code_contract *k = c->contract;
	const struct process_memory *m = c->memory;
	uint64_t images = process_memory_word(m, r->module + k->module_images), rva = ip - r->begin;
	uint64_t composite = images ? process_memory_word(m, images + k->images_composite) : 0;
	images = composite ? composite : images;
	uint64_t functions = images ? process_memory_word(m, images + k->images_functions) : 0;
	uint32_t count = functions ? word32(m, images + k->images_count) : 0;
	if (!count || count > FUNCTIONS_MAX || rva > UINT32_MAX)
		return false;
	uint32_t at = function_at(c, functions, count, (uint32_t)rva), begin, end, part_end;
	if (at == count || !read_function(c, r->begin, functions + (uint64_t)at * c->arch->function_bytes, &begin, &end))
		return false;
	for (uint32_t parts = 0; rva < end && parts < PARTS_MAX; parts++, at--) {
		if (!read_function(c, r->begin, functions + (uint64_t)at * c->arch->function_bytes, &begin, &part_end))
			return false;
		uint64_t method = code_map_entry_point(m, images + k->images_methods, r->begin + begin);
		if (method && begin <= rva && end - begin <= CODE_MAX) {
			*out = (struct managed_code){.start = r->begin + begin, .bytes = end - begin, .method = method};
			return true;
		}
		if (at == 0)
			break;
	}
	return false;
}

bool code_map_find(struct code_map *c, uint64_t ip, struct managed_code *out)
{
	struct code_range range;
	*out = (struct managed_code){0};
	if (!c->contract->known || !find_code_range(c, ip, &range))
		return false;
	if (range.flags & RANGE_IS_HEAP)
		return find_in_heap(c, &range, ip, out);
	return range.module && find_in_image(c, &range, ip, out);
}
