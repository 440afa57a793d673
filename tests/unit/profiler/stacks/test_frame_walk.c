#include "profiler/stacks/frame_walk.h"

#include <criterion/criterion.h>

enum { WORDS = 64 };
static uintptr_t stack[WORDS];

static void frame(int at, int caller, uintptr_t address)
{
	stack[at] = caller < 0 ? 0 : (uintptr_t)&stack[caller];
	stack[at + 1] = address;
}

static size_t walk_from(const struct frame_registers *r, uintptr_t end, uint64_t *ips, size_t cap, bool *more)
{
	struct code_walked out;
	const struct code_index *index = code_rules_enter();

	frame_walk(r, true, end, index, ips, NULL, cap, &out);
	code_rules_leave(index);
	*more = out.more;
	return out.depth;
}

static size_t walk(uintptr_t fp, uint64_t *ips, size_t cap, bool *more)
{
	struct frame_registers r = {.ip = 0x1000000, .sp = (uintptr_t)&stack[2], .fp = fp};
	return walk_from(&r, (uintptr_t)&stack[WORDS], ips, cap, more);
}

Test(frame_walk, a_chain_is_followed_to_its_end)
{
	uint64_t ips[8];
	bool more;

	frame(4, 10, 0x2000000);
	frame(10, 30, 0x3000000);
	frame(30, -1, 0x4000000);
	cr_assert_eq(walk((uintptr_t)&stack[4], ips, 8, &more), 4);
	static const uint64_t expected[] = {0x1000000, 0x2000000, 0x3000000, 0x4000000};
	cr_expect_arr_eq(ips, expected, sizeof expected);
	cr_expect(!more);
	for (size_t cap = 1; cap <= 5; cap++) {
		cr_expect_eq(walk((uintptr_t)&stack[4], ips, cap, &more), cap < 4 ? cap : 4, "%zu", cap);
		cr_expect_eq(more, cap < 4, "%zu", cap);
	}
}

Test(frame_walk, what_is_no_chain_is_not_followed)
{
	static const struct {
		const char *what;
		intptr_t fp; /* in bytes from the stack's start; negative: below it */
		size_t expected;
	} rows[] = {
		{"below the stack pointer", 8, 1},
		{"not aligned", 33, 1},
		{"the last word", (WORDS - 1) * 8, 1},
		{"the last frame that fits", (WORDS - 2) * 8, 2},
		{"past the end", WORDS * 8, 1},
		{"far below", -4096, 1},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint64_t ips[8];
		bool more;
		frame(WORDS - 2, -1, 0x2000000);
		size_t n = walk((uintptr_t)stack + (uintptr_t)rows[i].fp, ips, 8, &more);
		cr_expect_eq(n, rows[i].expected, "%s: %zu", rows[i].what, n);
	}
	uint64_t ips[8];
	bool more;
	cr_expect_eq(walk(0, ips, 8, &more), 1, "no frame pointer");
	cr_expect_eq(walk(UINTPTR_MAX, ips, 8, &more), 1, "the highest address");
}

Test(frame_walk, a_loop_ends)
{
	uint64_t ips[8];
	bool more;

	frame(4, 10, 0x2000000);
	frame(10, 4, 0x3000000);
	cr_expect_eq(walk((uintptr_t)&stack[4], ips, 8, &more), 3);
	frame(10, 10, 0x3000000);
	cr_expect_eq(walk((uintptr_t)&stack[4], ips, 8, &more), 3);
	frame(10, 20, 7); /* no code there: the thread's start */
	cr_expect_eq(walk((uintptr_t)&stack[4], ips, 8, &more), 2);
}

Test(frame_walk, without_a_known_stack_there_is_only_the_leaf)
{
	struct frame_registers r = {.ip = 7, .sp = (uintptr_t)stack, .fp = (uintptr_t)&stack[4]};
	uint64_t ips[8];
	bool more;

	frame(4, -1, 0x2000000);
	cr_expect_eq(walk_from(&r, 0, ips, 8, &more), 1);
	cr_expect_eq(ips[0], 7);
}
