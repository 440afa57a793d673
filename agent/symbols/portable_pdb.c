#include "agent/symbols/portable_pdb.h"

#include "agent/symbols/pdb_points.h"

#include <string.h>

enum {
	TABLE_DOCUMENT = 0x30,
	TABLE_METHOD = 0x31,
	TABLE_LOCAL_SCOPE = 0x32,
	TABLE_LOCAL_VARIABLE = 0x33,
	TABLE_LOCAL_CONSTANT = 0x34,
	TABLE_IMPORT_SCOPE = 0x35,
	TABLE_STATE_MACHINE = 0x36,
	TABLE_CUSTOM = 0x37,
	TABLE_LAST = TABLE_CUSTOM,
	TABLE_METHOD_DEF = 0x06,
	TOKEN_METHOD_DEF = 0x06,
	MODULE_PARENT = 1 << 5 | 7, /* HasCustomDebugInformation: row 1 of Module */
	HEAP_STRINGS_WIDE = 1,
	HEAP_GUIDS_WIDE = 2,
	HEAP_BLOBS_WIDE = 4,
	MAX_STREAMS = 16,
};
#define METADATA_SIGNATURE 0x424a5342u
#define SOURCE_LINK_MAX_BYTES (64u * 1024)

static const uint8_t source_link_kind[16] = {0x56, 0x05, 0x11, 0xcc, 0x91, 0xa0, 0x38, 0x4d, 0x9f, 0xec, 0x25, 0xab, 0x9a, 0x35, 0x1a, 0x6a};
static const char windows_pdb[] = "Microsoft C/C++ MSF 7.00\r\n";

/* streams ------------------------------------------------------------------------------------------------------------ */

struct pdb_streams {
	struct pdb_span pdb, tables, blobs, guids;
};

/* The next one's header, whose name is padded to 4 bytes. false: torn. */
static bool read_pdb_stream(const struct portable_pdb *p, struct wire_reader *r, struct pdb_streams *s)
{
	uint32_t offset = wire_u32(r), bytes = wire_u32(r);
	const char *name = (const char *)r->data + r->pos;
	size_t left = wire_left(r), len = left ? strnlen(name, left < 32 ? left : 32) : 0;

	if (!wire_bytes(r, (len + 4) / 4 * 4) || offset > p->whole.bytes || bytes > p->whole.bytes - offset)
		return false;
	struct pdb_span span = {p->whole.data + offset, bytes};
	if (strcmp(name, "#Pdb") == 0)
		s->pdb = span;
	else if (strcmp(name, "#~") == 0)
		s->tables = span;
	else if (strcmp(name, "#Blob") == 0)
		s->blobs = span;
	else if (strcmp(name, "#GUID") == 0)
		s->guids = span;
	return true;
}

static bool read_pdb_streams(const struct portable_pdb *p, struct pdb_streams *s)
{
	struct wire_reader r;

	wire_reader_init(&r, p->whole.data, p->whole.bytes);
	if (wire_u32(&r) != METADATA_SIGNATURE || !wire_bytes(&r, 8))
		return false;
	uint32_t version = wire_u32(&r);
	if (version > 256 || !wire_bytes(&r, ((size_t)version + 3) / 4 * 4))
		return false;
	wire_u16(&r);
	unsigned count = wire_u16(&r);
	if (r.bad || count > MAX_STREAMS)
		return false;
	for (unsigned i = 0; i < count; i++)
		if (!read_pdb_stream(p, &r, s))
			return false;
	return s->pdb.data && s->tables.data && s->blobs.data;
}

/* tables ------------------------------------------------------------------------------------------------------------- */

/* The id, and how many rows the assembly's own tables have: the sizes of indexes depend on it. */
static bool read_pdb_head(struct portable_pdb *p, const struct pdb_span *stream)
{
	struct wire_reader r;

	wire_reader_init(&r, stream->data, stream->bytes);
	const uint8_t *id = wire_bytes(&r, sizeof p->id);
	wire_u32(&r);
	uint64_t tables = wire_u64(&r);
	for (unsigned i = 0; i < PDB_TABLES; i++)
		if (tables >> i & 1)
			p->row_count[i] = wire_u32(&r);
	if (r.bad || tables >> TABLE_DOCUMENT)
		return false;
	memcpy(p->id, id, sizeof p->id);
	return true;
}

static bool read_row_counts(struct portable_pdb *p, const struct pdb_span *stream, uint64_t *valid)
{
	struct wire_reader r;

	wire_reader_init(&r, stream->data, stream->bytes);
	wire_bytes(&r, 6);
	unsigned heaps = wire_u8(&r);
	wire_u8(&r);
	*valid = wire_u64(&r);
	wire_u64(&r);
	if (r.bad || *valid & ~(UINT64_C(0xff) << TABLE_DOCUMENT))
		return false;
	for (unsigned i = TABLE_DOCUMENT; i <= TABLE_LAST; i++)
		if (*valid >> i & 1)
			p->row_count[i] = wire_u32(&r);
	p->string_size = heaps & HEAP_STRINGS_WIDE ? 4 : 2;
	p->guid_size = heaps & HEAP_GUIDS_WIDE ? 4 : 2;
	p->blob_size = heaps & HEAP_BLOBS_WIDE ? 4 : 2;
	if (heaps & 0x40) /* a word that some writers add */
		wire_u32(&r);
	p->rows = (struct pdb_span){stream->data + r.pos, wire_left(&r)};
	return !r.bad;
}

static uint32_t pdb_index_size(const struct portable_pdb *p, unsigned table)
{
	return p->row_count[table] < 1u << 16 ? 2 : 4;
}

/* One of 27 tables, told by the 5 lowest bits. */
static uint32_t custom_parent_size(const struct portable_pdb *p)
{
	static const uint8_t tables[] = {0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x00, 0x0e, 0x17, 0x14, 0x11, 0x1a, 0x1b,
					 0x20, 0x23, 0x26, 0x27, 0x28, 0x2a, 0x2c, 0x2b, 0x30, 0x32, 0x33, 0x34, 0x35};

	for (size_t i = 0; i < sizeof tables; i++)
		if (p->row_count[tables[i]] >= 1u << 11)
			return 4;
	return 2;
}

static uint32_t pdb_row_bytes(const struct portable_pdb *p, unsigned table)
{
	uint32_t blob = p->blob_size, string = p->string_size, guid = p->guid_size;

	switch (table) {
	case TABLE_DOCUMENT:
		return blob + guid + blob + guid;
	case TABLE_METHOD:
		return pdb_index_size(p, TABLE_DOCUMENT) + blob;
	case TABLE_LOCAL_SCOPE:
		return pdb_index_size(p, TABLE_METHOD_DEF) + pdb_index_size(p, TABLE_IMPORT_SCOPE) + pdb_index_size(p, TABLE_LOCAL_VARIABLE) +
		       pdb_index_size(p, TABLE_LOCAL_CONSTANT) + 8;
	case TABLE_LOCAL_VARIABLE:
		return 4 + string;
	case TABLE_LOCAL_CONSTANT:
		return string + blob;
	case TABLE_IMPORT_SCOPE:
		return pdb_index_size(p, TABLE_IMPORT_SCOPE) + blob;
	case TABLE_STATE_MACHINE:
		return 2 * pdb_index_size(p, TABLE_METHOD_DEF);
	default:
		return custom_parent_size(p) + guid + blob;
	}
}

static bool place_pdb_tables(struct portable_pdb *p)
{
	size_t at = 0;

	for (unsigned i = TABLE_DOCUMENT; i <= TABLE_LAST; i++) {
		uint64_t bytes = (uint64_t)p->row_count[i] * pdb_row_bytes(p, i);
		if (bytes > p->rows.bytes - at)
			return false;
		struct pdb_span rows = {p->rows.data + at, (size_t)bytes};
		if (i == TABLE_DOCUMENT)
			p->documents = rows;
		else if (i == TABLE_METHOD)
			p->methods = rows;
		else if (i == TABLE_CUSTOM)
			p->custom = rows;
		at += (size_t)bytes;
	}
	p->document_row = pdb_row_bytes(p, TABLE_DOCUMENT);
	p->method_row = pdb_row_bytes(p, TABLE_METHOD);
	p->custom_row = pdb_row_bytes(p, TABLE_CUSTOM);
	p->custom_parent_size = custom_parent_size(p);
	return true;
}

int portable_pdb_open(struct portable_pdb *p, const void *data, size_t bytes, struct err *e)
{
	struct pdb_streams s = {0};
	uint64_t valid;

	*p = (struct portable_pdb){.whole = {data, bytes}};
	if (bytes >= sizeof windows_pdb - 1 && memcmp(data, windows_pdb, sizeof windows_pdb - 1) == 0)
		return err_set(e, ERR_INVALID, 0, "it is a Windows PDB: build with <DebugType>portable</DebugType>");
	if (!read_pdb_streams(p, &s) || !read_pdb_head(p, &s.pdb) || !read_row_counts(p, &s.tables, &valid) || !place_pdb_tables(p))
		return err_set(e, ERR_PROTOCOL, 0, "it is not a portable PDB, or it is damaged");
	p->blobs = s.blobs;
	p->guids = s.guids;
	return 0;
}

/* what they say ------------------------------------------------------------------------------------------------------- */

static uint32_t read_pdb_index(struct wire_reader *r, uint32_t size)
{
	return size == 2 ? wire_u16(r) : wire_u32(r);
}

/* A blob by its place in the heap. false: it does not lie there. */
static bool read_pdb_blob(const struct portable_pdb *p, uint32_t at, struct pdb_span *out)
{
	struct wire_reader r;

	if (at >= p->blobs.bytes)
		return false;
	wire_reader_init(&r, p->blobs.data + at, p->blobs.bytes - at);
	uint32_t bytes = pdb_points_unsigned(&r);
	out->bytes = bytes;
	out->data = wire_bytes(&r, bytes);
	return !r.bad;
}

bool portable_pdb_line(const struct portable_pdb *p, uint32_t token, uint32_t il_offset, struct pdb_line *out)
{
	uint32_t row = token & 0xffffff;
	struct wire_reader r;
	struct pdb_span points;

	if (token >> 24 != TOKEN_METHOD_DEF || row == 0 || row > p->row_count[TABLE_METHOD])
		return false;
	wire_reader_init(&r, p->methods.data + (size_t)(row - 1) * p->method_row, p->method_row);
	uint32_t document = read_pdb_index(&r, pdb_index_size(p, TABLE_DOCUMENT)), blob = read_pdb_index(&r, p->blob_size);
	if (blob == 0 || !read_pdb_blob(p, blob, &points))
		return false;
	return pdb_points_find(points.data, points.bytes, document, il_offset, p->budget, &out->document, &out->line) && out->document != 0 &&
	       out->document <= p->row_count[TABLE_DOCUMENT];
}

uint32_t portable_pdb_document_count(const struct portable_pdb *p)
{
	return p->row_count[TABLE_DOCUMENT];
}

/* The name's blob: a separator (0: none), then places of blobs that are the parts. */
int portable_pdb_document(const struct portable_pdb *p, uint32_t document, struct buf *out)
{
	struct wire_reader r;
	struct pdb_span name, part;
	size_t begin = out->len;

	if (document == 0 || document > p->row_count[TABLE_DOCUMENT])
		return -1;
	wire_reader_init(&r, p->documents.data + (size_t)(document - 1) * p->document_row, p->document_row);
	if (!read_pdb_blob(p, read_pdb_index(&r, p->blob_size), &name))
		return -1;
	wire_reader_init(&r, name.data, name.bytes);
	char separator = (char)wire_u8(&r);
	for (unsigned i = 0; wire_left(&r); i++) {
		uint32_t at = pdb_points_unsigned(&r);
		if (i == PDB_PATH_PARTS)
			work_budget_leave_out(p->budget);
		if (i == PDB_PATH_PARTS || !work_budget_spend(p->budget, 1) || r.bad || (at && !read_pdb_blob(p, at, &part)))
			return -1;
		if (i && separator)
			buf_putc(out, separator);
		if (at && part.bytes)
			buf_append(out, part.data, part.bytes);
		if (out->full || out->len - begin > PDB_PATH_BYTES)
			return -1;
	}
	return r.bad ? -1 : 0;
}

bool portable_pdb_source_link(const struct portable_pdb *p, struct pdb_span *out)
{
	for (uint32_t i = 0; i < p->row_count[TABLE_CUSTOM] && work_budget_spend(p->budget, 1); i++) {
		struct wire_reader r;
		wire_reader_init(&r, p->custom.data + (size_t)i * p->custom_row, p->custom_row);
		uint32_t parent = read_pdb_index(&r, p->custom_parent_size), kind = read_pdb_index(&r, p->guid_size);
		uint32_t blob = read_pdb_index(&r, p->blob_size);
		if (parent != MODULE_PARENT || kind == 0 || (uint64_t)kind * 16 > p->guids.bytes ||
		    memcmp(p->guids.data + (size_t)(kind - 1) * 16, source_link_kind, 16) != 0)
			continue;
		return read_pdb_blob(p, blob, out) && out->bytes <= SOURCE_LINK_MAX_BYTES;
	}
	return false;
}
