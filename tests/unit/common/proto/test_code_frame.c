#include "common/proto/code_frame.h"

#include <criterion/criterion.h>
#include <string.h>

/* A stack of a made-up address, and what a thread's registers hold while it runs one function that `CALLER` called. */
enum { WORDS = 256, TOP = 200, CALLER = 0x7f0000001234, STALE = 0x7f00dead0000 };
#define BASE UINT64_C(0x7ffe00000000)
#define CALLER_FP (BASE + 8 * 220)

struct stack {
	uint64_t words[WORDS];
	uint64_t low, high; /* what may be read */
};

static bool read_word(void *ctx, uint64_t address, uint64_t *word)
{
	const struct stack *s = ctx;
	if (address < s->low || address > s->high - 8 || address % 8)
		return false;
	*word = s->words[(address - BASE) / 8];
	return true;
}

static struct stack stack_new(void)
{
	struct stack s = {.low = BASE, .high = BASE + 8 * WORDS};
	for (size_t i = 0; i < WORDS; i++)
		s.words[i] = STALE;
	return s;
}

/* One instruction: its bytes, and what it does to the stack. */
struct op {
	const char *bytes;
	size_t len;
	char does; /* '+' push of n (1: RBP), '-' pop (1: RBP), 's' sub n, 'a' add n, 'f' RBP = RSP + n, 'b' body, 'r' leaves, 'p' RSP = R11 */
	int n;
};
#define OP(b, ...) {b, sizeof b - 1, __VA_ARGS__}

struct machine {
	struct stack stack;
	uint64_t sp, fp;
};

static void run(struct machine *m, const struct op *o)
{
	switch (o->does) {
	case '+':
		m->sp -= 8;
		m->stack.words[(m->sp - BASE) / 8] = o->n ? m->fp : STALE;
		break;
	case '-':
		if (o->n)
			m->fp = m->stack.words[(m->sp - BASE) / 8];
		m->sp += 8;
		break;
	case 's':
		m->sp -= (uint64_t)o->n;
		break;
	case 'a':
		m->sp += (uint64_t)o->n;
		break;
	case 'f':
		m->fp = m->sp + (uint64_t)o->n;
		break;
	case 'x': /* RBP serves as any other register */
		m->fp = 42;
		break;
	default:
		break;
	}
}

static size_t assemble(const struct op *ops, size_t count, uint8_t *code)
{
	size_t len = 0;
	for (size_t i = 0; i < count; i++) {
		memcpy(code + len, ops[i].bytes, ops[i].len);
		len += ops[i].len;
	}
	return len;
}

/* Wherever in the function a thread is, its caller is found, and the caller's registers. */
static void expect_caller_everywhere(const char *what, const struct op *ops, size_t count)
{
	uint8_t code[512];
	size_t len = assemble(ops, count, code), offset = 0;
	struct machine m = {.stack = stack_new(), .sp = BASE + 8 * TOP, .fp = CALLER_FP};
	m.stack.words[TOP] = CALLER;
	for (size_t i = 0; i < count; i++) {
		struct code_frame f;
		struct code_registers r = {.ip = 0x1000 + offset, .sp = m.sp, .fp = m.fp};
		code_frame_x64(code, len < CODE_FRAME_PROLOG_BYTES ? len : CODE_FRAME_PROLOG_BYTES, offset, code + offset, len - offset, &f);
		cr_expect_eq(code_frame_step(&f, &r, read_word, &m.stack), CODE_STEP_CALLER, "%s at %zu", what, offset);
		cr_expect_eq(r.ip, CALLER, "%s at %zu: %#lx", what, offset, r.ip);
		cr_expect_eq(r.sp, BASE + 8 * (TOP + 1), "%s at %zu: %#lx", what, offset, r.sp);
		cr_expect_eq(r.fp, CALLER_FP, "%s at %zu: %#lx", what, offset, r.fp);
		cr_expect(!r.replaced);
		run(&m, &ops[i]);
		offset += ops[i].len;
	}
}
#define EXPECT_CALLER_EVERYWHERE(what, ops) expect_caller_everywhere(what, ops, sizeof ops / sizeof *ops)

/* The functions below are RyuJIT's own code for methods of tests/apps, .NET 10, the bodies shortened. */

Test(code_frame, a_frameless_method)
{
	static const struct op ops[] = {
		OP("\x41\x57", '+', 0), OP("\x53", '+', 0), OP("\x48\x83\xec\x18", 's', 0x18), OP("\xc5\xf8\x77", 'b', 0),
		OP("\x48\x8b\xde", 'b', 0), OP("\x40\x38\x3f", 'b', 0), OP("\xe8\x23\x22\xf9\xff", 'b', 0),
		OP("\xf0\x49\x01\x07", 'b', 0), OP("\x48\x83\xc4\x18", 'a', 0x18), OP("\x5b", '-', 0), OP("\x41\x5f", '-', 0), OP("\xc3", 'r', 0),
	};
	EXPECT_CALLER_EVERYWHERE("Meter.Since", ops);
}

Test(code_frame, a_framed_method)
{
	static const struct op ops[] = {
		OP("\x55", '+', 1), OP("\x41\x57", '+', 0), OP("\x41\x56", '+', 0), OP("\x41\x55", '+', 0), OP("\x53", '+', 0),
		OP("\x48\x83\xec\x60", 's', 0x60), OP("\xc5\xf8\x77", 'b', 0), OP("\x48\x8d\xac\x24\x80\x00\x00\x00", 'f', 0x80),
		OP("\x8b\xdf", 'b', 0), OP("\xff\x15\x10\x00\x00\x00", 'b', 0), OP("\x48\x83\xc4\x60", 'a', 0x60), OP("\x5b", '-', 0),
		OP("\x41\x5d", '-', 0), OP("\x41\x5e", '-', 0), OP("\x41\x5f", '-', 0), OP("\x5d", '-', 1), OP("\xc3", 'r', 0),
	};
	EXPECT_CALLER_EVERYWHERE("Cart.Total", ops);
}

Test(code_frame, a_framed_method_without_locals)
{
	static const struct op ops[] = {
		OP("\x55", '+', 1), OP("\x48\x8b\xec", 'f', 0), OP("\xe8\x00\x00\x00\x00", 'b', 0), OP("\x90", 'b', 0),
		OP("\x5d", '-', 1), OP("\xc3", 'r', 0),
	};
	EXPECT_CALLER_EVERYWHERE("push; mov; pop; ret", ops);
}

Test(code_frame, a_tail_call_behind_an_epilog)
{
	static const struct op ops[] = {
		OP("\x55", '+', 1), OP("\x53", '+', 0), OP("\x50", '+', 0), OP("\x48\x8d\x6c\x24\x10", 'f', 0x10), OP("\x48\x8b\xdf", 'b', 0),
		OP("\x48\x83\xc4\x08", 'a', 8), OP("\x5b", '-', 0), OP("\x5d", '-', 1), OP("\x48\xff\xe0", 'r', 0),
	};
	EXPECT_CALLER_EVERYWHERE("jmp rax", ops);
}

Test(code_frame, a_frameless_method_that_uses_the_frame_pointer_for_something_else)
{
	static const struct op ops[] = {
		OP("\x41\x56", '+', 0), OP("\x55", '+', 1), OP("\x53", '+', 0), OP("\x48\x81\xec\x80\x00\x00\x00", 's', 0x80),
		OP("\x48\x8d\x6c\x24\x08", 'x', 0), OP("\xe8\x00\x00\x00\x00", 'b', 0), OP("\x48\x81\xc4\x80\x00\x00\x00", 'a', 0x80),
		OP("\x5b", '-', 0), OP("\x5d", '-', 1), OP("\x41\x5e", '-', 0), OP("\xc3", 'r', 0),
	};
	EXPECT_CALLER_EVERYWHERE("lea rbp, [rsp + 8] of a local", ops);
}

Test(code_frame, methods_of_one_instruction)
{
	static const struct op one[] = {OP("\xc3", 'r', 0)};
	static const struct op getter[] = {OP("\x48\x8b\x47\x08", 'b', 0), OP("\xc3", 'r', 0)};
	EXPECT_CALLER_EVERYWHERE("ret", one);
	EXPECT_CALLER_EVERYWHERE("a getter", getter);
}

Test(code_frame, a_large_frame_is_probed_first)
{
	static const struct op pages[] = {
		OP("\x55", '+', 1), OP("\x85\x84\x24\x00\xf0\xff\xff", 'b', 0), OP("\x48\x81\xec\x80\x05\x00\x00", 's', 0x580),
		OP("\x48\x8d\xac\x24\x80\x05\x00\x00", 'f', 0x580), OP("\x90", 'b', 0), OP("\x48\x81\xc4\x80\x05\x00\x00", 'a', 0x580),
		OP("\x5d", '-', 1), OP("\xc3", 'r', 0),
	};
	static const struct op helper[] = {
		OP("\x55", '+', 1), OP("\x4c\x8d\x9c\x24\x00\xfb\xff\xff", 'b', 0), OP("\xff\x15\x00\x00\x00\x00", 'b', 0),
		OP("\x49\x8b\xe3", 's', 0x500), OP("\x48\x8d\xac\x24\x00\x05\x00\x00", 'f', 0x500), OP("\x90", 'b', 0),
		OP("\x48\x81\xc4\x00\x05\x00\x00", 'a', 0x500), OP("\x5d", '-', 1), OP("\xc3", 'r', 0),
	};
	EXPECT_CALLER_EVERYWHERE("test [rsp - 4096], eax", pages);
	EXPECT_CALLER_EVERYWHERE("JIT_StackProbe", helper);
}

static const uint8_t tier0[] = {0x55, 0x48, 0x83, 0xec, 0x50, 0x48, 0x8d, 0x6c, 0x24, 0x50, 0xc5, 0xd8, 0x57, 0xe4, 0x90, 0x90};
static const uint8_t replacement[] = {0x48, 0x8b, 0x45, 0x00, 0x50, 0x48, 0x8b, 0xec, 0x8b, 0x45, 0x34,
				      0x48, 0x83, 0xc4, 0x60, 0x5d, 0xc3};

/* Arithmetic.Burn of .NET 10: the code of tier 0, of 0x50 bytes of locals, and the one that took its place. */
static struct machine replaced_machine(void)
{
	struct machine m = {.stack = stack_new(), .fp = BASE + 8 * (TOP - 1)};
	m.sp = m.fp - 0x50 - 8;
	m.stack.words[TOP] = CALLER;
	m.stack.words[TOP - 1] = CALLER_FP;
	m.stack.words[(m.sp - BASE) / 8] = 0x2040; /* in the code of tier 0: where the call of the switch would have returned to */
	return m;
}

Test(code_frame, code_that_was_replaced_on_the_stack_is_stepped_over)
{
	struct machine m = replaced_machine();
	struct code_frame f;
	m.sp -= 8;
	m.stack.words[(m.sp - BASE) / 8] = CALLER_FP;
	struct code_registers r = {.ip = 0x3008, .sp = m.sp, .fp = m.sp};
	code_frame_x64(replacement, sizeof replacement, 8, replacement + 8, sizeof replacement - 8, &f);
	cr_assert_eq(code_frame_step(&f, &r, read_word, &m.stack), CODE_STEP_CALLER);
	cr_expect(r.replaced);
	cr_expect_eq(r.ip, 0x2040);
	code_frame_x64(tier0, sizeof tier0, UINT64_MAX, NULL, 0, &f);
	cr_assert_eq(code_frame_step(&f, &r, read_word, &m.stack), CODE_STEP_CALLER);
	cr_expect(!r.replaced);
	cr_expect_eq(r.ip, CALLER);
	cr_expect_eq(r.fp, CALLER_FP);
	cr_expect_eq(r.sp, BASE + 8 * (TOP + 1));
}

Test(code_frame, at_the_ends_of_a_replacement_its_caller_is_at_hand)
{
	static const struct {
		uint64_t offset;
		int pushed;    /* its own RBP slot is there */
		uint64_t down; /* bytes that the epilog has taken down */
	} rows[] = {{0, 0, 0}, {4, 0, 0}, {5, 1, 0}, {11, 1, 0}, {15, 1, 0x60}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct machine m = replaced_machine();
		struct code_frame f;
		struct code_registers r = {.sp = m.sp - 8 * (uint64_t)rows[i].pushed + rows[i].down, .fp = m.fp};
		code_frame_x64(replacement, sizeof replacement, rows[i].offset, replacement + rows[i].offset, sizeof replacement - rows[i].offset, &f);
		cr_assert_eq(code_frame_step(&f, &r, read_word, &m.stack), CODE_STEP_CALLER, "%zu", i);
		cr_expect_eq(r.ip, CALLER, "at %lu: %#lx", rows[i].offset, r.ip);
		cr_expect_eq(r.fp, CALLER_FP, "at %lu", rows[i].offset);
		cr_expect(!r.replaced);
	}
}

/* Naming.Run of .NET 11, which begins with a push of what was jumped to; one register is saved in the frame of tier 0. */
static const uint8_t jumped[] = {0x50, 0x48, 0x8b, 0x45, 0x00, 0x50, 0x48, 0x83, 0xec, 0x30, 0x4c, 0x89, 0x7c, 0x24, 0x78, 0x48, 0x8d, 0x6c, 0x24, 0x30,
				 0x90, 0x48, 0x81, 0xc4, 0x98, 0x00, 0x00, 0x00, 0x5d, 0xc3};

static struct machine jumped_machine(uint64_t caller_fp)
{
	struct machine m = replaced_machine();
	m.sp += 8; /* the frame of tier 0 alone */
	m.stack.words[TOP - 1] = caller_fp;
	m.stack.words[(m.sp - 8 - BASE) / 8] = 0x3000;
	m.stack.words[(m.sp - 16 - BASE) / 8] = caller_fp;
	return m;
}

Test(code_frame, code_that_has_jumped_to_its_replacement_is_stepped_over)
{
	const uint64_t high = BASE + 8 * (TOP + 20);
	struct machine m = jumped_machine(high);
	struct code_registers r = {.ip = 0x3014, .sp = m.sp - 16 - 0x30, .fp = m.sp - 16};
	struct code_frame f;
	code_frame_x64(jumped, sizeof jumped, UINT64_MAX, NULL, 0, &f);
	cr_expect(f.kind == CODE_FRAME_FRAMED && f.replaces && f.jumped);
	cr_assert_eq(code_frame_step(&f, &r, read_word, &m.stack), CODE_STEP_CALLER);
	cr_expect(!r.replaced);
	cr_expect_eq(r.ip, CALLER);
	cr_expect_eq(r.fp, high);
	cr_expect_eq(r.sp, BASE + 8 * (TOP + 1));
}

Test(code_frame, replaced_code_whose_frame_is_not_found_ends_the_walk)
{
	const uint64_t high = BASE + 8 * (TOP + 20), odd[] = {0, 42, BASE};
	struct code_frame f;
	code_frame_x64(jumped, sizeof jumped, UINT64_MAX, NULL, 0, &f);
	for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
		struct machine m = jumped_machine(odd[i]);
		struct code_registers r = {.ip = 0x3014, .sp = m.sp - 16 - 0x30, .fp = m.sp - 16};
		cr_expect_eq(code_frame_step(&f, &r, read_word, &m.stack), CODE_STEP_BROKEN, "%lx is no frame above", odd[i]);
	}
	struct machine m = jumped_machine(high);
	m.stack.words[TOP - 1] = 0;
	struct code_registers r = {.ip = 0x3014, .sp = m.sp - 16 - 0x30, .fp = m.sp - 16};
	cr_expect_neq(code_frame_step(&f, &r, read_word, &m.stack), CODE_STEP_CALLER, "nothing was saved in it");
}

Test(code_frame, at_the_ends_of_a_replacement_by_a_jump_its_caller_is_at_hand)
{
	static const struct {
		uint64_t offset, pushed;
	} rows[] = {{0, 0}, {1, 8}, {5, 8}};
	struct machine m = jumped_machine(CALLER_FP);
	struct code_frame f;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct code_registers r = {.sp = m.sp - rows[i].pushed, .fp = m.fp};
		code_frame_x64(jumped, sizeof jumped, rows[i].offset, jumped + rows[i].offset, sizeof jumped - rows[i].offset, &f);
		cr_assert_eq(code_frame_step(&f, &r, read_word, &m.stack), CODE_STEP_CALLER, "%zu", i);
		cr_expect(r.ip == CALLER && r.fp == CALLER_FP && !r.replaced, "at %lu: %#lx", rows[i].offset, r.ip);
	}
	code_frame_x64(jumped, sizeof jumped, 21, jumped + 21, sizeof jumped - 21, &f);
	cr_expect(f.kind == CODE_FRAME_FRAMELESS && f.size == 0xa0 && !f.jumped, "its epilog takes both down");
}

Test(code_frame, a_replacement_with_registers_to_save)
{
	static const uint8_t code[] = {0x48, 0x8b, 0x45, 0x00, 0x50, 0x48, 0x83, 0xec, 0x38, 0x4c, 0x89, 0x7c, 0x24, 0x30, 0x48, 0x89,
				       0x5c, 0x24, 0x28, 0x48, 0x8d, 0x6c, 0x24, 0x38, 0x90, 0x90};
	struct code_frame f;
	code_frame_x64(code, sizeof code, UINT64_MAX, NULL, 0, &f);
	cr_expect_eq(f.kind, CODE_FRAME_FRAMED);
	cr_expect(f.replaces);
	cr_expect_eq(f.prolog, 24);
}

Test(code_frame, what_is_cut_off_is_not_known)
{
	static const uint8_t framed[] = {0x55, 0x41, 0x57, 0x48, 0x83, 0xec, 0x60, 0x48, 0x8d, 0x6c, 0x24, 0x68, 0x90};
	struct code_frame f;
	code_frame_x64(framed, 0, UINT64_MAX, NULL, 0, &f);
	cr_expect_eq(f.kind, CODE_FRAME_UNKNOWN);
	code_frame_x64(framed, 3, UINT64_MAX, NULL, 0, &f);
	cr_expect_eq(f.kind, CODE_FRAME_UNKNOWN);
	code_frame_x64(framed, sizeof framed, UINT64_MAX, NULL, 0, &f);
	cr_expect_eq(f.kind, CODE_FRAME_FRAMED);
	uint8_t pushes[CODE_FRAME_PROLOG_BYTES];
	memset(pushes, 0x53, sizeof pushes);
	for (size_t left = 1; left <= 8; left++) { /* the bytes behind the pushes might begin an instruction of the prolog */
		pushes[sizeof pushes - left] = 0x90;
		code_frame_x64(pushes, sizeof pushes, UINT64_MAX, NULL, 0, &f);
		cr_expect_eq(f.kind, left < 8 ? CODE_FRAME_UNKNOWN : CODE_FRAME_FRAMELESS, "%zu", left);
	}
}

Test(code_frame, steps_that_lead_nowhere)
{
	struct stack s = stack_new();
	s.high = BASE + 8 * 100;
	s.words[10] = BASE + 8 * 20, s.words[11] = 0;
	s.words[12] = BASE, s.words[13] = 0x5000;
	static const struct {
		const char *what;
		struct code_frame f;
		struct code_registers r;
		enum code_step expected;
	} rows[] = {
		{"null return address", {.kind = CODE_FRAME_FRAMED}, {.sp = BASE, .fp = BASE + 80}, CODE_STEP_END},
		{"the frame pointer lies below the stack", {.kind = CODE_FRAME_FRAMED}, {.sp = BASE + 8, .fp = BASE}, CODE_STEP_BROKEN},
		{"it is not aligned", {.kind = CODE_FRAME_FRAMED}, {.sp = BASE, .fp = BASE + 81}, CODE_STEP_BROKEN},
		{"at the very top", {.kind = CODE_FRAME_FRAMED}, {.sp = BASE, .fp = UINT64_MAX - 7}, CODE_STEP_BROKEN},
		{"the last word that may be read", {.kind = CODE_FRAME_FRAMED}, {.sp = BASE, .fp = BASE + 8 * 99}, CODE_STEP_BEYOND},
		{"beyond", {.kind = CODE_FRAME_FRAMELESS, .size = 800, .fp_at = CODE_FRAME_NO_FP}, {.sp = BASE}, CODE_STEP_BEYOND},
		{"the stack wraps", {.kind = CODE_FRAME_FRAMELESS, .size = 800}, {.sp = UINT64_MAX - 15}, CODE_STEP_BROKEN},
		{"unknown", {.kind = CODE_FRAME_UNKNOWN}, {.sp = BASE, .fp = BASE + 80}, CODE_STEP_UNKNOWN},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct code_registers r = rows[i].r;
		cr_expect_eq(code_frame_step(&rows[i].f, &r, read_word, &s), rows[i].expected, "%s", rows[i].what);
		cr_expect_eq(memcmp(&r, &rows[i].r, sizeof r), 0, "%s", rows[i].what);
	}
}

static void put_ops(uint8_t *out, const uint32_t *ops, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < 4; k++)
			out[4 * i + k] = (uint8_t)(ops[i] >> (8 * k));
}

Test(code_frame, arm64_keeps_a_frame_always)
{
	/* stp x29, x30, [sp, #-32]!; str x19, [sp, #24]; mov x29, sp; nop; ldr x19, [sp, #24]; ldp x29, x30, [sp], #32; ret */
	static const uint32_t ops[] = {0xa9be7bfd, 0xf9000ff3, 0x910003fd, 0xd503201f, 0xf9400ff3, 0xa8c27bfd, 0xd65f03c0};
	static const enum code_frame_kind expected[] = {CODE_FRAME_LINK,   CODE_FRAME_LINK,   CODE_FRAME_LINK, CODE_FRAME_FRAMED,
							CODE_FRAME_FRAMED, CODE_FRAME_FRAMED, CODE_FRAME_LINK};
	uint8_t code[sizeof ops];
	put_ops(code, ops, sizeof ops / sizeof *ops);
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		struct code_frame f;
		code_frame_arm64(code, sizeof code, 4 * i, code + 4 * i, sizeof code - 4 * i, &f);
		cr_expect_eq(f.kind, expected[i], "%zu: %d", i, f.kind);
	}
	struct code_frame f;
	code_frame_arm64(code, 8, UINT64_MAX, NULL, 0, &f);
	cr_expect_eq(f.kind, CODE_FRAME_UNKNOWN);
}

Test(code_frame, arm64_a_large_frame_is_set_up_in_two_steps)
{
	/* sub sp, sp, #512; stp x29, x30, [sp, #16]; add x29, sp, #16; nop; ldp x29, x30, [sp, #16]; add sp, sp, #512; ret */
	static const uint32_t ops[] = {0xd10803ff, 0xa9017bfd, 0x910043fd, 0xd503201f, 0xa9417bfd, 0x910803ff, 0xd65f03c0};
	static const enum code_frame_kind expected[] = {CODE_FRAME_LINK,   CODE_FRAME_LINK, CODE_FRAME_LINK, CODE_FRAME_FRAMED,
							CODE_FRAME_FRAMED, CODE_FRAME_LINK, CODE_FRAME_LINK};
	uint8_t code[sizeof ops];
	put_ops(code, ops, sizeof ops / sizeof *ops);
	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
		struct code_frame f;
		code_frame_arm64(code, sizeof code, 4 * i, code + 4 * i, sizeof code - 4 * i, &f);
		cr_expect_eq(f.kind, expected[i], "%zu: %d", i, f.kind);
	}
}

Test(code_frame, arm64_the_link_register_names_the_caller)
{
	struct stack s = stack_new();
	struct code_frame f = {.kind = CODE_FRAME_LINK, .fp_at = CODE_FRAME_NO_FP};
	struct code_registers r = {.ip = 0x5000, .sp = BASE, .fp = BASE + 80, .lr = CALLER};
	cr_assert_eq(code_frame_step(&f, &r, read_word, &s), CODE_STEP_CALLER);
	cr_expect_eq(r.ip, CALLER);
	cr_expect_eq(r.fp, BASE + 80);
	cr_expect_eq(r.lr, 0);
}

/* Where each instruction of a method leaves the stack pointer, for both of the frames above. */
Test(code_frame, arm64_knows_where_the_callers_stack_begins)
{
	static const uint32_t small[] = {0xa9be7bfd, 0xf9000ff3, 0x910003fd, 0xd503201f};           /* as above, 32 bytes */
	static const uint32_t large[] = {0xd10803ff, 0xa9017bfd, 0x910043fd, 0xd503201f};           /* 512, the pair 16 above the stack pointer */
	static const uint32_t saved[] = {0xa9bd53f3, 0xa9015bf5, 0xa9027bfd, 0x910083fd, 0xd503201f}; /* stp x19, x20, [sp, #-48]!; ...; add x29, sp, #32 */
	static const uint32_t shifted[] = {0xd14007ff, 0xa9bf7bfd, 0x910003fd, 0xd503201f};         /* sub sp, sp, #4096; stp x29, x30, [sp, #-16]! */
	static const uint32_t unknown[] = {0xcb2963ff, 0xa9bf7bfd, 0x910003fd, 0xd503201f};         /* sub sp, sp, x9 */
	static const struct {
		const uint32_t *ops;
		size_t count;
		uint32_t above, depth_at_1; /* of the frame; before the second instruction */
	} rows[] = {{small, 4, 32, 32}, {large, 4, 496, 512}, {saved, 5, 16, 48}, {shifted, 4, 4112, 4096}, {unknown, 4, 0, 0}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint8_t code[5 * 4];
		struct code_frame f;
		put_ops(code, rows[i].ops, rows[i].count);
		code_frame_arm64(code, 4 * rows[i].count, UINT64_MAX, NULL, 0, &f);
		cr_expect_eq(f.above, rows[i].above, "%zu: %u", i, f.above);
		code_frame_arm64(code, 4 * rows[i].count, 0, NULL, 0, &f);
		cr_expect(f.kind == CODE_FRAME_LINK && f.size == 0, "%zu: nothing is taken yet, %u", i, f.size);
		code_frame_arm64(code, 4 * rows[i].count, 4, NULL, 0, &f);
		cr_expect_eq(f.size, rows[i].depth_at_1, "%zu: %u", i, f.size);
	}
}

#define SIGNATURE (UINT64_C(0x6d) << 48)

static enum code_step step_on_arm64(struct code_frame f, struct code_registers *r, struct stack *s)
{
	return code_frame_step_on(&code_machine_arm64, &f, r, read_word, s);
}

Test(code_frame, arm64_return_addresses_are_signed)
{
	struct stack s = stack_new();
	struct code_registers r = {.ip = 0x5000, .sp = BASE, .fp = BASE + 80, .lr = CALLER | SIGNATURE};
	cr_assert_eq(step_on_arm64((struct code_frame){.kind = CODE_FRAME_LINK, .size = 64, .fp_at = CODE_FRAME_NO_FP}, &r, &s), CODE_STEP_CALLER);
	cr_expect(r.ip == CALLER && r.fp == BASE + 80 && r.sp == BASE + 64);
	s.words[10] = BASE + 160;
	s.words[11] = (CALLER + 4) | SIGNATURE;
	cr_assert_eq(step_on_arm64(code_frame_by_pointer, &r, &s), CODE_STEP_CALLER);
	cr_expect(r.ip == CALLER + 4 && r.fp == BASE + 160 && r.sp == BASE + 96 && r.sp_least);
	r.lr = SIGNATURE; /* of nothing */
	cr_expect_eq(step_on_arm64((struct code_frame){.kind = CODE_FRAME_LINK, .fp_at = CODE_FRAME_NO_FP}, &r, &s), CODE_STEP_END);
}

/* A function of a library: 64 bytes, {frame pointer, return address} at its beginning. */
Test(code_frame, arm64_frames_are_found_from_the_stack_pointer_where_that_is_known)
{
	static const struct code_frame pair = {.kind = CODE_FRAME_SAVED, .size = 64, .link_at = 8, .fp_at = 0};
	static const struct code_frame alone = {.kind = CODE_FRAME_SAVED, .size = 64, .link_at = 48, .fp_at = CODE_FRAME_NO_FP};
	struct stack s = stack_new();
	s.words[0] = BASE + 64;
	s.words[1] = CALLER;
	s.words[6] = CALLER + 8;
	struct code_registers r = {.ip = 0x5000, .sp = BASE, .fp = 1}, known = r;
	cr_assert_eq(step_on_arm64(pair, &r, &s), CODE_STEP_CALLER);
	cr_expect(r.ip == CALLER && r.fp == BASE + 64 && r.sp == BASE + 64 && !r.sp_least);
	r = known;
	cr_assert_eq(step_on_arm64(alone, &r, &s), CODE_STEP_CALLER);
	cr_expect(r.ip == CALLER + 8 && r.fp == 1);
	r = (struct code_registers){.ip = 0x5000, .sp = BASE - 32, .fp = BASE, .sp_least = true};
	known = r;
	cr_expect_eq(step_on_arm64(alone, &r, &s), CODE_STEP_UNKNOWN, "it lies somewhere above");
	cr_assert_eq(step_on_arm64(pair, &r, &s), CODE_STEP_CALLER);
	cr_expect(r.ip == CALLER && r.fp == BASE + 64 && r.sp == BASE + 64 && !r.sp_least, "known again");
	r = known;
	cr_assert_eq(step_on_arm64((struct code_frame){.kind = CODE_FRAME_FRAMED, .above = 48}, &r, &s), CODE_STEP_CALLER);
	cr_expect(r.sp == BASE + 48 && !r.sp_least);
}
