#include "agent/arch/arch.h"

#include <elf.h>

static struct code_registers take_registers(const uint64_t *w)
{
	return (struct code_registers){.fp = w[0], .sp = w[1], .ip = w[2]};
}

/* The length of `call` through a register or memory: FF /2, with what its second byte says that follows. */
static size_t call_bytes(const uint8_t *code)
{
	unsigned mode = code[1] >> 6, rm = code[1] & 7, base = code[2] & 7;
	if (code[0] != 0xff || (code[1] >> 3 & 7) != 2)
		return 0;
	size_t bytes = 2 + (mode != 3 && rm == 4);
	if (mode == 1)
		return bytes + 1;
	return mode == 2 || (mode == 0 && (rm == 5 || (rm == 4 && base == 5))) ? bytes + 4 : bytes;
}

static bool is_call(const uint8_t code[ARCH_CALL_BYTES])
{
	uint8_t more[ARCH_CALL_BYTES + 1] = {0};
	for (size_t i = 0; i < ARCH_CALL_BYTES; i++)
		more[i] = code[i];
	if (code[ARCH_CALL_BYTES - 5] == 0xe8)
		return true;
	for (size_t bytes = 2; bytes <= ARCH_CALL_BYTES; bytes++)
		if (call_bytes(more + ARCH_CALL_BYTES - bytes) == bytes)
			return true;
	return false;
}

const struct arch arch_x64 = {
	.name = "x64",
	.elf_machine = EM_X86_64,
	.user_end = UINT64_C(1) << 47,
	.dwarf_fp = 6,
	.dwarf_sp = 7,
	.dwarf_return = 16,
	.code = &code_machine_x64,
	.perf_registers = 1ull << 6 | 1ull << 7 | 1ull << 8, /* bp, sp, ip */
	.perf_register_count = 3,
	.take_registers = take_registers,
	.system_call = {0x0f, 0x05},
	.system_call_bytes = 2,
	.is_call = is_call,
	.function_bytes = 12,
	.padding = 64,
};
