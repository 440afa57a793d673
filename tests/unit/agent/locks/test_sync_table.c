#include "agent/locks/sync_table.h"

#include <criterion/criterion.h>
#include <string.h>

#define BASE UINT64_C(0x100000)
#define BYTES 65536

/* A process with memory at one place: pointers to tables, the table, objects behind their headers, and locks. */
#include "tests/unit/agent/locks/fake_memory.h"

static const struct runtime_contract words; /* whose monitors are no objects */
static const struct managed_threads nobody;

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
	sync_table_read(&fake, TABLE, &words, &nobody, &t);
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
	sync_table_read(&fake, TABLE, &words, &nobody, &t);
	cr_assert_eq(t.waited_count, 0);
	sync_table_fini(&t);
}

Test(sync_table, memory_that_ends_is_the_end)
{
	struct sync_table t;
	make_table();
	sync_table_read(&fake, BASE + BYTES - 40, &words, &nobody, &t);
	cr_assert_eq(t.entries, 0);
	sync_table_fini(&t);
	sync_table_read(&fake, UINT64_MAX - 100, &words, &nobody, &t);
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

/* On .NET 11 a monitor leads by a handle to a Lock, which names its owner by the managed id. */
Test(sync_table, monitors_that_are_objects)
{
	static const struct runtime_contract eleven = {.monitors_are_locks = true, .monitor_lock = 8};
	struct managed_thread list[] = {{.managed_id = 5, .inner_tid = 4711}};
	const struct managed_threads threads = {.items = list, .count = 1, .own_locks_by_managed_id = true};
	struct sync_table t;
	make_table();
	put64(LOCK(2) + 8, BASE + 0xc000); /* a handle; the others have none */
	put64(BASE + 0xc000, BASE + 0xc100);
	put64(BASE + 0xc100, BASE + 0x2000);
	put32(BASE + 0xc100 + 16, 5);
	put32(BASE + 0xc100 + 20, 3 << 7 | 1);
	put32(BASE + 0xc100 + 24, 2);
	sync_table_read(&fake, TABLE, &eleven, &threads, &t);
	cr_assert_eq(t.entries, 5);
	cr_assert_eq(t.waited_count, 1);
	const struct monitor *x = &t.waited[0];
	cr_assert(x->kind == LOCK_KIND_MONITOR && x->object == OBJECT(2) && x->sync_block == BASE + 0xc100 && x->type == BASE + 0x1000);
	cr_assert(x->owner == 4711 && x->recursion == 2 && x->waiters == 3);
	const uint64_t stack[] = {0, LOCK(2), BASE + 0xc100};
	cr_assert_eq(sync_table_waited(&t, stack, 2), UINT32_MAX);
	cr_assert_eq(sync_table_waited(&t, stack, 3), 0);
	sync_table_fini(&t);
	list[0].managed_id = 6; /* it has ended */
	sync_table_read(&fake, TABLE, &eleven, &threads, &t);
	cr_assert_eq(t.waited[0].owner, 0);
	sync_table_fini(&t);
}
