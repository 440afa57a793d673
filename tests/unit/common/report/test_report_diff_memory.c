/* Comparisons of GCSurvivors, MemoryLeak, DuplicatedStrings, Allocations, RuntimePauses and Exceptions. */
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/report/report_diff.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEAD(profiler) \
	"\"schema\":\"drdotnet.dev/report/v1\",\"profiler\":\"" profiler "\",\"target\":{\"entrypoint\":\"Shop\",\"runtimeVersion\":\"10.0.1\"}," \
	"\"time\":{\"durationSeconds\":10.0},"

/* heap bytes, holders, types */
#define SURVIVORS(held, free, holders, types)                                                                                      \
	"{" HEAD("GCSurvivors") "\"walk\":{\"roots\":\"exact\"},\"heap\":{\"heldBytes\":" held ",\"unreachableBytes\":0,\"freeBytes\":" free \
				"},\"holders\":[" holders "],\"types\":[" types "]}"
#define COUNTED(bytes, seen, types)                                                                                                 \
	"{" HEAD("GCSurvivors") "\"walk\":{\"roots\":\"none\",\"typesOnly\":{\"seenPercent\":" seen "}},\"heap\":{\"bytes\":" bytes            \
				",\"heldBytes\":null,\"unreachableBytes\":null,\"freeBytes\":0},\"holders\":[],\"types\":[" types "]}"
#define COUNTED_TYPE(name, bytes) "{\"name\":\"" name "\",\"retainedBytes\":null,\"shallowBytes\":" bytes "}"
#define HOLDER(name, bytes) "{\"name\":\"" name "\",\"kind\":\"static\",\"retainedBytes\":" bytes "}"
#define SEVERAL(name, bytes) "{\"name\":\"" name "\",\"kind\":\"several\",\"retainedBytes\":" bytes "}"
#define TYPE(name, bytes) "{\"name\":\"" name "\",\"retainedBytes\":" bytes "}"

/* seconds, the growth's bytes a minute, the slowest that can be seen, holders, types */
#define LEAK(seconds, per_minute, slowest, holders, types)                                                                          \
	"{" HEAD("MemoryLeak") "\"growth\":{\"seconds\":" seconds ",\"bytesPerMinute\":" per_minute ",\"detectableBytesPerMinute\":" slowest \
			       ",\"heldBytes\":0,\"unmanagedBytes\":null},\"holders\":[" holders "],\"types\":[" types "]}"
#define GROWS(root, type, per_minute) "{\"root\":\"" root "\",\"type\":\"" type "\",\"bytesPerMinute\":" per_minute "}"
#define GROWN(type, bytes) "{\"type\":\"" type "\",\"growthBytes\":" bytes "}"

#define STRINGS(bytes, wasted, holders)                                                                     \
	"{" HEAD("DuplicatedStrings") "\"strings\":{\"bytes\":" bytes ",\"wastedBytes\":" wasted "},\"holders\":[" holders "]}"
#define WASTES(name, bytes) "{\"name\":\"" name "\",\"wastedBytes\":" bytes "}"

#define BYTES(bytes, low, high) "\"bytes\":" bytes ",\"bytesLow\":" low ",\"bytesHigh\":" high
#define ALLOCATIONS(total, types, sites)                                                                                            \
	"{" HEAD("Allocations") "\"sampling\":{\"event\":\"AllocationSampled\",\"confidencePercent\":95},\"allocated\":{" total           \
				",\"objects\":1000},\"types\":[" types "],\"sites\":[" sites "]}"
#define ALLOCATED(name, total) "{\"name\":\"" name "\"," total "}"
#define SITE(type, method, total) "{\"type\":\"" type "\",\"method\":" method "," total "}"

/* seconds, count, total, p99, longest, causes, inducers */
#define PAUSES(seconds, count, total, p99, longest, causes, inducers)                                                                \
	"{\"schema\":\"drdotnet.dev/report/v1\",\"profiler\":\"RuntimePauses\",\"target\":{\"entrypoint\":\"Shop\"},\"time\":{"            \
	"\"durationSeconds\":" seconds "},\"pauses\":{\"count\":" count ",\"length\":{\"p50Microseconds\":500,\"p95Microseconds\":600,"     \
	"\"p99Microseconds\":" p99 ",\"maxMicroseconds\":" longest ",\"totalMicroseconds\":" total "},\"suspending\":{"                       \
	"\"maxMicroseconds\":50}},\"causes\":[" causes "],\"reasons\":[{\"reason\":\"collection\"}],\"generations\":[{\"generation\":0,"      \
	"\"background\":false,\"collections\":" count "}],\"inducers\":[" inducers "]}"
#define CAUSE(title, total, longest) "{\"title\":\"" title "\",\"totalMicroseconds\":" total ",\"longestMicroseconds\":" longest "}"
#define INDUCER(method, count) "{\"method\":\"" method "\",\"count\":" count "}"

/* how many, in 10 seconds, and how many of them were counted */
#define THROWN(count, counted) "\"count\":" count ",\"counted\":" counted
#define EXCEPTIONS(rate, count, counted, types, sites)                                                                                 \
	"{" HEAD("Exceptions") "\"thrown\":{\"perSecond\":" rate ",\"count\":" count "},\"sampling\":{\"counted\":" counted               \
			       "},\"types\":[" types "],\"sites\":[" sites "]}"
#define THROWN_TYPE(name, thrown) "{\"type\":\"" name "\"," thrown "}"
#define THROW_SITE(type, method, way, thrown) "{\"type\":\"" type "\",\"method\":" method ",\"way\":\"" way "\"," thrown "}"

static const struct row {
	const char *before, *after, *headline;
	const char *line; /* of the diagnosis; NULL: none that matters */
} rows[] = {
	/* 0: the holder rather than the types below it */
	{SURVIVORS("20000000", "0", HOLDER("static Shop.Cache._items", "12000000"), TYPE("Shop.Order", "11000000")),
	 SURVIVORS("420000000", "0", HOLDER("static Shop.Cache._items", "412000000"), TYPE("Shop.Order", "411000000")),
	 "static Shop.Cache._items grew: 12.0 MB to 412 MB retained", "Shop.Order grew: 11.0 MB to 411 MB retained (+400 MB)."},
	{COUNTED("20000000", "100", COUNTED_TYPE("Shop.Order", "10000000")), COUNTED("420000000", "43.0", COUNTED_TYPE("Shop.Order", "400000000")),
	 "Shop.Order grew: 10.0 MB to 400 MB", "saw a part of the heap only (at least 43%)"},
	{SURVIVORS("20000000", "0", "", ""), SURVIVORS("420000000", "0", HOLDER("static Shop.Cache._items", "400000000"), ""),
	 "static Shop.Cache._items is new: 400 MB retained", "Held memory grew: 20.0 MB to 420 MB."},
	{SURVIVORS("420000000", "0", SEVERAL("Shop.Order", "400000000"), ""), SURVIVORS("20000000", "0", "", ""),
	 "Shop.Order, held by several vanished: was 400 MB retained", "Held memory shrank: 420 MB to 20.0 MB."},
	{SURVIVORS("20000000", "0", "", TYPE("Shop.Order", "5000000")), SURVIVORS("20000000", "0", "", TYPE("Shop.Order", "9000000")),
	 "Shop.Order grew: 5.0 MB to 9.0 MB retained", "Held memory: the same within noise, 20.0 MB before, 20.0 MB after."},
	/* 4: a tenth of itself, a hundredth of the heap, and 64 KiB: less is how heaps differ */
	{SURVIVORS("20000000", "0", HOLDER("static A._b", "10000000"), TYPE("A.B", "190000")),
	 SURVIVORS("21000000", "0", HOLDER("static A._b", "11000000"), TYPE("A.B", "10000")), "No difference beyond noise", NULL},
	{SURVIVORS("20000", "0", HOLDER("static A._b", "1"), ""), SURVIVORS("80000", "0", HOLDER("static A._b", "60000"), ""),
	 "No difference beyond noise", NULL},
	{SURVIVORS("20000000", "100000", "", ""), SURVIVORS("20000000", "90000000", "", ""), "Only figures beside the main ones changed", NULL},
	/* 7: a leak that came, that went, and two that cannot be told apart */
	{LEAK("120", "0", "10000", "", ""), LEAK("60", "12000000", "10000", GROWS("static A._l", "A.B", "11000000"), GROWN("A.B", "11000000")),
	 "A.B by static A._l is new: 11.0 MB/min", "Growth is new: 12.0 MB/min."},
	{LEAK("120", "6000000", "10000", GROWS("static A._l", "A.B", "6000000"), ""), LEAK("120", "100", "10000", "", ""),
	 "A.B by static A._l vanished: was 6.0 MB/min", "Differences up to 16.4 kB/min may be noise."},
	{LEAK("120", "1000000", "900000", GROWS("static A._l", "A.B", "1000000"), ""),
	 LEAK("120", "2200000", "900000", GROWS("static A._l", "A.B", "2200000"), ""), "No difference beyond noise",
	 "Differences up to 1.3 MB/min may be noise."},
	{LEAK("120", "1000000", "9000", "", GROWN("A.B", "2000000")), LEAK("60", "2000000", "9000", "", GROWN("A.B", "2000000")),
	 "A.B grew: 1.0 MB/min to 2.0 MB/min", NULL},
	/* 11: strings */
	{STRINGS("10000000", "1000000", WASTES("Shop.Order._currency", "900000")),
	 STRINGS("12000000", "3000000", WASTES("Shop.Order._currency", "2900000")),
	 "Shop.Order._currency grew: 900 kB to 2.9 MB of copies", "Waste by copies of strings grew: 1.0 MB to 3.0 MB."},
	{STRINGS("10000000", "1000000", ""), STRINGS("9500000", "960000", ""), "No difference beyond noise",
	 "Waste by copies of strings: the same within noise, 1.0 MB before, 960 kB after."},
	/* 13: allocations */
	{ALLOCATIONS(BYTES("100000000", "99000000", "101000000"), ALLOCATED("A.B", BYTES("20000000", "19000000", "21000000")), ""),
	 ALLOCATIONS(BYTES("160000000", "159000000", "161000000"), ALLOCATED("A.B", BYTES("80000000", "79000000", "81000000")), ""),
	 "A.B grew: 2.0 MB/s to 8.0 MB/s", "Allocation grew: 10.0 MB/s to 16.0 MB/s."},
	{ALLOCATIONS(BYTES("100000000", "99000000", "101000000"), "", ""),
	 ALLOCATIONS(BYTES("160000000", "159000000", "161000000"), "",
		     SITE("A.B", "\"Shop.Cart.Total\"", BYTES("60000000", "59000000", "61000000"))),
	 "A.B by Shop.Cart.Total is new: 6.0 MB/s", NULL},
	/* twice the load on the same code */
	{ALLOCATIONS(BYTES("100000000", "99000000", "101000000"), ALLOCATED("A.B", BYTES("50000000", "49000000", "51000000")), ""),
	 ALLOCATIONS(BYTES("200000000", "199000000", "201000000"), ALLOCATED("A.B", BYTES("100000000", "99000000", "101000000")), ""),
	 "Allocation grew: 10.0 MB/s to 20.0 MB/s", NULL},
	/* few samples: the intervals overlap */
	{ALLOCATIONS(BYTES("100000000", "99000000", "101000000"), ALLOCATED("A.B", BYTES("20000000", "5000000", "50000000")), ""),
	 ALLOCATIONS(BYTES("100000000", "99000000", "101000000"), "", SITE("A.B", "null", BYTES("30000000", "3000000", "60000000"))),
	 "No difference beyond noise", NULL},
	/* 17: pauses */
	{PAUSES("60", "120", "60000", "700", "900", CAUSE("small objects", "60000", "900"), ""),
	 PAUSES("60", "720", "3600000", "9000", "40000", CAUSE("small objects", "60000", "900") "," CAUSE("asked for by code", "3540000", "40000"),
		INDUCER("Shop.Cache.Trim", "600")),
	 "Time in pauses grew: 0.1% to 6.0% of the time", "Pauses: asked for by code is new: 5.9% of the time (+5.9%)."},
	{PAUSES("60", "120", "60000", "700", "900", "", ""), PAUSES("120", "240", "120000", "700", "900", "", ""), "No difference beyond noise",
	 "Time in pauses: the same within noise, 0.1% before, 0.1% after."},
	{PAUSES("60", "120", "60000", "700", "900", "", ""), PAUSES("60", "140", "66000", "700", "2000", "", ""), "No difference beyond noise", NULL},
	/* what an estimate stands on, from a few of many, tells no more than these few */
	{PAUSES("60", "1000", "60000", "700", "900", "", INDUCER("Trim", "1000,\"lookedAt\":20")),
	 PAUSES("60", "1000", "60000", "700", "900", "", INDUCER("Trim", "1600,\"lookedAt\":20")), "No difference beyond noise", NULL},
	{PAUSES("60", "1000", "60000", "700", "900", CAUSE("large", "6000", "9") , ""),
	 PAUSES("60", "1000", "60000", "700", "900", CAUSE("large", "60000,\"count\":3000,\"lookedAt\":3", "9000"), ""), "No difference beyond noise", NULL},
	{PAUSES("60", "120", "60000", "700", "900", "", ""), PAUSES("60", "121", "860000", "700", "800000", "", ""),
	 "Longest pause grew: 900 µs to 800.0 ms", NULL},
	/* 23: exceptions */
	{EXCEPTIONS("5", "50", "50", THROWN_TYPE("A.E", THROWN("50", "50")), ""),
	 EXCEPTIONS("1005", "10050", "4000", THROWN_TYPE("A.E", THROWN("50", "50")),
		    THROW_SITE("System.FormatException", "\"Shop.Cart.Parse\"", "new", THROWN("10000", "3950"))),
	 "System.FormatException in Shop.Cart.Parse is new: 1000/s", "Exceptions grew: 5.0/s to 1005/s."},
	/* what is thrown again is no new one */
	{EXCEPTIONS("5", "50", "50", "", ""), EXCEPTIONS("5", "50", "550", "", THROW_SITE("A.E", "null", "await", THROWN("500", "500"))),
	 "No difference beyond noise", NULL},
	/* as many differ by that at random */
	{EXCEPTIONS("5", "50", "50", THROWN_TYPE("A.E", THROWN("50", "50")), ""), EXCEPTIONS("7", "70", "70", THROWN_TYPE("A.E", THROWN("70", "70")), ""),
	 "No difference beyond noise", "Exceptions: the same within noise, 5.0/s before, 7.0/s after."},
};

static json_t *parse(const char *text)
{
	json_error_t why;
	json_t *doc = json_loads(text, 0, &why);
	cr_assert_not_null(doc, "%s at %d of %s", why.text, why.position, text);
	return doc;
}

static json_t *compare(const char *before, const char *after)
{
	struct err e = ERR_INIT;
	AUTO_JSON json_t *first = parse(before);
	AUTO_JSON json_t *second = parse(after);
	json_t *diff = report_diff_make(first, second, &e);
	cr_assert_not_null(diff, "%s", e.message);
	return diff;
}

Test(report_diff_memory, says_what_changed)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_JSON json_t *diff = compare(rows[i].before, rows[i].after);
		const char *text = jsonx_str_at(diff, "diagnosis", "");
		cr_expect_str_eq(jsonx_str_at(diff, "headline", ""), rows[i].headline, "row %zu: %s", i, text);
		cr_expect_eq(json_is_true(json_object_get(diff, "changed")), strncmp(text, "No difference", 13) != 0, "row %zu", i);
		if (rows[i].line)
			cr_expect(strstr(text, rows[i].line), "row %zu: %s", i, text);
		cr_expect(!strstr(text, "before, ") || strstr(text, " after."), "row %zu: %s", i, text);
		AUTO_JSON json_t *back = compare(rows[i].after, rows[i].before);
		cr_expect_eq(json_is_true(json_object_get(diff, "changed")), json_is_true(json_object_get(back, "changed")), "row %zu", i);
		AUTO_JSON json_t *self = compare(rows[i].after, rows[i].after);
		cr_expect(json_is_false(json_object_get(self, "changed")), "row %zu", i);
	}
}

Test(report_diff_memory, rows_have_figures_and_what_may_be_noise)
{
	AUTO_JSON json_t *diff = compare(rows[0].before, rows[0].after);
	static const struct {
		const char *kind, *name, *change;
		double before, after;
	} expected[] = {
		{"total", "Held memory", "grew", 20e6, 420e6},
		{"total", "Held by nothing that is known", "same", 0, 0},
		{"total", "Free space between objects", "same", 0, 0},
		{"holder", "static Shop.Cache._items", "grew", 12e6, 412e6},
		{"type", "Shop.Order", "grew", 11e6, 411e6},
	};
	const json_t *found = jsonx_at(diff, "rows");
	cr_assert_eq(json_array_size(found), sizeof expected / sizeof *expected);
	for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
		size_t k;
		json_t *row = NULL, *one;
		json_array_foreach(found, k, one)
			row = strcmp(jsonx_str_at(one, "name", ""), expected[i].name) == 0 ? one : row;
		cr_assert_not_null(row, "%s", expected[i].name);
		cr_expect_str_eq(jsonx_str_at(row, "kind", ""), expected[i].kind);
		cr_expect_str_eq(jsonx_str_at(row, "unit", ""), "B");
		cr_expect_str_eq(jsonx_str_at(row, "change", ""), expected[i].change);
		cr_expect(fabs(json_number_value(json_object_get(row, "before")) - expected[i].before) < 1, "%s", expected[i].name);
		cr_expect(fabs(json_number_value(json_object_get(row, "after")) - expected[i].after) < 1, "%s", expected[i].name);
		cr_expect(json_number_value(json_object_get(row, "noise")) >= 65536);
	}
	AUTO_BUF struct buf text;
	buf_init(&text, 1 << 20);
	cr_expect_eq(report_diff_print(diff, &text), 0);
	cr_expect(strstr(buf_str(&text), "     12.00    412.00   +400.00 MB     grew      static Shop.Cache._items\n"), "%s", buf_str(&text));
}

Test(report_diff_memory, says_what_makes_two_reports_unlike)
{
	AUTO_JSON json_t *before = parse(rows[0].before);
	AUTO_JSON json_t *after = parse(rows[0].before);
	json_object_set_new(json_object_get(after, "walk"), "roots", json_string("noCollection"));
	json_object_set_new(json_object_get(after, "target"), "entrypoint", json_string("Mail"));
	AUTO_JSON json_t *diff = report_diff_make(before, after, NULL);
	const char *text = jsonx_str_at(diff, "diagnosis", "");
	cr_expect(strstr(text, "Roots were found in different ways: exact before, noCollection after: what nothing"), "%s", text);
	cr_expect(strstr(text, "Not the same program: Shop before, Mail after."), "%s", text);
}

/* The percentiles of a process that does the same all the time differ once in a thousand times at most. */
static json_t *pauses_at_random(unsigned *seed)
{
	enum { COUNT = 400 };
	json_t *suspending = json_array(), *stopped = json_array();
	double lengths[COUNT], total = 0, longest = 0;
	for (int i = 0; i < COUNT; i++) {
		lengths[i] = 300 - 200 * log(((double)rand_r(seed) + 1) / ((double)RAND_MAX + 2));
		total += lengths[i];
		longest = fmax(longest, lengths[i]);
		json_array_append_new(suspending, json_real(10));
		json_array_append_new(stopped, json_real(lengths[i] - 10));
	}
	for (int i = 1; i < COUNT; i++)
		for (int k = i; k > 0 && lengths[k] < lengths[k - 1]; k--) {
			double x = lengths[k];
			lengths[k] = lengths[k - 1];
			lengths[k - 1] = x;
		}
	AUTO_FREE char *text = mem_printf(PAUSES("60", "400", "%f", "%f", "%f", "", ""), lengths[395], longest, total);
	json_t *report = parse(text);
	json_object_set_new(json_object_get(json_object_get(report, "pauses"), "length"), "p50Microseconds", json_real(lengths[199]));
	json_object_set_new(json_object_get(json_object_get(report, "pauses"), "length"), "p95Microseconds", json_real(lengths[379]));
	json_object_set_new(report, "events", json_pack("{s:o, s:o}", "suspendingMicroseconds", suspending, "stoppedMicroseconds", stopped));
	return report;
}

Test(report_diff_memory, pauses_of_the_same_kind_are_no_difference)
{
	unsigned seed = 1, wrong = 0;
	for (int i = 0; i < 200; i++) {
		AUTO_JSON json_t *before = pauses_at_random(&seed);
		AUTO_JSON json_t *after = pauses_at_random(&seed);
		AUTO_JSON json_t *diff = report_diff_make(before, after, NULL);
		wrong += json_is_true(json_object_get(diff, "changed"));
	}
	cr_expect_leq(wrong, 4, "%u of 200", wrong);
}

Test(report_diff_memory, refuses_what_cannot_be_compared)
{
	static const struct {
		const char *before, *after, *message;
	} bad[] = {
		{SURVIVORS("1", "1", "", ""), STRINGS("1", "1", ""),
		 "profiler: GCSurvivors before, DuplicatedStrings after: compare two sessions of one profiler"},
		{SURVIVORS("1", "1", "", ""), SURVIVORS("\"x\"", "1", "", ""), "the report after: heap.heldBytes: expected a number"},
		{SURVIVORS("1", "1", "{}", ""), SURVIVORS("1", "1", "", ""), "the report before: holders[0]: name: required"},
		{SURVIVORS("1", "1", "", "7"), SURVIVORS("1", "1", "", ""), "the report before: types[0]: name: required"},
		{SURVIVORS("1", "1", HOLDER("x", "1e16"), ""), SURVIVORS("1", "1", "", ""), "the report before: holders[0]: retainedBytes: must be between"},
		{LEAK("1", "1", "1", "", ""), LEAK("1", "1", "-1", "", ""), "the report after: growth.detectableBytesPerMinute: must be between"},
		{LEAK("1", "1", "1", "", ""), LEAK("1", "1", "1", GROWS("x", "y", "null"), ""),
		 "the report after: holders[0]: bytesPerMinute: expected a number"},
		{STRINGS("1", "1", ""), STRINGS("1", "null", ""), "the report after: strings.wastedBytes: expected a number"},
		{ALLOCATIONS(BYTES("1", "0", "2"), "", ""), ALLOCATIONS(BYTES("1", "2", "2"), "", ""),
		 "the report after: allocated: bytesLow: must be between 0 and 1"},
		{ALLOCATIONS(BYTES("1", "0", "2"), ALLOCATED("x", BYTES("1", "1", "0")), ""), ALLOCATIONS(BYTES("1", "0", "2"), "", ""),
		 "the report before: types[0]: bytesHigh: must be between 1 and"},
		{PAUSES("60", "1", "1", "1", "1", "", ""), PAUSES("60", "-1", "1", "1", "1", "", ""), "the report after: pauses.count: must be between"},
		{PAUSES("60", "1", "1", "1", "1", "", ""), PAUSES("60", "1", "1", "1", "1", "", "7"), "the report after: inducers[0]: count: required"},
		{PAUSES("60", "1", "1", "1", "1", "", ""), PAUSES("60", "1", "1", "1", "1", "{}", ""), "the report after: causes[0]: title: required"},
		{ALLOCATIONS(BYTES("1", "0", "2"), "", "[]"), ALLOCATIONS(BYTES("1", "0", "2"), "", ""), "the report before: sites[0]: type: required"},
	};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err e = ERR_INIT;
		AUTO_JSON json_t *before = parse(bad[i].before);
		AUTO_JSON json_t *after = parse(bad[i].after);
		cr_expect_null(report_diff_make(before, after, &e), "row %zu", i);
		cr_expect_eq(e.kind, ERR_INVALID);
		cr_expect(strncmp(e.message, bad[i].message, strlen(bad[i].message)) == 0, "row %zu: %s", i, e.message);
	}
}
