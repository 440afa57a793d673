#include "agent/locks/image_metadata.h"

#include <stdio.h>
#include <string.h>

#define SECTIONS_MAX 96
#define STREAMS_MAX 16
#define NAME_BYTES IMAGE_NAME_BYTES
#define METHODS_MAX 4096 /* of a type, that are looked at */
#define CLI_HEADER_BYTES 72
#define NESTING_MAX 12
#define SCOPE_BITS 2 /* of a ResolutionScope: which table it is a row of */
#define SCOPE_MASK 3u
#define SCOPE_TYPE_REF 3u

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

/* the names -------------------------------------------------------------------------------------------------------- */

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
		if (strcmp(head + 8, "#Blob") == 0) {
			out->blobs = root + where;
			out->blobs_bytes = size;
		}
		at += 8 + (strlen(head + 8) / 4 + 1) * 4;
	}
	return tables && out->strings && metadata_tables_read(m, tables, &out->tables) && out->tables.rows[METADATA_TYPE_DEF];
}

static void read_name(const struct process_memory *m, const struct image_metadata *x, uint32_t offset, char *out)
{
	size_t have = offset < x->strings_bytes ? x->strings_bytes - offset : 0;
	have = process_memory_read(m, x->strings + offset, out, have < NAME_BYTES - 1 ? have : NAME_BYTES - 1);
	out[have] = '\0';
}

/* "Namespace.Name" of two columns that follow each other. */
static bool put_full_name(const struct process_memory *m, const struct image_metadata *x, const uint32_t *columns, char *out, size_t size)
{
	char name[NAME_BYTES], space[NAME_BYTES];
	read_name(m, x, columns[0], name);
	read_name(m, x, columns[1], space);
	snprintf(out, size, "%s%s%s", space, space[0] ? "." : "", name);
	return name[0];
}

bool image_metadata_type(const struct process_memory *m, const struct image_metadata *x, uint32_t row, char *out, size_t size)
{
	uint32_t columns[METADATA_COLUMNS];
	out[0] = '\0';
	return metadata_tables_row(m, &x->tables, METADATA_TYPE_DEF, row, columns) && put_full_name(m, x, columns + 1, out, size);
}

/* One of `table`, of which `chain` has the rows from the inner to the outer one. */
static bool put_chain(const struct process_memory *m, const struct image_metadata *x, enum metadata_table table, const uint32_t *chain, size_t depth,
		      char *out, size_t size)
{
	uint32_t columns[METADATA_COLUMNS];
	size_t used = 0;
	out[0] = '\0';
	while (depth-- > 0 && used < size) {
		char name[2 * NAME_BYTES];
		if (!metadata_tables_row(m, &x->tables, table, chain[depth], columns) || !put_full_name(m, x, columns + 1, name, sizeof name))
			return false;
		used += (size_t)snprintf(out + used, size - used, "%s%s", used ? "+" : "", name);
	}
	return out[0];
}

/* The type around a nested one; 0: it is not nested. */
static uint32_t enclosing_type(const struct process_memory *m, const struct image_metadata *x, uint32_t row)
{
	uint32_t columns[METADATA_COLUMNS];
	uint32_t at = metadata_tables_last(m, &x->tables, METADATA_NESTED, 0, row);
	return metadata_tables_row(m, &x->tables, METADATA_NESTED, at, columns) && columns[0] == row ? columns[1] : 0;
}

bool image_metadata_nested_type(const struct process_memory *m, const struct image_metadata *x, uint32_t row, char *out, size_t size)
{
	uint32_t chain[NESTING_MAX];
	size_t depth = 0;
	while (row && depth < NESTING_MAX) {
		chain[depth++] = row;
		row = enclosing_type(m, x, row);
	}
	return put_chain(m, x, METADATA_TYPE_DEF, chain, depth, out, size);
}

bool image_metadata_type_ref(const struct process_memory *m, const struct image_metadata *x, uint32_t row, char *out, size_t size)
{
	uint32_t chain[NESTING_MAX], columns[METADATA_COLUMNS];
	size_t depth = 0;
	while (row && depth < NESTING_MAX && metadata_tables_row(m, &x->tables, METADATA_TYPE_REF, row, columns)) {
		chain[depth++] = row;
		row = (columns[0] & SCOPE_MASK) == SCOPE_TYPE_REF ? columns[0] >> SCOPE_BITS : 0;
	}
	return put_chain(m, x, METADATA_TYPE_REF, chain, depth, out, size);
}

bool image_metadata_method(const struct process_memory *m, const struct image_metadata *x, uint32_t row, struct image_method *out)
{
	uint32_t columns[METADATA_COLUMNS];
	*out = (struct image_method){0};
	if (!metadata_tables_row(m, &x->tables, METADATA_METHOD, row, columns))
		return false;
	read_name(m, x, columns[3], out->name);
	out->name_offset = columns[3];
	out->signature = columns[4];
	out->type = metadata_tables_last(m, &x->tables, METADATA_TYPE_DEF, 5, row);
	return out->name[0] && out->type;
}

bool image_metadata_overloaded(const struct process_memory *m, const struct image_metadata *x, const struct image_method *method)
{
	uint32_t type[METADATA_COLUMNS], next[METADATA_COLUMNS], columns[METADATA_COLUMNS], alike = 0;
	if (!metadata_tables_row(m, &x->tables, METADATA_TYPE_DEF, method->type, type))
		return false;
	bool last = !metadata_tables_row(m, &x->tables, METADATA_TYPE_DEF, method->type + 1, next);
	uint32_t end = last ? x->tables.rows[METADATA_METHOD] + 1 : next[5];
	for (uint32_t row = type[5], steps = 0; row < end && steps < METHODS_MAX && alike < 2; row++, steps++)
		alike += metadata_tables_row(m, &x->tables, METADATA_METHOD, row, columns) && columns[3] == method->name_offset;
	return alike > 1;
}

void image_metadata_module(const struct process_memory *m, const struct image_metadata *x, char out[IMAGE_NAME_BYTES])
{
	uint32_t columns[METADATA_COLUMNS];
	out[0] = '\0';
	if (metadata_tables_row(m, &x->tables, METADATA_MODULE, 1, columns))
		read_name(m, x, columns[1], out);
}
