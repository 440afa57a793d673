#include "common/proto/code_frame.h"

#define LOWEST_CODE 4096
#define WORD 8

const struct code_frame code_frame_by_pointer = {.kind = CODE_FRAME_FRAMED, .fp_at = CODE_FRAME_NO_FP};
#if defined(__aarch64__)
const struct code_frame code_frame_of_leaf = {.kind = CODE_FRAME_LINK, .fp_at = CODE_FRAME_NO_FP};
#else
const struct code_frame code_frame_of_leaf = {.kind = CODE_FRAME_FRAMELESS, .fp_at = CODE_FRAME_NO_FP};
#endif

void code_frame_decode_at(const uint8_t *code, size_t len, uint64_t offset, const uint8_t *at, size_t at_len, struct code_frame *out)
{
	code_machine_ours.decode(code, len, offset, at, at_len, out);
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

/* The return address is in its register, or was saved in the frame. */
static enum code_step step_by_link(struct code_registers *to, const struct code_frame *f, const struct code_registers *r, code_frame_read_fn *read, void *ctx)
{
	if (r->sp % WORD || r->sp > UINT64_MAX - WORD - f->size)
		return CODE_STEP_BROKEN;
	to->ip = r->lr;
	to->sp_least = r->sp_least;
	if (f->kind == CODE_FRAME_SAVED && !read(ctx, r->sp + f->link_at, &to->ip))
		return CODE_STEP_BEYOND;
	if (f->fp_at != CODE_FRAME_NO_FP && !read(ctx, r->sp + f->fp_at, &to->fp))
		return CODE_STEP_BEYOND;
	to->sp = r->sp + f->size;
	return CODE_STEP_CALLER;
}

/* Of a frame that is found from the stack pointer, where that is not known: what is saved as a frame pointer's pair is one. */
static bool needs_pointer(const struct code_frame *f, const struct code_registers *r)
{
	return f->kind == CODE_FRAME_SAVED && r->sp_least && f->fp_at != CODE_FRAME_NO_FP && f->link_at == f->fp_at + WORD;
}

static enum code_step step_framed(struct code_registers *to, const struct code_frame *f, const struct code_registers *r, code_frame_read_fn *read, void *ctx)
{
	enum code_step step = step_by_pointer(to, r->sp, r->fp, read, ctx);
	if (step == CODE_STEP_CALLER && f->jumped)
		return step_over_replaced(to, r->fp, read, ctx);
	uint32_t above = f->kind != CODE_FRAME_SAVED ? f->above : f->size > f->fp_at ? f->size - f->fp_at : 0;
	to->sp_least = above < 2 * WORD;
	if (!to->sp_least && r->fp <= UINT64_MAX - above)
		to->sp = r->fp + above;
	return step;
}

static enum code_step step_of_kind(struct code_registers *to, const struct code_frame *f, const struct code_registers *r, code_frame_read_fn *read, void *ctx)
{
	switch (f->kind) {
	case CODE_FRAME_UNKNOWN:
		return CODE_STEP_UNKNOWN;
	case CODE_FRAME_FIRST:
		return CODE_STEP_END;
	case CODE_FRAME_SAVED:
		if (r->sp_least && !needs_pointer(f, r))
			return CODE_STEP_UNKNOWN;
		return r->sp_least ? step_framed(to, f, r, read, ctx) : step_by_link(to, f, r, read, ctx);
	case CODE_FRAME_LINK:
		return step_by_link(to, f, r, read, ctx);
	case CODE_FRAME_FRAMELESS:
		return step_by_size(to, f, r->sp, read, ctx);
	default:
		/* Of replaced code the frame pointer has been restored already, to that of its caller. */
		return r->replaced ? step_by_size(to, f, r->sp, read, ctx) : step_framed(to, f, r, read, ctx);
	}
}

enum code_step code_frame_step_on(const struct code_machine *machine, const struct code_frame *f, struct code_registers *r, code_frame_read_fn *read,
				  void *ctx)
{
	struct code_registers to = {.fp = r->fp};
	enum code_step step = step_of_kind(&to, f, r, read, ctx);

	if (step != CODE_STEP_CALLER)
		return step;
	to.ip &= machine->address_bits;
	if (to.ip < LOWEST_CODE)
		return CODE_STEP_END;
	to.replaced = f->kind == CODE_FRAME_FRAMED && f->replaces && !f->jumped && !r->replaced;
	*r = to;
	return CODE_STEP_CALLER;
}

enum code_step code_frame_step(const struct code_frame *f, struct code_registers *r, code_frame_read_fn *read, void *ctx)
{
	return code_frame_step_on(&code_machine_ours, f, r, read, ctx);
}
