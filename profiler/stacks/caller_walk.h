/* The stack of who called into the runtime, from a callback inside the runtime: as frame_walk.h, without the frames of the runtime (and
 * ours) at its leaf, and with the one that the frame pointers alone lose: on .NET 10 and x64 the runtime's helpers for allocation are entered by
 * assembly that saves the caller's frame pointer, but has no frame of its own, so that the chain goes on from the helper to the caller's
 * caller. What it saved lies on the stack as a frame would, {the caller's frame pointer, return address}, between the two; where, is read from
 * the code that takes it down again. CLR callback: reads [sp, end) and the runtime's code only. */
#ifndef DRDOTNET_CALLER_WALK_H
#define DRDOTNET_CALLER_WALK_H

#include "profiler/stacks/frame_walk.h"

struct code_range {
	uintptr_t low, high; /* equal: none */
};

struct caller_walk {
	struct code_range runtime, own; /* the runtime's code, and ours */
};

/* As frame_walk(): return addresses, the innermost one outside of the two ranges first. Depth 0: there is none. */
void caller_walk(const struct caller_walk *w, const struct frame_registers *r, uintptr_t end, const struct code_index *index, uint64_t *ips,
		 size_t cap, struct code_walked *out);

#endif
