#include "agent/symbols/pe_debug.h"

#include "common/proto/wire.h"

#include <string.h>

enum {
	DIRECTORY_ENTRY_BYTES = 28,
	SECTION_BYTES = 40,
	MAX_SECTIONS = 96,
	MAX_ENTRIES = 32,
	TYPE_CODEVIEW = 2,
	TYPE_EMBEDDED = 17,
	PORTABLE_CODEVIEW = 0x504d, /* minor version */
	RSDS_BYTES = 24, /* before the path */
};
#define RSDS 0x53445352u

struct pe_image {
	pe_read_fn *read;
	void *ctx;
	uint64_t sections; /* offset of their table */
	uint32_t section_count;
	uint32_t debug_rva, debug_bytes;
};

static bool read_pe_headers(struct pe_image *p)
{
	uint8_t dos[64], coff[24], optional[240] = {0};
	struct wire_reader r;

	if (!p->read(p->ctx, 0, dos, sizeof dos) || dos[0] != 'M' || dos[1] != 'Z')
		return false;
	wire_reader_init(&r, dos + 0x3c, 4);
	uint32_t at = wire_u32(&r);
	if (!p->read(p->ctx, at, coff, sizeof coff) || memcmp(coff, "PE\0\0", 4) != 0)
		return false;
	uint32_t optional_bytes = coff[20] | (uint32_t)coff[21] << 8;
	p->section_count = coff[6] | (uint32_t)coff[7] << 8;
	p->sections = (uint64_t)at + sizeof coff + optional_bytes;
	if (p->section_count > MAX_SECTIONS || optional_bytes < 2 ||
	    !p->read(p->ctx, (uint64_t)at + sizeof coff, optional, optional_bytes < sizeof optional ? optional_bytes : sizeof optional))
		return false;
	size_t directories = optional[0] == 0x0b && optional[1] == 1 ? 96 : optional[0] == 0x0b && optional[1] == 2 ? 112 : SIZE_MAX;
	if (directories == SIZE_MAX)
		return false;
	size_t end = optional_bytes < sizeof optional ? optional_bytes : sizeof optional;
	wire_reader_init(&r, optional, end);
	if (!wire_bytes(&r, directories - 4) || wire_u32(&r) < 7 || !wire_bytes(&r, 6 * 8)) /* debug is the seventh */
		return false;
	p->debug_rva = wire_u32(&r);
	p->debug_bytes = wire_u32(&r);
	return !r.bad && p->debug_bytes >= DIRECTORY_ENTRY_BYTES;
}

/* Where a place in memory lies in the file. */
static bool find_pe_file_offset(const struct pe_image *p, uint32_t rva, uint64_t *offset)
{
	for (uint32_t i = 0; i < p->section_count; i++) {
		uint8_t section[SECTION_BYTES];
		struct wire_reader r;

		if (!p->read(p->ctx, p->sections + (uint64_t)i * SECTION_BYTES, section, sizeof section))
			return false;
		wire_reader_init(&r, section + 12, 12);
		uint32_t start = wire_u32(&r), bytes = wire_u32(&r), raw = wire_u32(&r);
		if (rva >= start && rva - start < bytes) {
			*offset = (uint64_t)raw + (rva - start);
			return true;
		}
	}
	return false;
}

/* The last part of a path of either kind. */
static void take_pdb_name(struct pe_debug *out, const char *path, size_t len)
{
	size_t begin = 0;

	for (size_t i = 0; i < len; i++)
		if (path[i] == '/' || path[i] == '\\')
			begin = i + 1;
	if (len - begin >= sizeof out->name)
		return;
	memcpy(out->name, path + begin, len - begin);
	out->name[len - begin] = '\0';
}

static bool take_codeview(const struct pe_image *p, uint64_t at, uint32_t bytes, bool portable, uint32_t stamp, struct pe_debug *out)
{
	uint8_t data[RSDS_BYTES + 1024] = {0};
	struct wire_reader r;
	size_t n = bytes < sizeof data - 1 ? bytes : sizeof data - 1; /* a NUL stays behind it */

	if (n < RSDS_BYTES || !p->read(p->ctx, at, data, n))
		return false;
	wire_reader_init(&r, data, n);
	if (wire_u32(&r) != RSDS)
		return false;
	const uint8_t *guid = wire_bytes(&r, 16);
	wire_u32(&r); /* the age: 1 in all of portable PDBs */
	memcpy(out->id, guid, 16);
	for (size_t i = 0; i < 4; i++)
		out->id[16 + i] = (uint8_t)(stamp >> 8 * i);
	out->codeview = true;
	out->portable = portable;
	take_pdb_name(out, (const char *)data + RSDS_BYTES, strlen((const char *)data + RSDS_BYTES));
	return true;
}

/* false: the directory is not what it should be when the image lies so. */
static bool take_debug_entry(const struct pe_image *p, const uint8_t *entry, bool loaded, struct pe_debug *out)
{
	struct wire_reader r;

	wire_reader_init(&r, entry, DIRECTORY_ENTRY_BYTES);
	wire_u32(&r);
	uint32_t stamp = wire_u32(&r);
	wire_u16(&r);
	uint16_t minor = wire_u16(&r);
	uint32_t type = wire_u32(&r), bytes = wire_u32(&r), rva = wire_u32(&r), offset = wire_u32(&r), at = loaded ? rva : offset;
	if (type == TYPE_CODEVIEW && !out->codeview)
		return take_codeview(p, at, bytes, minor == PORTABLE_CODEVIEW, stamp, out);
	if (type == TYPE_EMBEDDED && at && out->embedded_bytes == 0) {
		out->embedded_at = at;
		out->embedded_bytes = bytes;
	}
	return true;
}

static bool read_debug_directory(const struct pe_image *p, bool loaded, struct pe_debug *out)
{
	uint8_t entry[DIRECTORY_ENTRY_BYTES];
	uint64_t at = p->debug_rva;

	*out = (struct pe_debug){0};
	if (!loaded && !find_pe_file_offset(p, p->debug_rva, &at))
		return false;
	for (uint32_t i = 0; i < p->debug_bytes / DIRECTORY_ENTRY_BYTES && i < MAX_ENTRIES; i++)
		if (!p->read(p->ctx, at + (uint64_t)i * sizeof entry, entry, sizeof entry) || !take_debug_entry(p, entry, loaded, out))
			return false;
	return out->codeview;
}

bool pe_debug_read(pe_read_fn *read, void *ctx, struct pe_debug *out)
{
	struct pe_image p = {.read = read, .ctx = ctx};

	*out = (struct pe_debug){0};
	return read_pe_headers(&p) && (read_debug_directory(&p, true, out) || read_debug_directory(&p, false, out));
}
