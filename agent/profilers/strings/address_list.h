/* Objects by address, each with a number and three marks: added in the heap's order (rising within each of its ranges), sorted once,
 * then looked up millions of times. A look-up starts where the last one of its kind ended, as neighbours refer to neighbours: a few
 * steps instead of a binary search through memory; far ones begin in an index that stays in the processor's cache. 12 bytes an object.
 * One thread. */
#ifndef DRDOTNET_ADDRESS_LIST_H
#define DRDOTNET_ADDRESS_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ADDRESS_MARK_FIRST 1u /* the caller's marks */
#define ADDRESS_MARK_OLD 2u
#define ADDRESS_MARK_HELD 4u
#define ADDRESS_MARKS 3
#define ADDRESS_INDEX_STEP 64

struct address_entry {
	uint64_t key; /* address / 8 << ADDRESS_MARKS | marks: the address itself, as objects lie at multiples of 8 */
	uint32_t number;
} __attribute__((packed));

struct address_list { /* zeroed: empty */
	struct address_entry *items;
	size_t count, cap;
	uint64_t *index; /* the address of each ADDRESS_INDEX_STEPth item, once sorted */
	size_t index_count;
};

#define ADDRESS_NONE SIZE_MAX

void address_list_fini(struct address_list *l);
void address_list_add(struct address_list *l, uint64_t address, unsigned marks, uint32_t number);
/* By address: merges the rising runs. Before the look-ups. */
void address_list_sort(struct address_list *l);
/* The object's place, or ADDRESS_NONE. *finger: where to begin (any number), then where it or its neighbour is. */
size_t address_list_find(const struct address_list *l, uint64_t address, size_t *finger);

static inline uint64_t address_entry_address(const struct address_entry *e)
{
	return e->key & ~UINT64_C(7);
}

#endif
