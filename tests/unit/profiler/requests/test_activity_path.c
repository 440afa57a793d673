#include "profiler/requests/activity_path.h"

#include <criterion/criterion.h>

static struct activity_path path_of(const uint8_t bytes[12])
{
	uint8_t id[ACTIVITY_ID_BYTES] = {0};
	memcpy(id, bytes, 12);
	return activity_path_of(id);
}

static void expect_parent(const uint8_t child[12], const uint8_t parent[12])
{
	struct activity_path p = path_of(child), expected = path_of(parent);
	cr_assert(activity_path_parent(&p));
	cr_expect(p.high == expected.high && p.low == expected.low);
}

Test(activity_path, small_numbers_are_halves_of_bytes)
{
	expect_parent((uint8_t[12]){0x12, 0x30}, (uint8_t[12]){0x12});
	expect_parent((uint8_t[12]){0x12}, (uint8_t[12]){0x10});
	expect_parent((uint8_t[12]){0x12, 0x34}, (uint8_t[12]){0x12, 0x30});
}

/* /1/5000/2: 0x1, then 0xd (two bytes), low byte first. */
Test(activity_path, larger_numbers_have_bytes)
{
	expect_parent((uint8_t[12]){0x1d, 0x88, 0x13, 0x20}, (uint8_t[12]){0x1d, 0x88, 0x13});
	expect_parent((uint8_t[12]){0x1d, 0x88, 0x13}, (uint8_t[12]){0x10});
	expect_parent((uint8_t[12]){0x1d, 0x88, 0x13, 0xc0, 0x20, 0x10}, (uint8_t[12]){0x1d, 0x88, 0x13, 0xc0, 0x20});
	expect_parent((uint8_t[12]){0x1d, 0x88, 0x13, 0xc0, 0x20}, (uint8_t[12]){0x1d, 0x88, 0x13});
}

/* A path that was too long: 0xb, then a number. */
Test(activity_path, an_overflow_is_below_its_last_parent)
{
	expect_parent((uint8_t[12]){0x12, 0xbc, 0x07}, (uint8_t[12]){0x12});
}

Test(activity_path, ends)
{
	struct activity_path none = activity_path_of(NULL), one = path_of((uint8_t[12]){0x10}), full = path_of((uint8_t[12]){
		0x1f, 1, 2, 3, 4, 0xcf, 1, 2, 3, 4, 0xff, 0xff});
	cr_expect(none.high == 0 && none.low == 0);
	cr_expect_not(activity_path_parent(&none));
	cr_expect_not(activity_path_parent(&one));
	for (unsigned i = 0; i < 24 && activity_path_parent(&full); i++)
		cr_assert(i < 23, "it ends");
}
