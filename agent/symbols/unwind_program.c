#include "agent/symbols/unwind_program.h"

#include "common/proto/wire.h"

#define WORD 8
#define MAX_FRAME (1 << 24)
#define MAX_REMEMBERED 8
#define SIGNS 0x2d /* AARCH64_negate_ra_state: code_frame_step() takes a signature off wherever one may be */

enum place {
	PLACE_REGISTER, /* as it was in the caller */
	PLACE_STACK,    /* `at` from the canonical frame address */
	PLACE_NOWHERE,  /* undefined: of the return address, there is no caller */
	PLACE_OTHER,
};

struct rule {
	enum place place;
	int64_t at;
};

/* The canonical frame address (what the stack pointer is when the call has returned) is `base` + `size`. */
struct row {
	uint64_t base;
	int64_t size;
	bool strange; /* it is to be had by an expression */
	struct rule fp, ra;
};

struct common {
	uint64_t code_unit;
	int64_t data_unit;
	uint8_t encoding; /* of addresses in the FDE */
	bool augmented, signal;
	struct row row;
};

struct run {
	struct wire_reader r;
	const struct arch *arch;
	const struct common *common;
	struct row row, first, remembered[MAX_REMEMBERED];
	size_t remembered_count;
	uint64_t at, wanted; /* bytes from the function's start */
};

/* numbers ------------------------------------------------------------------------------------------------------------ */

static uint64_t uleb(struct wire_reader *r)
{
	uint64_t value = 0;
	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = wire_u8(r);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
}

static int64_t sleb(struct wire_reader *r)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;
	do {
		byte = wire_u8(r);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && byte & 0x40)
		value |= UINT64_MAX << shift;
	return (int64_t)value;
}

/* DW_EH_PE_*: what the low half of an encoding says of the size. */
static uint64_t encoded(struct wire_reader *r, uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case 0x00:
	case 0x04:
	case 0x0c:
		return wire_u64(r);
	case 0x03:
	case 0x0b:
		return wire_u32(r);
	case 0x02:
	case 0x0a:
		return wire_u16(r);
	case 0x01:
		return uleb(r);
	case 0x09:
		return (uint64_t)sleb(r);
	default:
		r->bad = true;
		return 0;
	}
}

/* instructions ------------------------------------------------------------------------------------------------------- */

static void set_rule(struct run *run, uint64_t reg, enum place place, int64_t at)
{
	if (reg == run->arch->dwarf_fp)
		run->row.fp = (struct rule){place, at};
	else if (reg == run->arch->dwarf_return)
		run->row.ra = (struct rule){place, at};
}

static int64_t scale_data(const struct run *run, uint64_t n)
{
	return (int64_t)(n * (uint64_t)run->common->data_unit);
}

static void restore(struct run *run, uint64_t reg)
{
	const struct rule *was = reg == run->arch->dwarf_fp ? &run->first.fp : &run->first.ra;
	set_rule(run, reg, was->place, was->at);
}

static void advance_location(struct run *run, uint64_t units)
{
	uint64_t by = units * run->common->code_unit;
	run->at = by > UINT64_MAX - run->at ? UINT64_MAX : run->at + by;
}

static void remember_row(struct run *run)
{
	if (run->remembered_count == MAX_REMEMBERED)
		run->r.bad = true;
	else
		run->remembered[run->remembered_count++] = run->row;
}

static void recall(struct run *run)
{
	if (run->remembered_count == 0)
		run->r.bad = true;
	else
		run->row = run->remembered[--run->remembered_count];
}

/* DW_CFA_def_cfa and its like; false: another one. */
static bool run_cfa(struct run *run, uint8_t op)
{
	struct row *row = &run->row;
	switch (op) {
	case 0x0c: /* def_cfa */
		row->base = uleb(&run->r);
		row->size = (int64_t)uleb(&run->r);
		row->strange = false;
		return true;
	case 0x12: /* def_cfa_sf */
		row->base = uleb(&run->r);
		row->size = scale_data(run, (uint64_t)sleb(&run->r));
		row->strange = false;
		return true;
	case 0x0d: /* def_cfa_register */
		row->base = uleb(&run->r);
		return true;
	case 0x0e: /* def_cfa_offset */
		row->size = (int64_t)uleb(&run->r);
		return true;
	case 0x13: /* def_cfa_offset_sf */
		row->size = scale_data(run, (uint64_t)sleb(&run->r));
		return true;
	case 0x0f: /* def_cfa_expression */
		row->strange = true;
		wire_bytes(&run->r, (size_t)uleb(&run->r));
		return true;
	default:
		return false;
	}
}

/* Where registers are. */
static void run_rule(struct run *run, uint8_t op)
{
	uint64_t reg = uleb(&run->r);
	switch (op) {
	case 0x05: /* offset_extended */
		set_rule(run, reg, PLACE_STACK, scale_data(run, uleb(&run->r)));
		return;
	case 0x11: /* offset_extended_sf */
		set_rule(run, reg, PLACE_STACK, scale_data(run, (uint64_t)sleb(&run->r)));
		return;
	case 0x06: /* restore_extended */
		restore(run, reg);
		return;
	case 0x07: /* undefined */
		set_rule(run, reg, PLACE_NOWHERE, 0);
		return;
	case 0x08: /* same_value */
		set_rule(run, reg, PLACE_REGISTER, 0);
		return;
	case 0x09: /* register */
	case 0x14: /* val_offset */
	case 0x15: /* val_offset_sf */
		uleb(&run->r);
		break;
	case 0x10: /* expression */
	case 0x16: /* val_expression */
		wire_bytes(&run->r, (size_t)uleb(&run->r));
		break;
	default:
		run->r.bad = true;
	}
	set_rule(run, reg, PLACE_OTHER, 0);
}

static void run_one(struct run *run)
{
	uint8_t op = wire_u8(&run->r), low = op & 0x3f;
	if (op >> 6 == 1)
		advance_location(run, low);
	else if (op >> 6 == 2)
		set_rule(run, low, PLACE_STACK, scale_data(run, uleb(&run->r)));
	else if (op >> 6 == 3)
		restore(run, low);
	else if (op == 0x02)
		advance_location(run, wire_u8(&run->r));
	else if (op == 0x03)
		advance_location(run, wire_u16(&run->r));
	else if (op == 0x04)
		advance_location(run, wire_u32(&run->r));
	else if (op == 0x0a)
		remember_row(run);
	else if (op == 0x0b)
		recall(run);
	else if (op == 0x2e) /* GNU_args_size */
		uleb(&run->r);
	else if (op != 0 && !(run->arch->links && op == SIGNS) && !run_cfa(run, op))
		run_rule(run, op);
}

/* To the address that is wanted. false: not understood. */
static bool run_to(struct run *run)
{
	while (wire_left(&run->r)) {
		struct row before = run->row;
		run_one(run);
		if (run->r.bad)
			return false;
		if (run->at > run->wanted) {
			run->row = before;
			return true;
		}
	}
	return !run->r.bad;
}

/* records ------------------------------------------------------------------------------------------------------------ */

/* "zPLR" and its like: what the letters stand for follows in their order. false: a letter that nobody told us of. */
static bool read_augmentation(struct wire_reader *r, const char *letters, size_t count, struct common *out)
{
	for (size_t i = 0; i < count; i++) {
		switch (letters[i]) {
		case 'R':
			out->encoding = wire_u8(r);
			break;
		case 'P':
			encoded(r, wire_u8(r));
			break;
		case 'L':
			wire_u8(r);
			break;
		case 'B': /* addresses are signed with the other key */
			break;
		case 'S':
			out->signal = true;
			break;
		default:
			return false;
		}
	}
	return true;
}

static bool read_common(const struct arch *arch, const uint8_t *bytes, size_t len, struct common *out)
{
	struct run run = {.arch = arch, .common = out, .wanted = UINT64_MAX};
	struct wire_reader *r = &run.r;
	char letters[8];
	size_t count = 0;
	*out = (struct common){0};
	wire_reader_init(r, bytes, len);
	if (wire_u32(r) != 0 || wire_u8(r) != 1)
		return false;
	for (char c; (c = (char)wire_u8(r)) != '\0'; letters[count++] = c)
		if (count == sizeof letters)
			return false;
	out->code_unit = uleb(r);
	out->data_unit = sleb(r);
	if (wire_u8(r) != arch->dwarf_return || (count && letters[0] != 'z'))
		return false;
	out->augmented = count > 0;
	if (count) {
		uint64_t more = uleb(r);
		struct wire_reader data;
		const uint8_t *at = wire_bytes(r, (size_t)more);
		wire_reader_init(&data, at, at ? (size_t)more : 0);
		if (!read_augmentation(&data, letters + 1, count - 1, out) || data.bad)
			return false;
	}
	run.row = (struct row){.strange = true, .ra = {.place = arch->links ? PLACE_REGISTER : PLACE_OTHER}};
	if (r->bad || !run_to(&run))
		return false;
	out->row = run.row;
	return true;
}

/* Where something is saved that lies `at` from the canonical frame address, from the stack pointer on. false: not in the frame. */
static bool is_in_frame(const struct row *row, int64_t at, uint32_t *above)
{
	if (at > -WORD || at < -MAX_FRAME || at % WORD)
		return false;
	*above = row->size + at >= 0 ? (uint32_t)(row->size + at) : CODE_FRAME_NO_FP;
	return true;
}

/* The return address lies right below the canonical frame address. */
static void describe_pushed(const struct arch *arch, const struct row *row, struct code_frame *out)
{
	bool saved = row->fp.place == PLACE_STACK;
	if (row->ra.place != PLACE_STACK || row->ra.at != -WORD || row->size < WORD)
		return;
	if (row->base == arch->dwarf_fp && row->size == 2 * WORD && saved && row->fp.at == -2 * WORD) {
		out->kind = CODE_FRAME_FRAMED;
		return;
	}
	if (row->base != arch->dwarf_sp || (!saved && row->fp.place != PLACE_REGISTER))
		return;
	/* What lies below the stack pointer has been popped: it is in the register again. */
	if (saved && (row->fp.at > -2 * WORD || !is_in_frame(row, row->fp.at, &out->fp_at)))
		return;
	out->kind = CODE_FRAME_FRAMELESS;
	out->size = (uint32_t)(row->size - WORD);
}

/* It is in the link register, or saved somewhere in the frame: with a frame pointer, right above the caller's. */
static void describe_linked(const struct arch *arch, const struct row *row, struct code_frame *out)
{
	bool saved = row->fp.place == PLACE_STACK, linked = row->ra.place == PLACE_REGISTER;
	if (row->size < 0 || (!linked && row->ra.place != PLACE_STACK))
		return;
	if (row->base == arch->dwarf_fp) {
		if (linked || !saved || row->fp.at != -row->size || row->ra.at != row->fp.at + WORD || row->size < 2 * WORD)
			return;
		out->kind = CODE_FRAME_FRAMED;
		out->above = (uint32_t)row->size;
		return;
	}
	if (row->base != arch->dwarf_sp || (!saved && row->fp.place != PLACE_REGISTER))
		return;
	if (saved && !is_in_frame(row, row->fp.at, &out->fp_at))
		return;
	if (!linked && (!is_in_frame(row, row->ra.at, &out->link_at) || out->link_at == CODE_FRAME_NO_FP))
		return;
	out->kind = linked ? CODE_FRAME_LINK : CODE_FRAME_SAVED;
	out->size = (uint32_t)row->size;
}

/* In the words of struct code_frame, where it has some. */
static void describe_frame(const struct arch *arch, const struct row *row, struct code_frame *out)
{
	if (row->ra.place == PLACE_NOWHERE)
		out->kind = CODE_FRAME_FIRST;
	else if (!row->strange && row->size <= MAX_FRAME && row->size % WORD == 0)
		(arch->links ? describe_linked : describe_pushed)(arch, row, out);
	if (out->kind == CODE_FRAME_UNKNOWN)
		out->fp_at = CODE_FRAME_NO_FP;
}

void unwind_program_run(const struct arch *arch, const struct unwind_entry *entry, uint64_t offset, struct code_frame *out)
{
	struct common common;
	*out = (struct code_frame){.kind = CODE_FRAME_UNKNOWN, .fp_at = CODE_FRAME_NO_FP};
	if (!read_common(arch, entry->cie, entry->cie_bytes, &common) || common.signal)
		return;
	struct run run = {.arch = arch, .common = &common, .row = common.row, .first = common.row, .wanted = offset};
	wire_reader_init(&run.r, entry->fde, entry->fde_bytes);
	wire_u32(&run.r);
	encoded(&run.r, common.encoding);
	uint64_t range = encoded(&run.r, common.encoding);
	if (common.augmented)
		wire_bytes(&run.r, (size_t)uleb(&run.r));
	if (run.r.bad || offset >= range || !run_to(&run))
		return;
	describe_frame(arch, &run.row, out);
}
