#include "agent/report/phrase.h"
#include "agent/profilers/leak/leak_finding.h"
#include "agent/report/report.h"

#include "tests/unit/agent/profilers/leak/make_model.h"

/* `first` and `last` megabytes in the process of: the managed heap, malloc, thread stacks. */
static void make_memory(struct leak_model *m, const uint64_t first[3], const uint64_t last[3])
{
	static const char *const lines[] = {"7e0000000000-7e1000000000 rw-p 00000000 00:00 0", "55d539900000-56d53aa00000 rw-p 00000000 00:00 0 [heap]",
					    "7ffc00000000-7ffd00021000 rw-p 00000000 00:00 0 [stack]"};
	static const size_t order[] = {1, 0, 2};
	static const struct memory_range heap = {0x7e0000000000, 0x1000, false};
	for (size_t side = 0; side < 2; side++) {
		struct memory_account *a = side ? &m->last : &m->first;
		for (size_t i = 0; i < 3; i++) {
			char text[64];
			size_t k = order[i];
			memory_account_add_line(a, lines[k], strlen(lines[k]));
			int n = snprintf(text, sizeof text, "Rss: %u kB", (unsigned)((side ? last : first)[k] * 1000000 / 1024));
			memory_account_add_line(a, text, (size_t)n);
		}
		memory_account_classify(a, &heap, 1);
	}
	m->memory_known = true;
}
#define MEGABYTES(...) ((const uint64_t[3]){__VA_ARGS__})

static void grow_heap(struct leak_model *m, uint64_t bytes)
{
	m->walks[m->walk_count - 1].bytes += bytes;
}

static void expect(const struct leak_model *m, enum leak_finding finding, const char *headline, const char *const *says)
{
	struct leak_diagnosis d;
	leak_diagnosis_make(m, &d);
	cr_expect_eq(d.finding, finding, "%s: %s", leak_finding_name(d.finding), d.text);
	cr_expect_str_eq(d.headline, headline);
	cr_expect_leq(phrase_chars(d.headline), HEADLINE_MAX_CHARS);
	cr_expect_leq(strlen(d.text), DIAGNOSIS_MAX_BYTES);
	cr_expect_eq(strncmp(d.text, d.headline, strlen(d.headline)), 0);
	for (; says && *says; says++)
		cr_expect(strstr(d.text, *says), "\"%s\" is not in: %s", *says, d.text);
	leak_diagnosis_fini(&d);
}
#define SAYS(...) ((const char *const[]){__VA_ARGS__, NULL})

Test(leak_finding, a_collection_that_grows_towards_the_containers_limit)
{
	struct leak_model m;
	make_walks(&m, 5, 60);
	make_cache(&m, COUNTS(1000, 26000, 51000, 76000, 101000));
	grow_heap(&m, MB(10));
	m.limit = (struct leak_limit){INT64_C(512) << 20, INT64_C(512) << 20 >> 1, -1};
	make_memory(&m, MEGABYTES(20, 30, 8), MEGABYTES(30, 30, 8));
	expect(&m, LEAK_FOUND_GROWS, "static Shop.Cache._items grows by 2.5 MB/min; limit in 100 min",
	       SAYS("+ 100,000 Order (10 MB) in 4 min, held by a static collection.",
		    "Path: static Shop.Cache._items -> Dictionary<int, Order>._entries -> Entry[].value -> Order", "Remove what is no longer needed",
		    "Reaches the container's memory limit of 512Mi in 100 min (now 268 MB).", "It grew steadily over 5 walks (confidence: high).",
		    "live objects + 10 MB"));
	leak_model_fini(&m);
}

Test(leak_finding, two_walks_say_so)
{
	struct leak_model m;
	make_walks(&m, 2, 60);
	make_cache(&m, COUNTS(1000, 101000));
	m.limit = (struct leak_limit){0, INT64_C(256) << 20, 1000000000};
	expect(&m, LEAK_FOUND_GROWS, "static Shop.Cache._items grows by 10 MB/min",
	       SAYS("Two walks cannot tell a leak from a cache that fills", "The container has no memory limit; the node's free 1.0 GB last for 100 min.",
		    "Memory outside the heap is unknown"));
	leak_model_fini(&m);
}

Test(leak_finding, event_handlers)
{
	struct leak_model m;
	make_walks(&m, 3, 10);
	uint32_t step = leak_model_root(&m, LEAK_ROOT_STATIC, "static Shop.PriceFeed.Instance");
	step = make_step(&m, step, "Shop.PriceFeed", NULL, 24, COUNTS(1, 1, 1));
	step = make_step(&m, step, "System.EventHandler", "Changed", 64, COUNTS(1, 1, 1));
	step = make_step(&m, step, "object[]", "_invocationList", 80000, COUNTS(1, 1, 1));
	step = make_step(&m, step, "System.EventHandler", "[]", 64, COUNTS(10, 5000, 10010));
	make_step(&m, step, "Shop.Widget", "_target", 200, COUNTS(10, 5000, 10010));
	expect(&m, LEAK_FOUND_GROWS, "Handlers of PriceFeed.Changed pile up: + 10,000 Widget, 7.9 MB/min",
	       SAYS("+ 10,000 Widget (2.6 MB) in 20 s, held by handlers of the event PriceFeed.Changed.", "Unsubscribe"));
	leak_model_fini(&m);

	make_walks(&m, 3, 10); /* a static event; paths make the delegate and those in its list one step */
	step = leak_model_root(&m, LEAK_ROOT_STATIC, "static Shop.Messaging.TheBusOfThisApplication.OrderHasBeenPublished");
	step = make_step(&m, step, "System.Action<Order>", NULL, 64, COUNTS(10, 5000, 10010));
	m.steps[step].nested = true;
	make_step(&m, step, "Shop.WidgetWithARatherLongNameOfItsOwn", "_target", 200, COUNTS(10, 5000, 10010));
	struct leak_diagnosis d;
	leak_diagnosis_make(&m, &d);
	cr_expect_eq(strncmp(d.headline, "Handlers of ", 12), 0, "%s", d.headline);
	cr_expect(strstr(d.headline, "OrderHasBeenPublished pile up: + 10,000 "), "%s", d.headline);
	cr_expect_leq(phrase_chars(d.headline), HEADLINE_MAX_CHARS);
	cr_expect(strstr(d.text, "the event Shop.Messaging.TheBusOfThisApplication.OrderHasBeenPublished."), "%s", d.text);
	leak_diagnosis_fini(&d);
	leak_model_fini(&m);

	make_walks(&m, 3, 10); /* delegates in a list are no event's */
	step = leak_model_root(&m, LEAK_ROOT_STATIC, "static Shop.Jobs.All");
	step = make_step(&m, step, "System.Action[]", NULL, 80000, COUNTS(1, 1, 1));
	step = make_step(&m, step, "System.Action", "[]", 64, COUNTS(10, 5000, 10010));
	m.steps[step].nested = true;
	make_step(&m, step, "Shop.Widget", "_target", 200, COUNTS(10, 5000, 10010));
	expect(&m, LEAK_FOUND_GROWS, "Event handlers pile up: + 10,000 Widget, 7.9 MB/min", SAYS("held by event handlers."));
	leak_model_fini(&m);
}

Test(leak_finding, closures_large_objects_and_arrays)
{
	struct leak_model m;
	make_walks(&m, 3, 60);
	uint32_t step = leak_model_root(&m, LEAK_ROOT_STATIC, "static Shop.Callbacks.Pending");
	step = make_step(&m, step, "System.Func<int>[]", NULL, 80000, COUNTS(1, 1, 1));
	step = make_step(&m, step, "System.Func<int>", "[]", 64, COUNTS(10, 5000, 10010));
	step = make_step(&m, step, "Shop.Callbacks+Add.(closure)", "_target", 200, COUNTS(10, 5000, 10010));
	m.steps[step].shown = m.steps[step].name;
	expect(&m, LEAK_FOUND_GROWS, "Closures of Shop.Callbacks+Add pile up: + 10,000, 1.3 MB/min",
	       SAYS("+ 10,000 closures of Shop.Callbacks+Add (2.6 MB) in 2 min, held by delegates."));
	leak_model_fini(&m);

	make_walks(&m, 3, 60);
	step = leak_model_root(&m, LEAK_ROOT_STATIC, "static Shop.Images.All");
	make_step(&m, make_step(&m, step, "byte[][]", NULL, 8000, COUNTS(1, 1, 1)), "byte[]", "[]", 85000, COUNTS(10, 60, 110));
	expect(&m, LEAK_FOUND_GROWS, "static Shop.Images.All grows by 4.2 MB/min", SAYS("They are on the large object heap"));
	leak_model_fini(&m);

	make_walks(&m, 3, 60); /* entries and buckets are one; it leapt twice */
	step = make_step(&m, leak_model_root(&m, LEAK_ROOT_STATIC, "static Shop.Table"), "System.Collections.Generic.Dictionary<int, int>", NULL, 80,
			 COUNTS(1, 1, 1));
	make_step(&m, step, "Entry[]", "_entries", 1000000, COUNTS(1, 2, 4));
	make_step(&m, step, "int[]", "_buckets", 250000, COUNTS(1, 2, 4));
	for (uint32_t s = 0; s < m.step_count; s++) /* one array each, of that size */
		for (size_t w = 0; w < 3 && m.steps[s].depth == 2; w++)
			leak_model_at(&m, s, w)->count = 1;
	expect(&m, LEAK_FOUND_GROWS, "static Shop.Table grows by 1.9 MB/min", SAYS("Entry[] (+ 3.8 MB) in 2 min, held by a static collection."));
	struct leak_groups groups;
	leak_groups_find(&m, &groups);
	cr_expect_eq(groups.count, 1);
	leak_groups_fini(&groups);
	leak_model_fini(&m);

	make_walks(&m, 5, 60); /* it leapt once */
	step = make_step(&m, leak_model_root(&m, LEAK_ROOT_STATIC, "static Shop.Numbers"), "System.Collections.Generic.List<int>", NULL, 80,
			 COUNTS(1, 1, 1, 1, 1));
	step = make_step(&m, step, "int[]", "_items", 4000000, COUNTS(1, 1, 2, 2, 2));
	for (size_t w = 0; w < 5; w++)
		leak_model_at(&m, step, w)->count = 1;
	expect(&m, LEAK_FOUND_UNCERTAIN, "May grow: static Shop.Numbers jumped to 8.0 MB in 4 min",
	       SAYS("int[] (+ 4.0 MB) in 4 min, held by a static collection.", "profile for longer"));
	leak_model_fini(&m);
}

Test(leak_finding, unmanaged_memory_is_named_as_such)
{
	struct leak_model m;
	make_walks(&m, 2, 60);
	m.limit = (struct leak_limit){MB(200), MB(100), -1};
	make_memory(&m, MEGABYTES(20, 10, 8), MEGABYTES(20, 40, 8));
	expect(&m, LEAK_FOUND_UNMANAGED, "Unmanaged memory grows by 30 MB/min (malloc), not the heap; limit in 3 min",
	       SAYS("Mappings that grew: malloc heap 10 MB to 40 MB.", "Native memory is not released", "Process + 30 MB: live objects + 0 bytes"));
	leak_model_fini(&m);
	make_walks(&m, 2, 60);
	make_memory(&m, MEGABYTES(20, 10, 8), MEGABYTES(20, 10, 38));
	expect(&m, LEAK_FOUND_UNMANAGED, "Unmanaged memory grows by 30 MB/min (stacks), not the heap", SAYS("Threads keep being created and never exit"));
	leak_model_fini(&m);
}

Test(leak_finding, the_larger_of_two_leaks_is_the_headline)
{
	struct leak_model m;
	make_walks(&m, 3, 60);
	make_cache(&m, COUNTS(1000, 51000, 101000));
	make_memory(&m, MEGABYTES(20, 10, 8), MEGABYTES(30, 60, 8));
	expect(&m, LEAK_FOUND_UNMANAGED, "Unmanaged memory grows by 25 MB/min (malloc)", SAYS("Native memory is not released"));
	leak_model_fini(&m);
	make_walks(&m, 3, 60);
	make_cache(&m, COUNTS(1000, 501000, 1001000));
	make_memory(&m, MEGABYTES(20, 10, 8), MEGABYTES(120, 60, 8));
	expect(&m, LEAK_FOUND_GROWS, "static Shop.Cache._items grows by 50 MB/min", SAYS("unmanaged + 50 MB"));
	leak_model_fini(&m);
}

Test(leak_finding, free_memory_is_no_leak_of_objects)
{
	struct leak_model m;
	make_walks(&m, 3, 60);
	m.walks[2].free_bytes = MB(30);
	m.walks[0].pinned_objects = m.walks[2].pinned_objects = 1234;
	make_memory(&m, MEGABYTES(20, 10, 8), MEGABYTES(70, 10, 8));
	expect(&m, LEAK_FOUND_FREE_MEMORY, "No object leak: the heap keeps 50 MB more free memory",
	       SAYS("Gaps between objects: 30 MB; pinned objects: 1,234;", "free in the heap + 50 MB"));
	leak_model_fini(&m);

	make_walks(&m, 3, 60); /* handles that pin small arrays weigh less than the gaps between them */
	make_step(&m, leak_model_root(&m, LEAK_ROOT_PINNED_HANDLE, "handle (pinned)"), "byte[]", NULL, 500, COUNTS(0, 5000, 10000));
	grow_heap(&m, MB(5));
	m.walks[2].free_bytes = MB(40);
	m.walks[2].pinned_objects = 10000;
	make_memory(&m, MEGABYTES(20, 10, 8), MEGABYTES(70, 10, 8));
	expect(&m, LEAK_FOUND_FREE_MEMORY, "Heap fragmentation from pinned objects: +40 MB, +10,000 pinned",
	       SAYS("+ 10,000 byte[] (5.0 MB) in 2 min, held by handles.", "GCHandle.Free"));
	leak_model_fini(&m);
}

Test(leak_finding, no_false_alarm)
{
	struct leak_model m;
	make_walks(&m, 2, 60);
	make_cache(&m, COUNTS(1000, 1000));
	expect(&m, LEAK_FOUND_STEADY, "Nothing grew between two heap walks in 1 min, the heap holds 10 MB",
	       SAYS("Less than 262 kB a minute would not be seen in 1 min", "Two heap walks cannot rule out a leak"));
	leak_model_fini(&m);

	make_walks(&m, 3, 60);
	make_cache(&m, COUNTS(1000, 1000, 1000));
	expect(&m, LEAK_FOUND_STEADY, "No leak: nothing grew in 2 min, the heap holds 10 MB", NULL);
	leak_model_fini(&m);

	make_walks(&m, 3, 60);
	m.walks[0].ran_ns = SECOND;
	m.walks[2].ran_ns = 2 * SECOND;
	make_cache(&m, COUNTS(1000, 1000, 1000));
	expect(&m, LEAK_FOUND_STEADY, "Nothing grew in 2 min, but it was idle, the heap holds 10 MB", NULL);
	leak_model_fini(&m);

	make_walks(&m, 3, 60);
	make_cache(&m, COUNTS(1000, 101000, 101000));
	expect(&m, LEAK_FOUND_LEVELLED_OFF, "No leak: static Shop.Cache._items filled up to 10 MB and stays", NULL);
	leak_model_fini(&m);

	make_walks(&m, 2, 60);
	make_cache(&m, COUNTS(1000, 101000));
	for (size_t i = 0; i < 60; i++)
		leak_curve_add(&m.curve, (int64_t)i * 1000000000, i < 20 ? MB(50) + i * MB(1) : MB(70));
	expect(&m, LEAK_FOUND_UNCERTAIN, "May grow: static Shop.Cache._items grew to 10 MB in 1 min", SAYS("Two heap snapshots cannot tell a leak"));
	leak_model_fini(&m);

	make_walks(&m, 2, 60);
	m.uptime_ms = 8000;
	make_cache(&m, COUNTS(1000, 101000));
	expect(&m, LEAK_FOUND_WARMING_UP, "Too early to tell: it just started, static Shop.Cache._items + 10 MB", SAYS("memoryLeak.walks: 5"));
	leak_model_fini(&m);

	make_walks(&m, 3, 60);
	make_step(&m, leak_model_root(&m, LEAK_ROOT_STACK, "stack of Shop.Main (thread 1)"), "Shop.Row", NULL, 1000, COUNTS(0, 5000, 9000));
	expect(&m, LEAK_FOUND_CHURN, "No leak: what grew is short-lived, in use only at that moment",
	       SAYS("9.0 MB more held by running methods only, most of it Row."));
	leak_model_fini(&m);

	make_walks(&m, 4, 60);
	make_cache(&m, COUNTS(1000, 91000, 2000, 61000));
	expect(&m, LEAK_FOUND_CHURN, "No leak: what grew is short-lived, in use only at that moment", SAYS("growing and shrinking"));
	leak_model_fini(&m);

	make_walks(&m, 2, 60);
	m.walks[1].loose_bytes = MB(5);
	expect(&m, LEAK_FOUND_CHURN, "Between two heap walks only what is short-lived grew", SAYS("Two heap walks cannot rule out a leak"));
	leak_model_fini(&m);
}

/* A list that grows by a batch each minute, a full cache and one that is emptied: two walks may see the same of all three. */
Test(leak_finding, two_walks_never_say_that_nothing_leaks)
{
	static const uint64_t last[] = {0, 1000, 1001, 2000, 30000, 101000, 1000000};
	static const enum leak_root roots[] = {LEAK_ROOT_STATIC, LEAK_ROOT_STACK, LEAK_ROOT_UNKNOWN, LEAK_ROOT_HANDLE};
	static const int64_t uptimes[] = {-1, 5000, 3600000};
	for (size_t i = 0; i < sizeof last / sizeof *last * 4 * 3 * 4; i++) {
		struct leak_model m;
		struct leak_diagnosis d;
		make_walks(&m, 2, 60);
		m.uptime_ms = uptimes[i / 28 % 3];
		make_step(&m, leak_model_root(&m, roots[i / 7 % 4], "a root"), "Shop.Order", NULL, 100, COUNTS(1000, last[i % 7]));
		for (size_t k = 0; k < 60 && i / 84 % 2; k++)
			leak_curve_add(&m.curve, (int64_t)k * SECOND, k < 20 ? MB(50) + k * MB(1) : MB(70));
		if (i / 168)
			make_memory(&m, MEGABYTES(20, 10, 8), MEGABYTES(i % 2 ? 20 : 90, i % 2 ? 40 : 10, 8));
		leak_diagnosis_make(&m, &d);
		for (size_t k = 0; k < 4; k++)
			cr_expect_null(strstr(d.text, ((const char *const[]){"No leak", "stays", "evelled off", "No object leak"})[k]), "%s", d.text);
		leak_diagnosis_fini(&d);
		leak_model_fini(&m);
	}
}

Test(leak_finding, a_cache_that_fills_is_not_steady_growth)
{
	struct leak_model m;
	make_walks(&m, 10, 30); /* a time constant of 100 s */
	make_cache(&m, COUNTS(1000, 26918, 46119, 60343, 70881, 78687, 84470, 88754, 91928, 94279));
	expect(&m, LEAK_FOUND_SLOWS_DOWN, "Grows ever slower: static Shop.Cache._items, 9.5 MB of about 10 MB",
	       SAYS("+ 93,279 Order", "Its pace fell to 7% of that at the first walk, as a cache's does that fills; it would be full in 30 s. "
		    "To see whether it stops, profile again for 6 min (durationSeconds: 360)."));
	leak_model_fini(&m);

	make_walks(&m, 5, 30);
	make_cache(&m, COUNTS(1000, 26000, 51000, 76000, 76000));
	expect(&m, LEAK_FOUND_SLOWS_DOWN, "Grows ever slower: static Shop.Cache._items, 7.6 MB of about 11 MB", NULL);
	leak_model_fini(&m);

	make_walks(&m, 5, 30);
	make_cache(&m, COUNTS(1000, 1000, 1000, 76000, 76000));
	expect(&m, LEAK_FOUND_SLOWS_DOWN, "May have stopped growing: static Shop.Cache._items at 7.6 MB",
	       SAYS("It has hardly grown for 30 s, after it grew for 30 s. To see whether it stops, profile again for 4 min (durationSeconds: 240)."));
	leak_model_fini(&m);

	make_walks(&m, 6, 30); /* it grows, but by the load's waves */
	make_cache(&m, COUNTS(1000, 61000, 62000, 64000, 130000, 135000));
	expect(&m, LEAK_FOUND_GROWS, "static Shop.Cache._items grows by 5.4 MB/min",
	       SAYS("It grew all the time, though not evenly, over 6 walks (confidence: medium)."));
	leak_model_fini(&m);
}

Test(leak_finding, one_walk_tells_nothing)
{
	struct leak_model m;
	make_walks(&m, 1, 60);
	make_cache(&m, COUNTS(1000));
	expect(&m, LEAK_FOUND_UNKNOWN, "Nothing to compare: it ended before the second heap walk", NULL);
	leak_model_fini(&m);
}

/* What is less than a leak of memory outside of the heap. */
Test(leak_finding, unmanaged_thresholds)
{
	static const struct {
		const char *what;
		int64_t uptime_ms;
		uint64_t heap_growth_mb, kept_mb, malloc_growth_mb;
		enum leak_finding finding;
	} rows[] = {
		{"less than comes and goes", 3600000, 0, 0, 6, LEAK_FOUND_STEADY},
		{"more", 3600000, 0, 0, 7, LEAK_FOUND_UNMANAGED},
		{"of a process that starts", 5000, 0, 0, 20, LEAK_FOUND_STEADY},
		{"more of a process that starts", 5000, 0, 0, 26, LEAK_FOUND_UNMANAGED},
		{"tables of a heap that grows", 3600000, 100, 0, 12, LEAK_FOUND_STEADY},
		{"tables of a heap that keeps memory", 3600000, 0, 100, 12, LEAK_FOUND_FREE_MEMORY},
		{"more than those", 3600000, 0, 100, 13, LEAK_FOUND_UNMANAGED},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct leak_model m;
		struct leak_diagnosis d;
		make_walks(&m, 2, 60);
		m.uptime_ms = rows[i].uptime_ms;
		grow_heap(&m, MB(rows[i].heap_growth_mb));
		make_memory(&m, MEGABYTES(20, 10, 8), MEGABYTES(20 + rows[i].heap_growth_mb + rows[i].kept_mb, 10 + rows[i].malloc_growth_mb, 8));
		leak_diagnosis_make(&m, &d);
		cr_expect_eq(d.finding, rows[i].finding, "%s: %s", rows[i].what, d.text);
		leak_diagnosis_fini(&d);
		leak_model_fini(&m);
	}
}

/* The walks between tell what the ends cannot. */
Test(leak_finding, unmanaged_memory_over_the_walks)
{
	static const struct {
		const char *what;
		int64_t uptime_ms;
		uint64_t mb[4];
		enum leak_finding finding;
	} rows[] = {
		{"steadily", 3600000, {18, 28, 38, 48}, LEAK_FOUND_UNMANAGED},
		{"ever slower", 3600000, {18, 33, 43, 48}, LEAK_FOUND_SLOWS_DOWN},
		{"fills up and stays", 3600000, {18, 48, 48, 48}, LEAK_FOUND_STEADY},
		{"comes and goes", 3600000, {18, 60, 20, 48}, LEAK_FOUND_STEADY},
		{"warms up", 5000, {18, 40, 45, 48}, LEAK_FOUND_STEADY},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct leak_model m;
		struct leak_diagnosis d;
		make_walks(&m, 4, 60);
		m.uptime_ms = rows[i].uptime_ms;
		make_memory(&m, MEGABYTES(20, 10, 8), MEGABYTES(20, 40, 8));
		for (size_t w = 0; w < 4; w++)
			m.walks[w].unmanaged_bytes = (int64_t)MB(rows[i].mb[w]);
		leak_diagnosis_make(&m, &d);
		cr_expect_eq(d.finding, rows[i].finding, "%s: %s", rows[i].what, d.text);
		leak_diagnosis_fini(&d);
		leak_model_fini(&m);
	}
}

/* Names are the process's own words. */
Test(leak_finding, hostile_names)
{
	struct leak_model m;
	char name[5000];
	memset(name, 'x', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	memcpy(name + 10, "\x1b[31m\n\xff<b>", 9);
	make_walks(&m, 3, 60);
	uint32_t step = leak_model_root(&m, LEAK_ROOT_STATIC, name);
	for (size_t i = 0; i < 40; i++)
		step = make_step(&m, step, name, name, 10, COUNTS(1, 1, 1));
	make_step(&m, step, name, name, 10000, COUNTS(0, 1000, 2000));
	struct leak_diagnosis d;
	leak_diagnosis_make(&m, &d);
	cr_expect_eq(d.finding, LEAK_FOUND_GROWS);
	cr_expect_leq(phrase_chars(d.headline), HEADLINE_MAX_CHARS);
	cr_expect_leq(strlen(d.text), DIAGNOSIS_MAX_BYTES);
	cr_expect_null(strchr(d.text, '\x1b'));
	cr_expect_null(strchr(d.headline, '\n'));
	leak_diagnosis_fini(&d);
	leak_model_fini(&m);
}

/* Old and young bytes of a type at each walk, counted without holders. */
static void count_type(struct leak_model *m, const char *name, const uint64_t *old, const uint64_t *young)
{
	uint32_t type = leak_model_type(m, name, "Shop.dll");
	for (size_t w = 0; w < m->walk_count; w++) {
		struct leak_type_figures *f = leak_model_type_at(m, type, w);
		*f = (struct leak_type_figures){.count = (old[w] + young[w]) / 100, .bytes = old[w] + young[w], .old_bytes = old[w]};
		m->walks[w].bytes += f->bytes;
		m->walks[w].types_only = true;
		m->walks[w].exact = false;
		m->walks[w].why = "the walk that shows holders would stop for longer than the pause budget";
		m->walks[w].needs.budget_ms = 1126;
	}
}

Test(leak_finding, types_only_tell_what_grows_but_not_who_holds_it)
{
	struct leak_model m;
	make_walks(&m, 3, 60);
	count_type(&m, "Shop.Order", COUNTS(MB(10), MB(20), MB(30)), COUNTS(0, 0, 0));
	count_type(&m, "string", COUNTS(MB(1), MB(2), MB(3)), COUNTS(MB(50), MB(10), MB(70)));
	m.limit = (struct leak_limit){INT64_C(512) << 20, INT64_C(512) << 20 >> 1, -1};
	expect(&m, LEAK_FOUND_TYPES, "Types only: Shop.Order grows by 10 MB/min; limit in 20 min",
	       SAYS("What retains them is unknown: objects were only counted by type", "holders need pauseBudgetMilliseconds: 1126.",
		    "Shop.Order: + 20 MB of old objects in 2 min, + 200,000 objects of any age.", "confidence: medium"));
	leak_model_fini(&m);
}

/* Nine walks that show the holder are not given up for a last one that found no room in the pause budget. */
Test(leak_finding, walks_with_holders_are_kept_beside_some_of_types_only)
{
	struct leak_model m;
	make_walks(&m, 10, 30);
	make_cache(&m, COUNTS(1000, 11000, 21000, 31000, 41000, 51000, 61000, 71000, 81000, 0));
	uint32_t type = leak_model_type(&m, "Shop.Order", "Shop.dll");
	for (size_t w = 0; w < 10; w++)
		*leak_model_type_at(&m, type, w) = (struct leak_type_figures){.count = 1000 + 10000 * w, .bytes = 100000 + 1000000 * w};
	grow_heap(&m, MB(60));
	m.walks[9].types_only = true;
	make_memory(&m, MEGABYTES(20, 30, 8), MEGABYTES(80, 30, 8));
	cr_expect_eq(leak_model_leave_out_types(&m), 1);
	cr_expect_eq(m.walk_count, 9);
	cr_expect_not(leak_model_types_only(&m));
	expect(&m, LEAK_FOUND_GROWS, "static Shop.Cache._items grows by 2.0 MB/min",
	       SAYS("+ 80,000 Order (8.0 MB) in 4 min", "free in the heap + 256 bytes", "over 9 walks (confidence: high)"));
	m.walks[3].types_only = m.walks[0].types_only = true;
	cr_expect_eq(leak_model_leave_out_types(&m), 2);
	cr_expect_eq(leak_model_at(&m, (uint32_t)m.step_count - 1, 0)->count, 11000);
	cr_expect_eq(leak_model_at(&m, (uint32_t)m.step_count - 1, 2)->count, 41000);
	cr_expect_eq(leak_model_type_at(&m, type, 6)->count, 81000);
	for (size_t w = 0; w < 5; w++)
		m.walks[w].types_only = true;
	cr_expect_eq(leak_model_leave_out_types(&m), 0, "two walks alone tell less than types");
	leak_model_fini(&m);
}

Test(leak_finding, types_only_that_are_young_or_fall_back_are_no_growth)
{
	struct leak_model m;
	make_walks(&m, 3, 60);
	count_type(&m, "string", COUNTS(MB(1), MB(1), MB(1)), COUNTS(MB(5), MB(10), MB(70)));
	count_type(&m, "Shop.Row", COUNTS(MB(10), MB(60), MB(30)), COUNTS(0, 0, 0));
	expect(&m, LEAK_FOUND_CHURN, "Types only: what grew is young or comes and goes, nothing old grows", SAYS("holders need"));
	leak_model_fini(&m);
	make_walks(&m, 2, 60);
	count_type(&m, "string", COUNTS(MB(1), MB(1)), COUNTS(MB(5), MB(5)));
	expect(&m, LEAK_FOUND_STEADY, "Nothing grew between two heap walks in 1 min, the heap holds 16 MB", SAYS("only counted by type"));
	leak_model_fini(&m);
	make_walks(&m, 2, 60);
	m.uptime_ms = 5000;
	count_type(&m, "Shop.Order", COUNTS(MB(1), MB(9)), COUNTS(0, 0));
	expect(&m, LEAK_FOUND_WARMING_UP, "Types only: too early to tell, the process has just started", SAYS("Shop.Order: + 8.0 MB of old objects"));
	leak_model_fini(&m);
}
