#include "agent/symbols/pdb_points.h"

#define MAX_LINE 0x20000000 /* the format's own bound */

uint32_t pdb_points_unsigned(struct wire_reader *r)
{
	uint32_t a = wire_u8(r);

	if (a < 0x80)
		return a;
	uint32_t b = wire_u8(r);
	if (a < 0xc0)
		return (a & 0x3f) << 8 | b;
	uint32_t c = wire_u8(r), d = wire_u8(r);
	if (a >= 0xe0)
		r->bad = true;
	return r->bad ? 0 : (a & 0x1f) << 24 | b << 16 | c << 8 | d;
}

/* The sign is the lowest bit; how far it reaches up depends on how many bytes there are. */
int32_t pdb_points_signed(struct wire_reader *r)
{
	size_t begin = r->pos;
	uint32_t v = pdb_points_unsigned(r), bytes = (uint32_t)(r->pos - begin);
	uint32_t bits = bytes == 1 ? 6 : bytes == 2 ? 13 : 28;

	return v & 1 ? (int32_t)(v >> 1) - (int32_t)(1u << bits) : (int32_t)(v >> 1);
}

struct point {
	uint32_t offset, document;
	int64_t line;
	bool any;    /* one that is not hidden has come: lines are told by their distance from it */
	bool hidden; /* this one is */
};

/* A record behind its first number. */
static void read_point(struct wire_reader *r, struct point *p)
{
	uint32_t lines = pdb_points_unsigned(r);
	int64_t columns = lines == 0 ? (int64_t)pdb_points_unsigned(r) : pdb_points_signed(r);

	p->hidden = lines == 0 && columns == 0;
	if (p->hidden)
		return;
	p->line = p->any ? p->line + pdb_points_signed(r) : (int64_t)pdb_points_unsigned(r);
	if (p->any)
		pdb_points_signed(r);
	else
		pdb_points_unsigned(r);
	p->any = true;
	if (p->line <= 0 || p->line >= MAX_LINE)
		r->bad = true;
}

bool pdb_points_find(const uint8_t *data, size_t bytes, uint32_t document, uint32_t il_offset, struct work_budget *budget, uint32_t *out_document,
		     uint32_t *out_line)
{
	struct point p = {.document = document};
	struct wire_reader r;
	bool found = false, first = true;

	if (bytes > PDB_POINTS_MAX_BYTES) {
		work_budget_leave_out(budget);
		return false;
	}
	wire_reader_init(&r, data, bytes);
	pdb_points_unsigned(&r); /* the signature of the locals */
	if (document == 0)
		p.document = pdb_points_unsigned(&r);
	while (wire_left(&r)) {
		uint32_t distance = pdb_points_unsigned(&r);
		if (!work_budget_spend(budget, 1))
			return false;
		if (!first && distance == 0) {
			p.document = pdb_points_unsigned(&r);
			continue;
		}
		first = false;
		if (distance > UINT32_MAX - p.offset)
			return false;
		p.offset += distance;
		read_point(&r, &p);
		if (r.bad || p.offset > il_offset)
			break;
		if (!p.hidden) {
			found = true;
			*out_document = p.document;
			*out_line = (uint32_t)p.line;
		}
	}
	return found && !r.bad;
}
