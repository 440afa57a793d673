#include "agent/symbols/code_end.h"
#include "agent/symbols/code_step_x64.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define BASE 0x10000

struct memory {
	const uint8_t *code;
	size_t len;
};

static bool read_memory(void *ctx, uint64_t address, void *out, size_t bytes)
{
	const struct memory *m = ctx;
	if (address < BASE || address - BASE > m->len || bytes > m->len - (address - BASE))
		return false;
	memcpy(out, m->code + (address - BASE), bytes);
	return true;
}

#define CODE(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static const struct {
	const char *what;
	uint8_t code[16];
	size_t bytes;
	enum code_effect effect;
	int64_t amount;
} instructions[] = {
	{"ret", {0xc3}, 1, CODE_RETURNS, 0},
	{"repz ret", {0xf3, 0xc3}, 2, CODE_RETURNS, 0},
	{"push rbx", {0x53}, 1, CODE_MOVES, -8},
	{"push r13", {0x41, 0x55}, 2, CODE_MOVES, -8},
	{"push 8", {0x6a, 8}, 2, CODE_MOVES, -8},
	{"push [rax]", {0xff, 0x30}, 2, CODE_MOVES, -8},
	{"pop rbx", {0x5b}, 1, CODE_MOVES, 8},
	{"pop rbp", {0x5d}, 1, CODE_POPS_FP, 8},
	{"pop r13", {0x41, 0x5d}, 2, CODE_MOVES, 8},
	{"pop rsp", {0x5c}, 1, CODE_STRANGE, 0},
	{"add rsp, 40", {0x48, 0x83, 0xc4, 40}, 4, CODE_MOVES, 40},
	{"add rsp, -128", {0x48, 0x83, 0xc4, 0x80}, 4, CODE_MOVES, -128},
	{"sub rsp, 0x1000", {0x48, 0x81, 0xec, 0, 0x10, 0, 0}, 7, CODE_MOVES, -0x1000},
	{"and rsp, -16", {0x48, 0x83, 0xe4, 0xf0}, 4, CODE_STRANGE, 0},
	{"cmp rsp, 1", {0x48, 0x83, 0xfc, 1}, 4, CODE_PASSES, 0},
	{"lea rsp, [rsp + 24]", {0x48, 0x8d, 0x64, 0x24, 24}, 5, CODE_MOVES, 24},
	{"lea rsp, [rbp - 8]", {0x48, 0x8d, 0x65, 0xf8}, 4, CODE_STRANGE, 0},
	{"lea rsp, [rsp + rax]", {0x48, 0x8d, 0x24, 0x04}, 4, CODE_STRANGE, 0},
	{"lea r12, [rsp + 24]", {0x4c, 0x8d, 0x64, 0x24, 24}, 5, CODE_PASSES, 0},
	{"mov rbp, [rsp + 16]", {0x48, 0x8b, 0x6c, 0x24, 16}, 5, CODE_LOADS_FP, 16},
	{"mov rsp, rbp", {0x48, 0x89, 0xec}, 3, CODE_STRANGE, 0},
	{"mov rbp, rsp", {0x48, 0x89, 0xe5}, 3, CODE_PASSES, 0},
	{"leave", {0xc9}, 1, CODE_STRANGE, 0},
	{"call", {0xe8, 1, 2, 3, 4}, 5, CODE_PASSES, 0},
	{"call [rax]", {0xff, 0x10}, 2, CODE_PASSES, 0},
	{"jmp -2", {0xeb, 0xfe}, 2, CODE_JUMPS, -2},
	{"jmp 16", {0xe9, 16, 0, 0, 0}, 5, CODE_JUMPS, 16},
	{"jmp [rip + 1]", {0xff, 0x25, 1, 0, 0, 0}, 6, CODE_STOPS, 0},
	{"jne 5", {0x75, 5}, 2, CODE_BRANCHES, 5},
	{"jne -256", {0x0f, 0x85, 0, 0xff, 0xff, 0xff}, 6, CODE_BRANCHES, -256},
	{"ud2", {0x0f, 0x0b}, 2, CODE_STOPS, 0},
	{"hlt", {0xf4}, 1, CODE_STOPS, 0},
	{"syscall", {0x0f, 0x05}, 2, CODE_PASSES, 0},
	{"mov rax, imm64", {0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8}, 10, CODE_PASSES, 0},
	{"mov ax, 1", {0x66, 0xb8, 1, 0}, 4, CODE_PASSES, 0},
	{"mov fs:[rax + rcx * 4 + 0x100], 7", {0x64, 0xc7, 0x84, 0x88, 0, 1, 0, 0, 7, 0, 0, 0}, 12, CODE_PASSES, 0},
	{"test dword [rdi], 1", {0xf7, 0x07, 1, 0, 0, 0}, 6, CODE_PASSES, 0},
	{"neg eax", {0xf7, 0xd8}, 2, CODE_PASSES, 0},
	{"pshufd", {0x66, 0x0f, 0x70, 0xc0, 0}, 5, CODE_PASSES, 0},
	{"pshufb", {0x66, 0x0f, 0x38, 0x00, 0xc1}, 5, CODE_PASSES, 0},
	{"pextrd", {0x66, 0x0f, 0x3a, 0x16, 0xc0, 1}, 6, CODE_PASSES, 0},
	{"nopw cs:[rax + rax]", {0x66, 0x66, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0}, 12, CODE_PASSES, 0},
	{"vzeroupper", {0xc5, 0xf8, 0x77}, 0, CODE_STRANGE, 0},
	{"prefixes alone", {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66}, 0, CODE_STRANGE, 0},
	{"one that is too long", {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x48, 0xc7, 0x84, 0x88, 0, 1, 0, 0}, 0, CODE_STRANGE, 0},
};

Test(code_step_x64, knows_lengths_and_what_the_stack_pointer_becomes)
{
	for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++) {
		struct code_instruction x = code_step_x64(instructions[i].code);
		cr_expect_eq(x.bytes, instructions[i].bytes, "%s: %zu bytes", instructions[i].what, x.bytes);
		cr_expect_eq(x.effect, instructions[i].effect, "%s: effect %d", instructions[i].what, (int)x.effect);
		if (x.effect != CODE_PASSES && x.effect != CODE_STRANGE && x.effect != CODE_STOPS && x.effect != CODE_RETURNS)
			cr_expect_eq(x.amount, instructions[i].amount, "%s: %lld", instructions[i].what, (long long)x.amount);
	}
}

Test(code_step_x64, reads_no_more_than_the_longest_instruction)
{
	uint8_t *code = malloc(CODE_STEP_BYTES);
	srand(7);
	for (int round = 0; round < 200000; round++) {
		for (size_t i = 0; i < CODE_STEP_BYTES; i++)
			code[i] = (uint8_t)rand();
		cr_assert(code_step_x64(code).bytes <= CODE_STEP_BYTES);
	}
	free(code);
}

#if defined(__x86_64__)
static const struct {
	const char *what;
	const uint8_t *code;
	size_t len;
	bool found;
	uint32_t size, fp_at;
} programs[] = {
	{"a system call's stub", CODE(0x0f, 0x05, 0xc3), true, 0, CODE_FRAME_NO_FP},
	{"pops to the return", CODE(0x48, 0x83, 0xc4, 24, 0x5b, 0x5d, 0x41, 0x5c, 0xc3), true, 48, 32},
	{"arguments on the stack", CODE(0x6a, 0, 0x50, 0xe8, 0, 0, 0, 0, 0x48, 0x83, 0xc4, 24, 0xc3), true, 8, CODE_FRAME_NO_FP},
	{"the frame pointer from its slot", CODE(0x48, 0x8b, 0x6c, 0x24, 8, 0x48, 0x83, 0xc4, 16, 0xc3), true, 16, 8},
	{"a branch that is passed", CODE(0x75, 1, 0x5b, 0xc3), true, 8, CODE_FRAME_NO_FP},
	{"a jump back to what has the return", CODE(0xeb, 3, 0x5b, 0xc3, 0xcc, 0xeb, 0xfb), true, 8, CODE_FRAME_NO_FP},
	{"a loop that a branch leaves", CODE(0x74, 2, 0xeb, 0xfc, 0x5d, 0xc3), true, 8, 0},
	{"a stop that a branch avoids", CODE(0x74, 2, 0x0f, 0x0b, 0x58, 0x58, 0xc3), true, 16, CODE_FRAME_NO_FP},
	{"a loop without an end", CODE(0xeb, 0xfe), false, 0, 0},
	{"a frame pointer's function", CODE(0x53, 0xc9, 0xc3), false, 0, 0},
	{"a realigned stack", CODE(0x48, 0x83, 0xe4, 0xf0, 0xc3), false, 0, 0},
	{"a return below where it began", CODE(0x53, 0xc3), false, 0, 0},
	{"a jump to where nobody knows", CODE(0xff, 0xe0, 0xc3), false, 0, 0},
	{"the end of what can be read", CODE(0x90, 0x90), false, 0, 0},
	{"what is no code", CODE(0x06, 0xc3), false, 0, 0},
};

Test(code_end, follows_code_to_its_return)
{
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		uint8_t room[64];
		struct code_frame f = {.kind = CODE_FRAME_UNKNOWN};
		memset(room, 0xcc, sizeof room);
		memcpy(room, programs[i].code, programs[i].len);
		bool found = code_end_frame(BASE, read_memory, &(struct memory){room, sizeof room}, &f);
		cr_expect_eq(found, programs[i].found, "%s", programs[i].what);
		cr_expect_eq(f.kind, found ? CODE_FRAME_FRAMELESS : CODE_FRAME_UNKNOWN, "%s", programs[i].what);
		cr_expect(f.size == programs[i].size && f.fp_at == programs[i].fp_at, "%s: %u, %u", programs[i].what, f.size, f.fp_at);
	}
}

Test(code_end, reads_to_the_end_of_a_mapping)
{
	struct code_frame f;
	uint8_t nops[300];
	memset(nops, 0x90, sizeof nops);
	nops[280] = 0x5b;
	nops[281] = 0xc3;
	cr_expect(code_end_frame(BASE, read_memory, &(struct memory){nops, sizeof nops}, &f));
	cr_expect_eq(f.size, 8);
	cr_expect_not(code_end_frame(BASE, read_memory, &(struct memory){nops, 280}, &f), "the return is not there any more");
	cr_expect_not(code_end_frame(UINT64_MAX - 4, read_memory, &(struct memory){nops, sizeof nops}, &f));
}
#endif
