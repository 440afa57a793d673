#include "agent/profilers/strings/address_list.h"

#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define NEAR 8

void address_list_fini(struct address_list *l)
{
	free(l->items);
	free(l->index);
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

static void merge_entries(const struct address_entry *a, size_t a_count, const struct address_entry *b, size_t b_count, struct address_entry *out)
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
		merge_entries(from + at, middle - at, from + middle, end - middle, to + at);
		at = end;
	}
	return runs;
}

static void merge_all(struct address_list *l)
{
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

void address_list_sort(struct address_list *l)
{
	if (l->count && run_end(l->items, 0, l->count) < l->count)
		merge_all(l);
	l->index_count = (l->count + ADDRESS_INDEX_STEP - 1) / ADDRESS_INDEX_STEP;
	l->index = mem_realloc(l->index, l->index_count + 1, sizeof *l->index);
	for (size_t i = 0; i < l->index_count; i++)
		l->index[i] = address_entry_address(&l->items[i * ADDRESS_INDEX_STEP]);
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

static size_t far_bound(const struct address_list *l, uint64_t address)
{
	size_t low = 0, high = l->index_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (l->index[middle] < address)
			low = middle + 1;
		else
			high = middle;
	}
	high = low * ADDRESS_INDEX_STEP;
	return lower_bound(l, address, low ? high - ADDRESS_INDEX_STEP : 0, high < l->count ? high : l->count);
}

/* What lies within NEAR places of the last one is looked for there. */
static size_t near_or_far_bound(const struct address_list *l, uint64_t address, size_t at)
{
	size_t low = at > NEAR ? at - NEAR : 0, high = at + NEAR < l->count ? at + NEAR : l->count;
	bool above = low == 0 || address_entry_address(&l->items[low - 1]) < address;
	bool below = high == l->count || address_entry_address(&l->items[high - 1]) >= address;
	if (!above || !below)
		return far_bound(l, address);
	if (address_entry_address(&l->items[at]) < address)
		low = at + 1;
	else
		high = at;
	return lower_bound(l, address, low, high);
}

size_t address_list_find(const struct address_list *l, uint64_t address, size_t *finger)
{
	if (l->count == 0)
		return ADDRESS_NONE;
	size_t at = near_or_far_bound(l, address, *finger < l->count ? *finger : l->count - 1);
	*finger = at;
	return at < l->count && address_entry_address(&l->items[at]) == address ? at : ADDRESS_NONE;
}
