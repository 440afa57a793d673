#include "agent/strings/address_list.h"

#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

void address_list_fini(struct address_list *l)
{
	free(l->items);
	*l = (struct address_list){0};
}

void address_list_add(struct address_list *l, uint64_t address, unsigned marks, uint32_t number)
{
	GROW(l->items, l->count, l->cap);
	l->items[l->count++] = (struct address_entry){(address & ~UINT64_C(7)) | marks, number};
}

/* The end of the rising run that begins at `from`. */
static size_t run_end(const struct address_entry *items, size_t from, size_t count)
{
	size_t end = from + 1;
	while (end < count && items[end - 1].key <= items[end].key)
		end++;
	return end < count ? end : count;
}

static void merge(const struct address_entry *a, size_t a_count, const struct address_entry *b, size_t b_count, struct address_entry *out)
{
	while (a_count && b_count) {
		if (a->key <= b->key) {
			*out++ = *a++;
			a_count--;
		} else {
			*out++ = *b++;
			b_count--;
		}
	}
	memcpy(out, a, a_count * sizeof *a);
	memcpy(out + a_count, b, b_count * sizeof *b);
}

/* Merges neighbouring runs in pairs; the number of runs that are left. */
static size_t merge_pairs(const struct address_entry *from, size_t count, struct address_entry *to)
{
	size_t runs = 0;
	for (size_t at = 0; at < count; runs++) {
		size_t middle = run_end(from, at, count), end = middle < count ? run_end(from, middle, count) : middle;
		merge(from + at, middle - at, from + middle, end - middle, to + at);
		at = end;
	}
	return runs;
}

void address_list_sort(struct address_list *l)
{
	if (l->count == 0 || run_end(l->items, 0, l->count) == l->count)
		return;
	struct address_entry *other = mem_calloc(l->count, sizeof *other);
	size_t runs;
	do {
		runs = merge_pairs(l->items, l->count, other);
		struct address_entry *done = other;
		other = l->items;
		l->items = done;
	} while (runs > 1);
	l->cap = l->count;
	free(other);
}

/* The first place in [low, high) whose address is not below; `high` when there is none. */
static size_t lower_bound(const struct address_list *l, uint64_t address, size_t low, size_t high)
{
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (address_entry_address(&l->items[middle]) < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t address_list_find(const struct address_list *l, uint64_t address, size_t *finger)
{
	if (l->count == 0)
		return ADDRESS_NONE;
	size_t at = *finger < l->count ? *finger : l->count - 1, step = 1, low = 0, high = l->count;
	if (address_entry_address(&l->items[at]) < address) { /* gallop upwards */
		for (low = at + 1; low + step < l->count && address_entry_address(&l->items[low + step]) < address; step *= 2)
			low += step;
		high = low + step < l->count ? low + step + 1 : l->count;
	} else {
		for (high = at + 1; high > step && address_entry_address(&l->items[high - step - 1]) >= address; step *= 2)
			high -= step;
		low = high > step ? high - step - 1 : 0;
	}
	at = lower_bound(l, address, low, high);
	*finger = at;
	return at < l->count && address_entry_address(&l->items[at]) == address ? at : ADDRESS_NONE;
}
