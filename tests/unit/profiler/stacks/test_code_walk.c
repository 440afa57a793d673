#include "profiler/stacks/stack_copy.h"

#include "profiler/stacks/code_learn.h"
#include "profiler/stacks/hijacks.h"

#include <criterion/criterion.h>
#include <string.h>

enum { WORDS = 1024 };
static uint64_t stack[WORDS];

#define MAIN 0x10000u
#define CALLER 0x20000u  /* without a frame: 8 bytes of its own */
#define SMALL 0x30000u   /* without a frame: 24 bytes, the lowest of them the caller's frame pointer */
#define LIBRARY 0x40000u
#define OLD 0x50000u     /* was replaced on the stack, by */
#define NEW 0x60000u
#define STUB 0x70000u
#define STRANGE 0x80000u /* nothing was understood of its frame */
#define BYTES 0x1000u
#define NOBODY 0x90010u

static void know(uint64_t start, enum code_kind kind, struct code_frame frame)
{
	struct code_rule r = {.start = start, .end = start + BYTES, .body = start, .kind = kind, .call = frame};
	cr_assert(code_rules_put(&r));
}

static void know_all(void)
{
	static const struct code_frame framed = {.kind = CODE_FRAME_FRAMED, .prolog = 4, .size = 8, .fp_at = CODE_FRAME_NO_FP};
	struct code_frame old = framed, replacement = framed;

	code_rules_reset();
	old.size = 24; /* 16 of locals, and the frame pointer */
	replacement.replaces = true;
	know(MAIN, CODE_MANAGED, framed);
	know(CALLER, CODE_MANAGED, (struct code_frame){.kind = CODE_FRAME_FRAMELESS, .prolog = 4, .size = 8, .fp_at = CODE_FRAME_NO_FP});
	know(SMALL, CODE_MANAGED, (struct code_frame){.kind = CODE_FRAME_FRAMELESS, .prolog = 4, .size = 24, .fp_at = 0});
	know(LIBRARY, CODE_NATIVE, code_frame_by_pointer);
	know(OLD, CODE_MANAGED, old);
	know(NEW, CODE_MANAGED, replacement);
	know(STUB, CODE_STUB, (struct code_frame){0});
	know(STRANGE, CODE_MANAGED, (struct code_frame){.prolog = 4});
}

static uint64_t at(int word)
{
	return (uint64_t)(uintptr_t)&stack[word];
}

static struct code_walked walk(bool leaf, uint64_t ip, int sp, int fp, uint64_t *ips, size_t cap)
{
	struct frame_registers r = {.ip = (uintptr_t)ip, .sp = (uintptr_t)at(sp), .fp = (uintptr_t)at(fp)};
	struct code_walked out;
	const struct code_index *index = code_rules_enter();

	frame_walk(&r, leaf, (uintptr_t)at(WORDS), index, ips, NULL, cap, &out);
	code_rules_leave(index);
	return out;
}

static void expect(struct code_walked w, const uint64_t *ips, const uint64_t *expected, size_t count, enum code_gap gap)
{
	cr_assert_eq(w.depth, count, "%zu", w.depth);
	for (size_t i = 0; i < count; i++)
		cr_expect_eq(ips[i], expected[i], "%zu: %lx", i, (unsigned long)ips[i]);
	cr_expect_eq(w.gap, gap);
}

/* From a library: its frame at 4, then SMALL's 3 words, CALLER's one, the frame of Main at 12. */
static void lay_out(void)
{
	memset(stack, 0, sizeof stack);
	stack[4] = at(12);
	stack[5] = SMALL + 100;
	stack[6] = at(12); /* saved by SMALL */
	stack[9] = CALLER + 100;
	stack[11] = MAIN + 100;
	stack[12] = at(20);
	stack[13] = MAIN + 200;
	stack[20] = stack[21] = 0;
}

static const uint64_t whole[] = {LIBRARY + 100, SMALL + 100, CALLER + 100, MAIN + 100, MAIN + 200};

Test(code_walk, callers_of_methods_without_a_frame_are_found)
{
	uint64_t ips[8];

	know_all();
	lay_out();
	expect(walk(true, LIBRARY + 100, 2, 4, ips, 8), ips, whole, 5, CODE_GAP_NONE);
	expect(walk(false, SMALL + 100, 6, 12, ips, 8), ips, whole + 1, 4, CODE_GAP_NONE);
	for (size_t cap = 1; cap <= 6; cap++) {
		struct code_walked w = walk(true, LIBRARY + 100, 2, 4, ips, cap);
		cr_expect_eq(w.depth, cap < 5 ? cap : 5);
		cr_expect_eq(w.more, cap < 5, "%zu", cap);
	}
}

Test(code_walk, through_code_that_is_not_known_goes_the_frame_pointer_and_that_is_said)
{
	uint64_t ips[8];

	know_all();
	lay_out();
	stack[9] = NOBODY;
	struct code_walked w = walk(true, LIBRARY + 100, 2, 4, ips, 8);
	expect(w, ips, (uint64_t[]){LIBRARY + 100, SMALL + 100, NOBODY, MAIN + 200}, 4, CODE_GAP_CODE);
	cr_expect_eq(w.unknown, NOBODY - 1);
	stack[9] = STRANGE + 100;
	w = walk(true, LIBRARY + 100, 2, 4, ips, 8);
	expect(w, ips, (uint64_t[]){LIBRARY + 100, SMALL + 100, STRANGE + 100, MAIN + 200}, 4, CODE_GAP_CODE);
	cr_expect_eq(w.unknown, 0);
}

Test(code_walk, replaced_code_is_stepped_over)
{
	uint64_t ips[8];

	know_all();
	memset(stack, 0, sizeof stack);
	stack[4] = at(20); /* of the replacement */
	stack[5] = OLD + 100;
	stack[9] = CALLER + 100; /* above the old one's 24 bytes */
	stack[11] = MAIN + 100;
	stack[20] = stack[21] = 0;
	expect(walk(false, NEW + 100, 2, 4, ips, 8), ips, (uint64_t[]){NEW + 100, CALLER + 100, MAIN + 100}, 3, CODE_GAP_NONE);
}

#if defined(__x86_64__)
Test(code_walk, a_stub_at_the_leaf_was_called_by_what_lies_on_top)
{
	uint64_t ips[8];

	know_all();
	lay_out();
	stack[2] = CALLER + 50;
	stack[4] = MAIN + 100;
	stack[12] = stack[13] = 0;
	expect(walk(true, STUB + 5, 2, 12, ips, 8), ips, (uint64_t[]){STUB + 5, CALLER + 50, MAIN + 100}, 3, CODE_GAP_NONE);
	stack[2] = 7; /* nothing that could be code: by frame pointers */
	stack[13] = MAIN + 200;
	expect(walk(true, STUB + 5, 2, 12, ips, 8), ips, (uint64_t[]){STUB + 5, MAIN + 200}, 2, CODE_GAP_NONE);
}
#else
Test(code_walk, a_stub_at_the_leaf_was_called_from_where_the_link_register_says)
{
	uint64_t ips[8];
	struct code_walked out;
	struct frame_registers r = {.ip = STUB + 5, .sp = (uintptr_t)at(2), .fp = (uintptr_t)at(12), .lr = MAIN + 50};

	know_all();
	lay_out();
	stack[12] = stack[13] = 0;
	frame_walk(&r, true, (uintptr_t)at(WORDS), code_rules_enter(), ips, NULL, 8, &out);
	expect(out, ips, (uint64_t[]){STUB + 5, MAIN + 50}, 2, CODE_GAP_NONE);
	r.lr = 7; /* nothing that could be code: by frame pointers */
	stack[13] = MAIN + 200;
	frame_walk(&r, true, (uintptr_t)at(WORDS), code_rules_enter(), ips, NULL, 8, &out);
	expect(out, ips, (uint64_t[]){STUB + 5, MAIN + 200}, 2, CODE_GAP_NONE);
}
#endif

Test(code_walk, the_end_of_the_stack_is_not_passed)
{
	uint64_t ips[8];

	know_all();
	lay_out();
	struct code_walked w = walk(false, SMALL + 100, WORDS - 3, WORDS - 1, ips, 8);
	cr_expect_eq(w.depth, 1);
	cr_expect_eq(w.end, CODE_STEP_BEYOND);
	w = walk(false, SMALL + 100, WORDS - 4, WORDS - 1, ips, 8);
	cr_expect_eq(w.end, CODE_STEP_END);
	w = walk(false, CALLER + 100, WORDS, WORDS, ips, 8);
	cr_expect_eq(w.end, CODE_STEP_BEYOND);
}

#if defined(__x86_64__)
/* push rbp; sub rsp, 16; lea rbp, [rsp + 16]; nops; add rsp, 16; pop rbp; ret */
static const uint8_t prolog[] = {0x55, 0x48, 0x83, 0xec, 0x10, 0x48, 0x8d, 0x6c, 0x24, 0x10};
static const uint8_t epilog[] = {0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3};
static uint8_t code[128];

Test(code_walk, a_leaf_in_its_prolog_or_epilog_is_read_as_it_stands)
{
	const uint64_t start = (uint64_t)(uintptr_t)code;
	struct code_rule r = {.start = start, .end = start + sizeof code, .body = start, .kind = CODE_MANAGED, .prolog_bytes = 64};
	/* offset in the code, word of the stack pointer; the return address is at 13, the caller's frame pointer at 12 */
	static const struct {
		int offset, sp, fp;
	} rows[] = {{0, 13, 20}, {1, 12, 20}, {5, 10, 20}, {10, 10, 12}, {50, 10, 12}, {100, 10, 12}, {104, 12, 12}, {105, 13, 20}};

	memset(code, 0x90, sizeof code);
	memcpy(code, prolog, sizeof prolog);
	memcpy(code + 100, epilog, sizeof epilog);
	memcpy(r.prolog, code, 64);
	code_frame_decode(r.prolog, 64, &r.call);
	know_all();
	cr_assert(code_rules_put(&r));
	lay_out();
	stack[22] = stack[23] = 0;
	stack[21] = MAIN + 300;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint64_t ips[8];
		struct code_walked w = walk(true, start + (uint64_t)rows[i].offset, rows[i].sp, rows[i].fp, ips, 8);
		cr_expect(w.depth == 3 && ips[1] == MAIN + 200 && ips[2] == MAIN + 300, "%d: %zu", rows[i].offset, w.depth);
		cr_expect_eq(w.gap, CODE_GAP_NONE, "%d", rows[i].offset);
	}
}
#endif

#if defined(__x86_64__)
/* The method returns to where the runtime has put its own address. */
Test(code_walk, what_the_runtime_has_replaced_is_put_back)
{
	static uint8_t runtime[64];
	const uint64_t start = (uint64_t)(uintptr_t)runtime, own = start + 32;
	struct code_rule r = {.start = start, .end = start + sizeof runtime, .kind = CODE_NATIVE, .runtime = true};
	uint64_t ips[8];

	memset(runtime, 0x90, sizeof runtime);
	know_all();
	hijacks_reset();
	cr_assert(code_rules_put(&r));
	lay_out();
	stack[9] = own;
	/* by frame pointers from there: what is missing is said */
	expect(walk(false, SMALL + 100, 6, 12, ips, 8), ips, (uint64_t[]){SMALL + 100, own, MAIN + 200}, 3, CODE_GAP_BROKEN);
	hijacks_note(at(9), NOBODY);
	expect(walk(false, SMALL + 100, 6, 12, ips, 8), ips, (uint64_t[]){SMALL + 100, own, MAIN + 200}, 3, CODE_GAP_BROKEN);
	hijacks_note(at(9), CALLER + 100);
	expect(walk(false, SMALL + 100, 6, 12, ips, 8), ips, whole + 1, 4, CODE_GAP_NONE);
	runtime[27] = 0xe8; /* a call stands there: the runtime has called the method, whatever was noted of the place before */
	expect(walk(false, SMALL + 100, 6, 12, ips, 8), ips, (uint64_t[]){SMALL + 100, own, MAIN + 200}, 3, CODE_GAP_NONE);
}

Test(hijacks, what_calls_is_known_by_its_last_bytes)
{
	static const struct {
		uint8_t code[8];
		bool calls;
	} rows[] = {
		{{0x90, 0x90, 0x90, 0xe8, 1, 2, 3, 4}, true},
		{{0x90, 0x90, 0xe8, 1, 2, 3, 4, 0x90}, false},
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0}, true},
		{{0x90, 0x90, 0xff, 0x15, 1, 2, 3, 4}, true},
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 0x18}, true},
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0}, false}, /* jmp rax */
		{{0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, false},
		{{0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xc3}, false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_neq(hijacks_is_one((uint64_t)(uintptr_t)(rows[i].code + 8)), rows[i].calls, "%zu", i);
}
#endif

Test(hijacks, the_latest_of_a_place_is_found)
{
	hijacks_reset();
	cr_expect_eq(hijacks_find(at(3)), 0);
	cr_expect_eq(hijacks_find(0), 0);
	hijacks_note(at(3), CALLER);
	cr_expect_eq(hijacks_find(at(3)), CALLER);
	hijacks_note(at(3), SMALL);
	cr_expect_eq(hijacks_find(at(3)), SMALL);
	hijacks_reset();
	cr_expect_eq(hijacks_find(at(3)), 0);
}

/* A walk that knew nothing, and the one of the own thread, in a copy of so many words. */
static struct code_walked walk_copy(size_t words, uint64_t *ips, bool *deep)
{
	static uint64_t record[STACK_COPY_HEAD_WORDS + STACK_COPY_WORDS];
	struct frame_registers r = {.ip = LIBRARY + 100, .sp = (uintptr_t)at(2), .fp = (uintptr_t)at(4)};
	uint64_t found[8];
	uint32_t heights[8];
	struct code_walked w;

	code_rules_reset();
	const struct code_index *index = code_rules_enter();
	frame_walk(&r, true, (uintptr_t)at(WORDS), index, found, heights, 8, &w);
	code_rules_leave(index);
	cr_assert_eq(w.unknown, LIBRARY + 100);
	const struct stack_copy_source s = {r, (uintptr_t)at(WORDS), found, heights, w.depth};
	size_t len = stack_copy_head(&s, record);
	cr_assert(len > 0 && len <= STACK_COPY_HEAD_WORDS);
	cr_assert_eq(stack_copy_words(&s), STACK_COPY_WORDS);
	memcpy(record + len, &stack[2], words * sizeof *stack);
	know_all();
	*deep = stack_copy_walk(record, len + words, ips, 8, &w);
	return w;
}

Test(stack_copy, a_walk_in_the_copy_finds_what_has_been_learned)
{
	uint64_t ips[8];
	bool deep;

	lay_out();
	expect(walk_copy(STACK_COPY_WORDS, ips, &deep), ips, whole, 5, CODE_GAP_NONE);
	cr_expect(!deep);
}

Test(stack_copy, beyond_the_copy_is_what_frame_pointers_found)
{
	uint64_t ips[8];
	bool deep;

	lay_out();
	/* of words 2 to 8: CALLER's address is not among them */
	expect(walk_copy(7, ips, &deep), ips, (uint64_t[]){LIBRARY + 100, SMALL + 100, MAIN + 200}, 3, CODE_GAP_NONE);
	cr_expect(deep);
	expect(walk_copy(10, ips, &deep), ips, whole, 5, CODE_GAP_NONE); /* words 2 to 11 */
	cr_expect(deep);
}

Test(stack_copy, without_a_stack_there_is_no_copy)
{
	uint64_t words[STACK_COPY_HEAD_WORDS], ips[1] = {NOBODY};
	uint32_t heights[1] = {0};
	struct stack_copy_source s = {{.ip = NOBODY, .sp = (uintptr_t)at(0)}, (uintptr_t)at(0), ips, heights, 1};

	cr_expect_eq(stack_copy_head(&s, words), 0, "the stack pointer is its end");
	s.end += sizeof *stack;
	cr_expect_gt(stack_copy_head(&s, words), 0);
	cr_expect_eq(stack_copy_words(&s), 1);
	s.registers.sp += 4;
	s.end += sizeof *stack;
	cr_expect_eq(stack_copy_head(&s, words), 0, "not aligned");
}
