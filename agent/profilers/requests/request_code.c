#include "agent/profilers/requests/request_code.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/search.h"

#include <stdlib.h>

struct attributed { /* a sample of an endpoint */
	uint32_t endpoint, sample;
	bool first;
};

static bool is_in_window(const struct request_trail *t, uint64_t at_ns)
{
	size_t low = SEARCH_PAST(i, t->window_count, t->windows[i].end_ns <= at_ns);
	return low < t->window_count && t->windows[low].start_ns <= at_ns;
}

static int by_endpoint(const void *x, const void *y)
{
	const struct attributed *a = x, *b = y;
	if (a->endpoint != b->endpoint)
		return a->endpoint < b->endpoint ? -1 : 1;
	return (a->sample > b->sample) - (a->sample < b->sample);
}

/* methods --------------------------------------------------------------------------------------------------------------- */

struct method_counts { /* of one endpoint at a time */
	struct code_method *list; /* by method */
	uint32_t *met;            /* by method: plus one, the last sample that it was met in */
	uint32_t *touched;        /* methods that were */
	size_t touched_count;
};

static bool is_applications(const struct cpu_analysis *a, uint32_t method)
{
	return a->methods[method].layer == LAYER_APPLICATION;
}

/* The application's own first: of the others all stacks are full. */
static bool is_before(const struct cpu_analysis *a, const struct code_method *x, const struct code_method *y)
{
	if (is_applications(a, x->method) != is_applications(a, y->method))
		return is_applications(a, x->method);
	if (x->own != y->own)
		return x->own > y->own;
	if (x->total != y->total)
		return x->total > y->total;
	return x->self > y->self;
}

static void keep_method(const struct cpu_analysis *a, struct endpoint_code *c, const struct code_method *m)
{
	size_t at = c->method_count;
	if (at == CODE_METHODS && !is_before(a, m, &c->methods[at - 1]))
		return;
	if (at < CODE_METHODS)
		c->method_count++;
	else
		at--;
	for (; at > 0 && is_before(a, m, &c->methods[at - 1]); at--)
		c->methods[at] = c->methods[at - 1];
	c->methods[at] = *m;
}

static void finish_methods(const struct cpu_analysis *a, struct method_counts *m, struct endpoint_code *c)
{
	for (size_t i = 0; i < m->touched_count; i++) {
		keep_method(a, c, &m->list[m->touched[i]]);
		m->list[m->touched[i]] = (struct code_method){0};
	}
	m->touched_count = 0;
}

static void count_method(struct method_counts *m, uint32_t method, uint32_t mark, bool leaf)
{
	struct code_method *x = &m->list[method];
	if (!x->total && !x->self)
		m->touched[m->touched_count++] = method;
	x->method = method;
	x->self += leaf;
	if (m->met[method] != mark)
		x->total++;
	m->met[method] = mark;
}

/* one sample -------------------------------------------------------------------------------------------------------------- */

static void add_sample(const struct cpu_analysis *a, struct method_counts *m, const struct attributed *x, struct endpoint_code *c)
{
	uint32_t path[CAPTURE_MAX_DEPTH + 8], node = cpu_analysis_node(a, x->sample), at = STACK_TREE_ROOT;
	size_t depth = 0;
	bool own = false, jit = a->sample_work[x->sample] == WORK_JIT;
	c->samples++;
	c->jit += jit;
	c->first_samples += x->first;
	c->first_jit += x->first && jit;
	if (node == STACK_TREE_NONE)
		return;
	for (; node != STACK_TREE_ROOT && depth < sizeof path / sizeof *path; node = a->tree.nodes[node].parent) {
		count_method(m, a->tree.nodes[node].method, x->sample + 1, depth == 0);
		if (!own && is_applications(a, a->tree.nodes[node].method)) {
			m->list[a->tree.nodes[node].method].own++;
			own = true;
		}
		path[depth++] = a->tree.nodes[node].method;
	}
	if (!c->tree)
		return;
	while (depth)
		at = stack_tree_child(c->tree, at, path[--depth]);
	c->tree->nodes[at].self++;
}

/* What it calls there; STACK_TREE_NONE: nothing, or it is not the innermost method of the application in that sample. */
static uint32_t callee_in(const struct cpu_analysis *a, uint32_t sample, uint32_t method)
{
	uint32_t node = cpu_analysis_node(a, sample), callee = STACK_TREE_NONE;
	for (; node != STACK_TREE_NONE && node != STACK_TREE_ROOT; node = a->tree.nodes[node].parent) {
		if (is_applications(a, a->tree.nodes[node].method))
			return a->tree.nodes[node].method == method ? callee : STACK_TREE_NONE;
		callee = a->tree.nodes[node].method;
	}
	return STACK_TREE_NONE;
}

static void find_callee(const struct cpu_analysis *a, struct method_counts *m, const struct attributed *list, size_t count, struct endpoint_code *c)
{
	if (!c->method_count || !c->methods[0].own)
		return;
	for (size_t i = 0; i < count; i++) {
		uint32_t callee = callee_in(a, list[i].sample, c->methods[0].method);
		if (callee == STACK_TREE_NONE || a->methods[callee].layer != LAYER_LIBRARY)
			continue;
		if (!m->list[callee].total++)
			m->touched[m->touched_count++] = callee;
		if (m->list[callee].total > c->callee_samples) {
			c->callee_samples = m->list[callee].total;
			c->callee = callee;
		}
	}
	while (m->touched_count)
		m->list[m->touched[--m->touched_count]] = (struct code_method){0};
}

static size_t attribute(const struct request_work *w, const struct request_log *l, const uint32_t *endpoint_of, const uint32_t *first,
			struct attributed *list, struct request_code *all)
{
	size_t count = 0;
	for (size_t i = 0; i < w->sample_count; i++) {
		const struct work_sample *s = &w->samples[i];
		if (!is_in_window(&l->trail, (uint64_t)s->time_ns))
			continue;
		all->samples++;
		uint32_t number = request_trail_at(&l->trail, s->tid, (uint64_t)s->time_ns);
		if (!number)
			continue;
		all->attributed++;
		uint32_t endpoint = endpoint_of[request_log_shape_of(l, number)];
		if (endpoint == UINT32_MAX || !request_log_shape_of(l, number)) {
			all->unnamed++;
			continue;
		}
		list[count++] = (struct attributed){endpoint, s->sample, first[endpoint] == number};
	}
	if (count)
		qsort(list, count, sizeof *list, by_endpoint);
	return count;
}

void request_code_make(const struct cpu_capture *cpu, const struct request_work *w, const struct request_log *l, const uint32_t *endpoint_of,
		       const uint32_t *first, struct endpoint_code *out, size_t count, struct request_code *all)
{
	*all = (struct request_code){0};
	if (!w->sample_count || !l->endpoint_cap)
		return;
	cpu_analysis_run(cpu, &all->analysis);
	all->analyzed = true;
	const struct cpu_analysis *a = &all->analysis;
	AUTO_FREE struct attributed *list = mem_calloc(w->sample_count + 1, sizeof *list);
	AUTO_FREE struct code_method *counts = mem_calloc(a->method_count + 1, sizeof *counts);
	AUTO_FREE uint32_t *met = mem_calloc(a->method_count + 1, sizeof *met), *touched = mem_calloc(a->method_count + 1, sizeof *touched);
	struct method_counts m = {counts, met, touched, 0};
	size_t samples = attribute(w, l, endpoint_of, first, list, all);
	for (size_t i = 0, end; i < samples; i = end) {
		struct endpoint_code *c = &out[list[i].endpoint];
		if (list[i].endpoint < CODE_TREES && list[i].endpoint < count) {
			c->tree = mem_alloc(sizeof *c->tree);
			stack_tree_init(c->tree);
		}
		for (end = i; end < samples && list[end].endpoint == list[i].endpoint; end++)
			add_sample(a, &m, &list[end], c);
		finish_methods(a, &m, c);
		find_callee(a, &m, list + i, end - i, c);
		if (c->tree)
			stack_tree_finish(c->tree);
	}
}

void request_code_fini_endpoint(struct endpoint_code *c)
{
	if (c->tree)
		stack_tree_fini(c->tree);
	free(c->tree);
	*c = (struct endpoint_code){0};
}

void request_code_fini(struct request_code *all)
{
	if (all->analyzed)
		cpu_analysis_fini(&all->analysis);
	*all = (struct request_code){0};
}
