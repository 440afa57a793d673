#include "agent/stacks/cpu_category.h"
#include "tests/unit/agent/stacks/make_capture.h"

#include <criterion/criterion.h>

Test(cpu_category, a_stack_is_one_kind_of_work)
{
	static const struct {
		const char *stack; /* root first */
		enum cpu_category expected;
	} rows[] = {
		{"app:S.A:Main", CATEGORY_APPLICATION},
		{"dyn::Rule", CATEGORY_LIBRARY}, /* generated code is nobody's own */
		{"app:S.A:Main;lib:System.String:Concat", CATEGORY_LIBRARY},
		{"app:S.A:Main;libc:memcpy", CATEGORY_NATIVE},
		{"app:S.A:Main;none:", CATEGORY_UNKNOWN},
		{"app:S.A:Main;rt:", CATEGORY_RUNTIME},
		{"app:S.A:Main;rt:;kernel:futex", CATEGORY_KERNEL},
		{"app:S.A:Main;rt:JIT_New;rt:WKS::gc_heap::mark_phase", CATEGORY_GC},
		{"app:S.A:Main;rt:WKS::GCHeap::Alloc;libc:memset", CATEGORY_GC},
		{"app:S.A:Main;lib:System.GC:Collect;rt:", CATEGORY_GC},
		{"app:S.A:Main;rt:UnsafeJitFunction;jit:;jit:;libc:memset", CATEGORY_JIT},
		{"app:S.A:Main;rt:;jit:", CATEGORY_JIT},
		{"app:S.A:Main;rt:ClassLoader::LoadTypeHandle", CATEGORY_TYPE_LOADING},
		{"app:S.A:Main;lib:System.Runtime.EH:RhThrowEx;rt:", CATEGORY_EXCEPTIONS},
		{"app:S.A:Main;rt:IL_Throw;rt:", CATEGORY_EXCEPTIONS},
		{"app:S.A:Main;lib:System.Threading.SpinWait:SpinOnce", CATEGORY_SCHEDULING},
		{"app:S.A:Main;rt:AwareLock::Enter", CATEGORY_SCHEDULING},
		/* the pool's own loop stands above each of its stacks: it is the leaf that counts */
		{"lib:System.Threading.ThreadPoolWorkQueue:Dispatch;app:S.A:Main", CATEGORY_APPLICATION},
		{"lib:System.Threading.ThreadPoolWorkQueue:Dispatch;app:S.A:Main;lib:System.String:Concat", CATEGORY_LIBRARY},
		{"lib:System.Threading.ThreadPoolWorkQueue:Dispatch;lib:System.String:Concat", CATEGORY_LIBRARY},
		{"lib:System.Threading.PortableThreadPool+WorkerThread:WorkerThreadStart;lib:System.Threading.ThreadPoolWorkQueue:Dispatch",
		 CATEGORY_SCHEDULING},
		/* a role above the nearest application method is not of this work */
		{"rt:IL_Throw;app:S.A:Handler", CATEGORY_APPLICATION},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct made m;
		make_begin(&m);
		uint32_t s = make_stack(&m, rows[i].stack, false);
		const struct cpu_capture *c = &m.capture;
		enum frame_role roles[16];
		enum cpu_layer layers[16];
		for (size_t k = 0; k < c->frame_count; k++) {
			roles[k] = cpu_role_of(&c->frames[k]);
			layers[k] = cpu_layer_of(&c->frames[k]);
		}
		enum cpu_category got = cpu_stack_category(c->stack_frames + c->stacks[s].first, c->stacks[s].depth, roles, layers);
		cr_expect_eq(got, rows[i].expected, "%s: %s", rows[i].stack, cpu_category_name(got));
		make_end(&m);
	}
	cr_expect_eq(cpu_stack_category(NULL, 0, NULL, NULL), CATEGORY_UNKNOWN);
}

Test(cpu_category, layers_come_from_modules)
{
	static const struct {
		enum frame_kind kind;
		const char *module;
		enum cpu_layer expected;
	} rows[] = {
		{FRAME_MANAGED, "Shop.dll", LAYER_APPLICATION},
		{FRAME_MANAGED, "", LAYER_APPLICATION},
		{FRAME_MANAGED, "Systematic.dll", LAYER_APPLICATION},
		{FRAME_MANAGED, "System.Linq.dll", LAYER_LIBRARY},
		{FRAME_MANAGED, "Microsoft.AspNetCore.Http.dll", LAYER_LIBRARY},
		{FRAME_MANAGED, "Anonymously Hosted DynamicMethods Assembly", LAYER_LIBRARY},
		{FRAME_MANAGED, "RefEmit_InMemoryManifestModule", LAYER_LIBRARY},
		{FRAME_NATIVE, "libcoreclr.so", LAYER_RUNTIME},
		{FRAME_NATIVE, "libclrgc.so", LAYER_RUNTIME},
		{FRAME_NATIVE, "libSystem.Native.so", LAYER_RUNTIME},
		{FRAME_NATIVE, "libssl.so.3", LAYER_NATIVE},
		{FRAME_KERNEL, "[kernel]", LAYER_KERNEL},
		{FRAME_UNKNOWN, "", LAYER_UNKNOWN},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct frame f = {.kind = rows[i].kind, .module = (char *)rows[i].module};
		cr_expect_eq(cpu_layer_of(&f), rows[i].expected, "%s: %s", rows[i].module, cpu_layer_name(cpu_layer_of(&f)));
	}
}

Test(cpu_category, the_runtime_s_threads_tell_by_their_names)
{
	cr_expect_eq(cpu_thread_category(".NET Server GC"), CATEGORY_GC);
	cr_expect_eq(cpu_thread_category(".NET BGC"), CATEGORY_GC);
	cr_expect_eq(cpu_thread_category(".NET Tiered Com"), CATEGORY_JIT);
	cr_expect_eq(cpu_thread_category(".NET TP Worker"), CATEGORY_COUNT);
	cr_expect_eq(cpu_thread_category("worker"), CATEGORY_COUNT);
	cr_expect_eq(cpu_thread_category(""), CATEGORY_COUNT);
}
