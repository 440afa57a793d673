#include "agent/stacks/cpu_category.h"

#include <string.h>

static const char *const layer_names[] = {"application", "library", "runtime", "native", "kernel", "unknown", "allocation", "wait"};

const char *cpu_layer_name(enum cpu_layer layer)
{
	return layer_names[layer];
}

static const struct {
	const char *name, *title;
} categories[] = {
	[CATEGORY_APPLICATION] = {"application", "application code"},
	[CATEGORY_LIBRARY] = {"library", ".NET libraries"},
	[CATEGORY_GC] = {"gc", "garbage collection"},
	[CATEGORY_JIT] = {"jit", "JIT compilation"},
	[CATEGORY_TYPE_LOADING] = {"typeLoading", "type loading"},
	[CATEGORY_SCHEDULING] = {"scheduling", "thread pool and locks"},
	[CATEGORY_EXCEPTIONS] = {"exceptions", "exception handling"},
	[CATEGORY_RUNTIME] = {"runtime", "runtime (allocation, casts, other)"},
	[CATEGORY_NATIVE] = {"native", "native libraries"},
	[CATEGORY_KERNEL] = {"kernel", "kernel"},
	[CATEGORY_UNKNOWN] = {"unknown", "unnamed code"},
};

const char *cpu_category_name(enum cpu_category c)
{
	return categories[c].name;
}

const char *cpu_category_title(enum cpu_category c)
{
	return categories[c].title;
}

static bool name_starts_with(const char *s, const char *with)
{
	return s && strncmp(s, with, strlen(with)) == 0;
}

static bool starts_any(const char *s, const char *const *list)
{
	for (; *list; list++)
		if (name_starts_with(s, *list))
			return true;
	return false;
}

static bool holds_any(const char *s, const char *const *list)
{
	for (; s && *list; list++)
		if (strstr(s, *list))
			return true;
	return false;
}

static bool is_runtime_module(const char *module)
{
	static const char *const names[] = {"libcoreclr", "libclr", "libmscordaccore", "libhostfxr", "libhostpolicy",
					    "libSystem.Native", CPU_RUNTIME_MODULE, NULL};
	return starts_any(module, names);
}

enum cpu_layer cpu_layer_of(const struct frame *f)
{
	/* SQLitePCLRaw: what Microsoft.Data.Sqlite calls SQLite by. */
	static const char *const libraries[] = {"System.", "Microsoft.", "mscorlib", "netstandard", "WindowsBase", "SQLitePCLRaw.", NULL};
	/* Code that was generated at run time: by a library as a rule (endpoints of ASP.NET Core, regular expressions, serializers, proxies), and what
	 * the application wrote itself stands below or above it. */
	static const char *const generated[] = {"Anonymously Hosted DynamicMethods Assembly", "RefEmit_InMemoryManifestModule",
						"DynamicProxyGenAssembly2", NULL};
	switch (f->kind) {
	case FRAME_MANAGED:
		return f->dynamic || starts_any(f->module, generated) || starts_any(f->module, libraries) ? LAYER_LIBRARY : LAYER_APPLICATION;
	case FRAME_NATIVE:
		return is_runtime_module(f->module) ? LAYER_RUNTIME : LAYER_NATIVE;
	case FRAME_KERNEL:
		return LAYER_KERNEL;
	default:
		return LAYER_UNKNOWN;
	}
}

static enum frame_role managed_role(const struct frame *f)
{
	static const char *const threading[] = {
		"System.Threading.SpinWait", "System.Threading.SpinLock", "System.Threading.Lock", "System.Threading.Monitor",
		"System.Threading.LowLevel", "System.Threading.PortableThreadPool", "System.Threading.ThreadPoolWorkQueue",
		"System.Threading.WaitHandle", "System.Threading.SemaphoreSlim", "System.Threading.ManualResetEventSlim",
		"System.Threading.ReaderWriterLockSlim", "System.Threading.Thread", "System.Threading.Wait", NULL,
	};
	static const char *const exceptions[] = {"System.Runtime.EH", "System.Runtime.ExceptionServices.", "System.Diagnostics.StackTrace",
						 "System.Diagnostics.StackFrame", NULL};
	if (name_starts_with(f->module, "System.Private.CoreLib") == false)
		return ROLE_NONE;
	if (starts_any(f->type, exceptions))
		return ROLE_EXCEPTIONS;
	if (f->type && strcmp(f->type, "System.GC") == 0 && holds_any(f->method, (const char *const[]){"Collect", NULL}))
		return ROLE_GC;
	if (f->type && strcmp(f->type, "System.Threading.ThreadStart") == 0)
		return ROLE_NONE;
	return starts_any(f->type, threading) ? ROLE_SCHEDULING : ROLE_NONE;
}

static enum frame_role native_role(const struct frame *f)
{
	static const char *const gc[] = {"gc_heap", "WKS::", "SVR::", "GCHeap", "GarbageCollect", NULL};
	static const char *const jit[] = {"UnsafeJitFunction", "invokeCompileMethod", "CILJit", "TieredCompilation", NULL};
	static const char *const exceptions[] = {"IL_Throw", "IL_Rethrow", "ProcessCLRException", "RaiseTheException", "DispatchManagedException",
						 "UnwindManagedException", "SfiNext", "libunwind", NULL};
	static const char *const types[] = {"ClassLoader::", "MethodTableBuilder", "LoadTypeHandle", "DoPrestub", "ExternalMethodFixup",
					    NULL};
	static const char *const waiting[] = {"AwareLock", "JIT_MonEnter", "ThreadpoolMgr", "CLREvent", "ThreadSuspend", NULL};
	if (name_starts_with(f->module, "libclrgc"))
		return ROLE_GC;
	if (name_starts_with(f->module, "libclrjit"))
		return ROLE_JIT;
	if (!is_runtime_module(f->module))
		return ROLE_NONE;
	return holds_any(f->method, gc)		  ? ROLE_GC
	       : holds_any(f->method, jit)	  ? ROLE_JIT
	       : holds_any(f->method, exceptions) ? ROLE_EXCEPTIONS
	       : holds_any(f->method, types)	  ? ROLE_TYPE_LOADING
	       : holds_any(f->method, waiting)	  ? ROLE_SCHEDULING
						  : ROLE_NONE;
}

enum frame_role cpu_role_of(const struct frame *f)
{
	return f->kind == FRAME_MANAGED ? managed_role(f) : f->kind == FRAME_NATIVE ? native_role(f) : ROLE_NONE;
}

enum cpu_category cpu_thread_category(const char *name)
{
	/* names of the runtime's own threads, as the kernel keeps them: 15 characters */
	static const char *const gc[] = {".NET Server GC", ".NET BGC", ".NET SGC", NULL};
	static const char *const jit[] = {".NET Tiered Com", ".NET BGCompiler", NULL};
	return starts_any(name, gc) ? CATEGORY_GC : starts_any(name, jit) ? CATEGORY_JIT : CATEGORY_COUNT;
}

static enum cpu_category of_role(enum frame_role role)
{
	switch (role) {
	case ROLE_GC:
		return CATEGORY_GC;
	case ROLE_JIT:
		return CATEGORY_JIT;
	case ROLE_TYPE_LOADING:
		return CATEGORY_TYPE_LOADING;
	case ROLE_SCHEDULING:
		return CATEGORY_SCHEDULING;
	case ROLE_EXCEPTIONS:
		return CATEGORY_EXCEPTIONS;
	default:
		return CATEGORY_COUNT;
	}
}

static enum cpu_category of_layer(enum cpu_layer layer)
{
	static const enum cpu_category by_layer[] = {
		[LAYER_APPLICATION] = CATEGORY_APPLICATION, [LAYER_LIBRARY] = CATEGORY_LIBRARY,
		[LAYER_RUNTIME] = CATEGORY_RUNTIME,	    [LAYER_NATIVE] = CATEGORY_NATIVE,
		[LAYER_KERNEL] = CATEGORY_KERNEL,	    [LAYER_UNKNOWN] = CATEGORY_UNKNOWN,
	};
	return by_layer[layer];
}

/* From the leaf to the nearest application method: what the application made happen. A thread that waits in the kernel
 * is kernel time whatever it waits for; the other roles count also when their leaf is a helper (memcpy in the GC). */
enum cpu_category cpu_stack_category(const uint32_t *frames, size_t depth, const enum frame_role *roles,
				     const enum cpu_layer *layers)
{
	if (depth == 0)
		return CATEGORY_UNKNOWN;
	enum cpu_layer leaf = layers[frames[0]];
	if (leaf == LAYER_KERNEL)
		return CATEGORY_KERNEL;
	bool below_managed = true; /* still in the native part at the leaf's end */
	for (size_t i = 0; i < depth; i++) {
		enum cpu_layer layer = layers[frames[i]];
		enum frame_role role = roles[frames[i]];
		if (layer == LAYER_APPLICATION)
			break;
		if (layer == LAYER_LIBRARY) {
			/* the pool's own loop stands at the root of each of its stacks */
			if (role == ROLE_SCHEDULING && below_managed)
				return CATEGORY_SCHEDULING;
			below_managed = false;
			if (role == ROLE_EXCEPTIONS || role == ROLE_GC)
				return of_role(role);
		} else if (role != ROLE_NONE && below_managed) {
			return of_role(role);
		}
	}
	return of_layer(leaf);
}

