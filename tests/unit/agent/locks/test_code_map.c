#include "tests/unit/agent/locks/fake_code.h"

#include <criterion/criterion.h>

static struct code_map map_of(const uint64_t *dac, size_t words)
{
	struct code_map c;
	code_map_init(&c, &fake_process, &fake_contract.code, dac, words);
	return c;
}

static const uint64_t table[] = {0, 0x123450, FAKE_AT(FAKE_TEXT), FAKE_AT(FAKE_RANGES), FAKE_AT(FAKE_CHUNK)};

/* Which method's code lies there, and from where on; 0: none. */
static unsigned method_at(struct code_map *c, size_t offset, size_t *start, uint32_t *bytes)
{
	struct managed_code code;
	*start = 0;
	*bytes = 0;
	if (!code_map_find(c, FAKE_AT(offset), &code))
		return 0;
	*start = code.start - FAKE_BASE;
	*bytes = code.bytes;
	for (unsigned row = 1; row <= 4; row++)
		if (fake_method(row) == code.method)
			return row;
	return 99;
}

static const struct {
	size_t offset;
	unsigned row;
	size_t start;
	uint32_t bytes;
} places[] = {
	{FAKE_CODE + 0x40, 1, FAKE_CODE + 0x40, 0x60},
	{FAKE_CODE + 0x9f, 1, FAKE_CODE + 0x40, 0x60},
	{FAKE_CODE + 0x130, 2, FAKE_CODE + 0x130, 0x400},
	{FAKE_CODE + 0x52f, 2, FAKE_CODE + 0x130, 0x400},
	{FAKE_IMAGE_CODE + 0x100, 3, FAKE_IMAGE_CODE + 0x100, 0x80},
	{FAKE_IMAGE_CODE + 0x17f, 3, FAKE_IMAGE_CODE + 0x100, 0x80},
	{FAKE_IMAGE_CODE + 0x1a0, 3, FAKE_IMAGE_CODE + 0x100, 0xc0}, /* a handler */
	{FAKE_IMAGE_CODE + 0x2ff, 4, FAKE_IMAGE_CODE + 0x200, 0x100},
	{FAKE_CODE + 0x3f, 0, 0, 0},        /* before the first */
	{FAKE_CODE + 0xa0, 0, 0, 0},        /* behind the first */
	{FAKE_CODE + 0x12f, 0, 0, 0},       /* in the bucket where the second begins, before it */
	{FAKE_CODE + 0x530, 0, 0, 0},
	{FAKE_CODE + 0x900, 0, 0, 0},       /* not used yet */
	{FAKE_IMAGE_CODE + 0xff, 0, 0, 0},
	{FAKE_IMAGE_CODE + 0x1d0, 0, 0, 0}, /* between two functions */
	{FAKE_IMAGE_CODE + 0x300, 0, 0, 0},
	{FAKE_CODE + 0x2000, 0, 0, 0},      /* in no range */
	{FAKE_TEXT, 0, 0, 0},
};

static void check_places(struct code_map *c)
{
	size_t start;
	uint32_t bytes;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		unsigned row = method_at(c, places[i].offset, &start, &bytes);
		cr_expect(row == places[i].row && start == places[i].start && bytes == places[i].bytes, "%zx: method %u at %zx, %x bytes", places[i].offset,
			  row, start, bytes);
	}
}

Test(code_map, finds_methods_that_were_compiled_and_those_of_images)
{
	fake_make();
	struct code_map c = map_of(table, 5);
	check_places(&c);
	cr_assert_eq(c.ranges, FAKE_AT(FAKE_RANGES));
}

Test(code_map, units_within_a_method_point_to_its_beginning)
{
	fake_make();
	for (size_t unit = 2; unit <= 4; unit++) /* as .NET 10 writes them */
		fake_put(FAKE_NIBBLES + 4 * unit, 0x130 + 9, 4);
	struct code_map c = map_of(table, 5);
	check_places(&c);
	cr_assert_eq(code_map_method_start(&fake_process, FAKE_AT(FAKE_CODE), FAKE_AT(FAKE_NIBBLES), FAKE_AT(FAKE_CODE + 0x350)), FAKE_AT(FAKE_CODE + 0x130));
}

Test(code_map, what_the_runtime_says_comes_before_its_table)
{
	fake_make();
	struct code_contract said = fake_contract.code;
	said.ranges = FAKE_AT(FAKE_RANGES);
	struct code_map c;
	code_map_init(&c, &fake_process, &said, NULL, 0);
	check_places(&c);
	said.known = false;
	struct managed_code code;
	cr_assert_not(code_map_find(&c, FAKE_AT(FAKE_CODE + 0x40), &code));
}

Test(code_map, the_table_is_not_searched_for_ever)
{
	fake_make();
	struct code_map c = map_of(table, 5);
	struct managed_code code;
	for (int i = 0; i < 1000; i++)
		cr_assert_not(code_map_find(&c, 0x10000, &code));
	cr_assert_not(code_map_find(&c, FAKE_AT(FAKE_CODE + 0x40), &code), "given up");
}

/* What each of these breaks is found no more; the rest is. */
Test(code_map, what_does_not_fit_together_is_no_method)
{
	static const struct {
		size_t at;
		uint64_t value;
		size_t bytes;
		size_t offset; /* that is not found then */
	} wrong[] = {
		{FAKE_CODE + 0x40 - 8, 15, 8, FAKE_CODE + 0x50},                         /* a stub */
		{FAKE_CODE + 0x40 - 8, UINT64_MAX, 8, FAKE_CODE + 0x50},
		{FAKE_HEADERS + 0x80 + 32, 0, 4, FAKE_CODE + 0x50},                      /* no parts */
		{FAKE_HEADERS + 0x80 + 32, UINT32_MAX, 4, FAKE_CODE + 0x50},
		{FAKE_HEADERS + 0x80 + 36, 0x44, 4, FAKE_CODE + 0x50},                   /* begins elsewhere */
		{FAKE_HEADERS + 0x80 + 52, 0, 4, FAKE_CODE + 0x50},                      /* ends before it begins */
		{FAKE_HEADERS + 0x80 + 24, 0, 8, FAKE_CODE + 0x50},                      /* nobody's */
		{FAKE_HEAP + 24, FAKE_AT(FAKE_CODE), 8, FAKE_CODE + 0x50},
		{FAKE_SECTIONS + 8, FAKE_AT(FAKE_CODE), 8, FAKE_CODE + 0x50},            /* an empty range */
		{FAKE_IMAGES + 88, 0, 4, FAKE_IMAGE_CODE + 0x210},                       /* no functions */
		{FAKE_IMAGES + 88, UINT32_MAX, 4, FAKE_IMAGE_CODE + 0x210},
		{FAKE_MODULE + 16, 0, 8, FAKE_IMAGE_CODE + 0x210},                       /* not compiled ahead of time */
		{FAKE_BUCKETS, 1, 4, FAKE_IMAGE_CODE + 0x210},
		{FAKE_BUCKETS, UINT32_MAX, 4, FAKE_IMAGE_CODE + 0x210},
		{FAKE_FRAGMENTS + 0x20 + 24, 8, 8, FAKE_IMAGE_CODE + 0x210},
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct managed_code code;
		fake_make();
		struct code_map c = map_of(table, 5);
		cr_assert(code_map_find(&c, FAKE_AT(wrong[i].offset), &code));
		fake_put(wrong[i].at, wrong[i].value, wrong[i].bytes);
		cr_expect_not(code_map_find(&c, FAKE_AT(wrong[i].offset), &code), "%zu", i);
	}
}

Test(code_map, circles_end)
{
	struct managed_code code;
	fake_make();
	struct code_map c = map_of(table, 5);
	cr_assert(code_map_find(&c, FAKE_AT(FAKE_CODE + 0x40), &code));
	fake_put(FAKE_FRAGMENTS + 0x20, FAKE_AT(FAKE_FRAGMENTS), 8);
	cr_assert_not(code_map_find(&c, FAKE_AT(FAKE_TEXT), &code));
	fake_put(FAKE_BUCKETS, 3, 4);
	for (size_t bucket = 1; bucket <= 3; bucket++)
		fake_put(FAKE_BUCKETS + 64 * bucket + 32, UINT64_MAX, 8); /* all full */
	cr_assert_eq(code_map_entry_point(&fake_process, FAKE_AT(FAKE_IMAGES + 96), 0x123450), 0);
}

/* Rows of {begin, unwind data}: the last says how long the function is, or where a record lies that does. */
Test(code_map, functions_of_arm64_have_their_lengths_in_unwind_data)
{
	enum { RECORDS = 0xf000 };
	uint32_t rows[2 * 8], words[3 * 8], count;
	fake_make();
	memcpy(&count, fake_memory + FAKE_IMAGES + 88, sizeof count);
	cr_assert(count <= 8);
	memcpy(words, fake_memory + FAKE_FUNCTIONS, count * 12);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t units = (words[3 * i + 1] - words[3 * i]) / 4;
		rows[2 * i] = words[3 * i];
		rows[2 * i + 1] = i % 2 ? 1 | units << 2 : RECORDS - FAKE_IMAGE_CODE + 4 * i;
		fake_put(RECORDS + 4 * i, UINT64_C(0xfffc0000) | units, 4); /* flags of other things above */
	}
	memcpy(fake_memory + FAKE_FUNCTIONS, rows, count * 8);
	struct code_map c = map_of(table, 5);
	c.arch = &arch_arm64;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		size_t start;
		uint32_t bytes;
		if (places[i].offset < FAKE_IMAGE_CODE)
			continue;
		unsigned row = method_at(&c, places[i].offset, &start, &bytes);
		cr_expect(row == places[i].row && start == places[i].start && bytes == places[i].bytes, "%zx: method %u at %zx, %x bytes", places[i].offset,
			  row, start, bytes);
	}
	memset(fake_memory + RECORDS, 0, 4 * count);
	struct managed_code code;
	cr_expect_not(code_map_find(&c, FAKE_AT(FAKE_IMAGE_CODE + 0x100), &code), "a function of no bytes");
}
