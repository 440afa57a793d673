#include "agent/host/maps.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *line;
	enum map_kind kind;
	const char *name;
	bool c_library;
} rows[] = {
	{"7f0000000000-7f0000001000 r-xp 00001000 08:01 11 /usr/lib/x86_64-linux-gnu/libc.so.6", MAP_LIBRARY, "libc.so.6", true},
	{"7f0000001000-7f0000002000 r-xp 00000000 08:01 12 /lib/ld-musl-x86_64.so.1", MAP_LIBRARY, "ld-musl-x86_64.so.1", true},
	{"7f0000002000-7f0000003000 r-xp 00000000 08:01 13 /app/libcoreclr.so", MAP_LIBRARY, "libcoreclr.so", false},
	{"7f0000003000-7f0000004000 r-xp 00002000 08:01 14 /app/Shop.dll", MAP_ASSEMBLY, "Shop.dll", false},
	{"7f0000004000-7f0000005000 r-xp 00000000 08:01 15 /app/Shop", MAP_MAIN, "Shop", false},
	{"7f0000005000-7f0000006000 rwxp 00000000 00:00 0", MAP_JIT, "", false},
	{"7f0000006000-7f0000007000 r-xs 00005000 00:01 16 /memfd:doublemapper (deleted)", MAP_JIT, "", false},
	{"7f0000007000-7f0000008000 r-xs 00005000 00:01 16 /dev/shm/doublemapper_1_2 (deleted)", MAP_JIT, "", false},
	{"7f0000008000-7f0000009000 r-xp 00000000 00:00 0 [vdso]", MAP_KERNEL, "[vdso]", false},
	{"7f0000009000-7f000000a000 r-xp 00000000 00:00 0 [anon:.NET]", MAP_JIT, "", false},
	{"7f000000a000-7f000000b000 r-xp 00000000 08:01 17 /app/libmine.so (deleted)", MAP_LIBRARY, "libmine.so", false},
	{"7f000000b000-7f000000c000 r-xp 00000000 08:01 18 /app/a folder/with blanks.so", MAP_LIBRARY, "with blanks.so", false},
};
#define ROWS (sizeof rows / sizeof rows[0])

static void add(struct maps *m, const char *line)
{
	maps_add_line(m, line, strlen(line));
}

Test(maps, classifies_and_finds)
{
	struct maps m;
	maps_init(&m, "/app/Shop");
	for (size_t i = 0; i < ROWS; i++)
		add(&m, rows[i].line);
	cr_assert_eq(m.entry_count, ROWS);
	for (size_t i = 0; i < ROWS; i++) {
		uint64_t start = UINT64_C(0x7f0000000000) + i * 0x1000;
		const struct map_entry *first = maps_find(&m, start), *last = maps_find(&m, start + 0xfff);
		cr_assert_not_null(first, "%s", rows[i].line);
		cr_expect_eq(first, last);
		cr_expect_eq(m.files[first->file].kind, rows[i].kind, "%s", rows[i].line);
		cr_expect_str_eq(m.files[first->file].name, rows[i].name);
		cr_expect_eq(m.files[first->file].c_library, rows[i].c_library, "%s", rows[i].line);
	}
	cr_expect_null(maps_find(&m, 0x7effffffffff));
	cr_expect_null(maps_find(&m, UINT64_C(0x7f0000000000) + ROWS * 0x1000));
	cr_expect_null(maps_find(&m, UINT64_MAX));
	maps_fini(&m);
}

Test(maps, knows_where_a_file_is_mapped_from)
{
	struct maps m;
	maps_init(&m, NULL);
	add(&m, "7f0000000000-7f0000001000 r--p 00000000 08:01 11 /lib/a.so");
	add(&m, "7f0000001000-7f0000002000 r-xp 00001000 08:01 11 /lib/a.so");
	add(&m, "7f0000002000-7f0000003000 rw-p 00000000 00:00 0");
	add(&m, "7f0000003000-7f0000004000 r-xp 00002000 08:01 11 /lib/a.so");
	add(&m, "7f0000004000-7f0000005000 r-xp 00001000 08:01 12 /lib/b.so");
	add(&m, "7f0000005000-7f0000006000 r-xp 00000000 00:00 0 [vdso]");
	add(&m, "7f0000006000-7f0000007000 r-xp 00000000 00:00 0");
	static const uint64_t images[] = {0x7f0000000000, 0x7f0000000000, 0, 0x7f0000005000, 0};
	cr_assert_eq(m.entry_count, sizeof images / sizeof *images);
	for (size_t i = 0; i < m.entry_count; i++)
		cr_expect_eq(m.entries[i].image, images[i], "%zu: %#lx", i, m.entries[i].image);
	maps_fini(&m);
}

Test(maps, passes_over_what_is_not_code_or_not_in_order)
{
	static const char *const refused[] = {
		"7f0000000000-7f0000001000 r--p 00000000 08:01 11 /lib/libc.so.6",
		"7f0000001000-7f0000001000 r-xp 00000000 08:01 11 /lib/empty.so",
		"7f0000002000-7f0000001000 r-xp 00000000 08:01 11 /lib/backwards.so",
		"nonsense",
		"",
	};
	struct maps m;
	maps_init(&m, NULL);
	for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
		add(&m, refused[i]);
	cr_expect_eq(m.entry_count, 0);
	add(&m, "7f0000004000-7f0000006000 r-xp 00000000 08:01 11 /lib/a.so");
	add(&m, "7f0000005000-7f0000007000 r-xp 00000000 08:01 12 /lib/overlaps.so");
	add(&m, "7f0000001000-7f0000002000 r-xp 00000000 08:01 12 /lib/earlier.so");
	cr_expect_eq(m.entry_count, 1);
	maps_fini(&m);
}

Test(maps, keeps_file_numbers_over_reloads)
{
	struct maps m;
	int proc_fd = open("/proc/self", O_RDONLY | O_DIRECTORY);
	maps_init(&m, NULL);
	cr_assert_eq(maps_load(&m, proc_fd, NULL), 0);
	const struct map_entry *here = maps_find(&m, (uint64_t)(uintptr_t)&maps_find);
	cr_assert_not_null(here);
	uint32_t file = here->file;
	size_t files = m.file_count;
	cr_assert_eq(maps_load(&m, proc_fd, NULL), 0);
	cr_expect_eq(maps_find(&m, (uint64_t)(uintptr_t)&maps_find)->file, file);
	cr_expect_eq(m.file_count, files);
	close(proc_fd);
	maps_fini(&m);
}

Test(maps, keeps_the_old_table_when_the_process_is_gone)
{
	struct maps m;
	struct err e = ERR_INIT;
	maps_init(&m, NULL);
	add(&m, "7f0000004000-7f0000006000 r-xp 00000000 08:01 11 /lib/a.so");
	cr_expect_eq(maps_load(&m, -1, &e), -1);
	cr_expect_eq(e.kind, ERR_GONE);
	cr_expect_not_null(maps_find(&m, 0x7f0000004000));
	maps_fini(&m);
}
