/* Which method's code lies at an address, by the runtime's own maps, read from outside (.NET 9 and newer): ranges of code, and in each the beginnings of
 * methods (code that was compiled in the process) or the image's functions (ReadyToRun). Nothing in the process is stopped or asked: what is read may be
 * torn, and each step is checked against the one before. One thread.
 *
 * Source of the format: docs/design/datacontracts/ExecutionManager.md of the runtime's repository; of what .NET 9 does not describe, the places as they were
 * measured there. */
#ifndef DRDOTNET_CODE_MAP_H
#define DRDOTNET_CODE_MAP_H

#include "agent/arch/arch.h"
#include "agent/locks/runtime_contract.h"

#include <stddef.h>

struct managed_code {
	uint64_t start;  /* of the method's code */
	uint32_t bytes;
	uint64_t method; /* its MethodDesc */
};

struct code_map {
	const struct process_memory *memory;
	const struct code_contract *contract;
	const uint64_t *dac; /* words of g_dacTable: one of them leads to the ranges, where the contract does not tell */
	size_t words, tries;
	const struct arch *arch; /* whose rows the tables of functions have */
	uint64_t ranges;     /* 0: not found yet */
};

/* All are borrowed. */
void code_map_init(struct code_map *c, const struct process_memory *m, const struct code_contract *contract, const uint64_t *dac, size_t words);

/* False: no method's code lies there, or it cannot be told. */
bool code_map_find(struct code_map *c, uint64_t ip, struct managed_code *out);

/* The beginning of the method at `ip`: `base` is where the map at `nibbles` begins. 0: none. */
uint64_t code_map_method_start(const struct process_memory *m, uint64_t base, uint64_t nibbles, uint64_t ip);

/* What the runtime's map of entry points holds for one; 0: nothing. */
uint64_t code_map_entry_point(const struct process_memory *m, uint64_t map, uint64_t entry);

#endif
