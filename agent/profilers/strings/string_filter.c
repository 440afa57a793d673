#include "agent/profilers/strings/string_filter.h"

#include "common/base/mem.h"

#include <stdlib.h>

#define BITS_PER_STRING 4
#define LEAST_BITS (UINT64_C(1) << 16)
#define MOST_BITS (UINT64_C(1) << 30) /* 2 x 128 MiB, for a quarter of a thousand million strings */

void string_filter_init(struct string_filter *f, uint64_t strings)
{
	uint64_t bits = LEAST_BITS;
	while (bits < MOST_BITS && bits / BITS_PER_STRING < strings)
		bits *= 2;
	*f = (struct string_filter){.mask = bits - 1};
	f->seen = mem_calloc(bits / 64, sizeof *f->seen);
	f->again = mem_calloc(bits / 64, sizeof *f->again);
}

void string_filter_fini(struct string_filter *f)
{
	free(f->seen);
	free(f->again);
	*f = (struct string_filter){0};
}

void string_filter_add(struct string_filter *f, uint64_t digest)
{
	uint64_t at = digest & f->mask, bit = UINT64_C(1) << (at & 63);
	f->added++;
	if (f->seen[at / 64] & bit) {
		f->again[at / 64] |= bit;
		f->repeated++;
	}
	f->seen[at / 64] |= bit;
}

bool string_filter_may_repeat(const struct string_filter *f, uint64_t digest)
{
	uint64_t at = digest & f->mask;
	return f->again[at / 64] >> (at & 63) & 1;
}
