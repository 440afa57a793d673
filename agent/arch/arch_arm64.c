#include "agent/arch/arch.h"

#include <elf.h>

static struct code_registers take_registers(const uint64_t *w) /* by their numbers */
{
	return (struct code_registers){.fp = w[0], .lr = w[1], .sp = w[2], .ip = w[3]};
}

/* bl; blr, and its forms that authenticate (blraa, blrabz, ...) */
static bool is_call(const uint8_t code[ARCH_CALL_BYTES])
{
	const uint8_t *last = code + ARCH_CALL_BYTES - 4;
	uint32_t op = (uint32_t)last[0] | (uint32_t)last[1] << 8 | (uint32_t)last[2] << 16 | (uint32_t)last[3] << 24;
	return (op & 0xfc000000) == 0x94000000 || (op & 0xfffffc1f) == 0xd63f0000 || (op & 0xfefff800) == 0xd63f0800;
}

#define UNIT 4 /* lengths are in instructions (ARM64 exception handling: packed unwind data, .xdata records) */

static uint32_t packed_bytes(uint32_t unwind)
{
	return unwind & 3 ? (unwind >> 2 & 0x7ff) * UNIT : 0;
}

static uint32_t record_bytes(uint32_t first_word)
{
	return (first_word & 0x3ffff) * UNIT;
}

const struct arch arch_arm64 = {
	.name = "arm64",
	.elf_machine = EM_AARCH64,
	.user_end = UINT64_C(1) << 48,
	.dwarf_fp = 29,
	.dwarf_sp = 31,
	.dwarf_return = 30,
	.links = true,
	.pair_below = true,
	.code = &code_machine_arm64,
	.perf_registers = 1ull << 29 | 1ull << 30 | 1ull << 31 | 1ull << 32, /* x29, lr, sp, pc */
	.perf_register_count = 4,
	.take_registers = take_registers,
	.system_call = {0x01, 0x00, 0x00, 0xd4}, /* svc #0 */
	.system_call_bytes = 4,
	.is_call = is_call,
	.function_bytes = 8,
	.packed_bytes = packed_bytes,
	.record_bytes = record_bytes,
	.padding = 128,
};
