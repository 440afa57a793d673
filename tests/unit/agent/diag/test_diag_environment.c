#include "agent/diag/diag_environment.h"
#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <string.h>

static struct buf block;

static void setup(void)
{
	buf_init(&block, 1 << 20);
}

static void teardown(void)
{
	buf_fini(&block);
}

TestSuite(diag_environment, .init = setup, .fini = teardown, .timeout = 20);

static void put_u32(uint32_t v)
{
	buf_append(&block, &v, sizeof v);
}

static void put_variable(const char *s, size_t len)
{
	put_u32((uint32_t)len + 1);
	for (size_t i = 0; i <= len; i++) {
		buf_putc(&block, i < len ? s[i] : '\0');
		buf_putc(&block, '\0');
	}
}

/* What is kept of `block`, fed in pieces; NULL: malformed. */
static const char *kept_of(struct diag_environment *x, uint32_t size, size_t piece)
{
	if (diag_environment_init(x, size, NULL) < 0)
		return NULL;
	for (size_t at = 0; at < block.len; at += piece) {
		size_t n = block.len - at < piece ? block.len - at : piece;
		if (diag_environment_feed(x, (const uint8_t *)block.data + at, n, NULL) < 0)
			return NULL;
	}
	return buf_str(&x->kept);
}

Test(diag_environment, keeps_what_says_something_of_the_runtime)
{
	static const char kept[] = "CORECLR_ENABLE_PROFILING=1\0DOTNET_x=?\0COMPlus_=";
	put_u32(6);
	put_variable("PASSWORD=secret", 15);
	put_variable("CORECLR_ENABLE_PROFILING=1", 26);
	put_variable("XDOTNET_y=1", 11);
	put_variable("", 0);
	put_variable("DOTNET_x=\x80", 10);
	put_variable("COMPlus_=\0rest", 14);
	for (size_t piece = 1; piece < 20; piece++) {
		struct diag_environment x;
		const char *got = kept_of(&x, (uint32_t)block.len, piece);
		cr_assert(got, "pieces of %zu", piece);
		cr_assert_eq(x.kept.len, sizeof kept);
		cr_assert_arr_eq(got, kept, sizeof kept);
		cr_assert_eq(x.missing, 0);
		diag_environment_fini(&x);
	}
}

Test(diag_environment, is_bounded_whatever_comes)
{
	static char longest[DIAG_ENVIRONMENT_VALUE_MAX + 100];
	struct diag_environment x;
	memset(longest, 'a', sizeof longest);
	memcpy(longest, "DOTNET_", 7);
	put_u32(40);
	for (int i = 0; i < 40; i++)
		put_variable(longest, sizeof longest);
	const char *got = kept_of(&x, (uint32_t)block.len, 4096);
	cr_assert(got);
	cr_expect_eq(strlen(got), DIAG_ENVIRONMENT_VALUE_MAX, "one that is too long is cut");
	cr_expect_eq(x.kept.len % (DIAG_ENVIRONMENT_VALUE_MAX + 1), 0, "what does not fit is dropped as a whole");
	cr_expect_gt(x.kept.len, DIAG_ENVIRONMENT_KEPT_MAX / 2);
	cr_expect_leq(x.kept.len, DIAG_ENVIRONMENT_KEPT_MAX);
	diag_environment_fini(&x);
}

Test(diag_environment, refuses_what_contradicts_its_size)
{
	static const struct {
		uint32_t count, units;
		int size; /* beside the bytes that come */
		bool ok;
	} rows[] = {
		{1, 3, 0, true}, {1, 3, -1, false}, {0, 3, 0, false}, {2, 3, 0, false}, {3, 3, 0, false}, {1, 2, 0, false}, {1, 4, 0, false},
		{1, 0, 0, false}, {1, UINT32_MAX, 0, false}, {UINT32_MAX, 3, 0, false}, {1, 0x80000003, 0, false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct diag_environment x;
		buf_reset(&block);
		put_u32(rows[i].count);
		put_u32(rows[i].units);
		buf_append(&block, "A\0=\0\0\0", 6);
		const char *got = kept_of(&x, (uint32_t)((int)block.len + rows[i].size), 5);
		cr_expect_eq(got != NULL, rows[i].ok, "row %zu", i);
		diag_environment_fini(&x);
	}
}

Test(diag_environment, takes_an_empty_one_and_refuses_sizes_that_cannot_be)
{
	struct diag_environment x;
	put_u32(0);
	cr_expect_str_eq(kept_of(&x, 4, 4), "");
	diag_environment_fini(&x);
	static const struct {
		uint32_t size;
		bool ok;
	} sizes[] = {{0, false}, {3, false}, {4, true}, {DIAG_ENVIRONMENT_MAX, true}, {DIAG_ENVIRONMENT_MAX + 1, false}, {UINT32_MAX, false}};
	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		struct err e = ERR_INIT;
		cr_expect_eq(diag_environment_init(&x, sizes[i].size, &e), sizes[i].ok ? 0 : -1, "%u", (unsigned)sizes[i].size);
		cr_expect_eq(e.kind, sizes[i].ok ? ERR_NONE : ERR_PROTOCOL);
		diag_environment_fini(&x);
	}
}
