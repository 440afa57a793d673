#include "agent/stacks/cpu_method_table.h"

#include "agent/symbols/method_name.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define MODULE_SHOWN_BYTES 120

static uint32_t hash_method(const char *name, const char *module, enum cpu_layer layer)
{
	uint32_t h = 2166136261u + (uint32_t)layer; /* FNV-1a */
	for (; *name; name++)
		h = (h ^ (uint8_t)*name) * 16777619u;
	h = (h ^ 0xff) * 16777619u;
	for (; *module; module++)
		h = (h ^ (uint8_t)*module) * 16777619u;
	return h;
}

static char *shown_module(const char *module)
{
	AUTO_BUF struct buf b;
	buf_init(&b, MODULE_SHOWN_BYTES * 16);
	if (module)
		method_name_printable(module, MODULE_SHOWN_BYTES, &b);
	return mem_strdup(buf_str(&b));
}

uint32_t cpu_method_table_special(struct cpu_analysis *a, const char *name, enum cpu_layer layer)
{
	GROW(a->methods, a->method_count, a->method_cap);
	a->methods[a->method_count] = (struct cpu_method){
		.name = mem_strdup(name),
		.module = mem_strdup(""),
		.layer = layer,
		.frame = UINT32_MAX,
	};
	return (uint32_t)a->method_count++;
}

/* The first method of this shape, or a new one. slots: twice as many as frames, a power of two. */
static uint32_t intern_method(struct cpu_analysis *a, uint32_t *slots, size_t slot_count, const struct method_name *name,
			      enum cpu_layer layer, uint32_t frame)
{
	AUTO_FREE char *module = shown_module(a->capture->frames[frame].module);
	size_t i = hash_method(name->text, module, layer) & (slot_count - 1);
	for (; slots[i] != CPU_NO_METHOD; i = (i + 1) & (slot_count - 1)) {
		struct cpu_method *m = &a->methods[slots[i]];
		if (m->layer == layer && strcmp(m->name, name->text) == 0 && strcmp(m->module, module) == 0) {
			m->marks |= name->marks;
			return slots[i];
		}
	}
	GROW(a->methods, a->method_count, a->method_cap);
	a->methods[a->method_count] = (struct cpu_method){
		.name = mem_strdup(name->text),
		.module = steal_ptr(&module),
		.layer = layer,
		.marks = name->marks,
		.frame = frame,
	};
	slots[i] = (uint32_t)a->method_count;
	return (uint32_t)a->method_count++;
}

/* AsyncTaskMethodBuilder<T>.Start, AsyncMethodBuilderCore.Start, ...: they stand between a method's stub and its MoveNext. */
static bool starts_state_machine(const struct frame *f)
{
	return f->kind == FRAME_MANAGED && f->type && f->method && strcmp(f->method, "Start") == 0 &&
	       strncmp(f->type, "System.Runtime.CompilerServices.", 32) == 0 && strstr(f->type, "MethodBuilder");
}

/* A state machine's box, whose MoveNext is the continuation, and the context in which it runs that. */
static bool resumes_state_machine(const struct frame *f)
{
	return f->kind == FRAME_MANAGED && f->type &&
	       (strcmp(f->type, "System.Threading.ExecutionContext") == 0 ||
		(strncmp(f->type, "System.Runtime.CompilerServices.", 32) == 0 && strstr(f->type, "StateMachineBox")));
}

/* The runtime compiles one for each method that it suspends itself: the only caller of what runs after an await. */
static bool resumes_method(const struct frame *f)
{
	return f->kind == FRAME_MANAGED && f->dynamic && f->method && strcmp(f->method, "IL_STUB_AsyncResume") == 0;
}

void cpu_method_table_build(struct cpu_method_table *t, struct cpu_analysis *a)
{
	size_t n = a->capture->frame_count, slot_count = 64;
	while (slot_count < n * 2)
		slot_count *= 2;
	AUTO_FREE uint32_t *slots = mem_calloc(slot_count, sizeof *slots);
	memset(slots, 0xff, slot_count * sizeof *slots);
	t->method_of = mem_calloc(n + 1, sizeof *t->method_of);
	t->frame_marks = mem_calloc(n + 1, sizeof *t->frame_marks);
	t->roles = mem_calloc(n + 1, sizeof *t->roles);
	t->layers = mem_calloc(n + 1, sizeof *t->layers);
	t->is_starter = mem_calloc(n + 1, sizeof *t->is_starter);
	t->is_resumer = mem_calloc(n + 1, sizeof *t->is_resumer);
	t->is_resume_stub = mem_calloc(n + 1, sizeof *t->is_resume_stub);
	for (size_t i = 0; i < n; i++) {
		const struct frame *f = &a->capture->frames[i];
		struct method_name name;
		method_name_make(f, &name);
		t->layers[i] = cpu_layer_of(f);
		t->roles[i] = cpu_role_of(f);
		t->frame_marks[i] = name.marks;
		t->is_starter[i] = starts_state_machine(f);
		t->is_resumer[i] = resumes_state_machine(f);
		t->is_resume_stub[i] = resumes_method(f);
		t->method_of[i] = intern_method(a, slots, slot_count, &name, t->layers[i], (uint32_t)i);
	}
}

void cpu_method_table_fini(struct cpu_method_table *t)
{
	free(t->method_of);
	free(t->frame_marks);
	free(t->roles);
	free(t->layers);
	free(t->is_starter);
	free(t->is_resumer);
	free(t->is_resume_stub);
	*t = (struct cpu_method_table){0};
}

/* Who calls MoveNext? The builders, the async boxes and the execution context drive async methods; a stub of the same name
 * starts one; anybody else enumerates. */
static unsigned machine_mark(const struct cpu_analysis *a, const struct cpu_method_table *t, uint32_t frame, uint32_t caller)
{
	static const char *const drivers[] = {"System.Runtime.CompilerServices.", "System.Threading.ExecutionContext",
					      "System.Threading.Tasks.Task", "System.Threading.Tasks.AwaitTask",
					      "System.Threading.ThreadPool"};
	const struct frame *f = &a->capture->frames[caller];
	if (t->method_of[caller] == t->method_of[frame] && !(t->frame_marks[caller] & METHOD_STATE_MACHINE))
		return METHOD_ASYNC;
	for (size_t i = 0; f->type && i < sizeof drivers / sizeof drivers[0]; i++)
		if (strncmp(f->type, drivers[i], strlen(drivers[i])) == 0)
			return METHOD_ASYNC;
	return f->kind == FRAME_MANAGED ? METHOD_ITERATOR : 0;
}

void cpu_method_table_decide_machines(struct cpu_analysis *a)
{
	for (size_t i = 0; i < a->method_count; i++) {
		unsigned *marks = &a->methods[i].marks;
		if (*marks & METHOD_ASYNC || ((*marks & METHOD_STATE_MACHINE) && !(*marks & METHOD_ITERATOR)))
			*marks = (*marks | METHOD_ASYNC) & ~(unsigned)METHOD_ITERATOR;
	}
}

bool cpu_method_table_resumed(const struct cpu_method_table *t, const uint32_t *frames, size_t depth, size_t at)
{
	if (at + 1 == depth)
		return false;
	return t->is_resume_stub[frames[at + 1]] || (t->frame_marks[frames[at]] & METHOD_STATE_MACHINE && t->is_resumer[frames[at + 1]]);
}

/* An async method that the runtime suspends itself is compiled twice: a caller that is none calls a thunk of the same name, which makes the task. */
static bool is_thunk_of(const struct cpu_method_table *t, const struct cpu_analysis *a, uint32_t caller, uint32_t frame)
{
	const struct frame *f = &a->capture->frames[frame], *thunk = &a->capture->frames[caller];
	return t->method_of[caller] == t->method_of[frame] && f->function && thunk->function && f->function != thunk->function &&
	       !(t->frame_marks[frame] & METHOD_STATE_MACHINE);
}

size_t cpu_method_table_logical(const struct cpu_method_table *t, struct cpu_analysis *a, const struct capture_stack *s,
				uint32_t *out)
{
	uint32_t frames[CAPTURE_MAX_DEPTH + 1];
	return cpu_method_table_logical_frames(t, a, s, out, frames);
}

size_t cpu_method_table_logical_frames(const struct cpu_method_table *t, struct cpu_analysis *a, const struct capture_stack *s, uint32_t *out,
				       uint32_t *out_frames)
{
	if (s->depth == 0)
		return 0; /* there may be no frames at all */
	const uint32_t *frames = a->capture->stack_frames + s->first;
	size_t count = 0, application = SIZE_MAX; /* where its first method stands */
	for (size_t i = s->depth; i-- > 0;) {
		uint32_t frame = frames[i], method = t->method_of[frame];
		bool resumed = cpu_method_table_resumed(t, frames, s->depth, i);
		if (resumed && application < count)
			count = application;
		if (t->is_resume_stub[frame] && i > 0)
			continue;
		bool machine = t->frame_marks[frame] & METHOD_STATE_MACHINE;
		bool machine_follows = i > 0 && (t->frame_marks[frames[i - 1]] & METHOD_STATE_MACHINE);
		if (t->is_starter[frame] && i > 0 &&
		    (machine_follows || (t->is_starter[frames[i - 1]] && i > 1 && (t->frame_marks[frames[i - 2]] & METHOD_STATE_MACHINE))))
			continue;
		if (machine && i + 1 < s->depth)
			a->methods[method].marks |= machine_mark(a, t, frame, frames[i + 1]);
		else if (resumed)
			a->methods[method].marks |= METHOD_ASYNC;
		bool stub_before = machine && count > 0 && out[count - 1] == method && i + 1 < s->depth &&
				   (t->is_starter[frames[i + 1]] || !(t->frame_marks[frames[i + 1]] & METHOD_STATE_MACHINE));
		bool same_module = count > 0 && out[count - 1] == method && (t->frame_marks[frame] & METHOD_NO_SYMBOL);
		bool thunk_before = count > 0 && i + 1 < s->depth && is_thunk_of(t, a, frames[i + 1], frame);
		if (thunk_before)
			a->methods[method].marks |= METHOD_ASYNC;
		if (!stub_before && !same_module && !thunk_before)
			out[count++] = method;
		out_frames[count - 1] = frame;
		if (application == SIZE_MAX && t->layers[frame] == LAYER_APPLICATION)
			application = count - 1;
	}
	return count;
}
