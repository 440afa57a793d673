/* Assemblies' images and portable PDBs for tests, byte by byte after the formats' specifications (agent/symbols/portable_pdb.h, pe_debug.h). */
#ifndef DRDOTNET_MAKE_PDB_H
#define DRDOTNET_MAKE_PDB_H

#include <criterion/criterion.h>
#include <stdint.h>
#include <string.h>

#define MAKE_PDB_MAX 65536

struct bytes {
	uint8_t data[MAKE_PDB_MAX];
	size_t len;
};

static const uint8_t make_pdb_id[20] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20};

static void put_raw(struct bytes *b, const void *data, size_t n)
{
	cr_assert(b->len + n <= sizeof b->data);
	memcpy(b->data + b->len, data, n);
	b->len += n;
}

static void put_le(struct bytes *b, uint64_t v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint8_t byte = (uint8_t)(v >> 8 * i);
		put_raw(b, &byte, 1);
	}
}

static void put_zeros(struct bytes *b, size_t upto)
{
	while (b->len < upto)
		put_le(b, 0, 1);
}

/* ECMA-335 II.23.2 */
static void put_packed(struct bytes *b, uint32_t v)
{
	if (v < 0x80) {
		put_le(b, v, 1);
	} else if (v < 0x4000) {
		put_le(b, 0x80 | v >> 8, 1);
		put_le(b, v & 0xff, 1);
	} else {
		put_le(b, 0xc0 | v >> 24, 1);
		put_le(b, v >> 16 & 0xff, 1);
		put_le(b, v >> 8 & 0xff, 1);
		put_le(b, v & 0xff, 1);
	}
}

static void put_packed_signed(struct bytes *b, int32_t v)
{
	uint32_t bits = v >= -64 && v < 64 ? 6 : v >= -8192 && v < 8192 ? 13 : 28;
	uint32_t turned = v >= 0 ? (uint32_t)v << 1 : (uint32_t)(v + (int32_t)(1u << bits)) << 1 | 1;
	if (bits == 6)
		put_le(b, turned, 1);
	else if (bits == 13) {
		put_le(b, 0x80 | turned >> 8, 1);
		put_le(b, turned & 0xff, 1);
	} else {
		put_le(b, 0xc0 | turned >> 24, 1);
		put_le(b, turned >> 16 & 0xff, 1);
		put_le(b, turned >> 8 & 0xff, 1);
		put_le(b, turned & 0xff, 1);
	}
}

static uint32_t put_blob(struct bytes *heap, const void *data, size_t n)
{
	uint32_t at = (uint32_t)heap->len;
	put_packed(heap, (uint32_t)n);
	put_raw(heap, data, n);
	return at;
}

static uint32_t put_name(struct bytes *heap, const char *path, char separator)
{
	struct bytes name = {.len = 0};
	put_le(&name, (uint8_t)separator, 1);
	for (const char *part = path;;) {
		const char *end = strchr(part, separator);
		size_t n = end ? (size_t)(end - part) : strlen(part);
		put_packed(&name, n ? put_blob(heap, part, n) : 0);
		if (!end)
			break;
		part = end + 1;
	}
	return put_blob(heap, name.data, name.len);
}

/* A point: IL offset since the last one, line since the last one (the first: the line itself). */
static void put_point(struct bytes *b, uint32_t offset, int32_t line, bool first)
{
	put_packed(b, offset);
	put_packed(b, 0); /* lines */
	put_packed(b, 9); /* columns */
	if (first) {
		put_packed(b, (uint32_t)line);
		put_packed(b, 5);
	} else {
		put_packed_signed(b, line);
		put_packed_signed(b, -3);
	}
}

static void put_hidden(struct bytes *b, uint32_t offset)
{
	put_packed(b, offset);
	put_packed(b, 0);
	put_packed(b, 0);
}

static void put_stream(struct bytes *b, uint32_t *at, const char *name, const struct bytes *s)
{
	put_le(b, *at, 4);
	put_le(b, s->len, 4);
	put_raw(b, name, (strlen(name) + 4) / 4 * 4);
	*at += (uint32_t)s->len;
}

/* Documents 1 `first` and 2 `second`. Method 1: IL 0 line 10, 5 hidden, 9 line 12, 200 line 5000 and 220 line 7 of document 2. Method 2 has no document of
 * its own: IL 0 is line 100 of document 2. Method 3 has no points. `link`: SourceLink's JSON; NULL: none. */
static inline void make_pdb(struct bytes *out, const char *first, const char *second, char separator, const char *link)
{
	static const uint8_t kind[16] = {0x56, 0x05, 0x11, 0xcc, 0x91, 0xa0, 0x38, 0x4d, 0x9f, 0xec, 0x25, 0xab, 0x9a, 0x35, 0x1a, 0x6a};
	static struct bytes blobs, tables, pdb, guids, points;
	blobs.len = tables.len = pdb.len = guids.len = points.len = out->len = 0;
	put_le(&blobs, 0, 1);
	uint32_t names[2] = {put_name(&blobs, first, separator), put_name(&blobs, second, separator)};
	put_packed(&points, 0);
	put_point(&points, 0, 10, true);
	put_hidden(&points, 5);
	put_point(&points, 4, 2, false);
	put_point(&points, 191, 4988, false);
	put_packed(&points, 0);
	put_packed(&points, 2);
	put_point(&points, 20, -4993, false);
	uint32_t method1 = put_blob(&blobs, points.data, points.len);
	points.len = 0;
	put_packed(&points, 0);
	put_packed(&points, 2);
	put_point(&points, 0, 100, true);
	uint32_t method2 = put_blob(&blobs, points.data, points.len), source = link ? put_blob(&blobs, link, strlen(link)) : 0;
	put_raw(&guids, kind, 16);

	put_raw(&pdb, make_pdb_id, 20);
	put_le(&pdb, 0, 4);
	put_le(&pdb, 1u << 6, 8);
	put_le(&pdb, 3, 4);

	put_le(&tables, 0, 4);
	put_le(&tables, 0x0002, 2);
	put_le(&tables, 4, 1); /* wide blobs */
	put_le(&tables, 1, 1);
	put_le(&tables, UINT64_C(3) << 0x30 | (link ? UINT64_C(1) << 0x37 : 0), 8);
	put_le(&tables, 0, 8);
	put_le(&tables, 2, 4);
	put_le(&tables, 3, 4);
	if (link)
		put_le(&tables, 1, 4);
	for (int i = 0; i < 2; i++) {
		put_le(&tables, names[i], 4);
		put_le(&tables, 0, 2 + 4 + 2);
	}
	const uint32_t methods[3][2] = {{1, method1}, {0, method2}, {1, 0}};
	for (int i = 0; i < 3; i++) {
		put_le(&tables, methods[i][0], 2);
		put_le(&tables, methods[i][1], 4);
	}
	if (link) {
		put_le(&tables, 1 << 5 | 7, 2);
		put_le(&tables, 1, 2);
		put_le(&tables, source, 4);
	}

	uint32_t at = 16 + 12 + 4 + 4 * 8 + 8 + 4 + 8 + 8;
	put_le(out, 0x424a5342, 4);
	put_le(out, 1, 2);
	put_le(out, 1, 2);
	put_le(out, 0, 4);
	put_le(out, 12, 4);
	put_raw(out, "PDB v1.0\0\0\0", 12);
	put_le(out, 0, 2);
	put_le(out, 4, 2);
	put_stream(out, &at, "#Pdb\0\0\0", &pdb);
	put_stream(out, &at, "#~\0", &tables);
	put_stream(out, &at, "#Blob\0\0", &blobs);
	put_stream(out, &at, "#GUID\0\0", &guids);
	put_raw(out, pdb.data, pdb.len);
	put_raw(out, tables.data, tables.len);
	put_raw(out, blobs.data, blobs.len);
	put_raw(out, guids.data, guids.len);
}

enum { PE_SECTION_RVA = 0x2000, PE_SECTION_AT = 0x400 };

/* An image whose debug directory names `name`; with `embedded`: and has the bytes in it. `loaded`: laid out as in memory, else as a file. */
static inline void make_image(struct bytes *out, const char *name, const uint8_t id[20], bool portable, bool loaded, const struct bytes *embedded)
{
	uint32_t entries = embedded ? 2 : 1, data = entries * 28, codeview = 24 + (uint32_t)strlen(name) + 1;
	uint32_t base = loaded ? PE_SECTION_RVA : PE_SECTION_AT;
	out->len = 0;
	put_raw(out, "MZ", 2);
	put_zeros(out, 0x3c);
	put_le(out, 0x80, 4);
	put_zeros(out, 0x80);
	put_raw(out, "PE\0\0", 4);
	put_le(out, 0x8664, 2);
	put_le(out, 1, 2);
	put_zeros(out, 0x80 + 20);
	put_le(out, 240, 2);
	put_zeros(out, 0x80 + 24);
	put_le(out, 0x20b, 2);
	put_zeros(out, 0x80 + 24 + 108);
	put_le(out, 16, 4);
	put_zeros(out, 0x80 + 24 + 112 + 6 * 8);
	put_le(out, PE_SECTION_RVA, 4);
	put_le(out, entries * 28, 4);
	put_zeros(out, 0x80 + 24 + 240 + 8);
	put_le(out, 0x8000, 4);
	put_le(out, PE_SECTION_RVA, 4);
	put_le(out, 0x8000, 4);
	put_le(out, PE_SECTION_AT, 4);
	put_zeros(out, base);
	uint32_t stamp = id[16] | (uint32_t)id[17] << 8 | (uint32_t)id[18] << 16 | (uint32_t)id[19] << 24;
	put_le(out, 0, 4);
	put_le(out, stamp, 4);
	put_le(out, 0x100, 2);
	put_le(out, portable ? 0x504d : 0, 2);
	put_le(out, 2, 4);
	put_le(out, codeview, 4);
	put_le(out, PE_SECTION_RVA + data, 4);
	put_le(out, PE_SECTION_AT + data, 4);
	if (embedded) {
		put_le(out, 0, 8);
		put_le(out, 0x01000100, 4);
		put_le(out, 17, 4);
		put_le(out, embedded->len, 4);
		put_le(out, PE_SECTION_RVA + data + codeview, 4);
		put_le(out, PE_SECTION_AT + data + codeview, 4);
	}
	put_raw(out, "RSDS", 4);
	put_raw(out, id, 16);
	put_le(out, 1, 4);
	put_raw(out, name, strlen(name) + 1);
	if (embedded)
		put_raw(out, embedded->data, embedded->len);
}

#endif
