/* What an entry of an ELF file's unwind table says of a frame, the rules in force at one address of its function.
 *
 * Sources: Linux Standard Base 5.0, Core, 10.6 (.eh_frame: CIE, FDE, augmentation); DWARF 5, 6.4 (call frame instructions); System V ABI, AMD64
 * supplement, 3.6.2, and DWARF for the Arm 64-bit Architecture, 4.1 and 4.2 (numbers of registers, negate_ra_state).
 *
 * Pure; any thread. The bytes are the profiled process's, so anything. */
#ifndef DRDOTNET_UNWIND_PROGRAM_H
#define DRDOTNET_UNWIND_PROGRAM_H

#include "agent/arch/arch.h"
#include "common/proto/code_frame.h"

#include <stddef.h>
#include <stdint.h>

/* An entry's two records, each from behind its length on. */
struct unwind_entry {
	const uint8_t *cie, *fde;
	size_t cie_bytes, fde_bytes;
};

/* The frame at the instruction that lies `offset` behind the function's start. CODE_FRAME_UNKNOWN: the entry is not of that address, is not
 * understood, or says what struct code_frame has no words for (a realigned stack, the frame of a signal). */
void unwind_program_run(const struct arch *arch, const struct unwind_entry *entry, uint64_t offset, struct code_frame *out);

#endif
