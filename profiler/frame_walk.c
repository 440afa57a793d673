/* Context: signal handler. */
#include "profiler/frame_walk.h"

#include <ucontext.h>

#define LOWEST_CODE 4096

struct frame_registers frame_walk_registers(const void *ucontext)
{
	const ucontext_t *u = ucontext;
#if defined(__x86_64__)
	return (struct frame_registers){
		.ip = (uintptr_t)u->uc_mcontext.gregs[REG_RIP],
		.sp = (uintptr_t)u->uc_mcontext.gregs[REG_RSP],
		.fp = (uintptr_t)u->uc_mcontext.gregs[REG_RBP],
	};
#elif defined(__aarch64__)
	return (struct frame_registers){
		.ip = (uintptr_t)u->uc_mcontext.pc,
		.sp = (uintptr_t)u->uc_mcontext.sp,
		.fp = (uintptr_t)u->uc_mcontext.regs[29],
	};
#else
#error "the profiler library knows x64 and arm64"
#endif
}

uintptr_t frame_walk_thread_pointer(void)
{
	uintptr_t tp;
#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(tp));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(tp));
#endif
	return tp;
}

size_t frame_walk(const struct frame_registers *r, uintptr_t end, uint64_t *ips, size_t cap, bool *more)
{
	uintptr_t fp = r->fp, low = r->sp;
	size_t n = 0;

	*more = false;
	ips[n++] = r->ip;
	/* A frame is {caller's fp, return address}, and frames only go up: the walk ends, and it reads only [sp, end). */
	while (fp >= low && end >= 2 * sizeof fp && fp <= end - 2 * sizeof fp && fp % sizeof fp == 0) {
		const uintptr_t *frame = (const uintptr_t *)fp;
		uintptr_t caller = frame[0], address = frame[1];
		if (address < LOWEST_CODE)
			break;
		if (n == cap) {
			*more = true;
			break;
		}
		ips[n++] = address;
		low = fp + 2 * sizeof fp;
		fp = caller;
	}
	return n;
}
