#include "agent/profilers/leak/memory_account.h"
#include "agent/profilers/leak/memory_growth.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void add(struct memory_account *a, const char *line)
{
	memory_account_add_line(a, line, strlen(line));
}

static void add_with(struct memory_account *a, const char *line, unsigned rss_kb, unsigned swap_kb)
{
	char text[64];
	add(a, line);
	snprintf(text, sizeof text, "Rss:            %u kB", rss_kb);
	add(a, text);
	add(a, "Pss:             999999 kB");
	snprintf(text, sizeof text, "Swap:           %u kB", swap_kb);
	add(a, text);
	add(a, "SwapPss:         888888 kB");
	add(a, "VmFlags: rd wr mr mw me ac sd");
}

static const struct {
	const char *line;
	enum memory_kind kind;
} rows[] = {
	{"55d5398cf000-55d5398d2000 r--p 00000000 fe:00 11 /app/Shop", MEMORY_LIBRARIES},
	{"55d5398d2000-55d5398d3000 r-xp 00003000 fe:00 11 /app/Shop", MEMORY_LIBRARIES},
	{"55d5398d3000-55d5398d4000 rw-p 00004000 fe:00 11 /app/Shop", MEMORY_LIBRARIES},
	{"55d539900000-55d539a00000 rw-p 00000000 00:00 0 [heap]", MEMORY_MALLOC},
	{"7e0000000000-7e0000100000 rw-p 00000000 00:00 0", MEMORY_GC},        /* a generation lies in it */
	{"7e0000100000-7e0000200000 rw-p 00000000 00:00 0", MEMORY_GC},        /* kept for later */
	{"7e0000200000-7e0010000000 ---p 00000000 00:00 0", MEMORY_GC},
	{"7e0010000000-7e0010100000 rw-p 00000000 00:00 0", MEMORY_GC},        /* large objects */
	{"7e0010100000-7e0020000000 ---p 00000000 00:00 0", MEMORY_ANONYMOUS}, /* behind the last generation */
	{"7f1000000000-7f1000021000 rw-p 00000000 00:00 0", MEMORY_MALLOC},    /* an arena: 64 MiB reserved, some of it open */
	{"7f1000021000-7f1004000000 ---p 00000000 00:00 0", MEMORY_ANONYMOUS},
	{"7f1004000000-7f1008000000 rw-p 00000000 00:00 0", MEMORY_MALLOC},    /* a full one */
	{"7f2000000000-7f2000001000 ---p 00000000 00:00 0", MEMORY_ANONYMOUS}, /* a guard page */
	{"7f2000001000-7f2000180000 rw-p 00000000 00:00 0", MEMORY_STACKS},
	{"7f3000000000-7f3000001000 rwxp 00000000 00:00 0", MEMORY_CODE},
	{"7f3000001000-7f3000002000 r-xs 00005000 00:01 16 /memfd:doublemapper (deleted)", MEMORY_CODE},
	{"7f3000002000-7f3000003000 rw-s 00000000 00:01 17 /memfd:mine (deleted)", MEMORY_SHARED},
	{"7f3000003000-7f3000004000 rw-s 00000000 00:01 18 /dev/shm/mine", MEMORY_SHARED},
	{"7f3000004000-7f3000005000 r--s 00000000 fe:00 19 /data/index.bin", MEMORY_FILES},
	{"7f3000005000-7f3000006000 r--p 00000000 fe:00 20 /app/Shop.dll", MEMORY_ASSEMBLIES},
	{"7f3000006000-7f3000007000 r-xp 00000000 fe:00 21 /usr/lib/libc.so.6", MEMORY_LIBRARIES},
	{"7f3000007000-7f3000008000 rw-p 00000000 00:00 0 [anon: glibc: malloc arena]", MEMORY_MALLOC},
	{"7f3000008000-7f3000009000 rw-p 00000000 00:00 0 [anon: glibc: pthread stack: 7]", MEMORY_STACKS},
	{"7f3000009000-7f300000a000 rw-p 00000000 00:00 0 [anon:mine]", MEMORY_ANONYMOUS},
	{"7f300000a000-7f300000b000 rw-p 00000000 00:00 0", MEMORY_ANONYMOUS},
	{"7ffb00000000-7ffb00001000 rw-p 00000000 00:00 0", MEMORY_GC},        /* a frozen segment, away from the rest */
	{"7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0 [stack]", MEMORY_STACKS},
	{"7ffc00022000-7ffc00024000 r-xp 00000000 00:00 0 [vdso]", MEMORY_LIBRARIES},
};
#define ROWS (sizeof rows / sizeof rows[0])
static const struct memory_range heap[] = {{0x7e0000000000, 0x80000, false}, {0x7e0010000000, 0x100000, false}, {0x7ffb00000000, 0x1000, true}};

Test(memory_account, names_the_kind_of_each_mapping)
{
	struct memory_account a;
	memory_account_init(&a);
	for (size_t i = 0; i < ROWS; i++)
		add_with(&a, rows[i].line, 4, 8);
	memory_account_classify(&a, heap, 3);
	cr_assert_eq(a.count, ROWS);
	uint64_t by_kind[MEMORY_KIND_COUNT] = {0};
	for (size_t i = 0; i < ROWS; i++) {
		cr_expect_eq(a.mappings[i].kind, rows[i].kind, "%s: %s", rows[i].line, memory_kind_name(a.mappings[i].kind));
		by_kind[rows[i].kind]++;
	}
	for (int k = 0; k < MEMORY_KIND_COUNT; k++) {
		cr_expect_eq(a.by_kind[k].rss, by_kind[k] * 4096, "%s", memory_kind_name(k));
		cr_expect_eq(a.by_kind[k].swap, by_kind[k] * 8192);
	}
	cr_expect_eq(a.total.rss, ROWS * 4096);
	uint64_t unmanaged = by_kind[MEMORY_CODE] + by_kind[MEMORY_MALLOC] + by_kind[MEMORY_STACKS] + by_kind[MEMORY_ANONYMOUS] + by_kind[MEMORY_SHARED];
	cr_expect_eq(memory_account_unmanaged(&a), unmanaged * 12288);
	memory_account_fini(&a);
}

Test(memory_account, without_generations_the_heap_is_anonymous)
{
	struct memory_account a;
	memory_account_init(&a);
	for (size_t i = 0; i < ROWS; i++)
		add_with(&a, rows[i].line, 4, 0);
	memory_account_classify(&a, NULL, 0);
	cr_expect_eq(a.by_kind[MEMORY_GC].rss, 0);
	cr_expect_eq(a.mappings[4].kind, MEMORY_ANONYMOUS);
	memory_account_fini(&a);
}

/* What the collector has opened since the walk told where its generations lie looks like an arena of malloc's, or a stack. */
Test(memory_account, between_generations_without_a_hole_all_is_the_heap)
{
	static const struct memory_range ends[] = {{0x7e0000000000, 0x1000, false}, {0x7e3ffffff000, 0x1000, false}};
	struct memory_account a;
	memory_account_init(&a);
	add_with(&a, "7e0000000000-7e0000100000 rw-p 00000000 00:00 0", 400, 0);
	add_with(&a, "7e0000100000-7e0004000000 ---p 00000000 00:00 0", 0, 0);
	add_with(&a, "7e0004000000-7e0006000000 rw-p 00000000 00:00 0", 4000, 0); /* from a multiple of 64 MiB on */
	add_with(&a, "7e0006000000-7e3ffffff000 ---p 00000000 00:00 0", 0, 0);
	add_with(&a, "7e3ffffff000-7e4000000000 rw-p 00000000 00:00 0", 4, 0);
	add_with(&a, "7e4000000000-7e4002000000 rw-p 00000000 00:00 0", 40, 0);   /* above it: an arena */
	add_with(&a, "7e4002000000-7e4004000000 ---p 00000000 00:00 0", 0, 0);
	memory_account_classify(&a, ends, 2);
	cr_expect_eq(a.mappings[2].kind, MEMORY_GC, "%s", memory_kind_name(a.mappings[2].kind));
	cr_expect_eq(a.mappings[5].kind, MEMORY_MALLOC);
	cr_expect_eq(a.by_kind[MEMORY_GC].rss, 4404 * 1024);
	memory_account_fini(&a);
}

/* Regions that the collector has opened above those that it used at its last collection, or keeps for later: whoever comes behind its great reserve is
 * somebody else. */
Test(memory_account, the_heap_goes_up_to_its_reserve)
{
	static const struct memory_range used[] = {{0x7e0000000028, 0xfd8, false}, {0x7e0000400028, 0x1000, false}};
	struct memory_account a;
	memory_account_init(&a);
	add_with(&a, "7dfffff00000-7dffffff0000 rw-p 00000000 00:00 0", 7, 0);   /* below it: somebody else's */
	add_with(&a, "7dffffff0000-7e0000000000 ---p 00000000 00:00 0", 0, 0);
	add_with(&a, "7e0000000000-7e0000001000 rw-p 00000000 00:00 0", 4, 0);
	add_with(&a, "7e0000001000-7e0000400000 ---p 00000000 00:00 0", 0, 0);
	add_with(&a, "7e0000400000-7e0000500000 rw-p 00000000 00:00 0", 400, 0);
	add_with(&a, "7e0000500000-7e0004000000 ---p 00000000 00:00 0", 0, 0);
	add_with(&a, "7e0004000000-7e0009801000 rw-p 00000000 00:00 0", 4000, 0); /* opened since; from a multiple of 64 MiB on */
	add_with(&a, "7e0009801000-7e4000000000 ---p 00000000 00:00 0", 0, 0);
	add_with(&a, "7e4000000000-7e4000200000 rw-p 00000000 00:00 0", 70, 0);
	memory_account_classify(&a, used, 2);
	cr_expect_eq(a.mappings[6].kind, MEMORY_GC, "%s", memory_kind_name(a.mappings[6].kind));
	cr_expect_eq(a.by_kind[MEMORY_GC].rss, 4404 * 1024);
	cr_expect_eq(memory_account_unmanaged(&a), 77 * 1024);
	memory_account_fini(&a);
}

Test(memory_account, does_not_count_the_profiler_itself)
{
	struct memory_account a;
	memory_account_init(&a);
	add_with(&a, "7f3000000000-7f3000001000 rw-s 00000000 00:01 18 /memfd:drdotnet-ring (deleted)", 400, 0);
	add_with(&a, "7f3000001000-7f3000002000 r-xp 00000000 fe:00 18 /tmp/libdrdotnet-0123.so", 400, 0);
	add_with(&a, "7f3000002000-7f3000003000 rw-p 00000000 00:00 0", 4, 0);
	memory_account_classify(&a, NULL, 0);
	cr_expect_eq(a.total.rss, 4096);
	cr_expect_eq(memory_account_unmanaged(&a), 4096);
	memory_account_fini(&a);
}

Test(memory_account, passes_over_what_is_not_the_kernels_word)
{
	static const char *const strange[] = {
		"",
		"Rss: 4 kB",
		"nonsense",
		"7f3000000000-7f2000000000 rw-p 00000000 00:00 0",
		"7f3000000000-7f3000000000 rw-p 00000000 00:00 0",
		"Rss:",
		"Rss:      kB",
		"Rss:      99999999999999999999 kB",
	};
	struct memory_account a;
	memory_account_init(&a);
	for (size_t i = 0; i < sizeof strange / sizeof strange[0]; i++)
		add(&a, strange[i]);
	cr_expect_eq(a.count, 0);
	add_with(&a, "7f3000000000-7f3000001000 rw-p 00000000 00:00 0", 4, 0);
	add(&a, "7f2000000000-7f2000001000 rw-p 00000000 00:00 0"); /* not in order */
	add(&a, "Rss:      400 kB");                                /* of that one, not of the one before */
	memory_account_classify(&a, heap, 3);
	cr_expect_eq(a.count, 1);
	cr_expect_eq(a.total.rss, 4096);
	memory_account_fini(&a);
}

Test(memory_account, is_bounded)
{
	struct memory_account a;
	char line[128];
	memory_account_init(&a);
	for (uint64_t i = 0; i < MEMORY_MAPPINGS_MAX + 10; i++) {
		snprintf(line, sizeof line, "%zx-%zx rw-p 00000000 00:00 0", (size_t)(i * 8192 + 4096), (size_t)(i * 8192 + 8192));
		add(&a, line);
	}
	cr_expect_eq(a.count, MEMORY_MAPPINGS_MAX);
	cr_expect_eq(a.beyond, 10);
	memory_account_fini(&a);
}

static int own_proc(void)
{
	int fd = open("/proc/self", O_PATH | O_DIRECTORY);
	cr_assert_geq(fd, 0);
	return fd;
}

Test(memory_account, reads_a_process)
{
	struct memory_account a;
	struct err e = ERR_INIT;
	uint64_t resident = 0, anonymous = 0;
	int fd = own_proc();
	memory_account_init(&a);
	cr_assert_eq(memory_account_load(&a, fd, &e), 0, "%s", e.message);
	memory_account_classify(&a, NULL, 0);
	cr_assert_eq(memory_account_now(fd, &resident, &anonymous), 0);
	cr_expect_gt(a.total.rss, 100000);
	cr_expect_gt(a.by_kind[MEMORY_LIBRARIES].rss, 0);
	cr_expect_gt(a.by_kind[MEMORY_STACKS].rss, 0);
	cr_expect_gt(resident, anonymous);
	cr_expect_gt(anonymous, 0);
	memory_account_fini(&a);
	close(fd);
}

Test(memory_account, says_what_it_may_not_read)
{
	struct memory_account a;
	struct err e = ERR_INIT;
	int fd = open("/", O_PATH | O_DIRECTORY);
	memory_account_init(&a);
	cr_expect_eq(memory_account_load(&a, fd, &e), -1);
	cr_expect_eq(e.kind, ERR_NOT_FOUND);
	uint64_t resident, anonymous;
	cr_expect_eq(memory_account_now(fd, &resident, &anonymous), -1);
	memory_account_fini(&a);
	close(fd);
}

Test(memory_growth, joins_what_is_the_same)
{
	struct memory_account a, b;
	memory_account_init(&a);
	memory_account_init(&b);
	add_with(&a, "55d539900000-55d539a00000 rw-p 00000000 00:00 0 [heap]", 1000, 0);
	add_with(&a, "7f3000000000-7f3000010000 rw-p 00000000 00:00 0", 100, 0);
	add_with(&a, "7f4000000000-7f4000010000 r--s 00000000 fe:00 7 /data/a", 400, 0);
	add_with(&a, "7f5000000000-7f5000010000 r--s 00000000 fe:00 7 /data/b", 400, 0);
	add_with(&b, "55d539900000-55d53aa00000 rw-p 00000000 00:00 0 [heap]", 9000, 1000);
	add_with(&b, "7f2ff0000000-7f3000010000 rw-p 00000000 00:00 0", 5100, 0); /* grew downwards */
	add_with(&b, "7f3800000000-7f3800010000 rw-p 00000000 00:00 0", 700, 0);  /* new */
	add_with(&b, "7f4800000000-7f4800010000 r--s 00000000 fe:00 7 /data/a", 1400, 0); /* mapped elsewhere */
	add_with(&b, "7f5000000000-7f5000010000 r--s 00000000 fe:00 7 /data/b", 300, 0);
	memory_account_classify(&a, NULL, 0);
	memory_account_classify(&b, NULL, 0);
	static const struct {
		const char *name;
		uint64_t first, last;
	} expected[] = {
		{"malloc heap", 1000, 10000},
		{"anonymous memory at 7f2ff0000000", 100, 5100},
		{"/data/a", 400, 1400},
		{"anonymous memory at 7f3800000000", 0, 700},
	};
	struct memory_grown *grown;
	size_t count = memory_growth_find(&a, &b, 20, &grown);
	cr_assert_eq(count, 4);
	for (size_t i = 0; i < 4; i++) {
		cr_expect_str_eq(grown[i].name, expected[i].name);
		cr_expect_eq(grown[i].first, expected[i].first * 1024, "%s", expected[i].name);
		cr_expect_eq(grown[i].last, expected[i].last * 1024, "%s", expected[i].name);
	}
	memory_growth_free(grown, count);
	count = memory_growth_find(&a, &b, 2, &grown);
	cr_expect_eq(count, 2);
	memory_growth_free(grown, count);
	count = memory_growth_find(&a, &a, 20, &grown);
	cr_expect_eq(count, 0);
	memory_growth_free(grown, count);
	memory_account_fini(&a);
	memory_account_fini(&b);
}
