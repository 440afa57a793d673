#include "common/proto/code_frame.h"

#define LOWEST_CODE 4096
#define WORD 8

const struct code_frame code_frame_by_pointer = {.kind = CODE_FRAME_FRAMED, .fp_at = CODE_FRAME_NO_FP};

void code_frame_decode_at(const uint8_t *code, size_t len, uint64_t offset, const uint8_t *at, size_t at_len, struct code_frame *out)
{
#if defined(__aarch64__)
	code_frame_arm64(code, len, offset, at, at_len, out);
#else
	code_frame_x64(code, len, offset, at, at_len, out);
#endif
}

void code_frame_decode(const uint8_t *code, size_t len, struct code_frame *out)
{
	code_frame_decode_at(code, len, UINT64_MAX, NULL, 0, out);
}

/* {caller's frame pointer, return address} at `fp`. */
static enum code_step step_by_pointer(struct code_registers *to, uint64_t sp, uint64_t fp, code_frame_read_fn *read, void *ctx)
{
	if (fp < sp || fp % WORD || fp > UINT64_MAX - 2 * WORD)
		return CODE_STEP_BROKEN;
	if (!read(ctx, fp, &to->fp) || !read(ctx, fp + WORD, &to->ip))
		return CODE_STEP_BEYOND;
	to->sp = fp + 2 * WORD;
	return CODE_STEP_CALLER;
}

/* pushes and locals, `size` bytes of them, then the return address */
static enum code_step step_by_size(struct code_registers *to, const struct code_frame *f, uint64_t sp, code_frame_read_fn *read, void *ctx)
{
	if (sp % WORD || f->size % WORD || sp > UINT64_MAX - WORD - f->size)
		return CODE_STEP_BROKEN;
	if (!read(ctx, sp + f->size, &to->ip))
		return CODE_STEP_BEYOND;
	if (f->kind == CODE_FRAME_FRAMELESS && f->fp_at != CODE_FRAME_NO_FP && !read(ctx, sp + f->fp_at, &to->fp))
		return CODE_STEP_BEYOND;
	to->sp = sp + f->size + WORD;
	return CODE_STEP_CALLER;
}

#define REPLACED_WORDS 4096u /* of locals in the frame of replaced code, at most */

/* Of replaced code that jumped away there lie, above the frame at `fp`, its locals and then the caller's frame pointer, which is saved in that frame, too. */
static enum code_step step_over_replaced(struct code_registers *to, uint64_t fp, code_frame_read_fn *read, void *ctx)
{
	uint64_t at = fp + 2 * WORD, word = 0;

	for (uint32_t i = 0; i < REPLACED_WORDS && at < to->fp && at < UINT64_MAX - 2 * WORD; i++, at += WORD) {
		if (!read(ctx, at, &word) || (word == to->fp && !read(ctx, at + WORD, &to->ip)))
			return CODE_STEP_BEYOND;
		if (word == to->fp) {
			to->sp = at + 2 * WORD;
			return CODE_STEP_CALLER;
		}
	}
	return CODE_STEP_BROKEN;
}

enum code_step code_frame_step(const struct code_frame *f, struct code_registers *r, code_frame_read_fn *read, void *ctx)
{
	struct code_registers to = {.fp = r->fp};
	enum code_step step = CODE_STEP_CALLER;

	if (f->kind == CODE_FRAME_UNKNOWN)
		return CODE_STEP_UNKNOWN;
	if (f->kind == CODE_FRAME_FIRST)
		return CODE_STEP_END;
	if (f->kind == CODE_FRAME_LINK) {
		to.ip = r->lr;
		to.sp = r->sp;
	} else if (f->kind == CODE_FRAME_FRAMELESS || r->replaced) {
		/* Of replaced code the frame pointer has been restored already, to that of its caller. */
		step = step_by_size(&to, f, r->sp, read, ctx);
	} else {
		step = step_by_pointer(&to, r->sp, r->fp, read, ctx);
		if (step == CODE_STEP_CALLER && f->jumped)
			step = step_over_replaced(&to, r->fp, read, ctx);
	}
	if (step != CODE_STEP_CALLER)
		return step;
	if (to.ip < LOWEST_CODE)
		return CODE_STEP_END;
	to.replaced = f->kind == CODE_FRAME_FRAMED && f->replaces && !f->jumped && !r->replaced;
	*r = to;
	return CODE_STEP_CALLER;
}
