#include "common/proto/code_frame.h"

#define OP_BYTES 4

enum {
	RET = 0xd65f03c0,
	AUTHENTICATES = 0xd50323bf, /* hint: autiasp, autibsp with bit 6 set */
};

static uint32_t read_op(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* add x29, sp, #n, which is also how mov x29, sp is written */
static bool makes_frame(uint32_t op)
{
	return (op & 0xff8003ff) == 0x910003fd;
}

/* ldp of two registers from the stack, in its three ways of addressing; those of floating point as well */
static bool restores_pair(uint32_t op)
{
	return ((op & 0xfe4003e0) == 0xa84003e0 || (op & 0xfe4003e0) == 0x6c4003e0) && (op & 0x01800000);
}

static bool restores_link(uint32_t op)
{
	return restores_pair(op) && (op & 0xfe000000) == 0xa8000000 && (op & 0x1f) == 29 && ((op >> 10) & 0x1f) == 30;
}

/* ldr x, [sp, #n] and add sp, sp, #n */
static bool is_of_epilog(uint32_t op)
{
	return restores_pair(op) || (op & 0xffc003e0) == 0xf94003e0 || (op & 0xffe00fe0) == 0xf84007e0 || (op & 0xff8003ff) == 0x910003ff ||
	       (op & ~0x40u) == AUTHENTICATES;
}

static bool is_branch_to_register(uint32_t op)
{
	return (op & 0xfffffc1f) == 0xd61f0000;
}

/* An epilog that has restored the link register already? */
static bool has_link(const uint8_t *at, size_t len)
{
	for (size_t i = 0; i + OP_BYTES <= len; i += OP_BYTES) {
		uint32_t op = read_op(at + i);
		if (op == RET || (i && is_branch_to_register(op)))
			return true;
		if (restores_link(op) || !is_of_epilog(op))
			return false;
	}
	return false;
}

static uint32_t frame_offset(uint32_t op)
{
	return (op >> 10 & 0xfff) << (op >> 22 & 1 ? 12 : 0);
}

/* What an instruction of a prolog takes off the stack pointer: stp or str with pre-index, sub. false: nobody can tell. */
static bool takes_room(uint32_t op, uint32_t *bytes)
{
	*bytes = 0;
	if ((op & 0xffc003e0) == 0xa98003e0 || (op & 0xffc003e0) == 0x6d8003e0)
		*bytes = (0x80 - (op >> 15 & 0x7f)) * 8;
	else if ((op & 0xffe00fe0) == 0xf8000fe0)
		*bytes = 0x200 - (op >> 12 & 0x1ff);
	else if ((op & 0xff8003ff) == 0xd10003ff)
		*bytes = frame_offset(op);
	else if ((op & 0xffe003ff) == 0xcb2003ff) /* by a register */
		return false;
	return true;
}

/* RyuJIT gives every method a frame: {x29, x30} are saved, then x29 is set. Until then the caller's are in their registers. */
void code_frame_arm64(const uint8_t *code, size_t len, uint64_t offset, const uint8_t *at, size_t at_len, struct code_frame *out)
{
	size_t done = 0;
	uint32_t depth = 0, by, depth_at = 0;
	bool sure = true;

	*out = (struct code_frame){.fp_at = CODE_FRAME_NO_FP};
	for (; done + OP_BYTES <= len && !makes_frame(read_op(code + done)); done += OP_BYTES) {
		depth_at = done == offset ? depth : depth_at;
		sure = takes_room(read_op(code + done), &by) && sure;
		depth += by;
	}
	if (done + OP_BYTES > len)
		return;
	depth_at = done == offset ? depth : depth_at;
	out->prolog = (uint32_t)done + OP_BYTES;
	out->kind = CODE_FRAME_FRAMED;
	by = frame_offset(read_op(code + done));
	if (sure && depth > by)
		out->above = depth - by;
	if (offset >= out->prolog && !(at && has_link(at, at_len)))
		return;
	out->kind = CODE_FRAME_LINK;
	out->size = sure && offset < out->prolog ? depth_at : 0;
}

const struct code_machine code_machine_arm64 = {.decode = code_frame_arm64, .address_bits = (UINT64_C(1) << 48) - 1, .links = true};
