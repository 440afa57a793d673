/* Context: signal handler, CLR callback. */
#include "profiler/stacks/frame_walk.h"

#include <ucontext.h>

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
		.lr = (uintptr_t)u->uc_mcontext.regs[30],
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

void frame_walk(const struct frame_registers *r, bool leaf, uintptr_t end, const struct code_index *index, uint64_t *ips, uint32_t *heights,
		size_t cap, struct code_walked *out)
{
	/* Frames only go up: the walk ends, and it reads only [sp, end). */
	struct stack_span span = {r->sp, end};
	const struct code_walk w = {
		.r = {.ip = r->ip, .sp = r->sp, .fp = r->fp, .lr = r->lr},
		.leaf = leaf,
		.live = leaf,
		.read = code_walk_stack_word,
		.read_ctx = &span,
		.find = code_walk_find_rule,
		.find_ctx = (void *)index,
		.heights = heights,
	};

	code_walk(&w, ips, cap, out);
}
