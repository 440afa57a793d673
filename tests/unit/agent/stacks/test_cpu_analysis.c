#include "agent/stacks/cpu_analysis.h"
#include "agent/stacks/cpu_edges.h"
#include "agent/symbols/method_name.h"
#include "tests/unit/agent/stacks/make_capture.h"

#include <criterion/criterion.h>

static uint32_t find(const struct cpu_analysis *a, const char *name)
{
	for (uint32_t i = 0; i < a->method_count; i++)
		if (strcmp(a->methods[i].name, name) == 0)
			return i;
	cr_assert(false, "no method %s", name);
	return 0;
}

static void check_method(const struct cpu_analysis *a, const char *name, uint32_t self, uint32_t total)
{
	const struct cpu_method *m = &a->methods[find(a, name)];
	cr_expect_eq(m->self, self, "%s: self %u", name, m->self);
	cr_expect_eq(m->total, total, "%s: total %u", name, m->total);
}

/* The names from the root to where the only sample's stack ends, as "a;b;c". */
static const char *path_of(const struct cpu_analysis *a, size_t sample)
{
	static char text[4096];
	uint32_t path[CAPTURE_MAX_DEPTH + 4], count = 0;
	for (uint32_t n = cpu_analysis_node(a, sample); n != STACK_TREE_ROOT; n = a->tree.nodes[n].parent)
		path[count++] = a->tree.nodes[n].method;
	text[0] = '\0';
	while (count--) {
		strncat(text, a->methods[path[count]].name, sizeof text - strlen(text) - 1);
		if (count)
			strncat(text, ";", sizeof text - strlen(text) - 1);
	}
	return text;
}

Test(cpu_analysis, self_and_total_count_recursion_once)
{
	struct made m;
	struct cpu_analysis a;
	make_begin(&m);
	make_samples(&m, "w", 10, "app:S.A:Main;app:S.B:Walk;app:S.B:Walk;app:S.B:Walk");
	make_samples(&m, "w", 5, "app:S.A:Main;app:S.B:Walk;app:S.C:Leaf;app:S.B:Walk");
	make_samples(&m, "w", 1, "app:S.A:Main");
	cpu_analysis_run(&m.capture, &a);
	cr_expect_eq(a.samples, 16);
	check_method(&a, "S.A.Main", 1, 16);
	check_method(&a, "S.B.Walk", 15, 15);
	check_method(&a, "S.C.Leaf", 0, 5);
	cr_expect_str_eq(a.methods[a.by_self[0]].name, "S.B.Walk");
	cr_expect_str_eq(a.methods[a.by_total[0]].name, "S.A.Main");
	struct cpu_edge e[4];
	cr_assert_eq(cpu_edges_callers(&a, find(&a, "S.B.Walk"), e, 4), 1, "its outermost frames only");
	cr_expect(e[0].method == find(&a, "S.A.Main") && e[0].count == 15);
	cr_assert_eq(cpu_edges_callees(&a, find(&a, "S.B.Walk"), e, 4), 2);
	cr_expect(e[0].method == find(&a, "S.B.Walk") && e[0].count == 10, "%u", e[0].count);
	cr_expect(e[1].method == find(&a, "S.C.Leaf") && e[1].count == 5);
	cr_assert_eq(cpu_edges_callers(&a, find(&a, "S.A.Main"), e, 4), 1);
	cr_expect_eq(e[0].method, CPU_NO_METHOD, "the thread's start");
	cr_expect_eq(cpu_edges_callees(&a, find(&a, "S.A.Main"), e, 0), 0);
	cpu_analysis_fini(&a);
	make_end(&m);
}

/* All stacks stand on them: they are no hot methods. A native library of the application's is one. */
Test(cpu_analysis, what_carries_all_stacks_comes_last)
{
	struct made m;
	struct cpu_analysis a;
	make_begin(&m);
	make_samples(&m, "w", 60, "libc:;rt:;app:S.A:Main;rt:");
	make_samples(&m, "w", 30, "libc:;rt:;app:S.A:Main;libc:");
	make_samples(&m, "w", 20, "libc:;rt:;app:S.A:Main;libc:memcpy");
	make_samples(&m, "w", 10, "libc:;rt:;app:S.A:Main");
	cpu_analysis_run(&m.capture, &a);
	static const char *const expected[] = {"memcpy", "S.A.Main", "libcoreclr.so", "libc.so.6"};
	for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++)
		cr_expect_str_eq(a.methods[a.by_self[i]].name, expected[i], "%zu: %s", i, a.methods[a.by_self[i]].name);
	cr_expect_str_eq(a.methods[a.by_total[0]].name, "S.A.Main");
	cpu_analysis_fini(&a);
	make_end(&m);
}

#define DISPATCHER "System.Runtime.CompilerServices.AsyncHelpers.RuntimeAsyncTask"
#define RESUMES "lib:System.Runtime.CompilerServices.AsyncHelpers+RuntimeAsyncTask`1:DispatchContinuations;dyn::IL_STUB_AsyncResume;"
#define DISPATCHES "lib:System.Threading.Pool:Dispatch;" RESUMES

Test(cpu_analysis, stacks_read_as_the_user_wrote_them)
{
	static const struct {
		const char *stack, *expected;
		unsigned marks; /* of the leaf */
	} rows[] = {
		{"app:S.A:Main;app:S.A:Load;lib:System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1:Start;app:S.A+<Load>d__1:MoveNext",
		 "S.A.Main;S.A.Load", METHOD_ASYNC},
		{"app:S.A:Load;lib:System.Runtime.CompilerServices.AsyncTaskMethodBuilder:Start;"
		 "lib:System.Runtime.CompilerServices.AsyncMethodBuilderCore:Start;app:S.A+<Load>d__1:MoveNext",
		 "S.A.Load", METHOD_ASYNC},
		{"lib:System.Threading.ExecutionContext:RunInternal;app:S.A+<Load>d__1:MoveNext", "System.Threading.ExecutionContext.RunInternal;S.A.Load",
		 METHOD_ASYNC},
		{"app:S.A:Sum;app:S.A+<Items>d__2:MoveNext", "S.A.Sum;S.A.Items", METHOD_ITERATOR},
		{"app:S.A+<Walk>d__1:MoveNext;app:S.A+<Walk>d__1:MoveNext", "S.A.Walk;S.A.Walk", METHOD_ASYNC | METHOD_ITERATOR},
		/* suspended by the runtime itself (.NET 11): called by its thunk, resumed by a stub */
		{"app:S.A:Main;app:S.A:Load#7;app:S.A:Load#8@12", "S.A.Main;S.A.Load", METHOD_ASYNC},
		{"app:S.A:Main;app:S.A:Load#7;app:S.A:Load#8;app:S.A:Load#8", "S.A.Main;S.A.Load;S.A.Load", METHOD_ASYNC},
		{"app:S.A:Main;app:S.A:Load;app:S.A:Load", "S.A.Main;S.A.Load;S.A.Load", 0},
		{DISPATCHES "app:S.A:Load#8;app:S.B:Price#9", "System.Threading.Pool.Dispatch;" DISPATCHER ".DispatchContinuations;S.A.Load;S.B.Price", 0},
		{DISPATCHES "app:S.A:Load#8", "System.Threading.Pool.Dispatch;" DISPATCHER ".DispatchContinuations;S.A.Load", METHOD_ASYNC},
		{"lib:System.Threading.Pool:Dispatch;dyn::IL_STUB_AsyncResume", "System.Threading.Pool.Dispatch;IL_STUB_AsyncResume", METHOD_DYNAMIC},
		{"libc:;rt:;rt:;rt:;app:S.A:Main;rt:;rt:;libc:;rt:", "libc.so.6;libcoreclr.so;S.A.Main;libcoreclr.so;libc.so.6;libcoreclr.so",
		 METHOD_NO_SYMBOL},
		{"app:S.A:Main;kernel:entry;kernel:vfs_read", "S.A.Main;entry;vfs_read", 0},
		{"app:S.A+<>c:<Main>b__0_0;none:", "S.A.Main.lambda;[unnamed code]", METHOD_NO_SYMBOL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct made m;
		struct cpu_analysis a;
		make_begin(&m);
		make_samples(&m, "w", 1, rows[i].stack);
		cpu_analysis_run(&m.capture, &a);
		cr_expect_str_eq(path_of(&a, 0), rows[i].expected, "row %zu: %s", i, path_of(&a, 0));
		unsigned marks = a.methods[a.tree.nodes[cpu_analysis_node(&a, 0)].method].marks;
		cr_expect(rows[i].marks == 0 || marks & rows[i].marks, "row %zu: marks %x", i, marks);
		cpu_analysis_fini(&a);
		make_end(&m);
	}
}

Test(cpu_analysis, a_cut_stack_is_shown_as_cut)
{
	struct made m;
	struct cpu_analysis a;
	make_begin(&m);
	uint32_t s = make_stack(&m, "app:S.A:Deep;app:S.A:Deeper", true);
	capture_add_sample(m.builder, 0, make_thread(&m, "w"), s);
	cpu_analysis_run(&m.capture, &a);
	cr_expect_str_eq(path_of(&a, 0), "[stack cut];S.A.Deep;S.A.Deeper");
	cr_expect_eq(a.truncated_samples, 1);
	cpu_analysis_fini(&a);
	capture_add_sample(m.builder, 0, 0, capture_add_stack(m.builder, NULL, 0, false));
	cpu_analysis_run(&m.capture, &a);
	cr_expect_str_eq(path_of(&a, 1), "[no stack]");
	cpu_analysis_fini(&a);
	make_end(&m);
}

#define BOX "System.Runtime.CompilerServices.AsyncTaskMethodBuilder`1+AsyncStateMachineBox`1"
#define CONTINUES ";lib:System.Threading.Tasks.Task:RunContinuations;lib:" BOX ":MoveNext;lib:System.Threading.ExecutionContext:RunInternal;"

/* Whoever completes a task runs what waits for it, where that is done at once. */
Test(cpu_analysis, a_continuation_belongs_to_the_method_that_awaited)
{
	static const struct {
		const char *stack, *path, *cause; /* NULL: nobody's */
	} rows[] = {
		{"lib:System.A:Run;app:S.Feed:Publish;lib:System.B:TrySetResult" CONTINUES "app:S.Cart+<Price>d__1:MoveNext;lib:System.C:Sort",
		 "System.A.Run;S.Cart.Price;System.C.Sort", "S.Cart.Price"},
		{"lib:System.A:Run;app:S.Feed+<Read>d__1:MoveNext" CONTINUES "app:S.Cart+<Price>d__1:MoveNext" CONTINUES "app:S.Cart+<Total>d__2:MoveNext",
		 "System.A.Run;S.Cart.Total", "S.Cart.Total"},
		/* nothing between the box and the method where the context flows on */
		{"lib:System.A:Run;app:S.Feed:Publish;lib:" BOX ":MoveNext;app:S.Cart+<Price>d__1:MoveNext", "System.A.Run;S.Cart.Price", "S.Cart.Price"},
		/* .NET's own method awaited: the completing one has no part in what it does then */
		{"lib:System.A:Run;app:S.Feed:Publish;lib:System.B:TrySetResult" CONTINUES "lib:System.IO.Reader+<ReadAsync>d__1:MoveNext",
		 "System.A.Run;System.IO.Reader.ReadAsync", NULL},
		/* by the runtime itself */
		{"lib:System.A:Run;app:S.Feed:Publish;lib:System.B:TrySetResult;" RESUMES "app:S.Cart:Price;lib:System.C:Sort",
		 "System.A.Run;S.Cart.Price;System.C.Sort", "S.Cart.Price"},
		{"lib:System.A:Run;app:S.Feed:Publish;lib:System.B:TrySetResult;" RESUMES "lib:System.IO.Reader:ReadAsync",
		 "System.A.Run;System.IO.Reader.ReadAsync", NULL},
		/* called, not continued */
		{"lib:System.A:Run;app:S.Feed:Publish;app:S.Cart:Price;lib:System.Runtime.CompilerServices.AsyncTaskMethodBuilder:Start;"
		 "app:S.Cart+<Price>d__1:MoveNext", "System.A.Run;S.Feed.Publish;S.Cart.Price", "S.Cart.Price"},
		{"lib:System.A:Run;app:S.Feed:Publish;lib:System.B:TrySetResult", "System.A.Run;S.Feed.Publish;System.B.TrySetResult", "S.Feed.Publish"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct made m;
		struct cpu_analysis a;
		make_begin(&m);
		make_samples(&m, "w", 1, rows[i].stack);
		cpu_analysis_run(&m.capture, &a);
		cr_expect_str_eq(path_of(&a, 0), rows[i].path, "row %zu: %s", i, path_of(&a, 0));
		for (size_t k = 0; k < a.method_count; k++)
			cr_expect_eq(cpu_analysis_caused(&a.methods[k]), rows[i].cause && strcmp(a.methods[k].name, rows[i].cause) == 0, "row %zu: %s", i,
				     a.methods[k].name);
		cpu_analysis_fini(&a);
		make_end(&m);
	}
}

Test(cpu_analysis, collections_are_told_by_time_and_thread)
{
	static struct capture_collection collections[] = {
		{.start_ns = 100, .end_ns = 199, .tid = 10, .generation = 0},
		{.start_ns = 300, .end_ns = 300, .tid = 11, .generation = 2},
		{.start_ns = 400, .end_ns = 900, .tid = 10, .generation = 1},
	};
	static const struct {
		int64_t time_ns;
		const char *thread, *stack;
		enum cpu_category category;
		const char *path;
	} rows[] = {
		{99, "a", "app:S.A:Main;rt:", CATEGORY_RUNTIME, "S.A.Main;libcoreclr.so"},
		{100, "a", "app:S.A:Main;rt:", CATEGORY_GC, "S.A.Main;[garbage collection]"},
		{199, "a", "app:S.A:Main;rt:;libc:memcpy", CATEGORY_GC, "S.A.Main;[garbage collection];memcpy"},
		{150, "b", "app:S.A:Main;rt:", CATEGORY_RUNTIME, "S.A.Main;libcoreclr.so"},
		{200, "a", "app:S.A:Main;rt:", CATEGORY_RUNTIME, "S.A.Main;libcoreclr.so"},
		{300, "b", "app:S.A:Main;rt:", CATEGORY_GC, "S.A.Main;[garbage collection]"},
		{500, "a", "app:S.A:Main;rt:;kernel:clear_page", CATEGORY_KERNEL, "S.A.Main;libcoreclr.so;clear_page"},
		{901, "a", "app:S.A:Main;rt:", CATEGORY_RUNTIME, "S.A.Main;libcoreclr.so"},
		{950, ".NET Server GC", "libc:start_thread;rt:", CATEGORY_GC, "start_thread;[garbage collection]"},
		{960, ".NET Tiered Com", "libc:;rt:;jit:", CATEGORY_JIT, "libc.so.6;[JIT compilation]"},
		{970, "a", "app:S.A:Main;rt:;jit:;libc:memset", CATEGORY_JIT, "S.A.Main;[JIT compilation];memset"},
	};
	struct made m;
	struct cpu_analysis a;
	make_begin(&m);
	make_thread(&m, "a");
	make_thread(&m, "b");
	m.capture.collections = collections;
	m.capture.collection_count = 3;
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		capture_add_sample(m.builder, rows[i].time_ns, make_thread(&m, rows[i].thread), make_stack(&m, rows[i].stack, false));
	cpu_analysis_run(&m.capture, &a);
	uint32_t expected[CATEGORY_COUNT] = {0};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		expected[rows[i].category]++;
		cr_expect_str_eq(path_of(&a, i), rows[i].path, "row %zu: %s", i, path_of(&a, i));
	}
	for (int c = 0; c < CATEGORY_COUNT; c++)
		cr_expect_eq(a.by_category[c], expected[c], "%s: %u", cpu_category_name(c), a.by_category[c]);
	cr_expect_eq(a.collections.count, 3);
	cr_expect(a.collections.by_generation[0] == 1 && a.collections.by_generation[1] == 1 && a.collections.by_generation[2] == 1);
	cr_expect_eq(a.collections.total_ns, 599);
	cr_expect_eq(a.collections.longest_ns, 500);
	const struct cpu_method *main_method = &a.methods[find(&a, "S.A.Main")];
	cr_expect_eq(main_method->caused[CATEGORY_GC], 3);
	cr_expect_eq(cpu_analysis_caused(main_method), 5, "collections and compilations are nobody's");
	cpu_analysis_fini(&a);
	m.capture.collections = NULL;
	make_end(&m);
}

Test(cpu_analysis, threads_and_leaves)
{
	struct made m;
	struct cpu_analysis a;
	make_begin(&m);
	make_thread(&m, "idle");
	make_samples(&m, "small", 10, "app:S.A:Main;app:S.A:Less");
	make_samples(&m, "busy", 60, "app:S.A:Main;app:S.A:More");
	make_samples(&m, "busy", 7, "app:S.A:Main;app:S.A:Less");
	m.capture.threads[2].cpu_ns = 777;
	cpu_analysis_run(&m.capture, &a);
	const uint32_t order[] = {2, 1, 0};
	for (int i = 0; i < 3; i++)
		cr_expect_eq(a.thread_order[i], order[i]);
	cr_expect_eq(a.threads[2].cpu_ns, 777);
	cr_expect_eq(a.threads[1].cpu_ns, 10 * a.period_ns, "from samples where the kernel said nothing");
	cr_expect_eq(a.threads[2].top_method, find(&a, "S.A.More"));
	cr_expect_eq(a.threads[1].top_method, find(&a, "S.A.Less"));
	cr_expect_eq(a.threads[0].top_method, CPU_NO_METHOD);
	cr_expect_eq(a.sampled_threads, 2);
	cr_expect_eq(a.busy_threads, 1, "0.67 s of 10 s, not 0.1 s");
	cr_assert_eq(a.leaf_count, 3);
	uint32_t sum = 0;
	for (size_t i = 0; i < a.leaf_count; i++)
		sum += a.leaves[i].count;
	cr_expect_eq(sum, 77);
	cpu_analysis_fini(&a);
	make_end(&m);
}

Test(cpu_analysis, busyness_is_held_against_the_limit)
{
	static const struct {
		int64_t limit_millicores, node_cpus, process_cpu_ns;
		double used, allowed;
		bool limited;
	} rows[] = {
		{0, 4, 5 * MAKE_SECOND, 0.5, 4, false},
		{500, 4, 5 * MAKE_SECOND, 0.5, 0.5, true},
		{8000, 4, 5 * MAKE_SECOND, 0.5, 4, false}, /* more than the node has */
		{0, 0, 5 * MAKE_SECOND, 0.5, 0, false},
		{0, 4, -1, 0.1, 4, false}, /* from the samples: 100 of 10 ms in 10 s */
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct made m;
		struct cpu_analysis a;
		make_begin(&m);
		make_samples(&m, "w", 100, "app:S.A:Main");
		m.capture.cpu_limit_millicores = rows[i].limit_millicores;
		m.capture.node_cpus = rows[i].node_cpus;
		m.capture.process_cpu_ns = rows[i].process_cpu_ns;
		cpu_analysis_run(&m.capture, &a);
		cr_expect_float_eq(a.cpus_used, rows[i].used, 1e-9, "row %zu", i);
		cr_expect_float_eq(a.cpus_allowed, rows[i].allowed, 1e-9, "row %zu", i);
		cr_expect_eq(a.limited, rows[i].limited, "row %zu", i);
		cpu_analysis_fini(&a);
		make_end(&m);
	}
}

Test(cpu_analysis, nothing_is_no_problem)
{
	struct made m;
	struct cpu_analysis a;
	make_begin(&m);
	m.capture.facts.duration_ns = 0;
	m.capture.frequency_hertz = 0;
	cpu_analysis_run(&m.capture, &a);
	cr_expect_eq(a.samples, 0);
	cr_expect_float_eq(cpu_analysis_percent(&a, 3), 0, 1e-9);
	cr_expect_eq(a.cpus_used, 0);
	cpu_analysis_fini(&a);
	cpu_analysis_fini(&a);
	make_end(&m);
}
