/* One instruction of x64 code, as far as it matters to the stack (agent/symbols/code_end.h). Pure; any thread; any bytes. */
#ifndef DRDOTNET_CODE_STEP_X64_H
#define DRDOTNET_CODE_STEP_X64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CODE_STEP_BYTES 15 /* of the longest instruction */

enum code_effect {
	CODE_PASSES,   /* leaves the stack pointer as it is; a call, too */
	CODE_MOVES,    /* changes the stack pointer by `amount` */
	CODE_POPS_FP,  /* that, by 8, and the frame pointer has what lay on top */
	CODE_LOADS_FP, /* the frame pointer has what lies `amount` above the stack pointer */
	CODE_JUMPS,    /* goes on `amount` behind its end */
	CODE_BRANCHES, /* may */
	CODE_RETURNS,
	CODE_STOPS,    /* goes nowhere, or nobody knows where */
	CODE_STRANGE,  /* not known, or sets the stack pointer in another way */
};

struct code_instruction {
	enum code_effect effect;
	size_t bytes;
	int64_t amount;
};

/* `code` has CODE_STEP_BYTES bytes. */
struct code_instruction code_step_x64(const uint8_t *code);

#endif
