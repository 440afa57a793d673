#include "agent/profilers/strings/strings_list.h"

#include "common/base/mem.h"

#include <stdlib.h>

struct candidate {
	uint64_t wasted, address;
	uint32_t group;
};

void strings_value_fini(struct strings_value *v)
{
	free(v->start);
	free(v->holders);
	*v = (struct strings_value){0};
}

static bool better(const struct candidate *a, const struct candidate *b)
{
	return a->wasted != b->wasted ? a->wasted > b->wasted : a->address < b->address;
}

/* A heap with the worst candidate on top. */
static void sink(struct candidate *heap, size_t count, size_t at)
{
	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count && better(&heap[child], &heap[child + 1]))
			child++;
		if (!better(&heap[at], &heap[child]))
			return;
		struct candidate c = heap[at];
		heap[at] = heap[child];
		heap[child] = c;
	}
}

static void rise(struct candidate *heap, size_t at)
{
	for (size_t parent; at > 0 && better(&heap[parent = (at - 1) / 2], &heap[at]); at = parent) {
		struct candidate c = heap[at];
		heap[at] = heap[parent];
		heap[parent] = c;
	}
}

static void offer_value(struct candidate *heap, size_t *count, const struct candidate *c)
{
	if (*count < STRINGS_VALUES_MAX) {
		heap[*count] = *c;
		rise(heap, (*count)++);
	} else if (better(c, &heap[0])) {
		heap[0] = *c;
		sink(heap, *count, 0);
	}
}

size_t strings_list_choose(struct string_groups *groups, const struct address_list *strings, struct strings_value **out)
{
	struct candidate *heap = mem_calloc(STRINGS_VALUES_MAX, sizeof *heap);
	size_t count = 0;
	for (size_t i = 0; i < strings->count; i++) {
		const struct address_entry *e = &strings->items[i];
		const struct string_group *g = &groups->items[e->number];
		if (!(e->key & ADDRESS_MARK_FIRST) || g->count < 2)
			continue;
		struct candidate c = {string_group_wasted(g), address_entry_address(e), e->number};
		offer_value(heap, &count, &c);
	}
	*out = mem_calloc(count ? count : 1, sizeof **out);
	for (size_t i = 0; i < count; i++) {
		struct string_group *g = &groups->items[heap[i].group];
		g->listed = (uint32_t)i + 1;
		(*out)[i] = (struct strings_value){.digest = g->digest, .address = heap[i].address, .size_bytes = string_group_size(g),
						   .chars = g->chars, .count = g->count};
	}
	free(heap);
	return count;
}

static int value_by_wasted(const void *a, const void *b)
{
	const struct strings_value *x = a, *y = b;
	uint64_t wasted_x = strings_value_wasted(x), wasted_y = strings_value_wasted(y);
	if (wasted_x != wasted_y)
		return wasted_x > wasted_y ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

void strings_list_merge_take(struct strings_value **list, size_t *count, struct strings_value *more, size_t more_count)
{
	size_t all = *count + more_count;
	*list = mem_realloc(*list, all ? all : 1, sizeof **list);
	for (size_t i = 0; i < more_count; i++)
		(*list)[*count + i] = more[i];
	free(more);
	qsort(*list, all, sizeof **list, value_by_wasted);
	*count = all < STRINGS_VALUES_MAX ? all : STRINGS_VALUES_MAX;
	for (size_t i = *count; i < all; i++)
		strings_value_fini(&(*list)[i]);
}
