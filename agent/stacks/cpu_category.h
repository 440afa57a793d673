/* What kind of work a frame and a sample stand for. Told from modules, names and threads only; a runtime library without
 * symbols is told by its module alone. Pure; any thread. */
#ifndef DRDOTNET_CPU_CATEGORY_H
#define DRDOTNET_CPU_CATEGORY_H

#include "agent/stacks/capture.h"

#define CPU_RUNTIME_MODULE "[runtime]" /* of a frame of the runtime that is linked into an application */

/* Where code comes from: colours in the flame graph. */
enum cpu_layer {
	LAYER_APPLICATION, /* managed, not .NET's own libraries */
	LAYER_LIBRARY,     /* .NET's own managed libraries */
	LAYER_RUNTIME,     /* libcoreclr, libclrjit, libclrgc, ... */
	LAYER_NATIVE,      /* other native libraries */
	LAYER_KERNEL,
	LAYER_UNKNOWN,     /* stubs, code without a mapping, the place where a stack was cut */
	LAYER_ALLOCATION,  /* no code, but a type that is allocated (agent/profilers/allocs) */
	LAYER_WAIT,        /* no code, but a kind of waiting (agent/waits) */
};
const char *cpu_layer_name(enum cpu_layer layer); /* "application", ... for report.json */

/* What a sample's CPU time went to; each sample has exactly one. */
enum cpu_category {
	CATEGORY_APPLICATION,
	CATEGORY_LIBRARY,
	CATEGORY_GC,
	CATEGORY_JIT,
	CATEGORY_TYPE_LOADING,
	CATEGORY_SCHEDULING, /* thread pool, spinning, locks */
	CATEGORY_EXCEPTIONS,
	CATEGORY_RUNTIME,    /* the runtime's other work, or not to be told apart without symbols */
	CATEGORY_NATIVE,
	CATEGORY_KERNEL,     /* system calls, page faults */
	CATEGORY_UNKNOWN,
	CATEGORY_COUNT
};
const char *cpu_category_name(enum cpu_category c);  /* "gc", "jit", ... for report.json */
const char *cpu_category_title(enum cpu_category c); /* "garbage collection", ... for people */

/* What one frame tells of its sample. */
enum frame_role {
	ROLE_NONE,
	ROLE_GC,
	ROLE_JIT,
	ROLE_TYPE_LOADING,
	ROLE_SCHEDULING,
	ROLE_EXCEPTIONS,
};

enum cpu_layer cpu_layer_of(const struct frame *f);
enum frame_role cpu_role_of(const struct frame *f);

/* The category that a thread's name alone decides (the runtime's GC and compilation threads); CATEGORY_COUNT: none. */
enum cpu_category cpu_thread_category(const char *name);

/* The category of a stack, leaf first. roles and layers: by frame index. */
enum cpu_category cpu_stack_category(const uint32_t *frames, size_t depth, const enum frame_role *roles,
				     const enum cpu_layer *layers);

#endif
