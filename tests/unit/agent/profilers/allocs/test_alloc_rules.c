#include "agent/profilers/allocs/alloc_numbers.h"

#include "tests/unit/catalogue_capture.h"

/* 100 MB/s, by many, that costs little. */
static struct alloc_numbers spread(void)
{
	struct alloc_numbers n;
	rules_clear(&alloc_numbers_fields, &n);
	n.seconds = 30;
	n.samples = 10000;
	n.dropped_percent = 0;
	n.bytes_per_second = 1e8;
	n.site_percent = n.type_percent = n.large_percent = n.boxed_percent = 10;
	n.collections = 40;
	n.collecting_percent = 1;
	n.longest_collection_ms = 12;
	rules_set_text(&n.site_method, "Shop.Cart.Total");
	rules_set_text(&n.type_name, "string");
	rules_set_text(&n.large_method, "Shop.Export.Write");
	rules_set_text(&n.large_type, "byte[]");
	rules_set_text(&n.boxed_method, "Shop.Counters.Increment");
	rules_set_text(&n.boxed_type, "long");
	return n;
}

static enum finding_state judged(const struct alloc_numbers *n, const char *id, struct finding *out)
{
	return judged_in_catalogue("Allocations", &alloc_numbers_fields, n, id, out);
}

static const struct {
	const char *id;
	size_t member;
	double below, at;
	int score;
	const char *message, *evidence, *excluded;
} rows[] = {
	{"LargeObjectAllocations", offsetof(struct alloc_numbers, large_percent), 39.9, 40, 40, "40% of 100 MB/s are large objects: Shop.Export.Write",
	 "40 MB/s of byte[] to the large object heap", "40% of the bytes"},
	{"BoxedValues", offsetof(struct alloc_numbers, boxed_percent), 19.9, 20, 20, "20% of 100 MB/s are boxed values: Shop.Counters.Increment",
	 "20 MB/s, most of it long", "20% of the bytes"},
	{"AllocationHotspot", offsetof(struct alloc_numbers, site_percent), 34.9, 35, 35, "35% of 100 MB/s is allocated in Shop.Cart.Total",
	 "10,000 samples in 30 s", "35% of the bytes"},
	{"AllocationOfOneType", offsetof(struct alloc_numbers, type_percent), 34.9, 35, 35, "35% of 100 MB/s allocated is string", "10,000 samples in 30 s",
	 "35% of the bytes"},
	{"AllocationPressure", offsetof(struct alloc_numbers, collecting_percent), 4.9, 5, 5, "GCs pause the application 5.0% of the time",
	 "40 GCs, 5.0% of the time, longest 12.0 ms", "40 GCs, 4.9% of the time, longest 12.0 ms"},
};

Test(alloc_rules, each_at_both_sides_of_its_threshold)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct alloc_numbers n = spread();
		struct finding f;
		*(double *)((char *)&n + rows[i].member) = rows[i].below;
		cr_expect_eq(judged(&n, rows[i].id, &f), FINDING_EXCLUDED, "%s", rows[i].id);
		cr_expect_str_eq(f.evidence, rows[i].excluded);
		*(double *)((char *)&n + rows[i].member) = rows[i].at;
		cr_expect_eq(judged(&n, rows[i].id, &f), FINDING_FOUND, "%s", rows[i].id);
		cr_expect_eq(f.score, rows[i].score);
		cr_expect_str_eq(f.message, rows[i].message);
		cr_expect_str_eq(f.evidence, rows[i].evidence);
	}
}

Test(alloc_rules, less_than_a_megabyte_a_second_is_no_finding)
{
	struct alloc_numbers n = spread();
	struct finding f;
	n.site_percent = n.large_percent = n.boxed_percent = n.collecting_percent = 90;
	n.bytes_per_second = 999999;
	n.samples = 5;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(judged(&n, rows[i].id, &f), FINDING_EXCLUDED, "%s", rows[i].id);
	n.bytes_per_second = 1e6;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(judged(&n, rows[i].id, &f), FINDING_NOT_MEASURED, "%s: 5 samples", rows[i].id);
	n.samples = 10;
	cr_expect_eq(judged(&n, "AllocationHotspot", &f), FINDING_FOUND, "collections bear it out");
	n.collections = 0;
	cr_expect_eq(judged(&n, "AllocationHotspot", &f), FINDING_POSSIBLE);
	n.samples = 100;
	cr_expect_eq(judged(&n, "AllocationHotspot", &f), FINDING_FOUND);
	n.dropped_percent = 20.1;
	cr_expect_eq(judged(&n, "AllocationHotspot", &f), FINDING_NOT_MEASURED, "a full table");
}

Test(alloc_rules, what_is_special_of_a_method_comes_before_it)
{
	struct alloc_numbers n = spread();
	struct findings f;
	n.site_percent = 80;
	n.large_percent = 45;
	catalogue_judge("Allocations", &alloc_numbers_fields, &n, &f);
	cr_expect_str_eq(findings_lead(&f)->id, "AllocationHotspot", "the large ones are another's");
	findings_fini(&f);
	n.site_method = n.large_method;
	catalogue_judge("Allocations", &alloc_numbers_fields, &n, &f);
	cr_expect_str_eq(findings_lead(&f)->id, "LargeObjectAllocations");
	cr_expect_eq(findings_lead(&f)->score, 80);
	findings_fini(&f);
	n.type_percent = 100;
	struct finding type;
	cr_expect_eq(judged(&n, "AllocationOfOneType", &type), FINDING_EXCLUDED);
	cr_expect_str_eq(type.evidence, "80% of the bytes are allocated in one method");
}

static void judge_allocs(const struct rule_fields *fields, const void *numbers, struct findings *out)
{
	catalogue_judge("Allocations", fields, numbers, out);
}

Test(alloc_rules, recorded_captures)
{
	struct alloc_numbers n;
	const struct capture_judge by = {.fields = &alloc_numbers_fields, .judge = judge_allocs};
	check_group("Allocations", &alloc_numbers_fields);
	check_captures_by("allocs", &by, &n);
}
