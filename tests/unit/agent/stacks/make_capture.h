/* CPU captures for tests, written as stacks:
 *
 *   make_samples(&m, "worker", 80, "app:Shop.Cart:Total;rt:;kernel:futex_wait")
 *
 * adds 80 samples of a thread with that stack, root first. Kinds of frames: app, lib (.NET's own), dyn, rt (libcoreclr), jit, libc,
 * kernel, none; `kind:type:method` where managed, else `kind:symbol`, the symbol may be empty. `kind:type:method@118`: in line 118 of src/Shop/Cart.cs;
 * `kind:type:method#7`: the runtime's function 7. */
#ifndef DRDOTNET_MAKE_CAPTURE_H
#define DRDOTNET_MAKE_CAPTURE_H

#include "agent/stacks/capture.h"
#include "common/base/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAKE_SECOND 1000000000ll

struct made {
	struct cpu_capture capture;
	struct capture_builder *builder;
	int64_t next_ns, tid;
};

static void make_begin(struct made *m)
{
	*m = (struct made){.builder = NULL};
	m->capture = (struct cpu_capture){
		.frequency_hertz = 100,
		.method = "perf-cpu",
		.kernel_frames = true,
		.facts.duration_ns = 10 * MAKE_SECOND,
		.process_cpu_ns = -1,
		.node_cpus = 4,
		.throttled_periods = -1,
		.total_periods = -1,
		.throttled_ns = -1,
		.facts.pid = 1,
	};
	m->builder = capture_builder_new(&m->capture);
	m->tid = 10;
}

static inline void make_end(struct made *m)
{
	capture_builder_free(m->builder);
	cpu_capture_fini(&m->capture);
}

static uint32_t make_frame(struct made *m, char *word)
{
	static const struct {
		const char *kind;
		enum frame_kind frame;
		const char *module;
	} kinds[] = {
		{"app", FRAME_MANAGED, "Shop.dll"},	  {"lib", FRAME_MANAGED, "System.Private.CoreLib.dll"}, {"dyn", FRAME_MANAGED, ""},
		{"rt", FRAME_NATIVE, "libcoreclr.so"},	  {"jit", FRAME_NATIVE, "libclrjit.so"},		{"libc", FRAME_NATIVE, "libc.so.6"},
		{"kernel", FRAME_KERNEL, "[kernel]"},	  {"none", FRAME_UNKNOWN, ""},
		{"dynregex", FRAME_MANAGED, "System.Text.RegularExpressions.dll"},
	};
	char *at = strchr(word, '@'), *number = strchr(word, '#');
	if (at)
		*at = '\0';
	if (number)
		*number = '\0';
	char *kind = strsep(&word, ":"), *type = word, *method = word ? strrchr(word, ':') : NULL;
	struct frame f = {.kind = FRAME_UNKNOWN, .module = (char *)""};
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
		if (strcmp(kinds[i].kind, kind) == 0) {
			f.kind = kinds[i].frame;
			f.module = (char *)kinds[i].module;
		}
	if (f.kind == FRAME_MANAGED && method) {
		*method = '\0';
		f.type = type;
		f.method = method + 1;
		f.dynamic = strncmp(kind, "dyn", 3) == 0;
	} else if (word && *word) {
		f.method = word;
	}
	if (at) {
		f.file = (char *)"src/Shop/Cart.cs";
		f.link = (char *)"https://github.com/acme/shop/blob/0123abc/src/Shop/Cart.cs";
		f.line = (uint32_t)atoi(at + 1);
	}
	f.function = number ? (uint64_t)atoi(number + 1) : 0;
	return capture_add_frame(m->builder, &f);
}

static uint32_t make_stack(struct made *m, const char *root_first, bool truncated)
{
	char *copy = mem_strdup(root_first), *rest = copy, *word;
	uint32_t frames[CAPTURE_MAX_DEPTH], count = 0, leaf_first[CAPTURE_MAX_DEPTH];
	while ((word = strsep(&rest, ";")) && count < CAPTURE_MAX_DEPTH)
		frames[count++] = make_frame(m, word);
	for (uint32_t i = 0; i < count; i++)
		leaf_first[i] = frames[count - 1 - i];
	free(copy);
	return capture_add_stack(m->builder, leaf_first, count, truncated);
}

/* The thread of that name, made when there is none. */
static uint32_t make_thread(struct made *m, const char *name)
{
	for (uint32_t i = 0; i < m->capture.thread_count; i++)
		if (strcmp(m->capture.threads[i].name, name) == 0)
			return i;
	return capture_add_thread(m->builder, m->tid++, name);
}

/* One sample each 10 ms, one after the other. */
static inline void make_samples(struct made *m, const char *thread, uint32_t count, const char *root_first)
{
	uint32_t t = make_thread(m, thread), s = make_stack(m, root_first, false);
	for (uint32_t i = 0; i < count; i++, m->next_ns += MAKE_SECOND / 100)
		capture_add_sample(m->builder, m->next_ns, t, s);
}

#endif
