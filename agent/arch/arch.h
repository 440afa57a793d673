/* What differs by the processor that a process runs on: one table for each machine, `arch_ours` that of the machine which this is built for. How frames
 * are left is beside it (common/proto/code_frame.h), for the profiler library needs that, too. Plain data; any thread. */
#ifndef DRDOTNET_ARCH_H
#define DRDOTNET_ARCH_H

#include "common/proto/code_frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARCH_CALL_BYTES 7 /* the longest instruction that calls */

struct arch {
	const char *name;         /* as the runtime says it */
	uint16_t elf_machine;     /* EM_* */
	uint64_t user_end;        /* no process has memory from there on, but for one that has asked for it */
	/* Numbers of registers in unwind tables. */
	uint8_t dwarf_fp, dwarf_sp, dwarf_return;
	bool links;               /* a call leaves its return address in a register, and it may have been saved anywhere; else right below the frame */
	bool pair_below;          /* {caller's frame pointer, return address} lie below what else a frame holds; else above it */
	const struct code_machine *code;
	/* perf_event_attr.sample_regs_user for the registers of struct code_registers, how many they are, and how a record has them. */
	uint64_t perf_registers;
	size_t perf_register_count;
	struct code_registers (*take_registers)(const uint64_t *words);
	/* The instruction that makes a system call. */
	uint8_t system_call[4];
	size_t system_call_bytes;
	/* Whether the code that ends with these bytes ends with a call. */
	bool (*is_call)(const uint8_t code[ARCH_CALL_BYTES]);
	/* Of a row of the runtime's own tables of functions: {u32 begin, u32 end, u32 unwind data}; or {u32 begin, u32 unwind data}, where the last says how
	 * long one is, or where the record lies whose first word does. */
	size_t function_bytes;
	uint32_t (*packed_bytes)(uint32_t unwind); /* NULL: a row has an end; 0: it is in the record */
	uint32_t (*record_bytes)(uint32_t first_word);
	uint32_t padding; /* bytes that .NET keeps between fields which different threads write */
};

extern const struct arch arch_x64, arch_arm64;

#if defined(__x86_64__)
#define arch_ours arch_x64
#elif defined(__aarch64__)
#define arch_ours arch_arm64
#else
#error "Dr-Dotnet knows x64 and arm64"
#endif

/* Could a structure of the runtime lie there? */
static inline bool arch_may_be_structure(uint64_t address)
{
	return address >= 0x10000 && address < arch_ours.user_end && (address & 7) == 0;
}

#endif
