/* A function's code and a stack, both the profiled process's: where the caller is. Input: where in the function the thread is, how much of it is
 * the function's beginning, the registers, code, stack. */
#include "agent/symbols/code_end.h"
#include "common/base/mem.h"
#include "common/proto/code_frame.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct dump {
	const uint8_t *bytes;
	size_t size;
	uint64_t start;
};

static bool read_dump(void *ctx, uint64_t address, uint64_t *word)
{
	const struct dump *d = ctx;
	if (address < d->start || d->size < 8 || address - d->start > d->size - 8)
		return false;
	memcpy(word, d->bytes + (address - d->start), 8);
	return true;
}

static bool read_code(void *ctx, uint64_t address, void *out, size_t bytes)
{
	const struct dump *d = ctx;
	if (address < d->start || bytes > d->size || address - d->start > d->size - bytes)
		return false;
	memcpy(out, d->bytes + (address - d->start), bytes);
	return true;
}

static void search_end(const uint8_t *code, size_t len, uint64_t offset)
{
	struct dump d = {.bytes = code, .size = len, .start = 0x10000};
	struct code_frame f;
	if (code_end_frame(d.start + offset, read_code, &d, &f) && (f.kind != CODE_FRAME_FRAMELESS || (f.fp_at != CODE_FRAME_NO_FP && f.fp_at >= 1u << 17)))
		abort();
}

static void walk(const struct code_machine *machine, const uint8_t *code, size_t len, uint64_t offset, struct code_registers r, struct dump *d)
{
	struct code_frame leaf, frame;
	machine->decode(code, len, offset, offset < len ? code + offset : NULL, offset < len ? len - offset : 0, &leaf);
	machine->decode(code, len, UINT64_MAX, NULL, 0, &frame);
	if (leaf.kind == CODE_FRAME_FRAMELESS && leaf.fp_at != CODE_FRAME_NO_FP && leaf.fp_at >= leaf.size)
		abort(); /* what a function saves lies in its frame */
	if (frame.kind != CODE_FRAME_UNKNOWN && frame.prolog > len)
		abort();
	const struct code_frame *f = &leaf;
	for (size_t steps = 0;; steps++) {
		struct code_registers before = r;
		if (code_frame_step_on(machine, f, &r, read_dump, d) != CODE_STEP_CALLER)
			break;
		if (r.sp < before.sp || (r.sp == before.sp && f->kind != CODE_FRAME_LINK))
			abort(); /* stacks end */
		if (steps > d->size + 1)
			abort();
		f = frame.kind == CODE_FRAME_LINK ? &code_frame_by_pointer : &frame;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 4)
		return 0;
	uint64_t offset = data[0];
	size_t len = data[1] < size - 4 ? data[1] : size - 4;
	uint8_t *code = mem_alloc(len + 1), *stack = mem_alloc(size - 4 - len + 1); /* nothing readable far behind them */
	memcpy(code, data + 4, len);
	memcpy(stack, data + 4 + len, size - 4 - len);
	struct dump d = {.bytes = stack, .size = size - 4 - len, .start = 0x7ffe00000000};
	search_end(code, len, offset);
	struct code_registers r = {.ip = 0x10000 + offset, .sp = d.start + data[2], .fp = d.start + data[3], .lr = 0x20000};
	walk(&code_machine_x64, code, len, offset, r, &d);
	walk(&code_machine_arm64, code, len, offset, r, &d);
	free(code);
	free(stack);
	return 0;
}
