#include "agent/profilers/allocs/alloc_diagnosis.h"
#include "agent/report/phrase.h"
#include "agent/symbols/method_name.h"
#include "agent/report/report.h"
#include "tests/unit/agent/stacks/make_capture.h"

#include <criterion/criterion.h>
#include <math.h>

/* A capture of sites, written as stacks: made(&m, "worker", "app:Shop.Cart:Total", "byte[]", ALLOC_SMALL, 10, 1000) is 10 samples of
 * 1,000 bytes each. */
struct made_allocs {
	struct made m;
	struct alloc_capture c;
	struct alloc_analysis a;
	struct alloc_diagnosis d;
};

static void begin(struct made_allocs *x)
{
	*x = (struct made_allocs){.c.event = ALLOC_EVENT_SAMPLED};
	gc_settings_init(&x->c.gc);
	make_begin(&x->m);
}

static uint32_t type_of(struct alloc_capture *c, const char *name)
{
	for (size_t i = 0; i < c->type_count; i++)
		if (strcmp(c->types[i], name) == 0)
			return (uint32_t)i;
	GROW(c->types, c->type_count, c->type_cap);
	c->types[c->type_count] = mem_strdup(name);
	return (uint32_t)c->type_count++;
}

static void add(struct made_allocs *x, const char *thread, const char *stack, const char *type, enum alloc_heap heap, uint64_t samples,
		uint64_t each)
{
	struct alloc_site s = {.heap = heap, .samples = samples, .size = samples * each, .type = type_of(&x->c, type)};
	s.stack = stack[0] ? make_stack(&x->m, stack, false) : capture_add_stack(x->m.builder, NULL, 0, false);
	s.thread = make_thread(&x->m, thread);
	alloc_estimate_add(&s.estimate, x->c.event, samples, samples * each, samples * 106600);
	GROW(x->c.sites, x->c.site_count, x->c.site_cap);
	x->c.sites[x->c.site_count++] = s;
}

static void analyze(struct made_allocs *x)
{
	x->c.stacks = x->m.capture;
	alloc_analysis_run(&x->c, &x->a);
	alloc_diagnosis_make(&x->a, &x->d);
	cr_expect_leq(phrase_chars(x->d.headline), HEADLINE_MAX_CHARS, "%s", x->d.headline);
	cr_expect_eq(strncmp(x->d.text, x->d.headline, strlen(x->d.headline)), 0);
}

static void end(struct made_allocs *x)
{
	alloc_diagnosis_fini(&x->d);
	alloc_analysis_fini(&x->a);
	x->m.capture = (struct cpu_capture){0};
	capture_builder_free(x->m.builder);
	alloc_capture_fini(&x->c);
}

static const struct cpu_method *method(const struct made_allocs *x, const char *name)
{
	for (size_t i = 0; i < x->a.base.method_count; i++)
		if (strcmp(x->a.base.methods[i].name, name) == 0)
			return &x->a.base.methods[i];
	return NULL;
}

static double caused(const struct made_allocs *x, const char *name)
{
	const struct cpu_method *m = method(x, name);
	return m ? alloc_analysis_percent(&x->a, x->a.caused[m - x->a.base.methods]) : -1;
}

#define MAIN "libc:start_thread;lib:System.Threading.Thread:StartCallback;"

Test(alloc_analysis, types_methods_and_the_tree)
{
	struct made_allocs x;
	begin(&x);
	add(&x, "a", MAIN "app:Shop.Cart:Total;app:Shop.Tax:Compute", "byte[]", ALLOC_SMALL, 60, 1000);
	add(&x, "b", MAIN "app:Shop.Cart:Total;app:Shop.Tax:Compute", "byte[]", ALLOC_SMALL, 20, 1000);
	add(&x, "a", MAIN "app:Shop.Cart:Total;lib:System.String:Concat;rt:JIT_New", "string", ALLOC_SMALL, 15, 1000);
	add(&x, "a", "", "string", ALLOC_SMALL, 5, 1000);
	analyze(&x);
	cr_assert_eq(x.a.type_count, 2);
	cr_expect_str_eq(x.c.types[x.a.types[0].type], "byte[]");
	cr_expect_float_eq(alloc_analysis_percent(&x.a, x.a.types[0].estimate.bytes), 80, 0.01);
	cr_expect_eq(x.a.types[0].smallest, 1000);
	cr_assert_eq(x.a.site_count, 3, "of a method and a type, whatever the thread");
	cr_expect_str_eq(alloc_analysis_method(&x.a, x.a.sites[0].method), "Shop.Tax.Compute");
	cr_expect_str_eq(alloc_analysis_method(&x.a, x.a.sites[1].method), "Shop.Cart.Total");
	cr_expect_null(alloc_analysis_method(&x.a, x.a.sites[2].method));
	cr_expect_float_eq(caused(&x, "Shop.Cart.Total"), 15, 0.01);
	cr_expect_null(method(&x, "libcoreclr.so"), "the runtime's frames at the leaf are left out");

	const struct cpu_method *compute = method(&x, "Shop.Tax.Compute"), *total = method(&x, "Shop.Cart.Total");
	const struct cpu_method *made = method(&x, "new byte[]"), *concat = method(&x, "System.String.Concat");
	cr_assert(compute && total && made && concat && method(&x, "[no stack]"));
	cr_expect_eq(compute->self, compute->total);
	cr_expect_eq(made->self, compute->self);
	cr_expect_eq(made->layer, LAYER_ALLOCATION);
	cr_expect_eq(total->self, 0);
	cr_expect_eq(total->total, compute->total + concat->total);
	cr_expect_leq(fabs((double)x.a.base.tree.nodes[0].total - x.a.all.bytes), 4.0);
	cr_expect_eq(x.a.stackless_samples, 5);
	cr_expect_eq(x.a.base.threads[x.a.base.thread_order[0]].tid, 10);
	cr_expect_str_eq(x.d.finding, "AllocationHotspot");
	cr_expect(strstr(x.d.headline, "80% of ") && strstr(x.d.headline, " is allocated in Shop.Tax.Compute"), "%s", x.d.headline);
	cr_expect(strstr(x.d.text, "It allocates byte[] 100%") && strstr(x.d.text, "ArrayPool<byte>"), "%s", x.d.text);
	end(&x);
}

/* Of the line of the method that allocates, not of .NET's below it; the callers of a line add up. */
Test(alloc_analysis, the_line_that_allocates_most_is_told)
{
	struct made_allocs x;
	begin(&x);
	add(&x, "a", MAIN "app:Shop.Cart:Total@7;app:Shop.Tax:Compute@10", "byte[]", ALLOC_SMALL, 600, 1000);
	add(&x, "a", MAIN "app:Shop.Cart:Total@7;app:Shop.Tax:Compute@20;lib:System.GC:Allocate@99", "byte[]", ALLOC_SMALL, 400, 1000);
	add(&x, "b", MAIN "app:Shop.Cart:Other@8;app:Shop.Tax:Compute@20", "byte[]", ALLOC_SMALL, 400, 1000);
	add(&x, "b", MAIN "app:Shop.Cart:Other@8;app:Shop.Tax:Compute", "string", ALLOC_SMALL, 20, 1000);
	add(&x, "b", MAIN "app:Shop.Cart:Other@9", "string", ALLOC_SMALL, 400, 1000);
	add(&x, "b", "", "string", ALLOC_SMALL, 20, 1000);
	analyze(&x);
	cr_assert_eq(x.a.site_count, 4);
	cr_assert_not_null(alloc_analysis_place(&x.a, &x.a.sites[0]));
	cr_expect_eq(alloc_analysis_place(&x.a, &x.a.sites[0])->line, 20);
	cr_expect_eq(alloc_analysis_place(&x.a, &x.a.sites[1])->line, 9);
	for (size_t i = 2; i < 4; i++) {
		const struct frame *f = alloc_analysis_place(&x.a, &x.a.sites[i]);
		cr_expect_eq(f == NULL, x.a.sites[i].method == CPU_NO_METHOD);
		cr_expect(!f || !f->file, "not known");
	}
	cr_expect(strstr(x.d.text, " each, at Cart.cs:20)"), "%s", x.d.text);
	cr_expect(strstr(x.d.text, "Next: Shop.Cart.Other 22% as string at Cart.cs:9."), "%s", x.d.text);
	end(&x);
}

Test(alloc_analysis, async_methods_and_recursion)
{
	struct made_allocs x;
	begin(&x);
	add(&x, "a", "lib:System.Threading.ExecutionContext:RunInternal;app:Shop.Cart+<Fetch>d__5:MoveNext", "int[]", ALLOC_SMALL, 30, 500);
	add(&x, "a", "app:Shop.Cart:Walk;app:Shop.Cart:Walk;app:Shop.Cart:Walk", "int[]", ALLOC_SMALL, 70, 500);
	analyze(&x);
	const struct cpu_method *fetch = method(&x, "Shop.Cart.Fetch"), *walk = method(&x, "Shop.Cart.Walk");
	cr_assert(fetch && walk);
	cr_expect(fetch->marks & METHOD_ASYNC);
	cr_expect_eq(walk->self, walk->total, "once, however deep");
	cr_expect_float_eq(x.a.objects[walk - x.a.base.methods], 70 * 205.3, 20);
	end(&x);
}

Test(alloc_analysis, what_the_headline_is_about)
{
	static const struct {
		const char *what;
		const char *expected;
		struct {
			const char *stack, *type;
			enum alloc_heap heap;
			uint64_t samples, each;
		} sites[6];
		const char *text;
	} rows[] = {
		{"next to nothing", "none", {{"app:A:B", "byte[]", ALLOC_SMALL, 3, 100}}, "Hardly anything is allocated: 31 kB/s"},
		{"nothing", "none", {{NULL, NULL, ALLOC_SMALL, 0, 0}}, "No sample came: less than 3"},
		{"large objects",
		 "LargeObjectAllocations",
		 {{"app:A:B", "byte[]", ALLOC_LARGE, 300, 1000000}, {"app:C:D", "string", ALLOC_SMALL, 900, 100}},
		 "large objects: A.B"},
		{"one type, many methods",
		 "AllocationOfOneType",
		 {{"app:A:B", "string", ALLOC_SMALL, 200, 100},
		  {"app:C:D", "string", ALLOC_SMALL, 190, 100},
		  {"app:E:F", "string", ALLOC_SMALL, 180, 100},
		  {"app:G:H", "int[]", ALLOC_SMALL, 100, 100}},
		 "allocated is string"},
		{"many of both",
		 "none",
		 {{"app:A:B", "string", ALLOC_SMALL, 200, 100},
		  {"app:C:D", "int[]", ALLOC_SMALL, 190, 100},
		  {"app:E:F", "long[]", ALLOC_SMALL, 180, 100},
		  {"app:G:H", "byte[]", ALLOC_SMALL, 170, 100}},
		 "allocated, by many; most, 27%, in A.B"},
		{"numbers as objects",
		 "BoxedValues",
		 {{"app:A:B", "long", ALLOC_SMALL, 300, 24}, {"app:C:D", "string", ALLOC_SMALL, 100, 100}},
		 "of 4.1 MB/s are boxed values: A.B"},
		{"keys that are compared as objects",
		 "BoxedValues",
		 {{"app:A:B;lib:System.Collections.Generic.ObjectEqualityComparer<A.Key>:Equals", "A.Key", ALLOC_SMALL, 300, 24}},
		 "A.Key is a value that becomes an object (boxing) where it is compared: give it IEquatable<T>"},
		{"large objects of a method that was inlined",
		 "LargeObjectAllocations",
		 {{"lib:System.Threading.Tasks.Task:Execute", "byte[]", ALLOC_LARGE, 300, 262144}},
		 "stacks of most of it (the nearest is System.Threading.Tasks.Task.Execute): .NET's own code allocates it, or the runtime has inlined"},
		{"no method of the application", "AllocationOfOneType", {{"lib:System.A:B", "string", ALLOC_SMALL, 300, 100}}, "100% of"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct made_allocs x;
		begin(&x);
		for (size_t k = 0; k < 6 && rows[i].sites[k].stack; k++)
			add(&x, "a", rows[i].sites[k].stack, rows[i].sites[k].type, rows[i].sites[k].heap, rows[i].sites[k].samples,
			    rows[i].sites[k].each);
		analyze(&x);
		cr_expect_str_eq(x.d.finding, rows[i].expected, "%s: %s", rows[i].what, x.d.text);
		cr_expect(strstr(x.d.text, rows[i].text), "%s: %s", rows[i].what, x.d.text);
		end(&x);
	}
}

/* A struct of the application's own, which nothing but the runtime tells from a class: its comparer was inlined. */
Test(alloc_analysis, values_are_told_by_the_runtime)
{
	for (int boxed = 0; boxed < 2; boxed++) {
		struct made_allocs x;
		begin(&x);
		add(&x, "a", "app:S.Shelves:Start", "S.ShelfKey", ALLOC_SMALL, 300, 24);
		x.c.sites[0].boxed = boxed;
		analyze(&x);
		cr_expect_str_eq(x.d.finding, boxed ? "BoxedValues" : "AllocationHotspot", "%s", x.d.text);
		cr_expect_eq(strstr(x.d.text, "S.ShelfKey is a value that becomes an object (boxing), as a key") != NULL, boxed, "%s", x.d.text);
		end(&x);
	}
}

Test(alloc_analysis, ticks_are_said_to_be_biased_and_rests_to_be_covered)
{
	struct made_allocs x;
	begin(&x);
	x.c.event = ALLOC_EVENT_TICK;
	x.c.time.covered_ns = 5 * MAKE_SECOND;
	x.c.time.sampled_ns = MAKE_SECOND;
	x.c.time_error = 0.01;
	add(&x, "a", "app:A:B", "byte[]", ALLOC_SMALL, 1000, 100);
	analyze(&x);
	cr_expect_float_eq(x.a.all.bytes, 2 * 106600000.0, 1, "the session lasted twice as long as what is covered");
	cr_expect(strstr(x.d.text, "fixed distance"), "%s", x.d.text);
	cr_expect_gt(alloc_estimate_high(&x.a.all) / x.a.all.bytes, 1.18, "a tenth of relative error, twice");
	end(&x);
}

Test(alloc_analysis, remedies)
{
	static const struct {
		const char *type, *part;
	} rows[] = {{"byte[]", "ArrayPool<byte>"}, {"string", "span"}, {"Shop.Order[]", "size when it is made"}, {"Shop.Order", NULL},
		    {"System.Func<int>", "static"}, {"System.Collections.Generic.Dictionary<int, string>.Entry[]", "size when it is made"}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *remedy = alloc_remedy(rows[i].type);
		cr_expect(rows[i].part ? remedy && strstr(remedy, rows[i].part) : !remedy, "%s: %s", rows[i].type, remedy ? remedy : "none");
	}
}

Test(alloc_analysis, one_sample_is_no_samples)
{
	struct made_allocs x;
	begin(&x);
	add(&x, "worker", "app:Shop.Cart:Total", "byte[]", ALLOC_SMALL, 1, 1000);
	analyze(&x);
	cr_expect(strstr(x.d.text, "Estimated from 1 sample of the runtime"), "%s", x.d.text);
	end(&x);
}

Test(alloc_analysis, a_size_of_large_objects_that_was_set_is_said)
{
	static const char block[] = "DOTNET_GCLOHThreshold=30D40";
	struct made_allocs x;
	begin(&x);
	gc_settings_environment(&x.c.gc, block, sizeof block);
	add(&x, "a", "app:A:B", "byte[]", ALLOC_LARGE, 300, 1000000);
	analyze(&x);
	cr_expect(strstr(x.d.text, "(objects of 200,000 bytes (DOTNET_GCLOHThreshold in its environment) and more)"), "%s", x.d.text);
	end(&x);
}
