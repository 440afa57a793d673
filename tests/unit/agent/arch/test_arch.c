#include "agent/arch/arch.h"

#include <criterion/criterion.h>
#include <string.h>

static bool calls(const struct arch *arch, uint32_t last)
{
	uint8_t code[ARCH_CALL_BYTES] = {0x1f, 0x20, 0x03};
	for (size_t i = 0; i < 4; i++)
		code[3 + i] = (uint8_t)(last >> (8 * i));
	return arch->is_call(code);
}

Test(arch, arm64_calls_by_bl_and_blr)
{
	static const uint32_t yes[] = {0x94000001, 0x97ffffff, 0xd63f0100, 0xd63f03c0, 0xd63f0900 /* blraaz x8 */, 0xd73f0909 /* blraa x8, x9 */};
	static const uint32_t no[] = {0x14000001 /* b */, 0xd61f0100 /* br */, 0xd65f03c0 /* ret */, 0xd503201f /* nop */, 0xa9bf7bfd /* stp */, 0};
	for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
		cr_expect(calls(&arch_arm64, yes[i]), "%#x", yes[i]);
	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		cr_expect_not(calls(&arch_arm64, no[i]), "%#x", no[i]);
}

Test(arch, x64_calls_by_an_address_or_through_a_place)
{
	static const struct {
		uint8_t code[ARCH_CALL_BYTES];
		bool call;
	} rows[] = {
		{{0x90, 0x90, 0xe8, 1, 2, 3, 4}, true},
		{{0x90, 0xff, 0x15, 1, 2, 3, 4}, true},
		{{0xff, 0x94, 0x24, 1, 2, 3, 4}, true},
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0}, true},
		{{0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 0x10}, true},
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0}, false}, /* jmp */
		{{0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}, false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(arch_x64.is_call(rows[i].code), rows[i].call, "%zu", i);
}

/* Addresses as Linux gives them: libraries, stacks, and the code that is compiled. */
Test(arch, memory_of_arm64_reaches_further)
{
	cr_expect(UINT64_C(0xffffa2cd1000) < arch_arm64.user_end && UINT64_C(0xfffffffde000) < arch_arm64.user_end);
	cr_expect(UINT64_C(0xffffa2cd1000) > arch_x64.user_end);
	cr_expect(arch_may_be_structure(0x10000) && arch_may_be_structure(arch_ours.user_end - 8));
	cr_expect_not(arch_may_be_structure(0xfff8) || arch_may_be_structure(0x10004) || arch_may_be_structure(arch_ours.user_end));
	cr_expect_eq(code_machine_arm64.address_bits & (UINT64_C(0x7b) << 48 | 0xffffa2cd1000), 0xffffa2cd1000);
}

Test(arch, registers_are_in_the_order_of_their_numbers)
{
	static const uint64_t words[] = {11, 12, 13, 14};
	struct code_registers arm = arch_arm64.take_registers(words), x = arch_x64.take_registers(words);
	cr_expect(arm.fp == 11 && arm.lr == 12 && arm.sp == 13 && arm.ip == 14);
	cr_expect(x.fp == 11 && x.sp == 12 && x.ip == 13);
	for (size_t i = 0; i < 2; i++) {
		const struct arch *a = i ? &arch_x64 : &arch_arm64;
		cr_expect_eq((size_t)__builtin_popcountll(a->perf_registers), a->perf_register_count);
	}
}
