#include "agent/locks/sync_table.h"

#include <criterion/criterion.h>
#include <string.h>

#define BASE UINT64_C(0x100000)
#define BYTES 65536

/* A process with memory at one place: pointers to tables, the table, objects behind their headers, and locks. */
#include "tests/unit/agent/locks/fake_memory.h"

static void put64(uint64_t at, uint64_t value)
{
	memcpy(memory + (at - BASE), &value, sizeof value);
}

static void put32(uint64_t at, uint32_t value)
{
	memcpy(memory + (at - BASE), &value, sizeof value);
}

#define TABLE (BASE + 0x100)
#define OBJECT(i) (BASE + 0x4000 + 32 * (uint64_t)(i))
#define LOCK(i) (BASE + 0x8000 + 64 * (uint64_t)(i))

static void put_entry(uint32_t i, uint32_t state, uint32_t recursion, uint32_t owner)
{
	put64(TABLE + 16 * i, LOCK(i));
	put64(TABLE + 16 * i + 8, OBJECT(i));
	put32(OBJECT(i) - 4, 0x08000000u | i);
	put64(OBJECT(i), BASE + 0x1003);
	put32(LOCK(i), state);
	put32(LOCK(i) + 4, recursion);
	put32(LOCK(i) + 16, owner);
}

static const uint64_t dac[] = {0, 7, BASE + 8, BASE + 16};

static void make_table(void)
{
	memset(memory, 0, sizeof memory);
	put64(BASE + 8, BASE + 0x9000); /* leads to nothing like it */
	put64(BASE + 16, TABLE);
	for (uint32_t i = 1; i <= 5; i++)
		put_entry(i, i == 2 ? (3 << 6) | 1 : i == 4 ? 1 : 0, i == 2 ? 2 : 0, i == 2 ? 77 : i == 4 ? 88 : 0);
}

Test(sync_table, is_found_by_what_it_is_like)
{
	make_table();
	cr_assert_eq(sync_table_find(&fake, dac, 4), TABLE);
	memset(memory, 0, sizeof memory);
	cr_assert_eq(sync_table_find(&fake, dac, 4), 0, "nobody has waited yet");
}

Test(sync_table, locks_with_waiters_are_told)
{
	struct sync_table t;
	make_table();
	put64(TABLE + 16 * 3 + 8, (OBJECT(3)) | 1); /* a freed entry is no end */
	sync_table_read(&fake, TABLE, &t);
	cr_assert_eq(t.entries, 4);
	cr_assert_eq(t.waited_count, 1);
	cr_assert_eq(t.waited[0].owner, 77);
	cr_assert_eq(t.waited[0].waiters, 3);
	cr_assert_eq(t.waited[0].recursion, 2);
	cr_assert_eq(t.waited[0].object, OBJECT(2));
	cr_assert_eq(t.waited[0].type, BASE + 0x1000);
	cr_assert(!t.full);
	sync_table_fini(&t);
}

Test(sync_table, an_entry_whose_object_names_another_is_left_out)
{
	struct sync_table t;
	make_table();
	put32(OBJECT(2) - 4, 0x08000003u);
	sync_table_read(&fake, TABLE, &t);
	cr_assert_eq(t.waited_count, 0);
	sync_table_fini(&t);
}

Test(sync_table, memory_that_ends_is_the_end)
{
	struct sync_table t;
	make_table();
	sync_table_read(&fake, BASE + BYTES - 40, &t);
	cr_assert_eq(t.entries, 0);
	sync_table_fini(&t);
	sync_table_read(&fake, UINT64_MAX - 100, &t);
	cr_assert_eq(t.entries, 0);
	sync_table_fini(&t);
}

Test(sync_table, is_found_again_where_it_was)
{
	size_t hint = 99;
	make_table();
	cr_assert_eq(sync_table_find_again(&fake, dac, 4, &hint), TABLE);
	cr_assert_eq(hint, 3);
	put64(BASE + 8, TABLE); /* an earlier word would do, too */
	cr_assert_eq(sync_table_find_again(&fake, dac, 4, &hint), TABLE);
	cr_assert_eq(hint, 3);
	put64(BASE + 16, BASE + 0x9000); /* it has moved: all are tried */
	cr_assert_eq(sync_table_find_again(&fake, dac, 4, &hint), TABLE);
	cr_assert_eq(hint, 2);
}
