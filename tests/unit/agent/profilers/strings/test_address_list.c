#include "agent/profilers/strings/address_list.h"

#include <criterion/criterion.h>
#include <stdlib.h>

/* xorshift64*: the same numbers each time. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1du;
}

static size_t naive_find(const struct address_list *l, uint64_t address)
{
	for (size_t i = 0; i < l->count; i++)
		if (address_entry_address(&l->items[i]) == address)
			return i;
	return ADDRESS_NONE;
}

/* Ranges in any order, each rising, as a walk brings them. */
static void fill(struct address_list *l, size_t count, size_t run, uint64_t *state)
{
	uint64_t address = 0;
	for (size_t i = 0; i < count; i++) {
		if (i % run == 0)
			address = (1 + next_random(state) % 50) << 24 | (uint64_t)(i / run) << 16;
		address += 8 * (1 + next_random(state) % 8);
		address_list_add(l, address, (unsigned)(i & 7), (uint32_t)i);
	}
}

Test(address_list, is_sorted_and_keeps_marks_and_numbers)
{
	static const size_t runs[] = {1, 2, 3, 7, 100, 5000};
	uint64_t state = 1;
	for (size_t r = 0; r < sizeof runs / sizeof *runs; r++) {
		struct address_list l = {0};
		fill(&l, 2000, runs[r], &state);
		uint64_t sum = 0;
		address_list_sort(&l);
		cr_assert_eq(l.count, 2000);
		for (size_t i = 0; i < l.count; i++) {
			sum += l.items[i].number;
			cr_expect_eq(l.items[i].key & 7, l.items[i].number & 7, "runs of %zu, entry %zu", runs[r], i);
			if (i)
				cr_expect(l.items[i - 1].key <= l.items[i].key, "runs of %zu, entry %zu", runs[r], i);
		}
		cr_expect_eq(sum, 1999 * 1000);
		address_list_fini(&l);
	}
}

/* From every finger, whatever was looked up before. */
Test(address_list, finds_what_is_there_and_nothing_else)
{
	uint64_t state = 2;
	for (size_t count = 0; count < 40; count++) {
		struct address_list l = {0};
		fill(&l, count, 9, &state);
		address_list_sort(&l);
		for (size_t from = 0; from <= count + 1; from++) {
			for (size_t i = 0; i < count * 3; i++) {
				uint64_t near = address_entry_address(&l.items[i / 3]);
				uint64_t address = i % 3 == 0 ? near : i % 3 == 1 ? near + 8 : near - 8;
				size_t finger = from, expected = naive_find(&l, address);
				cr_expect_eq(address_list_find(&l, address, &finger), expected, "%zu entries, finger %zu, %zu", count, from, i);
				cr_expect(finger <= count);
				cr_expect_eq(address_list_find(&l, address, &finger), expected, "again");
			}
			size_t finger = from;
			cr_expect_eq(address_list_find(&l, 0, &finger), ADDRESS_NONE);
			finger = from;
			cr_expect_eq(address_list_find(&l, UINT64_MAX & ~UINT64_C(7), &finger), ADDRESS_NONE);
		}
		address_list_fini(&l);
	}
}

Test(address_list, of_equal_addresses_the_first_is_found)
{
	struct address_list l = {0};
	for (uint32_t i = 0; i < 30; i++)
		address_list_add(&l, 0x1000 + i / 3 * 8, 0, i);
	address_list_sort(&l);
	for (size_t from = 0; from < 30; from++) {
		size_t finger = from;
		cr_expect_eq(address_list_find(&l, 0x1000 + 4 * 8, &finger), 12);
	}
	address_list_fini(&l);
}
