#include "agent/locks/image_metadata.h"

#include <stdio.h>
#include <string.h>

#define SECTIONS_MAX 96
#define STREAMS_MAX 16
#define NAME_BYTES 256
#define CLI_HEADER_BYTES 72
#define TABLES 64
enum {
	TABLE_MODULE = 0,
	TABLE_TYPE_REF = 1,
	TABLE_TYPE_DEF = 2,
	TABLE_FIELD = 4,
	TABLE_METHOD = 6,
	TABLE_MODULE_REF = 0x1a,
	TABLE_TYPE_SPEC = 0x1b,
	TABLE_ASSEMBLY_REF = 0x23,
};

struct image_reader {
	const struct process_memory *memory;
	uint64_t image;
	uint32_t header;   /* of the PE file, from its beginning */
	uint16_t sections, optional_bytes;
	bool flat;         /* as in the file: not laid out by its sections */
};

static uint32_t get32(const struct process_memory *m, uint64_t at)
{
	uint32_t x = 0;
	return process_memory_whole(m, at, &x, sizeof x) ? x : 0;
}

static uint16_t get16(const struct process_memory *m, uint64_t at)
{
	uint16_t x = 0;
	return process_memory_whole(m, at, &x, sizeof x) ? x : 0;
}

/* the image -------------------------------------------------------------------------------------------------------- */

static uint64_t section_place(const struct image_reader *r, uint32_t rva)
{
	uint64_t row = r->image + r->header + 24 + r->optional_bytes;
	for (uint16_t i = 0; i < r->sections; i++, row += 40) {
		uint32_t x[4]; /* virtual size, address, size in the file, offset in it */
		if (process_memory_whole(r->memory, row + 8, x, sizeof x) && rva >= x[1] && rva - x[1] < x[2])
			return r->image + x[3] + (rva - x[1]);
	}
	return 0;
}

static uint64_t image_place(const struct image_reader *r, uint32_t rva)
{
	return r->flat ? section_place(r, rva) : r->image + rva;
}

/* Where the metadata begins; 0: not to be found. */
static uint64_t metadata_place(struct image_reader *r)
{
	uint64_t optional = r->image + r->header + 24;
	uint16_t magic = get16(r->memory, optional);
	uint32_t cli = get32(r->memory, optional + (magic == 0x20b ? 112 : 96) + 14 * 8);
	if ((magic != 0x20b && magic != 0x10b) || !cli)
		return 0;
	for (int flat = 0; flat < 2; flat++) {
		r->flat = flat;
		uint64_t head = image_place(r, cli);
		if (!head || get32(r->memory, head) != CLI_HEADER_BYTES)
			continue;
		uint64_t root = image_place(r, get32(r->memory, head + 8));
		if (root && get32(r->memory, root) == 0x424a5342) /* BSJB */
			return root;
	}
	return 0;
}

static uint64_t find_metadata(const struct process_memory *m, uint64_t image)
{
	struct image_reader r = {.memory = m, .image = image, .header = get32(m, image + 0x3c)};
	if (get16(m, image) != 0x5a4d || r.header > 4096 || get32(m, image + r.header) != 0x4550)
		return 0;
	r.sections = get16(m, image + r.header + 6);
	r.optional_bytes = get16(m, image + r.header + 20);
	return r.sections <= SECTIONS_MAX ? metadata_place(&r) : 0;
}

/* the tables ------------------------------------------------------------------------------------------------------- */

static uint32_t index_bytes(const uint32_t *rows, const uint8_t *tables, size_t count, unsigned tag_bits)
{
	for (size_t i = 0; i < count; i++)
		if (rows[tables[i]] >= UINT32_C(1) << (16 - tag_bits))
			return 4;
	return 2;
}

static bool read_tables(const struct process_memory *m, uint64_t at, struct image_metadata *out)
{
	static const uint8_t scopes[] = {TABLE_MODULE, TABLE_MODULE_REF, TABLE_ASSEMBLY_REF, TABLE_TYPE_REF},
			     bases[] = {TABLE_TYPE_DEF, TABLE_TYPE_REF, TABLE_TYPE_SPEC}, fields[] = {TABLE_FIELD}, methods[] = {TABLE_METHOD};
	uint32_t rows[TABLES] = {0}, next = 24;
	uint8_t head[24];
	uint64_t valid;
	if (!process_memory_whole(m, at, head, sizeof head))
		return false;
	memcpy(&valid, head + 8, sizeof valid);
	for (unsigned i = 0; i < TABLES; i++)
		if (valid >> i & 1) {
			rows[i] = get32(m, at + next);
			next += 4;
		}
	uint32_t name = head[6] & 1 ? 4 : 2, guid = head[6] & 2 ? 4 : 2;
	uint64_t module_bytes = 2 + name + 3 * guid, ref_bytes = index_bytes(rows, scopes, sizeof scopes, 2) + 2 * name;
	out->wide = name == 4;
	out->row_bytes = 4 + 2 * name + index_bytes(rows, bases, sizeof bases, 2) + index_bytes(rows, fields, 1, 0) + index_bytes(rows, methods, 1, 0);
	out->type_count = rows[TABLE_TYPE_DEF];
	out->types = at + next + rows[TABLE_MODULE] * module_bytes + rows[TABLE_TYPE_REF] * ref_bytes;
	return out->type_count != 0;
}

bool image_metadata_open(const struct process_memory *m, uint64_t image, struct image_metadata *out)
{
	*out = (struct image_metadata){0};
	uint64_t root = find_metadata(m, image), tables = 0;
	uint32_t version = root ? get32(m, root + 12) : 0;
	if (!root || version > 255)
		return false;
	uint64_t at = root + 16 + version;
	uint16_t streams = get16(m, at + 2);
	at += 4;
	for (uint16_t i = 0; i < streams && i < STREAMS_MAX; i++) {
		char head[8 + 32 + 1] = {0};
		uint32_t where, size;
		process_memory_read(m, at, head, sizeof head - 1);
		memcpy(&where, head, sizeof where);
		memcpy(&size, head + 4, sizeof size);
		if (strcmp(head + 8, "#~") == 0)
			tables = root + where;
		if (strcmp(head + 8, "#Strings") == 0) {
			out->strings = root + where;
			out->strings_bytes = size;
		}
		at += 8 + (strlen(head + 8) / 4 + 1) * 4;
	}
	return tables && out->strings && read_tables(m, tables, out);
}

static void read_name(const struct process_memory *m, const struct image_metadata *x, const uint8_t *at, char *out)
{
	uint32_t offset = 0;
	memcpy(&offset, at, x->wide ? 4 : 2);
	size_t have = offset < x->strings_bytes ? x->strings_bytes - offset : 0;
	have = process_memory_read(m, x->strings + offset, out, have < NAME_BYTES - 1 ? have : NAME_BYTES - 1);
	out[have] = '\0';
}

bool image_metadata_type(const struct process_memory *m, const struct image_metadata *x, uint32_t row, char *out, size_t size)
{
	uint8_t bytes[12]; /* flags, name, namespace */
	char name[NAME_BYTES], space[NAME_BYTES];
	size_t width = x->wide ? 4 : 2;
	out[0] = '\0';
	if (!row || row > x->type_count || !process_memory_whole(m, x->types + (uint64_t)(row - 1) * x->row_bytes, bytes, 4 + 2 * width))
		return false;
	read_name(m, x, bytes + 4, name);
	read_name(m, x, bytes + 4 + width, space);
	snprintf(out, size, "%s%s%s", space, space[0] ? "." : "", name);
	return name[0];
}
