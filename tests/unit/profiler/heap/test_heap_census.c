#include "profiler/heap/heap_census.h"
#include "profiler/heap/heap_predict.h"

#include <criterion/criterion.h>

Test(heap_census, heaps_share_the_time)
{
	static const struct {
		uint64_t begin, end;
		uint32_t heaps, n;
		uint64_t over;
	} rows[] = {
		{1000, 2000, 1, 0, 2000}, {1000, 2000, 4, 0, 1250}, {1000, 2000, 4, 2, 1750}, {1000, 2000, 4, 3, 2000},
		{1000, 2000, 4, 9, 2000}, {1000, 2000, 0, 0, 2000}, {1000, 900, 4, 0, 900},
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(heap_census_slice_end(rows[i].begin, rows[i].end, rows[i].heaps, rows[i].n), rows[i].over, "row %zu", i);
}

Test(heap_predict, counting_is_predicted_by_what_counting_took)
{
	struct heap_probe p = {.read_ns = 1000000, .read_objects = 20000, .count_ns = 2000000, .count_objects = 200000, .objects = 220000,
			       .bytes = 8 << 20, .small_bytes = 80 << 20, .heap_bytes = 80 << 20};
	struct heap_prediction out;

	heap_predict_from(&p, &out);
	cr_expect_eq(out.objects, 2200000);
	cr_expect(out.types_us > 22000 && out.types_us < 40000, "%zu", (size_t)out.types_us);
	cr_expect_gt(out.walk_us, out.types_us * 3);
	p.count_objects = 0; /* all of a small heap was read */
	heap_predict_from(&p, &out);
	cr_expect_eq(out.types_us, out.walk_us);
	cr_expect_eq(heap_predict_heaps(), 1);
}
