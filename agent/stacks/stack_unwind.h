/* The stack of one sample from its registers and the copy of its stack's top, by what the address table knows of each function's code
 * (common/proto/code_frame.h). What the copy does not reach is taken from the kernel's chain of frame pointers. Pure but for the table; any thread. */
#ifndef DRDOTNET_STACK_UNWIND_H
#define DRDOTNET_STACK_UNWIND_H

#include "agent/stacks/capture.h"
#include "agent/stacks/ip_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unwind_source {
	struct code_registers registers;
	const uint8_t *stack; /* from registers.sp on; of any alignment */
	size_t stack_bytes;
	const uint64_t *chain; /* the kernel's, of user mode; leaf first */
	size_t chain_depth;
};

struct unwound {
	uint32_t ips[CAPTURE_MAX_DEPTH]; /* numbers in the table, leaf first; those of callers are of the byte before the return address */
	size_t depth;
	bool full;           /* there was no room for all */
	bool whole;          /* no caller is missing, as far as can be told; else `gap` says why */
	enum stack_gap gap;
	uint32_t wanted;     /* INDEX_NONE; else nothing but this holds: the table does not know the code there yet */
};

void stack_unwind(struct ip_table *t, uint32_t batch, const struct unwind_source *s, struct unwound *out);

/* The kernel's chain alone, behind what *out holds already. */
void stack_unwind_chain(struct ip_table *t, uint32_t batch, const uint64_t *chain, size_t depth, struct unwound *out);

/* Adds an address. false: no room. */
bool stack_unwind_add(struct ip_table *t, uint32_t batch, uint64_t ip, struct unwound *out);

#endif
