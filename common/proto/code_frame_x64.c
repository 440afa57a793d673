#include "common/proto/code_frame.h"

#include "common/proto/difference.h"

#include <string.h>

#define WORD 8
#define MAX_FRAME (1u << 30)
#define LONGEST_OP 8 /* lea rbp, [rsp + n] */

enum { RBP = 5 };

struct bytes {
	const uint8_t *at;
	size_t len;
};

/* A prolog, or an epilog, under way. */
struct depth {
	uint64_t bytes;    /* prolog: that the stack has grown below the return address; epilog: that it has shrunk */
	uint64_t fp_saved; /* prolog: depth of the slot that holds the caller's RBP, 0: none; epilog: where it was popped */
	bool pops_fp;
	uint64_t probed;   /* prolog: what `lea r11, [rsp - n]` has asked for */
	bool grown;        /* prolog: the locals have their room */
	bool framed, replaces, jumped;
};

static bool code_starts_with(struct bytes b, const void *word, size_t len)
{
	return b.len >= len && memcmp(b.at, word, len) == 0;
}

#define HAS(b, ...) code_starts_with(b, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

static int32_t read_i32(const uint8_t *at)
{
	uint32_t v = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
	return (int32_t)v;
}

/* An instruction of `head` bytes and an operand of one byte, or of four. Its length; 0: not this one. */
static size_t with_operand(struct bytes b, const uint8_t *byte, const uint8_t *four, size_t head, int32_t *operand)
{
	if (b.len > head && memcmp(b.at, byte, head) == 0) {
		*operand = (int8_t)b.at[head];
		return head + 1;
	}
	if (b.len >= head + 4 && memcmp(b.at, four, head) == 0) {
		*operand = read_i32(b.at + head);
		return head + 4;
	}
	return 0;
}

/* push or pop, told apart by the opcode `base` of the first register. */
static size_t stack_op(struct bytes b, uint8_t base, unsigned *reg)
{
	size_t rex = b.len > 1 && b.at[0] == 0x41;

	if (b.len <= rex || b.at[rex] < base || b.at[rex] > base + 7)
		return 0;
	*reg = (unsigned)(b.at[rex] - base) + (rex ? 8 : 0);
	return rex + 1;
}

/* prologs ------------------------------------------------------------------------------------------------------------ */

static size_t read_push(struct bytes b, struct depth *d)
{
	unsigned reg;
	size_t n = d->grown ? 0 : stack_op(b, 0x50, &reg);

	if (n == 0)
		return 0;
	d->bytes += WORD;
	if (reg == RBP)
		d->fp_saved = d->bytes;
	return n;
}

/* The prolog of code that goes on in the frame of other code: mov rax, [rbp]; push rax, which is the caller's RBP once more. Since .NET 11 that other code
 * jumps there, and a push of no meaning comes first, where a call would leave its return address. */
static bool is_replacement(struct bytes b)
{
	return HAS(b, 0x48, 0x8b, 0x45, 0x00, 0x50) || HAS(b, 0x50, 0x48, 0x8b, 0x45, 0x00, 0x50);
}

static size_t read_replacement(struct bytes b, struct depth *d)
{
	if (d->bytes || !is_replacement(b))
		return 0;
	d->bytes = d->fp_saved = WORD;
	d->replaces = true;
	d->jumped = b.at[0] == 0x50;
	return d->jumped ? 6 : 5;
}

static size_t read_growth(struct bytes b, struct depth *d)
{
	static const uint8_t sub8[] = {0x48, 0x83, 0xec}, sub32[] = {0x48, 0x81, 0xec};
	static const uint8_t lea8[] = {0x4c, 0x8d, 0x5c, 0x24}, lea32[] = {0x4c, 0x8d, 0x9c, 0x24};
	int32_t by;
	size_t n = with_operand(b, sub8, sub32, sizeof sub8, &by);

	if (n && by > 0 && by % WORD == 0 && !d->grown) {
		d->bytes += (uint64_t)by;
		d->grown = true;
		return n;
	}
	n = with_operand(b, lea8, lea32, sizeof lea8, &by); /* lea r11, [rsp - n]: the runtime's probe takes it */
	if (n && by < 0 && by % WORD == 0 && !d->grown) {
		d->probed = (uint64_t) - (int64_t)by;
		return n;
	}
	if (d->probed && HAS(b, 0x49, 0x8b, 0xe3)) { /* mov rsp, r11 */
		d->bytes += d->probed;
		d->probed = 0;
		d->grown = true;
		return 3;
	}
	return 0;
}

/* What changes nothing of the frame: vzeroupper, probes of the pages that the locals will take, the probe's call, and saves of registers in code
 * that replaces other code. */
static size_t read_neutral(struct bytes b, const struct depth *d)
{
	if (HAS(b, 0xc5, 0xf8, 0x77))
		return 3;
	if (HAS(b, 0x85, 0x84, 0x24) && b.len >= 7) /* test [rsp + n], eax */
		return 7;
	if (d->probed && b.len >= 5 && b.at[0] == 0xe8)
		return 5;
	if (d->probed && HAS(b, 0xff, 0x15) && b.len >= 6)
		return 6;
	/* mov [rsp + n], reg */
	if (d->replaces && b.len >= 4 && (b.at[0] & 0xfb) == 0x48 && b.at[1] == 0x89 && (b.at[2] & 7) == 4 && b.at[3] == 0x24) {
		static const size_t operand[] = {0, 1, 4};
		unsigned mod = b.at[2] >> 6;
		return mod < 3 && b.len >= 4 + operand[mod] ? 4 + operand[mod] : 0;
	}
	return 0;
}

/* mov rbp, rsp or lea rbp, [rsp + n], where that is the slot of the caller's RBP: else it is code that uses RBP for something else. */
static size_t read_frame(struct bytes b, struct depth *d)
{
	static const uint8_t lea8[] = {0x48, 0x8d, 0x6c, 0x24}, lea32[] = {0x48, 0x8d, 0xac, 0x24};
	int32_t by = 0;
	size_t n = HAS(b, 0x48, 0x8b, 0xec) || HAS(b, 0x48, 0x89, 0xe5) ? 3 : with_operand(b, lea8, lea32, sizeof lea8, &by);

	if (n == 0 || !d->fp_saved || (int64_t)by != (int64_t)difference(d->bytes, d->fp_saved))
		return 0;
	d->framed = true;
	return n;
}

/* Runs the prolog until `stop`; how far it went. */
static size_t run_prolog(struct bytes b, uint64_t stop, struct depth *d)
{
	size_t done = 0, n = 1;

	while (n && !d->framed && done < stop) {
		struct bytes rest = {b.at + done, difference(b.len, done)};
		n = read_replacement(rest, d);
		if (!n)
			n = read_push(rest, d);
		if (!n)
			n = read_growth(rest, d);
		if (!n)
			n = read_neutral(rest, d);
		if (!n)
			n = read_frame(rest, d);
		done += n;
	}
	return done;
}

/* epilogs ------------------------------------------------------------------------------------------------------------ */

static size_t read_shrink(struct bytes b, struct depth *d)
{
	static const uint8_t add8[] = {0x48, 0x83, 0xc4}, add32[] = {0x48, 0x81, 0xc4};
	int32_t by;
	unsigned reg;
	size_t n = with_operand(b, add8, add32, sizeof add8, &by);

	if (n && by > 0 && by % WORD == 0) {
		d->bytes += (uint64_t)by;
		return n;
	}
	n = stack_op(b, 0x58, &reg);
	if (n && reg == RBP) {
		d->fp_saved = d->bytes;
		d->pops_fp = true;
	}
	if (n)
		d->bytes += WORD;
	return n ? n : HAS(b, 0xc5, 0xf8, 0x77) ? 3 : 0;
}

/* A return; or the jump of a tail call, which is one only behind an epilog (RyuJIT writes the indirect one with a prefix of its own). */
static bool leaves(struct bytes b, bool after_epilog)
{
	if (HAS(b, 0xc3) || HAS(b, 0xc2) || HAS(b, 0xf3, 0xc3))
		return true;
	if (b.len >= 3 && b.at[0] == 0x48 && b.at[1] == 0xff && (b.at[2] & 0x38) == 0x20)
		return true;
	return after_epilog && (HAS(b, 0xe9) || HAS(b, 0xff, 0x25) || (b.len >= 2 && b.at[0] == 0xff && (b.at[1] & 0x38) == 0x20));
}

static bool run_epilog(struct bytes b, struct depth *d)
{
	size_t done = 0, n = 1;

	while (n) {
		struct bytes rest = {b.at + done, difference(b.len, done)};
		if (leaves(rest, d->bytes > 0))
			return true;
		n = read_shrink(rest, d);
		done += n;
	}
	return false;
}

static void in_epilog(const struct depth *d, struct code_frame *out)
{
	out->kind = CODE_FRAME_FRAMELESS;
	out->replaces = out->jumped = false; /* its epilog takes both frames down */
	out->size = (uint32_t)d->bytes;
	out->fp_at = d->pops_fp ? (uint32_t)d->fp_saved : CODE_FRAME_NO_FP;
}

/* A function may be shorter than a prolog can be; but of bytes that were cut off, the next instruction might belong to the prolog. */
static bool shows_end(size_t done, size_t len)
{
	return done < len && (len < CODE_FRAME_PROLOG_BYTES || difference(len, done) >= LONGEST_OP);
}

void code_frame_x64(const uint8_t *code, size_t len, uint64_t offset, const uint8_t *at, size_t at_len, struct code_frame *out)
{
	struct depth d = {0}, down = {0};
	size_t done = run_prolog((struct bytes){code, len}, offset, &d);
	bool inside = !d.framed && done >= offset;

	*out = (struct code_frame){.prolog = (uint32_t)done, .size = (uint32_t)d.bytes, .fp_at = CODE_FRAME_NO_FP};
	if (d.bytes > MAX_FRAME || (!inside && !d.framed && (!shows_end(done, len) || d.replaces)))
		return;
	if (inside && is_replacement((struct bytes){code, len})) {
		out->kind = CODE_FRAME_FRAMED; /* the pointer is still that of the replaced code's frame, which is the one to leave */
		return;
	}
	out->kind = d.framed ? CODE_FRAME_FRAMED : CODE_FRAME_FRAMELESS;
	out->replaces = d.replaces;
	out->jumped = d.jumped;
	if (!d.framed && d.fp_saved)
		out->fp_at = (uint32_t)difference(d.bytes, d.fp_saved);
	if (at && !inside && run_epilog((struct bytes){at, at_len}, &down) && down.bytes <= MAX_FRAME)
		in_epilog(&down, out);
}

const struct code_machine code_machine_x64 = {.decode = code_frame_x64, .address_bits = UINT64_MAX};
