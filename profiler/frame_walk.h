/* The frame-pointer chain of the interrupted code: .NET's JIT, the runtime and its JIT compiler keep it on x64 and arm64. Signal
 * handler: reads registers and the thread's own stack between its stack pointer and `end`, nothing else. */
#ifndef DRDOTNET_FRAME_WALK_H
#define DRDOTNET_FRAME_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame_registers {
	uintptr_t ip, sp, fp;
};

struct frame_registers frame_walk_registers(const void *ucontext);
/* The thread's own control block, which lies above its stack in the same mapping on glibc and musl; elsewhere for the main thread. */
uintptr_t frame_walk_thread_pointer(void);
/* Return addresses, leaf first; at most `cap` >= 1, *more when there would be others. `end` 0: only the leaf. */
size_t frame_walk(const struct frame_registers *r, uintptr_t end, uint64_t *ips, size_t cap, bool *more);

#endif
