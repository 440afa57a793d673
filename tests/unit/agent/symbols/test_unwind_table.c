#include "agent/stacks/code_bodies.h"
#include "agent/stacks/stack_unwind.h"
#include "agent/symbols/unwind_program.h"
#include "agent/symbols/unwind_table.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ucontext.h>
#include <ucontext.h>
#include <unistd.h>

/* entries made up ---------------------------------------------------------------------------------------------------- */

/* Version 1, "zR", code by 1, data by -8, return address in 16, pc-relative 4 bytes; CFA: rsp + 8, return address at CFA - 8. */
static const uint8_t common_cie[] = {0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1};
enum { RANGE = 100 };

static struct code_frame run(const uint8_t *cie, size_t cie_bytes, const uint8_t *program, size_t bytes, uint64_t offset)
{
	uint8_t fde[128] = {[8] = RANGE}; /* the distance to the CIE, the start, the range, no more data */
	memcpy(fde + 13, program, bytes);
	struct unwind_entry e = {.cie = cie, .cie_bytes = cie_bytes, .fde = fde, .fde_bytes = 13 + bytes};
	struct code_frame f;
	unwind_program_run(&arch_x64, &e, offset, &f);
	return f;
}

#define NO_FP CODE_FRAME_NO_FP
/* push rbp; mov rbp, rsp ... pop rbp, as compilers say it */
#define FRAMED "\x41\x0e\x10\x86\x02\x43\x0d\x06\x60\x0c\x07\x08"
/* push rbp; sub rsp, 24; ...; and the way out in the middle: remember, add rsp, pop, restore */
#define PUSHED "\x41\x0e\x10\x86\x02\x44\x0e\x28\x50\x0a\x0e\x10\x41\x0e\x08\x41\x0b"

static const struct {
	const char *program;
	size_t bytes;
	uint64_t offset;
	enum code_frame_kind kind;
	uint32_t size, fp_at;
} rows[] = {
#define P(text) text, sizeof text - 1
	{P(""), 0, CODE_FRAME_FRAMELESS, 0, NO_FP},
	{P(""), RANGE - 1, CODE_FRAME_FRAMELESS, 0, NO_FP},
	{P(""), RANGE, CODE_FRAME_UNKNOWN, 0, NO_FP},
	{P(FRAMED), 0, CODE_FRAME_FRAMELESS, 0, NO_FP},
	{P(FRAMED), 1, CODE_FRAME_FRAMELESS, 8, 0},
	{P(FRAMED), 3, CODE_FRAME_FRAMELESS, 8, 0},
	{P(FRAMED), 4, CODE_FRAME_FRAMED, 0, NO_FP},
	{P(FRAMED), 35, CODE_FRAME_FRAMED, 0, NO_FP},
	{P(FRAMED), 36, CODE_FRAME_FRAMELESS, 0, NO_FP}, /* what lies below the stack pointer is in the register again */
	{P(PUSHED), 4, CODE_FRAME_FRAMELESS, 8, 0},
	{P(PUSHED), 5, CODE_FRAME_FRAMELESS, 32, 24},
	{P(PUSHED), 21, CODE_FRAME_FRAMELESS, 8, 0},
	{P(PUSHED), 22, CODE_FRAME_FRAMELESS, 0, NO_FP},
	{P(PUSHED), 23, CODE_FRAME_FRAMELESS, 32, 24},
	{P("\x07\x10"), 0, CODE_FRAME_FIRST, 0, NO_FP},               /* no return address */
	{P("\x02\x05\x0e\x20"), 4, CODE_FRAME_FRAMELESS, 0, NO_FP},   /* advance in 1, 2, 4 bytes */
	{P("\x02\x05\x0e\x20"), 5, CODE_FRAME_FRAMELESS, 24, NO_FP},
	{P("\x03\x05\x00\x0e\x20"), 5, CODE_FRAME_FRAMELESS, 24, NO_FP},
	{P("\x04\x05\x00\x00\x00\x0e\x20"), 5, CODE_FRAME_FRAMELESS, 24, NO_FP},
	{P("\x04\xff\xff\xff\xff\x0e\x20"), 5, CODE_FRAME_FRAMELESS, 0, NO_FP},
	{P("\x86\x02\x0e\x20\x41\xc6"), 0, CODE_FRAME_FRAMELESS, 24, 16},
	{P("\x86\x02\x0e\x20\x41\xc6"), 1, CODE_FRAME_FRAMELESS, 24, NO_FP}, /* restore */
	{P("\x86\x02\x0e\x20\x06\x06"), 0, CODE_FRAME_FRAMELESS, 24, NO_FP},
	{P("\x86\x02\x0e\x20\x08\x06"), 0, CODE_FRAME_FRAMELESS, 24, NO_FP},
	{P("\x05\x06\x03\x0e\x20"), 0, CODE_FRAME_FRAMELESS, 24, 8},
	{P("\x11\x06\x03\x0e\x20"), 0, CODE_FRAME_FRAMELESS, 24, 8},
	{P("\x83\x03\x0e\x20\x2e\x10"), 0, CODE_FRAME_FRAMELESS, 24, NO_FP}, /* another register; room for arguments */
	{P("\x13\x7c"), 0, CODE_FRAME_FRAMELESS, 24, NO_FP},
	{P("\x12\x07\x7c"), 0, CODE_FRAME_FRAMELESS, 24, NO_FP},
	/* understood, and beyond our words */
	{P("\x0f\x02\x77\x08"), 0, CODE_FRAME_UNKNOWN, 0, NO_FP},    /* CFA by an expression */
	{P("\x10\x06\x02\x76\x00"), 0, CODE_FRAME_UNKNOWN, 0, NO_FP}, /* rbp by one */
	{P("\x0c\x0a\x08"), 0, CODE_FRAME_UNKNOWN, 0, NO_FP},        /* CFA from r10 */
	{P("\x0c\x06\x20\x86\x02"), 0, CODE_FRAME_UNKNOWN, 0, NO_FP}, /* CFA further above rbp */
	{P("\x90\x02"), 0, CODE_FRAME_UNKNOWN, 0, NO_FP},            /* a return address elsewhere */
	{P("\x0e\x0c"), 0, CODE_FRAME_UNKNOWN, 0, NO_FP},            /* not of whole words */
	{P("\x0e\x00"), 0, CODE_FRAME_UNKNOWN, 0, NO_FP},
	{P("\x0e\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), 0, CODE_FRAME_UNKNOWN, 0, NO_FP},
	{P("\x86\x01\x0e\x20"), 0, CODE_FRAME_UNKNOWN, 0, NO_FP},    /* rbp where the return address lies */
	/* not understood */
	{P("\x0b"), 0, CODE_FRAME_UNKNOWN, 0, NO_FP},
	{P("\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a\x0a"), 0, CODE_FRAME_UNKNOWN, 0, NO_FP},
	{P("\x0e"), 0, CODE_FRAME_UNKNOWN, 0, NO_FP},
	{P("\x0e\x80"), 0, CODE_FRAME_UNKNOWN, 0, NO_FP},
	{P("\x3f\x00"), 0, CODE_FRAME_UNKNOWN, 0, NO_FP},
	{P("\x0f\x7f\x77"), 0, CODE_FRAME_UNKNOWN, 0, NO_FP},
};

Test(unwind_program, says_the_frame_at_each_instruction)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct code_frame f = run(common_cie, sizeof common_cie, (const uint8_t *)rows[i].program, rows[i].bytes, rows[i].offset);
		cr_expect_eq(f.kind, rows[i].kind, "row %zu: %d", i, (int)f.kind);
		cr_expect_eq(f.size, rows[i].size, "row %zu: %u", i, f.size);
		cr_expect_eq(f.fp_at, rows[i].fp_at, "row %zu: %u", i, f.fp_at);
	}
}

Test(unwind_program, refuses_records_that_it_does_not_know)
{
	static const struct {
		size_t at;
		uint8_t value;
	} changes[] = {{0, 1}, {4, 3}, {5, 'e'}, {6, 'S'}, {6, 'Q'}, {10, 17}, {11, 2}, {11, 0x7f}, {12, 0xff}};
	for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
		uint8_t cie[sizeof common_cie];
		memcpy(cie, common_cie, sizeof cie);
		cie[changes[i].at] = changes[i].value;
		cr_expect_eq(run(cie, sizeof cie, cie, 0, 0).kind, CODE_FRAME_UNKNOWN, "change %zu", i);
	}
	for (size_t bytes = 0; bytes < sizeof common_cie - 2; bytes++)
		cr_expect_eq(run(common_cie, bytes, common_cie, 0, 0).kind, CODE_FRAME_UNKNOWN, "%zu bytes", bytes);
}

/* arm64 ---------------------------------------------------------------------------------------------------------------- */

/* Version 1, "zR", code by 4, data by -8, return address in 30, pc-relative 4 bytes; CFA: sp + 0. */
static const uint8_t arm64_cie[] = {0, 0, 0, 0, 1, 'z', 'R', 0, 4, 0x78, 30, 1, 0x1b, 0x0c, 31, 0};

/* paciasp; stp x29, x30, [sp, #-64]!; mov x29, sp; stp x19, x20, [sp, #16] ... ldp x29, x30, [sp], #64; autiasp; ret, as gcc says it */
#define RECORD "\x41\x2d\x41\x0e\x40\x9d\x08\x9e\x07\x42\x93\x06\x94\x05\x50\xde\xdd\xd4\xd3\x0e\x00\x41\x2d"
/* the same as clang says it, with the frame pointer as base */
#define BY_POINTER "\x41\x0e\x40\x9d\x08\x9e\x07\x41\x0c\x1d\x40"

static const struct {
	const char *program;
	size_t bytes;
	uint64_t offset;
	enum code_frame_kind kind;
	uint32_t size, above, link_at, fp_at;
} arm64_rows[] = {
	{P(""), 0, CODE_FRAME_LINK, 0, 0, 0, NO_FP},
	{P(""), RANGE, CODE_FRAME_UNKNOWN, 0, 0, 0, NO_FP},
	{P(RECORD), 4, CODE_FRAME_LINK, 0, 0, 0, NO_FP},
	{P(RECORD), 8, CODE_FRAME_SAVED, 64, 0, 8, 0},
	{P(RECORD), 60, CODE_FRAME_SAVED, 64, 0, 8, 0},
	{P(RECORD), 80, CODE_FRAME_LINK, 0, 0, 0, NO_FP},
	{P(RECORD), 84, CODE_FRAME_LINK, 0, 0, 0, NO_FP},
	{P(BY_POINTER), 4, CODE_FRAME_SAVED, 64, 0, 8, 0},
	{P(BY_POINTER), 8, CODE_FRAME_FRAMED, 0, 64, 0, NO_FP},
	{P("\x0e\x10\x9e\x02"), 0, CODE_FRAME_SAVED, 16, 0, 0, NO_FP},       /* the link register alone */
	{P("\x0e\x20"), 0, CODE_FRAME_LINK, 32, 0, 0, NO_FP},                 /* a leaf with locals */
	{P("\x0e\x20\x9d\x02"), 0, CODE_FRAME_LINK, 32, 0, 0, 16},           /* and another use for x29 */
	{P("\x07\x1e"), 0, CODE_FRAME_FIRST, 0, 0, 0, NO_FP},                 /* where threads begin */
	/* understood, and beyond our words */
	{P("\x0c\x1d\x40"), 0, CODE_FRAME_UNKNOWN, 0, 0, 0, NO_FP},           /* a frame pointer, and nothing is saved */
	{P("\x0c\x1d\x40\x9d\x06\x9e\x05"), 0, CODE_FRAME_UNKNOWN, 0, 0, 0, NO_FP}, /* it does not point to what is */
	{P("\x0e\x10\x9e\x03"), 0, CODE_FRAME_UNKNOWN, 0, 0, 0, NO_FP},       /* saved below the stack pointer */
	{P("\x0e\x10\x9e\x00"), 0, CODE_FRAME_UNKNOWN, 0, 0, 0, NO_FP},       /* and above the frame */
	{P("\x0c\x13\x10"), 0, CODE_FRAME_UNKNOWN, 0, 0, 0, NO_FP},           /* CFA from x19 */
	{P("\x0e\x0c"), 0, CODE_FRAME_UNKNOWN, 0, 0, 0, NO_FP},
	{P("\x09\x1e\x09"), 0, CODE_FRAME_UNKNOWN, 0, 0, 0, NO_FP},           /* the return address in x9 */
};

static struct code_frame run_arm64(const uint8_t *cie, size_t cie_bytes, const char *program, size_t bytes, uint64_t offset)
{
	uint8_t fde[128] = {[8] = RANGE};
	memcpy(fde + 13, program, bytes);
	struct unwind_entry e = {.cie = cie, .cie_bytes = cie_bytes, .fde = fde, .fde_bytes = 13 + bytes};
	struct code_frame f;
	unwind_program_run(&arch_arm64, &e, offset, &f);
	return f;
}

Test(unwind_program, says_the_frames_of_arm64)
{
	for (size_t i = 0; i < sizeof arm64_rows / sizeof *arm64_rows; i++) {
		struct code_frame f = run_arm64(arm64_cie, sizeof arm64_cie, arm64_rows[i].program, arm64_rows[i].bytes, arm64_rows[i].offset);
		cr_expect_eq(f.kind, arm64_rows[i].kind, "row %zu: %d", i, (int)f.kind);
		if (f.kind == CODE_FRAME_UNKNOWN)
			continue;
		cr_expect_eq(f.size, arm64_rows[i].size, "row %zu: %u", i, f.size);
		cr_expect_eq(f.above, arm64_rows[i].above, "row %zu: %u", i, f.above);
		cr_expect_eq(f.link_at, arm64_rows[i].link_at, "row %zu: %u", i, f.link_at);
		cr_expect_eq(f.fp_at, arm64_rows[i].fp_at, "row %zu: %u", i, f.fp_at);
	}
}

Test(unwind_program, of_arm64_may_sign_with_the_other_key)
{
	static const uint8_t other_key[] = {0, 0, 0, 0, 1, 'z', 'R', 'B', 0, 4, 0x78, 30, 1, 0x1b, 0x0c, 31, 0};
	cr_expect_eq(run_arm64(other_key, sizeof other_key, RECORD, sizeof RECORD - 1, 8).kind, CODE_FRAME_SAVED);
	cr_expect_eq(run_arm64(common_cie, sizeof common_cie, "", 0, 0).kind, CODE_FRAME_UNKNOWN, "another machine's");
}

/* this process ------------------------------------------------------------------------------------------------------- */

static bool read_self(void *ctx, uint64_t address, void *out, size_t bytes)
{
	return pread(*(int *)ctx, out, bytes, (off_t)address) == (ssize_t)bytes;
}

Test(unwind_table, a_file_without_one_is_told)
{
	int mem = open("/proc/self/mem", O_RDONLY);
	struct unwind_table t;
	static const uint8_t zeros[4096];
	cr_expect(!unwind_table_find((uint64_t)(uintptr_t)zeros, read_self, &mem, &t));
	cr_expect(!unwind_table_find(4096, read_self, &mem, &t));
	close(mem);
}

/* What a sampler would have: registers, the top of the stack, and the kernel's chain, which has nothing but the leaf. */
enum { COPY = 8192 };
static struct {
	struct code_registers r;
	uint8_t stack[COPY];
	size_t bytes;
	bool taken;
} taken;

static struct code_registers registers_of(const ucontext_t *u)
{
#if defined(__x86_64__)
	const greg_t *r = u->uc_mcontext.gregs;
	return (struct code_registers){.ip = (uint64_t)r[REG_RIP], .sp = (uint64_t)r[REG_RSP], .fp = (uint64_t)r[REG_RBP]};
#else
	const mcontext_t *r = &u->uc_mcontext;
	return (struct code_registers){.ip = r->pc, .sp = r->sp, .fp = r->regs[29], .lr = r->regs[30]};
#endif
}

static int compare(const void *a, const void *b)
{
	if (!taken.taken) {
		ucontext_t here;
		int mem = open("/proc/self/mem", O_RDONLY);
		getcontext(&here);
		taken.r = registers_of(&here);
		ssize_t n = pread(mem, taken.stack, COPY, (off_t)taken.r.sp);
		taken.bytes = n > 0 ? (size_t)n : 0;
		taken.taken = true;
		close(mem);
	}
	return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) void sorts(int *numbers, size_t count)
{
	qsort(numbers, count, sizeof *numbers, compare);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

static int no_method(void *ctx, const uint64_t *ips, size_t count, struct channel_code_body *out)
{
	(void)ctx, (void)ips;
	memset(out, 0, count * sizeof *out);
	return 0;
}

/* libc sorts without a frame pointer and has the register in other use. */
Test(unwind_table, callers_of_libc_are_there)
{
	int numbers[64], proc_fd = open("/proc/self", O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < 64; i++)
		numbers[i] = i * 37 % 64;
	sorts(numbers, 64);
	cr_assert(taken.taken && taken.bytes);

	struct cpu_capture capture = {0};
	struct capture_builder *builder = capture_builder_new(&capture);
	struct frame_namer *places = frame_namer_new(builder, proc_fd);
	struct code_bodies *bodies = code_bodies_new(proc_fd);
	struct ip_table t = {0};
	struct unwound u = {.wanted = INDEX_NONE};
	const struct unwind_source s = {taken.r, taken.stack, taken.bytes, &taken.r.ip, 1};
	do {
		u.depth = 0;
		stack_unwind(&t, 1, &s, &u);
	} while (u.wanted != INDEX_NONE && code_bodies_learn(bodies, &t, &u.wanted, 1, places, no_method, NULL) == 0);
	size_t found = 0;
	uint64_t first = (uint64_t)(uintptr_t)sorts;
	for (size_t i = 0; i < u.depth; i++) {
		const struct ip_entry *x = &t.items[u.ips[i]];
		cr_expect(!x->guessed, "%zu: %#lx", i, x->ip);
		found += x->ip >= first && x->ip < first + 256; /* it is as large where nothing is optimized */
	}
	cr_expect(found >= 1); /* what follows it in the program may be as near */
	cr_expect(u.whole || u.gap == STACK_GAP_DEEP);
	ip_table_fini(&t);
	code_bodies_free(bodies);
	frame_namer_free(places);
	capture_builder_free(builder);
	cpu_capture_fini(&capture);
	close(proc_fd);
}
