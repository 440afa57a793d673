#include "agent/locks/metadata_tables.h"

#include <string.h>

#define HEAD_BYTES 24
#define ROWS_MAX (1u << 24) /* a token has room for no more */
#define ROW_BYTES_MAX 64

/* Columns: the number of a table is an index into it. */
enum {
	C_TYPE_DEF_OR_REF = 0x40,
	C_HAS_CONSTANT,
	C_HAS_ATTRIBUTE,
	C_HAS_MARSHAL,
	C_HAS_SECURITY,
	C_MEMBER_PARENT,
	C_HAS_SEMANTICS,
	C_METHOD_DEF_OR_REF,
	C_MEMBER_FORWARDED,
	C_IMPLEMENTATION,
	C_ATTRIBUTE_TYPE,
	C_SCOPE,
	C_U16,
	C_U32,
	C_STRING,
	C_GUID,
	C_BLOB,
	C_END = 0xff,
};

static const struct {
	uint8_t bits, tables[23];
} coded[] = {
	[C_TYPE_DEF_OR_REF - 0x40] = {2, {0x02, 0x01, 0x1b, C_END}},
	[C_HAS_CONSTANT - 0x40] = {2, {0x04, 0x08, 0x17, C_END}},
	[C_HAS_ATTRIBUTE - 0x40] = {5, {0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x00, 0x0e, 0x17, 0x14, 0x11, 0x1a, 0x1b, 0x20, 0x23, 0x26, 0x27, 0x28,
					0x2a, 0x2c, 0x2b, C_END}},
	[C_HAS_MARSHAL - 0x40] = {1, {0x04, 0x08, C_END}},
	[C_HAS_SECURITY - 0x40] = {2, {0x02, 0x06, 0x20, C_END}},
	[C_MEMBER_PARENT - 0x40] = {3, {0x02, 0x01, 0x1a, 0x06, 0x1b, C_END}},
	[C_HAS_SEMANTICS - 0x40] = {1, {0x14, 0x17, C_END}},
	[C_METHOD_DEF_OR_REF - 0x40] = {1, {0x06, 0x0a, C_END}},
	[C_MEMBER_FORWARDED - 0x40] = {1, {0x04, 0x06, C_END}},
	[C_IMPLEMENTATION - 0x40] = {2, {0x26, 0x23, 0x27, C_END}},
	[C_ATTRIBUTE_TYPE - 0x40] = {3, {0x06, 0x0a, C_END}},
	[C_SCOPE - 0x40] = {2, {0x00, 0x1a, 0x23, 0x01, C_END}},
};

/* By the number of the table; those behind NestedClass are not needed. */
static const uint8_t schema[][METADATA_COLUMNS + 1] = {
	{C_U16, C_STRING, C_GUID, C_GUID, C_GUID, C_END},
	{C_SCOPE, C_STRING, C_STRING, C_END},
	{C_U32, C_STRING, C_STRING, C_TYPE_DEF_OR_REF, 0x04, 0x06, C_END},
	{0x04, C_END},
	{C_U16, C_STRING, C_BLOB, C_END},
	{0x06, C_END},
	{C_U32, C_U16, C_U16, C_STRING, C_BLOB, 0x08, C_END},
	{0x08, C_END},
	{C_U16, C_U16, C_STRING, C_END},
	{0x02, C_TYPE_DEF_OR_REF, C_END},
	{C_MEMBER_PARENT, C_STRING, C_BLOB, C_END},
	{C_U16, C_HAS_CONSTANT, C_BLOB, C_END},
	{C_HAS_ATTRIBUTE, C_ATTRIBUTE_TYPE, C_BLOB, C_END},
	{C_HAS_MARSHAL, C_BLOB, C_END},
	{C_U16, C_HAS_SECURITY, C_BLOB, C_END},
	{C_U16, C_U32, 0x02, C_END},
	{C_U32, 0x04, C_END}, /* 0x10 */
	{C_BLOB, C_END},
	{0x02, 0x14, C_END},
	{0x14, C_END},
	{C_U16, C_STRING, C_TYPE_DEF_OR_REF, C_END},
	{0x02, 0x17, C_END},
	{0x17, C_END},
	{C_U16, C_STRING, C_BLOB, C_END},
	{C_U16, 0x06, C_HAS_SEMANTICS, C_END},
	{0x02, C_METHOD_DEF_OR_REF, C_METHOD_DEF_OR_REF, C_END},
	{C_STRING, C_END},
	{C_BLOB, C_END},
	{C_U16, C_MEMBER_FORWARDED, C_STRING, 0x1a, C_END},
	{C_U32, 0x04, C_END},
	{C_U32, C_U32, C_END},
	{C_U32, C_END},
	{C_U32, C_U16, C_U16, C_U16, C_U16, C_U32, C_BLOB, C_STRING, C_STRING, C_END}, /* 0x20 */
	{C_U32, C_END},
	{C_U32, C_U32, C_U32, C_END},
	{C_U16, C_U16, C_U16, C_U16, C_U32, C_BLOB, C_STRING, C_STRING, C_BLOB, C_END},
	{C_U32, 0x23, C_END},
	{C_U32, C_U32, C_U32, 0x23, C_END},
	{C_U32, C_STRING, C_BLOB, C_END},
	{C_U32, C_U32, C_STRING, C_STRING, C_IMPLEMENTATION, C_END},
	{C_U32, C_U32, C_STRING, C_IMPLEMENTATION, C_END},
	{0x02, 0x02, C_END},
};
#define KNOWN_TABLES (sizeof schema / sizeof *schema)

static uint16_t coded_bytes(const struct metadata_tables *t, unsigned kind)
{
	for (size_t i = 0; coded[kind].tables[i] != C_END; i++)
		if (t->rows[coded[kind].tables[i]] >= UINT32_C(1) << (16 - coded[kind].bits))
			return 4;
	return 2;
}

static uint16_t column_bytes(const struct metadata_tables *t, uint8_t column)
{
	switch (column) {
	case C_U16:
		return 2;
	case C_U32:
		return 4;
	case C_STRING:
		return t->wide_strings ? 4 : 2;
	case C_GUID:
		return t->wide_guids ? 4 : 2;
	case C_BLOB:
		return t->wide_blobs ? 4 : 2;
	default:
		return column >= 0x40 ? coded_bytes(t, column - 0x40u) : t->rows[column] >= UINT32_C(1) << 16 ? 4 : 2;
	}
}

bool metadata_tables_read(const struct process_memory *m, uint64_t at, struct metadata_tables *out)
{
	uint8_t head[HEAD_BYTES];
	uint64_t valid, next = at + HEAD_BYTES;
	*out = (struct metadata_tables){0};
	if (!process_memory_whole(m, at, head, sizeof head))
		return false;
	memcpy(&valid, head + 8, sizeof valid);
	out->wide_strings = head[6] & 1;
	out->wide_guids = head[6] & 2;
	out->wide_blobs = head[6] & 4;
	for (unsigned i = 0; i < METADATA_TABLES; i++) {
		if (!(valid >> i & 1))
			continue;
		if (!process_memory_whole(m, next, &out->rows[i], sizeof out->rows[i]) || out->rows[i] >= ROWS_MAX)
			return false;
		next += sizeof out->rows[i];
	}
	for (unsigned i = 0; i < KNOWN_TABLES; i++) {
		for (const uint8_t *c = schema[i]; *c != C_END; c++)
			out->row_bytes[i] = (uint16_t)(out->row_bytes[i] + column_bytes(out, *c));
		out->at[i] = next;
		next += (uint64_t)out->rows[i] * out->row_bytes[i];
	}
	return true;
}

bool metadata_tables_row(const struct process_memory *m, const struct metadata_tables *t, enum metadata_table table, uint32_t row,
			 uint32_t columns[METADATA_COLUMNS])
{
	uint8_t bytes[ROW_BYTES_MAX];
	size_t at = 0, size = t->row_bytes[table];
	memset(columns, 0, METADATA_COLUMNS * sizeof *columns);
	if (!row || row > t->rows[table] || size > sizeof bytes || !process_memory_whole(m, t->at[table] + (uint64_t)(row - 1) * size, bytes, size))
		return false;
	for (size_t i = 0; schema[table][i] != C_END; i++) {
		uint16_t width = column_bytes(t, schema[table][i]);
		memcpy(&columns[i], bytes + at, width);
		at += width;
	}
	return true;
}

uint32_t metadata_tables_last(const struct process_memory *m, const struct metadata_tables *t, enum metadata_table table, unsigned column, uint32_t value)
{
	uint32_t low = 0, high = t->rows[table], columns[METADATA_COLUMNS];
	while (low < high) {
		uint32_t middle = low + (high - low + 1) / 2;
		if (!metadata_tables_row(m, t, table, middle, columns))
			return 0;
		if (columns[column] <= value)
			low = middle;
		else
			high = middle - 1;
	}
	return low;
}
