#include "agent/perf/pending_samples.h"
#include "agent/stacks/stack_unwind.h"

#include <criterion/criterion.h>
#include <string.h>

/* Code and a stack made up: H1 or H2 (framed) call F (frameless), F calls G (framed), G calls a stub. */
#define MAIN 0x10000u
#define H 0x20000u
#define F 0x30000u
#define G 0x40000u
#define STUB 0x50000u
#define SP UINT64_C(0x7ffe00000000)
enum { WORDS = 32 };

struct world {
	struct ip_table t;
	uint64_t stack[WORDS];
	uint64_t chain[8];
	struct unwind_source s;
	struct unwound u;
};

static void know(struct world *w, uint64_t ip, enum ip_code code, struct code_frame f)
{
	uint32_t i = ip_table_intern(&w->t, ip, 1);
	struct ip_entry *x = &w->t.items[i];
	x->code = code;
	x->leaf = x->call = f;
}

static const struct code_frame framed = {.kind = CODE_FRAME_FRAMED, .fp_at = CODE_FRAME_NO_FP};
static const struct code_frame frameless = {.kind = CODE_FRAME_FRAMELESS, .size = 16, .fp_at = CODE_FRAME_NO_FP};

static uint64_t at(size_t word)
{
	return SP + 8 * word;
}

/* Words from the stack pointer: [0, 1] locals of G, [2] saved frame pointer, [3] into F, [4, 5] F's own, [6] into H, [7] H's own, [8] saved frame
 * pointer, [9] into Main, [10] saved frame pointer 0, [11] 0. The chain of frame pointers has no H: F kept none. */
static void world_init(struct world *w)
{
	*w = (struct world){.stack = {[2] = at(8), [3] = F + 5, [6] = H + 5, [8] = at(10), [9] = MAIN + 5}};
	w->chain[0] = G + 9;
	w->chain[1] = F + 5;
	w->chain[2] = MAIN + 5;
	w->s = (struct unwind_source){
		.registers = {.ip = G + 9, .sp = SP, .fp = at(2)},
		.stack = (const uint8_t *)w->stack,
		.stack_bytes = sizeof w->stack,
		.chain = w->chain,
		.chain_depth = 3,
	};
	know(w, G + 9, IP_CODE_KNOWN, framed);
	know(w, F + 4, IP_CODE_KNOWN, frameless);
	know(w, H + 4, IP_CODE_KNOWN, framed);
	know(w, MAIN + 4, IP_CODE_KNOWN, framed);
}

static void unwind(struct world *w)
{
	w->u.depth = 0;
	w->u.full = false;
	stack_unwind(&w->t, 1, &w->s, &w->u);
}

static void expect(const struct world *w, const uint64_t *ips, size_t count)
{
	cr_assert_eq(w->u.depth, count, "%zu", w->u.depth);
	for (size_t i = 0; i < count; i++)
		cr_expect_eq(w->t.items[w->u.ips[i]].ip, ips[i], "%zu: %#lx", i, w->t.items[w->u.ips[i]].ip);
}

Test(stack_unwind, the_caller_of_a_method_without_a_frame_is_there)
{
	struct world w;
	world_init(&w);
	unwind(&w);
	expect(&w, (const uint64_t[]){G + 9, F + 4, H + 4, MAIN + 4}, 4);
	cr_expect(w.u.whole);
	cr_expect_eq(w.u.wanted, INDEX_NONE);
	ip_table_fini(&w.t);
}

Test(stack_unwind, code_that_is_not_known_is_named_first)
{
	struct world w;
	world_init(&w);
	uint32_t i = ip_table_intern(&w.t, H + 4, 1);
	w.t.items[i].code = IP_CODE_NEW;
	unwind(&w);
	cr_assert_neq(w.u.wanted, INDEX_NONE);
	cr_expect_eq(w.t.items[w.u.wanted].ip, H + 4);
	cr_expect_eq(w.u.depth, 0);
	ip_table_fini(&w.t);
}

Test(stack_unwind, beyond_the_copy_frame_pointers_go_on)
{
	struct world w;
	world_init(&w);
	static const struct {
		size_t words, depth;
		uint64_t ips[4];
	} rows[] = {
		{0, 3, {G + 9, F + 4, MAIN + 4}}, {3, 3, {G + 9, F + 4, MAIN + 4}}, {4, 3, {G + 9, F + 4, MAIN + 4}},
		{6, 3, {G + 9, F + 4, MAIN + 4}}, {7, 4, {G + 9, F + 4, H + 4, MAIN + 4}}, {9, 4, {G + 9, F + 4, H + 4, MAIN + 4}},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		w.s.stack_bytes = rows[i].words * 8;
		unwind(&w);
		expect(&w, rows[i].ips, rows[i].depth);
		cr_expect(!w.u.whole, "%zu", i);
		cr_expect_eq(w.u.gap, STACK_GAP_DEEP, "%zu", i);
	}
	ip_table_fini(&w.t);
}

Test(stack_unwind, code_that_is_not_understood_is_told_and_frame_pointers_go_on)
{
	struct world w;
	world_init(&w);
	know(&w, F + 4, IP_CODE_KNOWN, (struct code_frame){0});
	unwind(&w);
	expect(&w, (const uint64_t[]){G + 9, F + 4, MAIN + 4}, 3);
	cr_expect(!w.u.whole);
	cr_expect_eq(w.u.gap, STACK_GAP_CODE);
	ip_table_fini(&w.t);
}

Test(stack_unwind, replaced_code_is_not_shown)
{
	struct world w;
	world_init(&w);
	struct code_frame replaces = framed;
	replaces.replaces = true;
	know(&w, G + 9, IP_CODE_KNOWN, replaces); /* what it returns to is F's code of before, 16 bytes deep */
	unwind(&w);
	expect(&w, (const uint64_t[]){G + 9, H + 4, MAIN + 4}, 3);
	cr_expect(w.u.whole);
	ip_table_fini(&w.t);
}

Test(stack_unwind, a_stub_was_called_by_what_lies_on_top)
{
	struct world w;
	world_init(&w);
	know(&w, STUB, IP_CODE_STUB, framed);
	know(&w, G + 8, IP_CODE_KNOWN, framed);
	w.s.registers.ip = w.chain[0] = STUB;
	w.s.registers.sp = at(0);
	w.stack[0] = w.s.registers.lr = G + 9; /* where x64's calls leave it, and arm64's */
	unwind(&w);
	expect(&w, (const uint64_t[]){STUB, G + 8, F + 4, H + 4, MAIN + 4}, 5);
	w.stack[0] = w.s.registers.lr = 7; /* nothing that could be code: by frame pointers */
	unwind(&w);
	expect(&w, (const uint64_t[]){STUB, F + 4, H + 4, MAIN + 4}, 4);
	ip_table_fini(&w.t);
}

static void guess(struct world *w, uint64_t ip)
{
	know(w, ip, IP_CODE_KNOWN, framed);
	w->t.items[ip_table_intern(&w->t, ip, 1)].guessed = true;
}

static void follows_call(struct world *w, uint64_t ip)
{
	w->t.items[ip_table_intern(&w->t, ip, 1)].after_call = true;
}

Test(stack_unwind, a_guessed_caller_counts_as_incomplete)
{
	struct world w;
	world_init(&w);
	guess(&w, G + 9);
	follows_call(&w, F + 4);
	unwind(&w);
	expect(&w, (const uint64_t[]){G + 9, F + 4, H + 4, MAIN + 4}, 4);
	cr_expect(!w.u.whole);
	cr_expect_eq(w.u.gap, STACK_GAP_CODE);
	ip_table_fini(&w.t);
}

/* The register holds something else: what lies there, and what the kernel's chain found there, are no callers. */
Test(stack_unwind, a_guess_that_no_call_returns_to_is_no_caller)
{
	struct world w;
	world_init(&w);
	guess(&w, G + 9);
	unwind(&w);
	expect(&w, (const uint64_t[]){G + 9}, 1);
	cr_expect(!w.u.whole);
	cr_expect_eq(w.u.gap, STACK_GAP_BROKEN);
	w.s.registers.fp = SP - 64; /* not even in the stack */
	unwind(&w);
	expect(&w, (const uint64_t[]){G + 9}, 1);
	cr_expect(!w.u.whole);
	ip_table_fini(&w.t);
}

static void search(struct world *w, uint64_t ip, struct code_frame frame)
{
	know(w, ip, IP_CODE_KNOWN, frame);
	w->t.items[ip_table_intern(&w->t, ip, 1)].searched = true;
}

Test(stack_unwind, a_searched_caller_is_certain_when_a_call_returns_to_it)
{
	struct world w;
	world_init(&w);
	search(&w, G + 9, framed);
	follows_call(&w, F + 4);
	unwind(&w);
	expect(&w, (const uint64_t[]){G + 9, F + 4, H + 4, MAIN + 4}, 4);
	cr_expect(w.u.whole);
	ip_table_fini(&w.t);
}

/* As where a thread begins, behind the call that ends it. */
Test(stack_unwind, where_no_call_returns_to_what_was_searched_the_frame_pointer_is_followed)
{
	struct world w;
	world_init(&w);
	static const struct code_frame elsewhere = {.kind = CODE_FRAME_FRAMELESS, .size = 8, .fp_at = 0};
	static const uint64_t words[] = {0, 0x70001}; /* no address, and one that follows no call */
	search(&w, G + 9, elsewhere);
	know(&w, 0x70000, IP_CODE_KNOWN, framed);
	follows_call(&w, F + 4);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		w.stack[1] = words[i];
		unwind(&w);
		expect(&w, (const uint64_t[]){G + 9, F + 4, H + 4, MAIN + 4}, 4);
		cr_expect(!w.u.whole, "%zu: the frame pointer may have been in other use", i);
	}
	ip_table_fini(&w.t);
}

/* A thread begins in a library without a table: whatever was in its register, it has no caller. */
Test(stack_unwind, a_stack_that_begins_in_guessed_code_is_whole)
{
	struct world w;
	world_init(&w);
	guess(&w, MAIN + 4);
	w.stack[10] = 12;
	w.stack[11] = 13;
	unwind(&w);
	expect(&w, (const uint64_t[]){G + 9, F + 4, H + 4, MAIN + 4}, 4);
	cr_expect(w.u.whole);
	w.stack[11] = 0x60001; /* not after a call */
	know(&w, 0x60000, IP_CODE_KNOWN, framed);
	unwind(&w);
	expect(&w, (const uint64_t[]){G + 9, F + 4, H + 4, MAIN + 4}, 4);
	cr_expect(w.u.whole);
	ip_table_fini(&w.t);
}

Test(stack_unwind, where_a_thread_begins_the_stack_is_whole)
{
	struct world w;
	world_init(&w);
	static const struct code_frame first = {.kind = CODE_FRAME_FIRST};
	know(&w, H + 4, IP_CODE_KNOWN, first);
	unwind(&w);
	expect(&w, (const uint64_t[]){G + 9, F + 4, H + 4}, 3);
	cr_expect(w.u.whole);
	ip_table_fini(&w.t);
}

/* F has the frame pointer in other use, so the kernel's chain is nothing from there on. */
Test(stack_unwind, the_kernels_chain_is_not_taken_where_it_went_astray)
{
	struct world w;
	world_init(&w);
	static const struct code_frame saves = {.kind = CODE_FRAME_FRAMELESS, .size = 16, .fp_at = 8};
	know(&w, F + 4, IP_CODE_KNOWN, saves);
	w.stack[5] = at(8);
	w.chain[2] = 0x1234567;
	w.s.stack_bytes = 8 * 8;
	unwind(&w);
	expect(&w, (const uint64_t[]){G + 9, F + 4, H + 4}, 3);
	cr_expect(!w.u.whole);
	cr_expect_eq(w.u.gap, STACK_GAP_DEEP);
	w.chain[2] = H + 5; /* it had not: in the prolog the register is the caller's still */
	w.chain[3] = MAIN + 5;
	w.s.chain_depth = 4;
	unwind(&w);
	expect(&w, (const uint64_t[]){G + 9, F + 4, H + 4, MAIN + 4}, 4);
	cr_expect(!w.u.whole);
	ip_table_fini(&w.t);
}

Test(stack_unwind, a_deep_stack_ends_at_the_bound)
{
	struct world w;
	world_init(&w);
	static uint64_t deep[2 * CAPTURE_MAX_DEPTH + 8];
	for (size_t i = 0; i + 1 < sizeof deep / sizeof *deep; i += 2) {
		deep[i] = SP + 8 * (i + 2);
		deep[i + 1] = F + 5;
	}
	know(&w, F + 4, IP_CODE_KNOWN, framed);
	w.s.registers.fp = SP;
	w.s.stack = (const uint8_t *)deep;
	w.s.stack_bytes = sizeof deep;
	unwind(&w);
	cr_expect_eq(w.u.depth, CAPTURE_MAX_DEPTH);
	cr_expect(w.u.full);
	ip_table_fini(&w.t);
}

Test(pending_samples, copies_are_overwritten_and_bounded)
{
	struct pending_samples p = {0};
	uint8_t secret[4096];
	uint64_t chain[3] = {1, 2, 3};
	memset(secret, 0x5a, sizeof secret);
	struct perf_sample s = {.tid = 7, .user = chain, .user_depth = 3, .stack = secret, .stack_bytes = sizeof secret};
	cr_assert(pending_samples_add(&p, &s));
	cr_expect_eq(p.samples[0].tid, 7);
	cr_expect_arr_eq(p.samples[0].user, chain, sizeof chain);
	cr_expect_arr_eq(p.samples[0].stack, secret, sizeof secret);
	cr_expect_neq((const void *)p.samples[0].stack, (const void *)secret);
	size_t count = 1;
	while (pending_samples_add(&p, &s))
		count++;
	cr_expect_eq(count, PENDING_MAX_BYTES / (sizeof secret + sizeof chain));
	cr_expect(pending_samples_half_full(&p));
	const uint8_t *bytes = p.bytes;
	pending_samples_clear(&p);
	for (size_t i = 0; i < PENDING_MAX_BYTES; i += 64)
		cr_assert_eq(bytes[i], 0, "at %zu", i);
	cr_expect(!pending_samples_half_full(&p));
	pending_samples_fini(&p);
}
