/* The stack of the thread that runs, from its registers: by what is known of the code (code_walk.h), else by frame pointers, which .NET's JIT, the
 * runtime and its JIT compiler keep on x64 and arm64, but for small methods. Signal handler, CLR callback: reads registers, the thread's own stack
 * between its stack pointer and `end`, the managed code that it stands in, and nothing else. */
#ifndef DRDOTNET_FRAME_WALK_H
#define DRDOTNET_FRAME_WALK_H

#include "profiler/stacks/code_walk.h"

#include <stdint.h>

struct frame_registers {
	uintptr_t ip, sp, fp;
	uintptr_t lr; /* arm64 */
};

struct frame_registers frame_walk_registers(const void *ucontext);
/* The thread's own control block, which lies above its stack in the same mapping on glibc and musl; elsewhere for the main thread. */
uintptr_t frame_walk_thread_pointer(void);
/* Addresses, leaf first; at most `cap` >= 1. `leaf`: the thread stands at r->ip; else a call returns there. `end` 0: only the first one. `index` is
 * that of code_rules_enter(); `heights` as in code_walk.h. */
void frame_walk(const struct frame_registers *r, bool leaf, uintptr_t end, const struct code_index *index, uint64_t *ips, uint32_t *heights,
		size_t cap, struct code_walked *out);

#endif
