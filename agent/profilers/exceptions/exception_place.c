#include "agent/profilers/exceptions/exception_place.h"

#include "agent/symbols/method_name.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

void exception_placing_init(struct exception_placing *p, struct cpu_analysis *a)
{
	*p = (struct exception_placing){.cut = CPU_NO_METHOD, .none = CPU_NO_METHOD};
	p->stacks = mem_calloc(a->capture->stack_count + 1, sizeof *p->stacks);
	cpu_method_table_build(&p->table, a);
}

uint32_t *exception_placing_end(struct exception_placing *p, size_t stack_count)
{
	uint32_t *nodes = mem_calloc(stack_count + 1, sizeof *nodes);
	for (size_t i = 0; i < stack_count; i++)
		nodes[i] = p->stacks[i].node;
	free(p->stacks);
	cpu_method_table_fini(&p->table);
	return nodes;
}

static const struct frame *frame_of_method(const struct cpu_analysis *a, uint32_t method)
{
	uint32_t frame = a->methods[method].frame;
	return frame == UINT32_MAX ? NULL : &a->capture->frames[frame];
}

static bool is_type(const struct frame *f, const char *type)
{
	return f && f->kind == FRAME_MANAGED && f->type && strcmp(f->type, type) == 0;
}

/* A Lazy that failed keeps the exception and throws it to each who asks: no two of these are one on its way up. */
static bool is_lazy(const struct frame *f)
{
	return f && f->kind == FRAME_MANAGED && f->type && strncmp(f->type, "System.Lazy", 11) == 0;
}

/* Managed code that the runtime (.NET 9 and later) handles exceptions with. */
static bool is_machinery(const struct cpu_analysis *a, uint32_t method)
{
	static const char *const types[] = {"System.Runtime.EH", "System.Runtime.InternalCalls", "System.Runtime.StackFrameIterator"};
	const struct frame *f = frame_of_method(a, method);
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (is_type(f, types[i]))
			return true;
	return false;
}

/* Code that was made at run time is of no module, but it is not the runtime's. */
static bool is_told_by_runtime(const struct cpu_analysis *a, uint32_t method)
{
	const struct cpu_method *m = &a->methods[method];
	return (m->layer > LAYER_LIBRARY && !(m->marks & METHOD_DYNAMIC)) || is_machinery(a, method);
}

/* Without the runtime's own frames where the exception is thrown, unless there are no others. */
static size_t without_machinery(const struct cpu_analysis *a, const uint32_t *methods, size_t count)
{
	size_t left = count;
	while (left && is_told_by_runtime(a, methods[left - 1]))
		left--;
	return left ? left : count;
}

static uint32_t special_place(struct cpu_analysis *a, uint32_t *method, const char *name)
{
	if (*method == CPU_NO_METHOD)
		*method = cpu_method_table_special(a, name, LAYER_UNKNOWN);
	return *method;
}

const struct exception_place *exception_place_stack(struct exception_placing *p, struct cpu_analysis *a, uint32_t stack)
{
	uint32_t methods[CAPTURE_MAX_DEPTH + 1];
	struct exception_place *out = &p->stacks[stack];
	const struct capture_stack *from = &a->capture->stacks[stack];
	if (out->done)
		return out;
	*out = (struct exception_place){
		.node = STACK_TREE_ROOT, .method = CPU_NO_METHOD, .caller = CPU_NO_METHOD, .frame = UINT32_MAX, .done = true};
	if (from->truncated)
		out->node = stack_tree_child(&a->tree, out->node, special_place(a, &p->cut, "[stack cut]"));
	size_t count = without_machinery(a, methods, cpu_method_table_logical(&p->table, a, from, methods));
	if (count == 0 && !from->truncated)
		out->node = stack_tree_child(&a->tree, out->node, special_place(a, &p->none, "[no stack]"));
	out->again = count && is_type(frame_of_method(a, methods[count - 1]), "System.Runtime.ExceptionServices.ExceptionDispatchInfo") &&
		     !(count > 1 && is_lazy(frame_of_method(a, methods[count - 2])));
	for (size_t i = 0; i < count; i++) {
		out->node = stack_tree_child(&a->tree, out->node, methods[i]);
		if (a->methods[methods[i]].layer != LAYER_APPLICATION || methods[i] == out->method)
			continue;
		out->caller = out->method;
		out->method = methods[i];
	}
	for (uint32_t i = 0; i < from->depth && out->frame == UINT32_MAX && out->method != CPU_NO_METHOD; i++) {
		uint32_t frame = a->capture->stack_frames[from->first + i];
		if (p->table.method_of[frame] == out->method)
			out->frame = frame;
	}
	return out;
}

enum exception_distance exception_place_catcher(struct exception_placing *p, const struct cpu_analysis *a, const struct exception_capture *c,
						const struct exception_site *s, uint32_t *catcher, uint64_t *caught)
{
	const struct exception_place *at = &p->stacks[s->stack];
	uint32_t frame = UINT32_MAX;
	*caught = 0;
	*catcher = CPU_NO_METHOD;
	for (uint32_t i = 0; i < s->catch_count; i++) {
		const struct exception_catch *x = &c->catches[s->first_catch + i];
		const struct capture_stack *stack = &c->stacks.stacks[x->stack];
		if (stack->depth == 0 || x->counted <= *caught)
			continue;
		frame = c->stacks.stack_frames[stack->first];
		*caught = x->counted;
	}
	if (frame == UINT32_MAX)
		return CAUGHT_UNKNOWN;
	*catcher = p->table.method_of[frame];
	if (p->table.frame_marks[frame] & METHOD_STATE_MACHINE)
		return CAUGHT_TASK;
	if (a->methods[*catcher].layer != LAYER_APPLICATION)
		return CAUGHT_OUTSIDE;
	return *catcher == at->method ? CAUGHT_SAME : *catcher == at->caller ? CAUGHT_CALLER : CAUGHT_FAR;
}
