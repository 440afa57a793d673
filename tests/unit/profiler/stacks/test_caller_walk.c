#include "profiler/stacks/caller_walk.h"

#include <criterion/criterion.h>
#include <string.h>

enum { WORDS = 64 };
static uintptr_t stack[WORDS];
static uint8_t code[256]; /* of the runtime */

#define CODE(offset) ((uintptr_t)code + (offset))
#define OURS 0x5000000u

static const struct caller_walk *walk(void)
{
	static struct caller_walk w;
	w = (struct caller_walk){.runtime = {CODE(0), CODE(sizeof code)}, .own = {OURS, OURS + 0x1000}};
	return &w;
}

static void frame(int at, int caller, uintptr_t address)
{
	stack[at] = caller < 0 ? 0 : (uintptr_t)&stack[caller];
	stack[at + 1] = address;
}

static size_t take(uintptr_t ip, int fp, uint64_t *ips, size_t cap, bool *more)
{
	struct frame_registers r = {.ip = ip, .sp = (uintptr_t)&stack[0], .fp = (uintptr_t)&stack[fp]};
	struct code_walked out;
	const struct code_index *index = code_rules_enter();

	caller_walk(walk(), &r, (uintptr_t)&stack[WORDS], index, ips, cap, &out);
	code_rules_leave(index);
	*more = out.more;
	return out.depth;
}

static void expect(const uint64_t *ips, size_t n, const uint64_t *expected, size_t count)
{
	cr_assert_eq(n, count, "%zu", n);
	for (size_t i = 0; i < count; i++)
		cr_expect_eq(ips[i], expected[i], "%zu: %lx", i, ips[i]);
}

Test(caller_walk, the_runtime_s_frames_and_ours_are_left_out)
{
	uint64_t ips[8];
	bool more;

	frame(4, 8, CODE(10));
	frame(8, 12, 0x2000000);
	frame(12, 20, CODE(20)); /* a frame of the runtime further out stays */
	frame(20, -1, 0x3000000);
	expect(ips, take(OURS + 5, 4, ips, 8, &more), (uint64_t[]){0x2000000, CODE(20), 0x3000000}, 3);
	expect(ips, take(OURS + 5, 4, ips, 2, &more), (uint64_t[]){0x2000000, CODE(20)}, 2);
	cr_expect(more);
	expect(ips, take(0x2500000, 20, ips, 8, &more), (uint64_t[]){0x2500000, 0x3000000}, 2);
}

Test(caller_walk, a_stack_of_the_runtime_alone_has_no_caller)
{
	uint64_t ips[8];
	bool more;

	frame(4, 8, CODE(10));
	frame(8, -1, CODE(20));
	cr_expect_eq(take(OURS, 4, ips, 8, &more), 0);
	cr_expect_eq(take(OURS, WORDS - 1, ips, 8, &more), 0, "no frame at all");
}

#if defined(__x86_64__)
/* test %rax,%rax; lea 0x18(%rsp),%rsp; pop %r12; pop %rbx; pop %rbp; ret */
static const uint8_t epilogue[] = {0x48, 0x85, 0xc0, 0x48, 0x8d, 0x64, 0x24, 0x18, 0x41, 0x5c, 0x5b, 0x5d, 0xc3};
/* add $0x18,%rsp; pop %rbp; ret */
static const uint8_t short_epilogue[] = {0x48, 0x83, 0xc4, 0x18, 0x5d, 0xc3};

/* The helper's frame at 4 returns into a stub that has saved the frame pointer of its caller, 40, at `saved`. */
static size_t through_stub(const uint8_t *bytes, size_t len, int saved, uintptr_t address, uint64_t *ips)
{
	bool more;

	memset(code, 0x90, sizeof code);
	memcpy(code + 100, bytes, len);
	memset(stack, 0, sizeof stack);
	frame(4, 40, CODE(100));
	frame(saved, 40, address);
	frame(40, 50, 0x3000000);
	frame(50, -1, 0x4000000);
	return take(OURS, 4, ips, 8, &more);
}

Test(caller_walk, the_caller_of_a_stub_without_a_frame_is_found)
{
	uint64_t ips[8];

	/* 4 + 2 words of the helper's frame, 3 reserved, 2 popped before the frame pointer */
	expect(ips, through_stub(epilogue, sizeof epilogue, 11, 0x2000000, ips), (uint64_t[]){0x2000000, 0x3000000, 0x4000000}, 3);
	expect(ips, through_stub(short_epilogue, sizeof short_epilogue, 9, 0x2000000, ips), (uint64_t[]){0x2000000, 0x3000000, 0x4000000}, 3);
}

Test(caller_walk, what_only_looks_like_a_stub_adds_nothing)
{
	uint64_t ips[8];
	static const uint64_t plain[] = {0x3000000, 0x4000000};

	expect(ips, through_stub(epilogue, sizeof epilogue, 13, 0x2000000, ips), plain, 2); /* saved elsewhere */
	expect(ips, through_stub(epilogue, sizeof epilogue, 11, CODE(5), ips), plain, 2);   /* called by the runtime */
	expect(ips, through_stub(epilogue, 9, 11, 0x2000000, ips), plain, 2);		    /* another epilogue */
	expect(ips, through_stub((const uint8_t[]){0x90}, 1, 11, 0x2000000, ips), plain, 2);
}

Test(caller_walk, the_end_of_the_code_is_not_passed)
{
	uint64_t ips[8];
	bool more;

	memset(stack, 0, sizeof stack);
	for (size_t at = sizeof code - 12; at < sizeof code; at++) {
		memset(code, 0x90, sizeof code);
		memcpy(code + at, epilogue, sizeof code - at < sizeof epilogue ? sizeof code - at : sizeof epilogue);
		frame(4, 40, CODE(at));
		frame(40, -1, 0x3000000);
		cr_expect_eq(take(OURS, 4, ips, 8, &more), 1, "%zu", at);
	}
}
#endif
