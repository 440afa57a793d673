/* A process's memory with an assembly, its types and methods, their code in a heap and in the image, and the runtime's maps of it. */
#ifndef TESTS_FAKE_CODE_H
#define TESTS_FAKE_CODE_H

#include "agent/locks/code_map.h"

#include <string.h>

#define FAKE_BASE UINT64_C(0x20000)
#define FAKE_BYTES 0x10000u
#define FAKE_AT(offset) (FAKE_BASE + (offset))

/* Places. */
enum {
	FAKE_ASSEMBLY = 0x400,
	FAKE_MODULE = 0xc00,
	FAKE_TYPES = 0xd00,    /* 0x40 bytes each: Cart, Item, Box<String>, String, Box<__Canon>[] */
	FAKE_CLASSES = 0xf00,  /* 0x20 bytes each */
	FAKE_CHUNK = 0x1000,   /* of Cart's methods; then of Item's, then of Box's */
	FAKE_RANGES = 0x2000,  /* five levels of 0x800 bytes */
	FAKE_FRAGMENTS = 0x4800,
	FAKE_SECTIONS = 0x4900,
	FAKE_HEAP = 0x4a00,
	FAKE_NIBBLES = 0x4b00,
	FAKE_HEADERS = 0x4c00,
	FAKE_IMAGES = 0x5000,  /* what the module knows of its compiled image */
	FAKE_FUNCTIONS = 0x5100,
	FAKE_BUCKETS = 0x5200,
	FAKE_DICTIONARY = 0x5400,
	FAKE_TEXT = 0x5500,
	FAKE_CODE = 0x8000,    /* compiled in the process: to 0xa000 */
	FAKE_IMAGE_CODE = 0xc000, /* to 0xe000 */
};

static uint8_t fake_memory[FAKE_BYTES];

static size_t fake_read(void *ctx, uint64_t address, void *out, size_t n)
{
	(void)ctx;
	if (address < FAKE_BASE || address >= FAKE_BASE + FAKE_BYTES)
		return 0;
	size_t have = FAKE_BASE + FAKE_BYTES - address;
	n = n < have ? n : have;
	memcpy(out, fake_memory + (address - FAKE_BASE), n);
	return n;
}

static const struct process_memory fake_process = {.read = fake_read};

/* The structures' places as in .NET 10, what a module has but nearer. */
static const struct runtime_contract fake_contract = {
	.known = true, .type_flags = 0, .type_base_size = 4, .type_flags2 = 8, .type_module = 24, .type_class = 40, .class_type = 16, .module_base = 8,
	.code = {
		.known = true, .range_begin = 0, .range_end = 8, .range_flags = 16, .range_module = 32, .range_heap = 40, .fragment_next = 0,
		.fragment_begin = 8, .fragment_end = 16, .fragment_range = 24, .heap_start = 16, .heap_end = 24, .heap_base = 32, .heap_map = 40,
		.header_method = 24, .header_unwinds = 32, .header_unwind = 36, .module_images = 16, .images_composite = 40, .images_functions = 80,
		.images_count = 88, .images_methods = 96, .token_bits = 12, .method_token = 0, .method_chunk = 2, .method_flags = 6, .chunk_type = 0,
		.chunk_token = 18, .chunk_bytes = 24, .generic_arguments = 24, .generic_count = 34, .type_dictionaries = 48, .type_argument_count = 6,
		.dynamic_name = 32, .described_flags = 0, .described_argument = 16,
	},
};

static inline void fake_put(size_t at, uint64_t value, size_t bytes)
{
	memcpy(fake_memory + at, &value, bytes);
}

static inline void fake_row(size_t *at, const uint32_t *columns, const char *widths)
{
	for (; *widths; widths++, columns++) {
		fake_put(*at, *columns, (size_t)(*widths - '0'));
		*at += (size_t)(*widths - '0');
	}
}

/* Offsets of the names in its heap, of the signatures in theirs. */
enum {
	NAME_MODULE = 1,
	NAME_SHOP = 10,
	NAME_CART = 15,
	NAME_ITEM = 20,
	NAME_TOTAL = 25,
	NAME_NEXT = 31,
	NAME_BOX = 40,
	NAME_SYSTEM = 46,
	NAME_STRING = 53,
	NAME_GET = 60,
};
static const char fake_names[] = "\0Shop.dll\0Shop\0Cart\0Item\0Total\0MoveNext\0Box`1\0System\0String\0Get";
/* (), (Int32, String&), (!0, Item, the other assembly's String) */
static const uint8_t fake_signatures[] = {0, 3, 0x20, 0, 1, 6, 0x20, 2, 1, 0x08, 0x10, 0x0e, 9, 0x20, 3, 1, 0x13, 0, 0x12, 0x0c, 0x12, 0x05};

static inline void fake_tables(size_t at)
{
	fake_put(at + 8, UINT64_C(1) << 0 | UINT64_C(1) << 1 | UINT64_C(1) << 2 | UINT64_C(1) << 6 | UINT64_C(1) << 0x29, 8);
	static const uint32_t rows[] = {1, 1, 5, 5, 1};
	for (size_t i = 0; i < 5; i++)
		fake_put(at + 24 + 4 * i, rows[i], 4);
	at += 24 + 20;
	fake_row(&at, (const uint32_t[]){0, NAME_MODULE, 0, 0, 0}, "22222");
	fake_row(&at, (const uint32_t[]){0, NAME_STRING, NAME_SYSTEM}, "222");
	static const uint32_t types[][6] = {
		{0, 0, 0, 0, 1, 1},
		{0, NAME_CART, NAME_SHOP, 0, 1, 1},
		{0, NAME_ITEM, 0, 0, 1, 3},
		{0, NAME_BOX, NAME_SHOP, 0, 1, 4},
		{0, NAME_STRING, NAME_SYSTEM, 0, 1, 5},
	};
	for (size_t i = 0; i < 5; i++)
		fake_row(&at, types[i], "422222");
	static const uint32_t methods[][6] = {
		{0, 0, 0, NAME_TOTAL, 1, 1}, {0, 0, 0, NAME_TOTAL, 5, 1}, {0, 0, 0, NAME_NEXT, 1, 1}, {0, 0, 0, NAME_GET, 12, 1}, {0, 0, 0, NAME_GET, 1, 1}};
	for (size_t i = 0; i < 5; i++)
		fake_row(&at, methods[i], "422222");
	fake_row(&at, (const uint32_t[]){3, 2}, "22");
}

static inline void fake_assembly(void)
{
	size_t at = FAKE_ASSEMBLY, root = at + 0x1d0;
	memcpy(fake_memory + at, "MZ", 2);
	fake_put(at + 0x3c, 0x40, 4);
	fake_put(at + 0x40, 0x4550, 4);
	fake_put(at + 0x40 + 20, 0xf0, 2);
	fake_put(at + 0x40 + 24, 0x20b, 2);
	fake_put(at + 0x40 + 24 + 112 + 14 * 8, 0x180, 4);
	fake_put(at + 0x180, 72, 4);
	fake_put(at + 0x188, 0x1d0, 4);
	memcpy(fake_memory + root, "BSJB", 4);
	fake_put(root + 12, 4, 4);
	fake_put(root + 22, 3, 2);
	size_t stream = root + 24;
	static const struct {
		const char *name;
		uint32_t at, bytes;
	} streams[] = {{"#~", 0x80, 0x200}, {"#Strings", 0x300, sizeof fake_names}, {"#Blob", 0x380, sizeof fake_signatures}};
	for (size_t i = 0; i < 3; i++) {
		fake_put(stream, streams[i].at, 4);
		fake_put(stream + 4, streams[i].bytes, 4);
		memcpy(fake_memory + stream + 8, streams[i].name, strlen(streams[i].name) + 1);
		stream += 8 + (strlen(streams[i].name) / 4 + 1) * 4;
	}
	fake_tables(root + 0x80);
	memcpy(fake_memory + root + 0x300, fake_names, sizeof fake_names);
	memcpy(fake_memory + root + 0x380, fake_signatures, sizeof fake_signatures);
}

/* types: 0 Cart, 1 Item, 2 Box<String>, 3 String */
static inline uint64_t fake_type(unsigned i)
{
	return FAKE_AT(FAKE_TYPES + 0x40 * (size_t)i);
}

static inline void fake_types(void)
{
	for (unsigned i = 0; i < 4; i++) {
		size_t type = FAKE_TYPES + 0x40 * (size_t)i, cls = FAKE_CLASSES + 0x20 * (size_t)i;
		fake_put(type + 8, (i + 2) << 8, 4);
		fake_put(type + 24, FAKE_AT(FAKE_MODULE), 8);
		fake_put(type + 40, FAKE_AT(cls), 8);
		fake_put(cls + 16, FAKE_AT(type), 8);
	}
	fake_put(FAKE_MODULE + 8, FAKE_AT(FAKE_ASSEMBLY), 8);
	fake_put(FAKE_MODULE + 16, FAKE_AT(FAKE_IMAGES), 8);
	fake_put(FAKE_TYPES + 2 * 0x40, 0x10, 4); /* an instance of a generic type */
	fake_put(FAKE_TYPES + 2 * 0x40 + 48, FAKE_AT(FAKE_DICTIONARY + 8), 8);
	fake_put(FAKE_DICTIONARY + 4, 1, 2);
	fake_put(FAKE_DICTIONARY + 6, 1, 2);
	fake_put(FAKE_DICTIONARY + 8, FAKE_AT(FAKE_DICTIONARY + 32), 8);
	fake_put(FAKE_DICTIONARY + 32, fake_type(3), 8);
}

/* The MethodDesc of that row of the metadata. */
static inline uint64_t fake_method(unsigned row)
{
	static const unsigned chunks[] = {0, 0, 0, 1, 2, 3}, places[] = {0, 0, 5, 0, 0, 0};
	return FAKE_AT(FAKE_CHUNK + 0x80 * (size_t)chunks[row] + 24 + 8 * (size_t)places[row]);
}

static inline void fake_methods(void)
{
	for (unsigned row = 1; row <= 4; row++) {
		static const unsigned of_type[] = {0, 0, 0, 1, 2};
		size_t method = fake_method(row) - FAKE_BASE, chunk = (method - FAKE_CHUNK) / 0x80 * 0x80 + FAKE_CHUNK;
		fake_put(chunk, fake_type(of_type[row]), 8);
		fake_put(method, row, 2);
		fake_put(method + 2, (method - chunk - 24) / 8, 1);
	}
}

/* Method `row` at `start`, `bytes` long, with a handler behind it. */
static inline void fake_compiled(unsigned row, size_t start, uint32_t bytes)
{
	size_t header = FAKE_HEADERS + 0x80 * (size_t)row, unit = (start - FAKE_CODE) / 256, bucket = (start - FAKE_CODE) % 256 / 32;
	uint32_t word;
	fake_put(start - 8, FAKE_AT(header), 8);
	fake_put(header + 24, fake_method(row), 8);
	fake_put(header + 32, 2, 4);
	fake_put(header + 36, start - FAKE_CODE, 4);
	fake_put(header + 40, start - FAKE_CODE + bytes - 16, 4);
	fake_put(header + 48, start - FAKE_CODE + bytes - 16, 4);
	fake_put(header + 52, start - FAKE_CODE + bytes, 4);
	memcpy(&word, fake_memory + FAKE_NIBBLES + 4 * unit, sizeof word);
	fake_put(FAKE_NIBBLES + 4 * unit, word | (uint32_t)(1 + start % 32 / 4) << (28 - 4 * bucket), 4);
}

static inline void fake_range(size_t number, size_t begin, size_t end, uint32_t flags, uint64_t module, uint64_t heap)
{
	size_t fragment = FAKE_FRAGMENTS + 0x20 * number, section = FAKE_SECTIONS + 0x30 * number;
	fake_put(fragment + 8, FAKE_AT(begin), 8);
	fake_put(fragment + 16, FAKE_AT(end), 8);
	fake_put(fragment + 24, FAKE_AT(section), 8);
	fake_put(section, FAKE_AT(begin), 8);
	fake_put(section + 8, FAKE_AT(end), 8);
	fake_put(section + 16, flags, 4);
	fake_put(section + 32, module, 8);
	fake_put(section + 40, heap, 8);
}

static inline void fake_image_code(void)
{
	fake_put(FAKE_IMAGES + 80, FAKE_AT(FAKE_FUNCTIONS), 8);
	fake_put(FAKE_IMAGES + 88, 3, 4);
	fake_put(FAKE_IMAGES + 96 + 16, FAKE_AT(FAKE_BUCKETS), 8);
	static const uint32_t functions[][3] = {{0x100, 0x180, 0}, {0x180, 0x1c0, 0}, {0x200, 0x300, 0}}; /* the second is a handler of the first */
	memcpy(fake_memory + FAKE_FUNCTIONS, functions, sizeof functions);
	fake_put(FAKE_BUCKETS, 3, 4);
	static const struct {
		uint32_t begin;
		unsigned row;
	} entries[] = {{0x100, 3}, {0x200, 4}};
	for (size_t i = 0; i < 2; i++) {
		uint64_t entry = FAKE_AT(FAKE_IMAGE_CODE + entries[i].begin);
		size_t bucket = FAKE_BUCKETS + 64 * (1 + (entry >> 2) % 3);
		fake_put(bucket + 8 * i, entry, 8);
		fake_put(bucket + 32 + 8 * i, fake_method(entries[i].row) >> 1, 8);
	}
}

/* Methods 1 and 2 are compiled at FAKE_CODE + 0x40 (0x60 bytes) and + 0x130 (0x400 bytes), 3 and 4 lie in the image at + 0x100 and + 0x200. */
static inline void fake_make(void)
{
	memset(fake_memory, 0, sizeof fake_memory);
	fake_assembly();
	fake_types();
	fake_methods();
	for (size_t level = 0; level < 4; level++) /* all addresses are small: the first entry of each but the last */
		fake_put(FAKE_RANGES + 0x800 * level, FAKE_AT(FAKE_RANGES + 0x800 * (level + 1)) | (level == 2), 8);
	fake_put(FAKE_RANGES + 0x800 * 4 + 8 * (FAKE_BASE >> 17), FAKE_AT(FAKE_FRAGMENTS), 8);
	fake_put(FAKE_FRAGMENTS, FAKE_AT(FAKE_FRAGMENTS + 0x20) | 1, 8);
	fake_range(0, FAKE_CODE, FAKE_CODE + 0x2000, 2, 0, FAKE_AT(FAKE_HEAP));
	fake_range(1, FAKE_IMAGE_CODE, FAKE_IMAGE_CODE + 0x2000, 0, FAKE_AT(FAKE_MODULE), 0);
	fake_put(FAKE_HEAP + 16, FAKE_AT(FAKE_CODE), 8);
	fake_put(FAKE_HEAP + 24, FAKE_AT(FAKE_CODE + 0x800), 8);
	fake_put(FAKE_HEAP + 32, FAKE_AT(FAKE_CODE), 8);
	fake_put(FAKE_HEAP + 40, FAKE_AT(FAKE_NIBBLES), 8);
	fake_compiled(1, FAKE_CODE + 0x40, 0x60);
	fake_compiled(2, FAKE_CODE + 0x130, 0x400);
	fake_image_code();
}

#endif
