#include "agent/profilers/allocs/alloc_analysis.h"

#include "agent/stacks/cpu_method_table.h"
#include "agent/symbols/method_name.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

double alloc_analysis_percent(const struct alloc_analysis *a, double bytes)
{
	return a->all.bytes > 0 ? 100 * bytes / a->all.bytes : 0;
}

const struct frame *alloc_analysis_place(const struct alloc_analysis *a, const struct alloc_sum *site)
{
	return site->frame == UINT32_MAX ? NULL : &a->capture->stacks.frames[site->frame];
}

const char *alloc_analysis_method(const struct alloc_analysis *a, uint32_t method)
{
	return method == CPU_NO_METHOD ? NULL : a->base.methods[method].name;
}

/* stacks ---------------------------------------------------------------------------------------------------------- */

struct placed { /* a stack of the capture */
	uint32_t node;  /* of its innermost method */
	uint32_t cause; /* nearest application method */
	uint32_t frame; /* of the capture: that method's, nearest to the allocation; UINT32_MAX */
	bool done;
};

struct placing {
	struct cpu_method_table table;
	struct placed *stacks;
	uint32_t cut, none;
	uint32_t *type_method; /* "new X", by type */
};

static uint32_t special_method(struct alloc_analysis *a, uint32_t *method, const char *name)
{
	if (*method == CPU_NO_METHOD)
		*method = cpu_method_table_special(&a->base, name, LAYER_UNKNOWN);
	return *method;
}

/* The runtime's own frames where the allocation is made tell nothing, unless there are no others. */
static size_t without_runtime(const struct alloc_analysis *a, const uint32_t *methods, size_t count)
{
	size_t managed = count;
	while (managed && a->base.methods[methods[managed - 1]].layer > LAYER_LIBRARY)
		managed--;
	return managed ? managed : count;
}

static const struct placed *place_alloc_stack(struct alloc_analysis *a, struct placing *p, uint32_t stack)
{
	uint32_t methods[CAPTURE_MAX_DEPTH + 1];
	struct placed *out = &p->stacks[stack];
	const struct capture_stack *from = &a->capture->stacks.stacks[stack];
	if (out->done)
		return out;
	*out = (struct placed){.node = STACK_TREE_ROOT, .cause = CPU_NO_METHOD, .frame = UINT32_MAX, .done = true};
	if (from->truncated)
		out->node = stack_tree_child(&a->base.tree, out->node, special_method(a, &p->cut, "[stack cut]"));
	size_t count = without_runtime(a, methods, cpu_method_table_logical(&p->table, &a->base, from, methods));
	if (count == 0 && !from->truncated)
		out->node = stack_tree_child(&a->base.tree, out->node, special_method(a, &p->none, "[no stack]"));
	for (size_t i = 0; i < count; i++) {
		out->node = stack_tree_child(&a->base.tree, out->node, methods[i]);
		if (a->base.methods[methods[i]].layer == LAYER_APPLICATION)
			out->cause = methods[i];
	}
	for (uint32_t i = 0; i < from->depth && out->frame == UINT32_MAX && out->cause != CPU_NO_METHOD; i++) {
		uint32_t frame = a->capture->stacks.stack_frames[from->first + i];
		if (p->table.method_of[frame] == out->cause)
			out->frame = frame;
	}
	return out;
}

static uint32_t allocation_of(struct alloc_analysis *a, struct placing *p, uint32_t type)
{
	if (p->type_method[type] != CPU_NO_METHOD)
		return p->type_method[type];
	AUTO_BUF struct buf name;
	AUTO_FREE char *text = mem_printf("new %s", a->capture->types[type]);
	buf_init(&name, METHOD_NAME_SIZE * 16);
	method_name_printable(text, METHOD_NAME_SIZE - 4, &name);
	return p->type_method[type] = cpu_method_table_special(&a->base, buf_str(&name), LAYER_ALLOCATION);
}

/* sites ----------------------------------------------------------------------------------------------------------- */

struct counted { /* a site of the capture, placed */
	struct alloc_estimate estimate;
	const struct alloc_site *site;
	uint32_t node, cause, frame; /* node: that of the type */
};

static void count_site(struct alloc_analysis *a, struct placing *p, const struct alloc_site *s, struct counted *out)
{
	const struct placed *at = place_alloc_stack(a, p, s->stack);
	*out = (struct counted){.site = s, .cause = at->cause, .frame = at->frame};
	out->estimate = s->estimate;
	alloc_estimate_scale(&out->estimate, a->scale);
	out->node = stack_tree_child(&a->base.tree, at->node, allocation_of(a, p, s->type));
	a->base.tree.nodes[out->node].self += alloc_whole(out->estimate.bytes);
	alloc_estimate_merge(&a->all, &out->estimate);
	if (s->heap == ALLOC_LARGE) {
		a->large_bytes += out->estimate.bytes;
		a->large_objects += out->estimate.objects;
	}
	if (s->heap == ALLOC_PINNED)
		a->pinned_bytes += out->estimate.bytes;
	const struct capture_stack *stack = &a->capture->stacks.stacks[s->stack];
	a->cut_samples += stack->truncated ? s->samples : 0;
	a->stackless_samples += stack->depth == 0 ? s->samples : 0;
	a->base.threads[s->thread].weight += alloc_whole(out->estimate.bytes);
}

static int by_site(const void *x, const void *y)
{
	const struct counted *a = x, *b = y;
	if (a->site->type != b->site->type)
		return a->site->type < b->site->type ? -1 : 1;
	if (a->cause != b->cause)
		return a->cause < b->cause ? -1 : 1;
	if (a->site->heap != b->site->heap)
		return a->site->heap < b->site->heap ? -1 : 1;
	return a->site->stack < b->site->stack ? -1 : a->site->stack > b->site->stack;
}

static bool same_sum(const struct alloc_sum *s, const struct counted *c)
{
	return s->type == c->site->type && s->method == c->cause && s->heap == c->site->heap;
}

static void add_alloc_type(struct alloc_sum *t, const struct counted *c)
{
	uint64_t size = c->site->size / c->site->samples;
	alloc_estimate_merge(&t->estimate, &c->estimate);
	t->type = c->site->type;
	t->large_bytes += c->site->heap == ALLOC_LARGE ? c->estimate.bytes : 0;
	t->smallest = t->smallest && t->smallest < size ? t->smallest : size;
	t->largest = t->largest > size ? t->largest : size;
}

/* Sums of equal types, methods and heaps, which stand together; of equal stacks too. */
static void sum_sites(struct alloc_analysis *a, struct counted *counted, size_t count)
{
	double stack_bytes = 0;
	a->sites = mem_calloc(count + 1, sizeof *a->sites);
	qsort(counted, count, sizeof *counted, by_site);
	for (size_t i = 0; i < count; i++) {
		const struct counted *c = &counted[i];
		struct alloc_sum *s = a->site_count ? &a->sites[a->site_count - 1] : NULL;
		if (!s || !same_sum(s, c)) {
			s = &a->sites[a->site_count++];
			*s = (struct alloc_sum){.type = c->site->type, .method = c->cause, .heap = c->site->heap, .stack = c->site->stack,
						.frame = UINT32_MAX};
		}
		bool same_stack = s->estimate.samples && counted[i - 1].site->stack == c->site->stack;
		stack_bytes = (same_stack ? stack_bytes : 0) + c->estimate.bytes;
		alloc_estimate_merge(&s->estimate, &c->estimate);
		s->boxed |= c->site->boxed;
		if (stack_bytes > s->stack_bytes) {
			s->stack = c->site->stack;
			s->stack_bytes = stack_bytes;
		}
	}
}

/* Of each sum the frame with most of its bytes: callers of all kinds may lead to it. As sum_sites() has left both. */
static void find_alloc_places(struct alloc_analysis *a, const struct counted *counted, size_t count)
{
	AUTO_FREE double *by_frame = mem_calloc(a->capture->stacks.frame_count + 1, sizeof *by_frame);
	size_t begin = 0;
	for (struct alloc_sum *s = a->sites; begin < count; s++) {
		size_t end = begin;
		double most = 0;
		for (; end < count && same_sum(s, &counted[end]); end++) {
			uint32_t frame = counted[end].frame;
			if (frame == UINT32_MAX)
				continue;
			by_frame[frame] += counted[end].estimate.bytes;
			if (by_frame[frame] > most) {
				most = by_frame[frame];
				s->frame = frame;
			}
		}
		for (; begin < end; begin++)
			if (counted[begin].frame != UINT32_MAX)
				by_frame[counted[begin].frame] = 0;
	}
}

static void sum_types(struct alloc_analysis *a, const struct counted *counted, size_t count)
{
	AUTO_FREE double *by_method = mem_calloc(a->base.method_count + 1, sizeof *by_method);
	a->types = mem_calloc(a->capture->type_count + 1, sizeof *a->types);
	for (size_t i = 0, end; i < count; i = end) {
		struct alloc_sum *t = &a->types[a->type_count++];
		t->method = CPU_NO_METHOD;
		for (end = i; end < count && counted[end].site->type == counted[i].site->type; end++) {
			add_alloc_type(t, &counted[end]);
			if (counted[end].cause == CPU_NO_METHOD)
				continue;
			double *bytes = &by_method[counted[end].cause];
			*bytes += counted[end].estimate.bytes;
			if (*bytes > t->method_bytes) {
				t->method_bytes = *bytes;
				t->method = counted[end].cause;
			}
		}
		for (size_t k = i; k < end; k++)
			if (counted[k].cause != CPU_NO_METHOD)
				by_method[counted[k].cause] = 0;
	}
}

static int more_bytes(const void *x, const void *y)
{
	const struct alloc_sum *a = x, *b = y;
	if (a->estimate.bytes > b->estimate.bytes || a->estimate.bytes < b->estimate.bytes)
		return a->estimate.bytes > b->estimate.bytes ? -1 : 1;
	return a->type < b->type ? -1 : a->type > b->type;
}

/* Part of the time was not sampled: what was there then may have been more or less than else. */
static void add_time_error(const struct alloc_analysis *a, struct alloc_estimate *e)
{
	e->variance += e->bytes * e->bytes * a->capture->time_error;
}

static void add_time_errors(struct alloc_analysis *a)
{
	add_time_error(a, &a->all);
	for (size_t i = 0; i < a->type_count; i++)
		add_time_error(a, &a->types[i].estimate);
	for (size_t i = 0; i < a->site_count; i++)
		add_time_error(a, &a->sites[i].estimate);
}

/* methods, leaves, threads ---------------------------------------------------------------------------------------- */

static void make_alloc_leaves(struct alloc_analysis *a, const struct counted *counted, size_t count)
{
	a->base.leaves = mem_calloc(count + 1, sizeof *a->base.leaves);
	a->node_objects = mem_calloc(a->base.tree.count + 1, sizeof *a->node_objects);
	for (size_t i = 0; i < count; i++) {
		const struct counted *c = &counted[i];
		uint64_t objects = alloc_whole(c->estimate.objects + 0.5);
		a->base.leaves[a->base.leaf_count++] = (struct stack_leaf){c->node, c->site->thread, objects, alloc_whole(c->estimate.bytes)};
		a->node_objects[c->node] += objects;
	}
	cpu_analysis_join_leaves(&a->base);
}

/* What is allocated in a method itself is what its allocations, its children in the tree, have. */
static void give_allocations_to_methods(struct alloc_analysis *a)
{
	const struct stack_tree *t = &a->base.tree;
	for (size_t i = 1; i < t->count; i++) {
		const struct stack_node *n = &t->nodes[i];
		uint32_t parent = n->self ? t->nodes[n->parent].method : STACK_TREE_NONE;
		if (parent != STACK_TREE_NONE && a->base.methods[n->method].layer == LAYER_ALLOCATION)
			a->base.methods[parent].self += n->self;
	}
}

/* Objects of a method and below it: as totals, in a walk over the leaves' paths; a recursion counts once. */
static void sum_objects(struct alloc_analysis *a)
{
	const struct stack_tree *t = &a->base.tree;
	AUTO_FREE uint32_t *seen = mem_calloc(a->base.method_count + 1, sizeof *seen);
	a->objects = mem_calloc(a->base.method_count + 1, sizeof *a->objects);
	for (size_t i = 0; i < a->base.leaf_count; i++)
		for (uint32_t node = a->base.leaves[i].node; node != STACK_TREE_ROOT; node = t->nodes[node].parent) {
			uint32_t method = t->nodes[node].method;
			if (seen[method] == i + 1)
				continue;
			seen[method] = (uint32_t)i + 1;
			a->objects[method] += (double)a->base.leaves[i].count;
		}
}

void alloc_analysis_run(const struct alloc_capture *c, struct alloc_analysis *out)
{
	struct placing p = {.cut = CPU_NO_METHOD, .none = CPU_NO_METHOD};
	AUTO_FREE struct counted *counted = mem_calloc(c->site_count + 1, sizeof *counted);
	*out = (struct alloc_analysis){.capture = c, .base = {.capture = &c->stacks}};
	out->seconds = (double)c->stacks.facts.duration_ns / 1e9;
	out->scale = site_time_scale(&c->time, c->stacks.facts.duration_ns);
	p.stacks = mem_calloc(c->stacks.stack_count + 1, sizeof *p.stacks);
	p.type_method = mem_calloc(c->type_count + 1, sizeof *p.type_method);
	memset(p.type_method, 0xff, (c->type_count + 1) * sizeof *p.type_method);
	out->base.threads = stack_threads_new(&c->stacks);
	stack_tree_init(&out->base.tree);
	cpu_method_table_build(&p.table, &out->base);
	for (size_t i = 0; i < c->site_count; i++)
		count_site(out, &p, &c->sites[i], &counted[i]);
	cpu_method_table_decide_machines(&out->base);
	cpu_method_table_fini(&p.table);
	out->stack_node = mem_calloc(c->stacks.stack_count + 1, sizeof *out->stack_node);
	for (size_t i = 0; i < c->stacks.stack_count; i++)
		out->stack_node[i] = p.stacks[i].node;
	free(p.stacks);
	free(p.type_method);
	stack_tree_finish(&out->base.tree);
	cpu_analysis_sum_methods(&out->base);
	give_allocations_to_methods(out);
	cpu_analysis_order_methods(&out->base);
	sum_sites(out, counted, c->site_count);
	find_alloc_places(out, counted, c->site_count);
	sum_types(out, counted, c->site_count);
	out->caused = mem_calloc(out->base.method_count + 1, sizeof *out->caused);
	for (size_t i = 0; i < out->site_count; i++)
		if (out->sites[i].method != CPU_NO_METHOD)
			out->caused[out->sites[i].method] += out->sites[i].estimate.bytes;
	qsort(out->sites, out->site_count, sizeof *out->sites, more_bytes);
	qsort(out->types, out->type_count, sizeof *out->types, more_bytes);
	add_time_errors(out);
	make_alloc_leaves(out, counted, c->site_count);
	sum_objects(out);
	out->base.thread_order = stack_threads_order(out->base.threads, c->stacks.thread_count);
	site_time_fill(&c->time, c->stacks.facts.duration_ns, out->timeline);
	for (size_t i = 0; i < CPU_TIMELINE_BUCKETS; i++)
		out->timeline[i] = (double)alloc_whole(out->timeline[i]);
	cpu_analysis_sum_collections(&out->base);
	if (c->dropped)
		alloc_estimate_add(&out->dropped, c->event, c->dropped, c->dropped_size, c->dropped_amount);
}

void alloc_analysis_fini(struct alloc_analysis *a)
{
	free(a->types);
	free(a->sites);
	free(a->objects);
	free(a->caused);
	free(a->stack_node);
	free(a->node_objects);
	cpu_analysis_fini(&a->base);
	*a = (struct alloc_analysis){0};
}

void alloc_analysis_profile(const struct alloc_analysis *a, const char *subject, const char *headline, struct stack_profile *out)
{
	stack_profile_init(out, &a->base);
	out->count_value = (struct stack_value){"alloc_objects", "count"};
	out->weight_value = (struct stack_value){"alloc_space", "bytes"};
	out->period = ALLOC_MEAN_BYTES;
	out->subject = subject;
	out->headline = headline;
}
