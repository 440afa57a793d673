/* Context: CLR callback. */
#include "profiler/stacks/caller_walk.h"

#include <string.h>

static bool within(const struct code_range *c, uintptr_t ip)
{
	return ip >= c->low && ip < c->high;
}

/* What a frame returns to, without its signature. */
static uintptr_t return_of(uintptr_t fp)
{
	return ((const uintptr_t *)fp)[1] & code_machine_ours.address_bits;
}

static bool is_frame(uintptr_t fp, uintptr_t low, uintptr_t end)
{
	return fp >= low && end >= 2 * sizeof fp && fp <= end - 2 * sizeof fp && fp % sizeof fp == 0;
}

#if defined(__x86_64__)
#define STUB_LOOK 48 /* bytes of code behind the call in which the stub begins to take down what it has saved */

/* Of `lea n(%rsp),%rsp` or `add $n,%rsp` and the pops behind it: how far above the stack pointer the caller's frame pointer was saved. */
static bool read_epilogue(const uint8_t *code, const uint8_t *end, uintptr_t *offset)
{
	static const uint8_t lea[] = {0x48, 0x8d, 0x64, 0x24}, add[] = {0x48, 0x83, 0xc4};
	size_t n = memcmp(code, lea, sizeof lea) == 0 ? sizeof lea : memcmp(code, add, sizeof add) == 0 ? sizeof add : 0;

	if (!n || code[n] >= 0x80)
		return false;
	*offset = code[n];
	for (code += n + 1; code + 2 <= end; *offset += sizeof *offset) {
		if (code[0] == 0x5d) /* pop %rbp */
			return true;
		if (code[0] == 0x41 && code[1] >= 0x5c && code[1] <= 0x5f) /* pop %r12 to %r15 */
			code += 2;
		else if (code[0] == 0x5b) /* pop %rbx */
			code++;
		else
			return false;
	}
	return false;
}

/* Where a stub, to which the frame `inner` returns, has saved `outer`, its caller's frame pointer, below the address in that caller. 0: it is no
 * stub. */
static uintptr_t called_stub(const struct caller_walk *w, uintptr_t inner, uintptr_t outer)
{
	uintptr_t at = ((const uintptr_t *)inner)[1], offset = 0;
	uintptr_t end = w->runtime.high < at + STUB_LOOK ? w->runtime.high : at + STUB_LOOK;

	while (at + 8 <= end && !read_epilogue((const uint8_t *)at, (const uint8_t *)end, &offset))
		at++;
	uintptr_t saved = inner + 2 * sizeof saved + offset;
	if (at + 8 > end || saved + 2 * sizeof saved > outer || saved % sizeof saved)
		return 0;
	const uintptr_t *frame = (const uintptr_t *)saved;
	return frame[0] == outer && !within(&w->runtime, frame[1]) ? saved : 0;
}
#else
/* Its stubs have frames. */
static uintptr_t called_stub(const struct caller_walk *w, uintptr_t inner, uintptr_t outer)
{
	(void)w;
	(void)inner;
	(void)outer;
	return 0;
}
#endif

void caller_walk(const struct caller_walk *w, const struct frame_registers *r, uintptr_t end, const struct code_index *index, uint64_t *ips,
		 size_t cap, struct code_walked *out)
{
	uintptr_t ip = r->ip, fp = r->fp, low = r->sp, stub = 0;

	*out = (struct code_walked){.end = CODE_STEP_BROKEN};
	while (within(&w->runtime, ip) || within(&w->own, ip)) {
		if (!is_frame(fp, low, end))
			return;
		const uintptr_t *frame = (const uintptr_t *)fp;
		uintptr_t caller = frame[0];
		bool from_runtime = within(&w->runtime, return_of(fp));
		ip = return_of(fp);
		low = fp + 2 * sizeof fp;
		/* The frame that is the last to return into the runtime: into a stub? */
		if (from_runtime && is_frame(caller, low, end) && !within(&w->runtime, return_of(caller)))
			stub = called_stub(w, fp, caller);
		fp = caller;
	}
	struct frame_registers outside = {.ip = ip, .sp = low, .fp = fp};
	if (stub) {
		const uintptr_t *frame = (const uintptr_t *)stub;
		outside = (struct frame_registers){.ip = frame[1], .sp = stub + 2 * sizeof *frame, .fp = frame[0]};
	}
	frame_walk(&outside, false, end, index, ips, NULL, cap, out);
}
