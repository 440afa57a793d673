/* How code of a library without an unwind table (musl's C library) finds its caller: by what it will do until it returns. From an instruction on, its pops
 * and its changes of the stack pointer are followed to the return, over jumps, and past branches where the way on leads to none. Callees leave the stack as
 * it was. Who calls must look whether what is found there is a return address: behind a call that does not return lies another function. For x64; on
 * other machines nothing is found.
 *
 * Sources: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, 2.1 and appendix A (lengths of instructions); System V ABI, AMD64
 * supplement, 3.2.1 (registers that a function keeps).
 *
 * Pure but for `read`; any thread. The code is the profiled process's, so anything. */
#ifndef DRDOTNET_CODE_END_H
#define DRDOTNET_CODE_END_H

#include "agent/symbols/unwind_table.h"

/* The frame at the instruction at `ip`, as it is before that runs. false: a return was not found, or the code does with the stack pointer what is not
 * followed (a frame pointer's function, one that realigns). */
bool code_end_frame(uint64_t ip, unwind_read_fn *read, void *ctx, struct code_frame *out);

#endif
