#include "agent/locks/image_metadata.h"
#include "agent/locks/managed_locks.h"

#include <criterion/criterion.h>
#include <string.h>

#define BASE UINT64_C(0x20000)
#define BYTES 0x800
#define AT(offset) (BASE + (offset))

/* A process with two threads, a Lock, a ReaderWriterLockSlim, their types, and the assembly that names these. */
#include "tests/unit/agent/locks/fake_memory.h"

static const struct runtime_contract contract = {
	.known = true, .thread_store = BASE, .string_class = BASE + 8, .thread_id = 8, .thread_os_id = 16, .thread_next = 24, .thread_handle = 32,
	.store_first = 0, .type_flags = 0, .type_flags2 = 8, .type_base_size = 4, .type_module = 24, .type_class = 16, .class_type = 8, .module_base = 8,
};

static void put64(size_t at, uint64_t value)
{
	memcpy(memory + at, &value, sizeof value);
}

static void put32(size_t at, uint32_t value)
{
	memcpy(memory + at, &value, sizeof value);
}

static void put16(size_t at, uint16_t value)
{
	memcpy(memory + at, &value, sizeof value);
}

static void put_type(size_t at, size_t cls, uint32_t row)
{
	put32(at + 8, row << 8);
	put64(at + 16, AT(cls));
	put64(at + 24, AT(0x1c0));
	put64(cls + 8, AT(at));
}

static void put_threads(void)
{
	put64(0, AT(0x40));
	put64(8, AT(0x300));
	put64(0x40, AT(0x60 + 24));
	put32(0x60 + 8, 4);
	put64(0x60 + 16, 77);
	put64(0x60 + 24, AT(0x90 + 24));
	put64(0x60 + 32, AT(0xc0));
	put32(0x90 + 8, 5);
	put64(0x90 + 16, 88);
	put64(0xc0, AT(0x2a0));
	put64(0x2a0, AT(0x140));
	put64(0x2a0 + 24, AT(0x340));
	put64(0x340, AT(0x300));
	static const char name[] = "a-thread-with-a-long-name";
	put32(0x340 + 8, sizeof name - 1);
	for (size_t i = 0; i < sizeof name - 1; i++)
		put16(0x340 + 12 + 2 * i, (uint16_t)name[i]);
}

static void put_assembly(size_t at)
{
	static const char strings[] = "\0System.Threading\0Lock\0ReaderWriterLockSlim\0Thread";
	static const uint16_t names[] = {0, 18, 23, 44};
	memcpy(memory + at, "MZ", 2);
	put32(at + 0x3c, 0x40);
	put32(at + 0x40, 0x4550);
	put16(at + 0x40 + 20, 0xf0);
	put16(at + 0x40 + 24, 0x20b);
	put32(at + 0x40 + 24 + 112 + 14 * 8, 0x180);
	put32(at + 0x180, 72);
	put32(at + 0x188, 0x1d0);
	size_t root = at + 0x1d0, tables = root + 0x40;
	memcpy(memory + root, "BSJB", 4);
	put32(root + 12, 4);
	put16(root + 22, 2);
	put32(root + 24, 0x40);
	memcpy(memory + root + 32, "#~", 3);
	put32(root + 36, 0xb0);
	put32(root + 40, sizeof strings);
	memcpy(memory + root + 44, "#Strings", 9);
	memcpy(memory + root + 0xb0, strings, sizeof strings);
	put64(tables + 8, 1 << 0 | 1 << 2);
	put32(tables + 24, 1);
	put32(tables + 28, 4);
	for (size_t i = 1; i < 4; i++) {
		put16(tables + 42 + i * 14 + 4, names[i]);
		put16(tables + 42 + i * 14 + 6, 1);
	}
}

static void make_process(void)
{
	memset(memory, 0, sizeof memory);
	put_threads();
	put_type(0x100, 0x180, 2);
	put_type(0x120, 0x190, 3);
	put_type(0x140, 0x1a0, 4);
	put64(0x160 + 16, AT(0x100) | 1); /* an instance of a generic type */
	put32(0x160 + 8, 2 << 8);
	put64(0x160 + 24, AT(0x1c0));
	put64(0x1c0 + 8, AT(0x400));
	put_assembly(0x400);
	put64(0x200, AT(0x100));
	put32(0x200 + 16, 77);
	put32(0x200 + 20, 0x81);
	put32(0x200 + 24, 2);
	put64(0x240, AT(0x120));
	put32(0x240 + 48, 1);
	put32(0x240 + 64, UINT32_MAX);
	put32(0x240 + 68, 5);
	put32(0x240 + 72, 0xc0000000u);
}

static struct managed_locks open_locks(void)
{
	struct managed_locks l = {.memory = fake, .contract = contract};
	l.types = managed_types_new(&fake, &contract);
	return l;
}

Test(managed_types, are_named_by_their_assembly)
{
	make_process();
	struct managed_types *t = managed_types_new(&fake, &contract);
	cr_assert_str_eq(managed_types_name(t, AT(0x100)), "System.Threading.Lock");
	cr_assert_str_eq(managed_types_name(t, AT(0x160)), "System.Threading.Lock");
	cr_assert_str_eq(managed_types_of(t, AT(0x240)), "System.Threading.ReaderWriterLockSlim");
	managed_types_free(t);
}

Test(managed_types, what_does_not_lead_back_to_itself_is_none)
{
	make_process();
	put64(0x180 + 8, AT(0x120));
	struct managed_types *t = managed_types_new(&fake, &contract);
	cr_assert_str_eq(managed_types_name(t, AT(0x100)), "");
	cr_assert_str_eq(managed_types_name(t, AT(0x160)), "", "nor its instance");
	cr_assert_str_eq(managed_types_name(t, 0), "");
	cr_assert_str_eq(managed_types_name(t, AT(0x101)), "");
	cr_assert_str_eq(managed_types_name(t, UINT64_MAX & ~UINT64_C(7)), "");
	put32(0x120, 0x00080000); /* an array */
	cr_assert_str_eq(managed_types_name(t, AT(0x120)), "");
	managed_types_free(t);
}

Test(managed_types, rows_may_lie_higher)
{
	make_process();
	struct runtime_contract older = contract;
	older.type_row_shift = 16;
	put32(0x100 + 8, 2u << 16 | 0x4007);
	struct managed_types *t = managed_types_new(&fake, &older);
	cr_assert_str_eq(managed_types_name(t, AT(0x100)), "System.Threading.Lock");
	managed_types_free(t);
	runtime_contract_of_8(&older);
	t = managed_types_new(&fake, &older);
	cr_assert_str_eq(managed_types_name(t, AT(0x100)), "", "it looks like no .NET 8");
	managed_types_free(t);
}

Test(image_metadata, rows_and_names_end_where_they_end)
{
	struct image_metadata x;
	char name[64];
	make_process();
	cr_assert(image_metadata_open(&fake, AT(0x400), &x));
	cr_assert_eq(x.tables.rows[METADATA_TYPE_DEF], 4);
	cr_assert_not(image_metadata_type(&fake, &x, 0, name, sizeof name));
	cr_assert_not(image_metadata_type(&fake, &x, 5, name, sizeof name));
	cr_assert(image_metadata_type(&fake, &x, 4, name, sizeof name));
	cr_assert_str_eq(name, "System.Threading.Thread");
	x.strings_bytes = 20;
	cr_assert(image_metadata_type(&fake, &x, 2, name, sizeof name));
	cr_assert_str_eq(name, "System.Threading.Lo", "no further than the heap of names goes");
	put32(0x400 + 0x40, 0);
	cr_assert_not(image_metadata_open(&fake, AT(0x400), &x));
}

Test(managed_threads, are_known_by_both_ids_and_their_whole_name)
{
	struct managed_threads t;
	struct thread_wait list[] = {
		{.inner_tid = 77, .name = "a-thread-with-a"}, {.inner_tid = 88, .name = "fifteen-letters"}, {.inner_tid = 77, .name = "short"}};
	make_process();
	managed_threads_read(&fake, &contract, &t);
	cr_assert_eq(t.count, 2);
	cr_assert_eq(managed_threads_inner_tid(&t, 5), 88);
	cr_assert_eq(managed_threads_inner_tid(&t, 6), 0);
	struct managed_types *types = managed_types_new(&fake, &contract);
	managed_threads_name(&t, &fake, types, &contract, list, 3);
	cr_assert_str_eq(list[0].name, "a-thread-with-a-long-name");
	cr_assert_str_eq(list[1].name, "fifteen-letters");
	cr_assert_str_eq(list[2].name, "short");
	managed_types_free(types);
	managed_threads_fini(&t);
}

Test(managed_threads, a_list_in_a_circle_ends)
{
	struct managed_threads t;
	make_process();
	put64(0x90 + 24, AT(0x60 + 24));
	managed_threads_read(&fake, &contract, &t);
	cr_assert_eq(t.count, THREAD_WAITS_MAX);
	managed_threads_fini(&t);
}

Test(managed_locks, name_their_holder_and_count_who_waits)
{
	struct managed_threads threads;
	struct monitor x;
	make_process();
	managed_threads_read(&fake, &contract, &threads);
	cr_assert(managed_lock_read(&fake, LOCK_KIND_LOCK, AT(0x200), &threads, &x));
	cr_assert_eq(x.owner, 77);
	cr_assert_eq(x.waiters, 1);
	cr_assert_eq(x.recursion, 2);
	cr_assert_eq(x.type, AT(0x100));
	cr_assert(managed_lock_read(&fake, LOCK_KIND_READER_WRITER, AT(0x240), &threads, &x));
	cr_assert_eq(x.owner, 88, "a managed id leads to the kernel's");
	cr_assert_eq(x.waiters, 1);
	managed_threads_fini(&threads);
}

Test(managed_locks, who_may_upgrade_keeps_out_writers_and_no_readers)
{
	struct managed_threads threads;
	struct monitor x;
	make_process();
	managed_threads_read(&fake, &contract, &threads);
	put32(0x240 + 64, 4);
	put32(0x240 + 68, UINT32_MAX);
	put32(0x240 + 72, 1);
	cr_assert(managed_lock_read(&fake, LOCK_KIND_READER_WRITER, AT(0x240), &threads, &x));
	cr_assert_eq(x.owner, 77);
	put32(0x240 + 52, 1);
	cr_assert(managed_lock_read(&fake, LOCK_KIND_READER_WRITER, AT(0x240), &threads, &x));
	cr_assert_eq(x.owner, 0, "one of those that wait only wants to read");
	cr_assert_eq(x.waiters, 2);
	managed_threads_fini(&threads);
}

Test(managed_locks, what_contradicts_itself_is_no_lock)
{
	struct managed_threads threads = {0};
	struct monitor x;
	make_process();
	put32(0x240 + 72, 0); /* held for writing by a thread, and by none */
	cr_assert_not(managed_lock_read(&fake, LOCK_KIND_READER_WRITER, AT(0x240), &threads, &x));
	put32(0x200 + 20, UINT32_MAX);
	cr_assert_not(managed_lock_read(&fake, LOCK_KIND_LOCK, AT(0x200), &threads, &x));
	cr_assert_not(managed_lock_read(&fake, LOCK_KIND_LOCK, BASE + BYTES - 16, &threads, &x));
}

Test(managed_locks, a_thread_waits_for_the_innermost_that_another_holds)
{
	struct managed_threads threads;
	struct monitor x;
	make_process();
	managed_threads_read(&fake, &contract, &threads);
	struct managed_locks l = open_locks();
	const uint64_t stack[] = {1, AT(0x2a0), AT(0x200), AT(0x240)};
	cr_assert(managed_locks_waited(&l, &threads, 88, 0x7f0000000000, stack, 4, &x));
	cr_assert_eq(x.object, AT(0x200));
	cr_assert(managed_locks_waited(&l, &threads, 77, 0x7f0000000000, stack, 4, &x), "it holds the first one itself");
	cr_assert_eq(x.object, AT(0x240));
	put32(0x200 + 20, 1);
	cr_assert(managed_locks_waited(&l, &threads, 99, 0x7f0000000000, stack, 4, &x), "nobody waits for the first one");
	cr_assert_eq(x.object, AT(0x240));
	cr_assert_not(managed_locks_waited(&l, &threads, 99, 0x7f0000000000, stack, 2, &x));
	put32(0x240 + 64, 5);
	put32(0x240 + 68, UINT32_MAX);
	put32(0x240 + 72, 1);
	cr_assert_not(managed_locks_waited(&l, &threads, 88, 0x7f0000000000, stack, 4, &x), "it may upgrade, and waits for something else");
	put32(0x240 + 56, 1);
	cr_assert(managed_locks_waited(&l, &threads, 88, 0x7f0000000000, stack, 4, &x));
	cr_assert_eq(x.owner, 0, "for the readers");
	cr_assert(managed_locks_waited(&l, &threads, 77, 0x7f0000000000, stack, 4, &x));
	cr_assert_eq(x.owner, 88);
	l.contract.known = false;
	cr_assert_not(managed_locks_waited(&l, &threads, 99, 0x7f0000000000, stack, 4, &x));
	managed_locks_fini(&l);
	managed_threads_fini(&threads);
}

Test(managed_locks, types_are_named_again_when_what_was_none_has_filled_the_room)
{
	static struct managed_locks l;
	make_process();
	l = (struct managed_locks){.memory = fake, .contract = contract};
	l.types = managed_types_new(&l.memory, &l.contract);
	for (uint64_t i = 0; i < MANAGED_TYPES_MAX; i++)
		cr_assert_str_eq(managed_locks_type(&l, AT(BYTES) + 8 * i), "");
	cr_assert_str_eq(managed_locks_type(&l, AT(0x100)), "");
	managed_locks_forget_if_full(&l);
	cr_assert_str_eq(managed_locks_type(&l, AT(0x100)), "System.Threading.Lock");
	managed_locks_forget_if_full(&l);
	cr_assert_not(managed_types_full(l.types));
	managed_locks_fini(&l);
}
