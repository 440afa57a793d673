#include "agent/stacks/cpu_analysis.h"

#include "agent/stacks/cpu_lines.h"
#include "agent/stacks/cpu_method_table.h"
#include "agent/symbols/method_name.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BUSY_SHARE_OF_CPU 0.05

double cpu_analysis_percent(const struct cpu_analysis *a, uint32_t count)
{
	return a->samples ? 100.0 * count / a->samples : 0;
}

uint32_t cpu_analysis_caused(const struct cpu_method *m)
{
	uint32_t sum = 0;
	for (int i = 0; i < CATEGORY_COUNT; i++)
		sum += i == CATEGORY_GC || i == CATEGORY_JIT ? 0 : m->caused[i];
	return sum;
}

uint32_t cpu_analysis_worked(const struct cpu_method *m)
{
	return m->caused[CATEGORY_APPLICATION] + m->caused[CATEGORY_LIBRARY] + m->caused[CATEGORY_NATIVE];
}

bool cpu_analysis_ground(const struct cpu_method *m)
{
	static const char *const ground[] = {"libc.", "libc-", "libpthread", "ld-linux", "ld-musl"};
	bool is = m->marks & METHOD_NO_SYMBOL && m->layer == LAYER_RUNTIME;
	for (size_t i = 0; m->marks & METHOD_NO_SYMBOL && i < sizeof ground / sizeof ground[0]; i++)
		is |= m->layer == LAYER_NATIVE && strncmp(m->module, ground[i], strlen(ground[i])) == 0;
	return is;
}

/* stacks -------------------------------------------------------------------------------------------------------- */

struct stack_facts {
	enum cpu_category category;
	uint32_t cause; /* nearest application method; CPU_NO_METHOD */
};

struct specials { /* methods that stand for no frame; CPU_NO_METHOD until needed */
	uint32_t cut, none, work[WORK_COUNT];
};

static struct stack_facts facts_of(const struct cpu_capture *c, const struct cpu_method_table *t, const struct capture_stack *s)
{
	const uint32_t *frames = c->stack_frames + s->first;
	struct stack_facts facts = {cpu_stack_category(frames, s->depth, t->roles, t->layers), CPU_NO_METHOD};
	for (size_t i = 0; i < s->depth && facts.cause == CPU_NO_METHOD; i++) {
		if (t->layers[frames[i]] == LAYER_APPLICATION)
			facts.cause = t->method_of[frames[i]];
		if (cpu_method_table_resumed(t, frames, s->depth, i))
			break;
	}
	return facts;
}

static struct stack_facts *find_facts(const struct cpu_capture *c, const struct cpu_method_table *t)
{
	struct stack_facts *facts = mem_calloc(c->stack_count + 1, sizeof *facts);
	for (size_t i = 0; i < c->stack_count; i++)
		facts[i] = facts_of(c, t, &c->stacks[i]);
	return facts;
}

/* How many of a stack's methods, from the root, stand above the runtime's part at its leaf. */
static size_t above_runtime(const struct cpu_analysis *a, const uint32_t *methods, size_t count)
{
	size_t above = count;
	while (above && a->methods[methods[above - 1]].layer > LAYER_LIBRARY)
		above--;
	while (above < count && a->methods[methods[above]].layer != LAYER_RUNTIME)
		above++;
	return above;
}

/* A frame that tells nothing beside "[garbage collection]". */
static bool is_runtime_somewhere(const struct cpu_method *m)
{
	return m->layer == LAYER_RUNTIME && m->marks & METHOD_NO_SYMBOL;
}

static uint32_t special_cpu_method(struct cpu_analysis *a, uint32_t *method, const char *name, enum cpu_layer layer)
{
	if (*method == CPU_NO_METHOD)
		*method = cpu_method_table_special(a, name, layer);
	return *method;
}

/* One step further in the tree; a full tree has no further ones. */
static uint32_t step_down(struct cpu_analysis *a, uint32_t node, uint32_t method, uint32_t frame)
{
	uint32_t child = stack_tree_child(&a->tree, node, method);
	if (child != node)
		cpu_lines_path_step(a, frame);
	return child;
}

static uint32_t place_stack(struct cpu_analysis *a, const struct cpu_method_table *t, struct specials *s, uint32_t stack, enum cpu_work work)
{
	static const char *const names[] = {[WORK_GC] = "[garbage collection]", [WORK_JIT] = "[JIT compilation]"};
	uint32_t methods[CAPTURE_MAX_DEPTH + 1], frames[CAPTURE_MAX_DEPTH + 1], node = STACK_TREE_ROOT;
	const struct capture_stack *from = &a->capture->stacks[stack];
	if (from->truncated)
		node = step_down(a, node, special_cpu_method(a, &s->cut, "[stack cut]", LAYER_UNKNOWN), UINT32_MAX);
	size_t count = cpu_method_table_logical_frames(t, a, from, methods, frames);
	if (count == 0 && !from->truncated)
		node = step_down(a, node, special_cpu_method(a, &s->none, "[no stack]", LAYER_UNKNOWN), UINT32_MAX);
	size_t mark_at = work == WORK_PLAIN ? SIZE_MAX : above_runtime(a, methods, count);
	for (size_t k = 0; k < count; k++) {
		if (k == mark_at)
			node = step_down(a, node, special_cpu_method(a, &s->work[work], names[work], LAYER_RUNTIME), UINT32_MAX);
		if (k < mark_at || !is_runtime_somewhere(&a->methods[methods[k]]))
			node = step_down(a, node, methods[k], frames[k]);
	}
	return node;
}

/* samples ------------------------------------------------------------------------------------------------------- */

uint32_t cpu_analysis_node(const struct cpu_analysis *a, size_t sample)
{
	return a->stack_nodes[(size_t)a->capture->samples[sample].stack * WORK_COUNT + a->sample_work[sample]];
}

const uint32_t *cpu_analysis_path_frames(const struct cpu_analysis *a, size_t sample)
{
	return cpu_lines_path(a, (size_t)a->capture->samples[sample].stack * WORK_COUNT + a->sample_work[sample]);
}

uint32_t cpu_analysis_bucket(const struct cpu_analysis *a, size_t sample)
{
	const struct cpu_capture *c = a->capture;
	int64_t bucket = c->facts.duration_ns > 0 ? c->samples[sample].time_ns * CPU_TIMELINE_BUCKETS / c->facts.duration_ns : 0;
	return bucket < 0 ? 0 : bucket >= CPU_TIMELINE_BUCKETS ? CPU_TIMELINE_BUCKETS - 1 : (uint32_t)bucket;
}

/* Was the thread collecting garbage then? They stand by their ends and do not overlap: the first that ends later decides. */
static bool in_collection(const struct cpu_capture *c, const struct capture_sample *s)
{
	size_t low = 0, high = c->collection_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (c->collections[middle].end_ns < s->time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low < c->collection_count && c->collections[low].start_ns <= s->time_ns &&
	       c->collections[low].tid == c->threads[s->thread].tid;
}

static enum cpu_category category_of(const struct cpu_capture *c, const struct stack_facts *f, const struct capture_sample *s)
{
	enum cpu_category by_thread = cpu_thread_category(c->threads[s->thread].name);
	if (f->category == CATEGORY_KERNEL)
		return f->category;
	if (by_thread != CATEGORY_COUNT)
		return by_thread;
	return in_collection(c, s) ? CATEGORY_GC : f->category;
}

static void count_sample(struct cpu_analysis *a, const struct cpu_method_table *t, struct specials *sp, const struct stack_facts *facts,
			 size_t sample)
{
	const struct cpu_capture *c = a->capture;
	const struct capture_sample *s = &c->samples[sample];
	enum cpu_category category = category_of(c, &facts[s->stack], s);
	enum cpu_work work = category == CATEGORY_GC ? WORK_GC : category == CATEGORY_JIT ? WORK_JIT : WORK_PLAIN;
	uint32_t *node = &a->stack_nodes[(size_t)s->stack * WORK_COUNT + work];
	if (*node == STACK_TREE_NONE) {
		cpu_lines_path_begin(a, (size_t)s->stack * WORK_COUNT + work);
		*node = place_stack(a, t, sp, s->stack, work);
	}
	a->sample_work[sample] = (uint8_t)work;
	a->sample_category[sample] = (uint8_t)category;
	a->tree.nodes[*node].self++;
	a->samples++;
	a->by_category[category]++;
	a->truncated_samples += c->stacks[s->stack].truncated;
	a->threads[s->thread].weight++;
	a->thread_categories[s->thread][category]++;
	if (facts[s->stack].cause != CPU_NO_METHOD)
		a->methods[facts[s->stack].cause].caused[category]++;
	a->timeline[cpu_analysis_bucket(a, sample)]++;
}

static void count_samples(struct cpu_analysis *a, const struct cpu_method_table *t)
{
	const struct cpu_capture *c = a->capture;
	struct specials specials = {CPU_NO_METHOD, CPU_NO_METHOD, {CPU_NO_METHOD, CPU_NO_METHOD, CPU_NO_METHOD}};
	AUTO_FREE struct stack_facts *facts = find_facts(c, t);
	a->stack_nodes = mem_calloc(c->stack_count * WORK_COUNT + 1, sizeof *a->stack_nodes);
	memset(a->stack_nodes, 0xff, c->stack_count * WORK_COUNT * sizeof *a->stack_nodes);
	a->sample_work = mem_calloc(c->sample_count + 1, sizeof *a->sample_work);
	a->sample_category = mem_calloc(c->sample_count + 1, sizeof *a->sample_category);
	for (size_t i = 0; i < c->sample_count; i++)
		count_sample(a, t, &specials, facts, i);
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* Counts equal (node, thread) pairs; nodes by their place in preorder. */
static void make_cpu_leaves(struct cpu_analysis *a)
{
	const struct cpu_capture *c = a->capture;
	AUTO_FREE uint64_t *keys = mem_calloc(c->sample_count + 1, sizeof *keys);
	for (size_t i = 0; i < c->sample_count; i++)
		keys[i] = (uint64_t)a->tree.rank[cpu_analysis_node(a, i)] << 32 | c->samples[i].thread;
	qsort(keys, c->sample_count, sizeof *keys, compare_u64);
	size_t distinct = 0;
	for (size_t i = 0; i < c->sample_count; i++)
		distinct += i == 0 || keys[i] != keys[i - 1];
	a->leaves = mem_calloc(distinct + 1, sizeof *a->leaves);
	for (size_t i = 0; i < c->sample_count; i++) {
		if (i == 0 || keys[i] != keys[i - 1])
			a->leaves[a->leaf_count++] =
				(struct stack_leaf){a->tree.order[keys[i] >> 32], (uint32_t)keys[i], 0, 0};
		a->leaves[a->leaf_count - 1].count++;
		a->leaves[a->leaf_count - 1].weight++;
	}
}

/* methods ------------------------------------------------------------------------------------------------------- */

/* Walks the tree in preorder and keeps for each method how often it is on the current path: only the outermost frame of
 * a recursion adds to the total. */
void cpu_analysis_sum_methods(struct cpu_analysis *a)
{
	const struct stack_tree *t = &a->tree;
	AUTO_FREE uint32_t *on_path = mem_calloc(a->method_count + 1, sizeof *on_path);
	AUTO_FREE uint32_t *path = mem_calloc(CAPTURE_MAX_DEPTH + 3, sizeof *path);
	size_t depth = 0; /* path[1..depth] are the methods above */
	for (size_t i = 1; i < t->count; i++) {
		const struct stack_node *n = &t->nodes[t->order[i]];
		while (depth >= n->depth)
			on_path[path[depth--]]--;
		path[++depth] = n->method;
		a->methods[n->method].self += n->self;
		if (on_path[n->method]++ == 0)
			a->methods[n->method].total += n->total;
	}
}

static int more_self(const void *x, const void *y, void *ctx)
{
	const struct cpu_method *m = ctx, *a = &m[*(const uint32_t *)x], *b = &m[*(const uint32_t *)y];
	if (cpu_analysis_ground(a) != cpu_analysis_ground(b))
		return cpu_analysis_ground(a) ? 1 : -1;
	if (a->self != b->self)
		return a->self > b->self ? -1 : 1;
	return a->total != b->total ? (a->total > b->total ? -1 : 1) : strcmp(a->name, b->name);
}

static int more_total(const void *x, const void *y, void *ctx)
{
	const struct cpu_method *m = ctx, *a = &m[*(const uint32_t *)x], *b = &m[*(const uint32_t *)y];
	if (cpu_analysis_ground(a) != cpu_analysis_ground(b))
		return cpu_analysis_ground(a) ? 1 : -1;
	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return a->self != b->self ? (a->self > b->self ? -1 : 1) : strcmp(a->name, b->name);
}

static uint32_t *sorted(size_t count, int compare(const void *, const void *, void *), void *ctx)
{
	uint32_t *order = mem_calloc(count + 1, sizeof *order);
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, count, sizeof *order, compare, ctx);
	return order;
}

void cpu_analysis_order_methods(struct cpu_analysis *a)
{
	a->by_self = sorted(a->method_count, more_self, a->methods);
	a->by_total = sorted(a->method_count, more_total, a->methods);
}

static int by_rank_and_thread(const void *x, const void *y, void *ctx)
{
	const struct stack_leaf *a = x, *b = y;
	const uint32_t *rank = ctx;
	if (a->node != b->node)
		return rank[a->node] < rank[b->node] ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

void cpu_analysis_join_leaves(struct cpu_analysis *a)
{
	size_t count = a->leaf_count;
	qsort_r(a->leaves, count, sizeof *a->leaves, by_rank_and_thread, a->tree.rank);
	a->leaf_count = 0;
	for (size_t i = 0; i < count; i++) {
		struct stack_leaf *last = a->leaf_count ? &a->leaves[a->leaf_count - 1] : NULL;
		if (last && last->node == a->leaves[i].node && last->thread == a->leaves[i].thread) {
			last->count += a->leaves[i].count;
			last->weight += a->leaves[i].weight;
		} else {
			a->leaves[a->leaf_count++] = a->leaves[i];
		}
	}
}

/* threads ------------------------------------------------------------------------------------------------------- */

static int by_thread(const void *x, const void *y, void *ctx)
{
	const struct stack_leaf *l = ctx, *a = &l[*(const uint32_t *)x], *b = &l[*(const uint32_t *)y];
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

/* The method with the most self samples of each thread. */
static void find_top_methods(struct cpu_analysis *a)
{
	AUTO_FREE uint32_t *counts = mem_calloc(a->method_count + 1, sizeof *counts);
	AUTO_FREE uint32_t *order = sorted(a->leaf_count, by_thread, a->leaves);
	for (size_t i = 0, end; i < a->leaf_count; i = end) {
		struct stack_thread *t = &a->threads[a->leaves[order[i]].thread];
		uint32_t most = 0;
		for (end = i; end < a->leaf_count && a->leaves[order[end]].thread == a->leaves[order[i]].thread; end++) {
			const struct stack_leaf *l = &a->leaves[order[end]];
			if (l->node == STACK_TREE_ROOT)
				continue;
			uint32_t method = a->tree.nodes[l->node].method;
			counts[method] += (uint32_t)l->count;
			if (counts[method] > most) {
				most = counts[method];
				t->top_method = method;
			}
		}
		for (size_t k = i; k < end; k++)
			if (a->leaves[order[k]].node != STACK_TREE_ROOT)
				counts[a->tree.nodes[a->leaves[order[k]].node].method] = 0;
	}
}

static void sum_threads(struct cpu_analysis *a)
{
	const struct cpu_capture *c = a->capture;
	for (size_t i = 0; i < c->thread_count; i++) {
		struct stack_thread *t = &a->threads[i];
		t->cpu_ns = c->threads[i].cpu_ns >= 0 ? c->threads[i].cpu_ns : (int64_t)t->weight * a->period_ns;
		a->sampled_threads += t->weight > 0;
		a->busy_threads += t->weight > 0 && c->facts.duration_ns > 0 &&
				   (double)t->weight * (double)a->period_ns >= BUSY_SHARE_OF_CPU * (double)c->facts.duration_ns;
	}
	a->thread_order = stack_threads_order(a->threads, c->thread_count);
	find_top_methods(a);
}

/* The limit, where that is less than the node has. */
static double allowed_by_limit(const struct cpu_capture *c)
{
	double limit = (double)c->cpu_limit_millicores / 1000.0, node = (double)c->node_cpus;
	return limit > 0 && (node <= 0 || limit < node) ? limit : 0;
}

double cpu_analysis_allowed(const struct cpu_capture *c)
{
	double limit = allowed_by_limit(c);
	return limit > 0 ? limit : c->node_cpus > 0 ? (double)c->node_cpus : NAN;
}

static void measure_busyness(struct cpu_analysis *a)
{
	const struct cpu_capture *c = a->capture;
	a->cpu_ns = c->process_cpu_ns >= 0 ? c->process_cpu_ns : (int64_t)a->samples * a->period_ns;
	a->cpus_used = c->facts.duration_ns > 0 ? (double)a->cpu_ns / (double)c->facts.duration_ns : 0;
	a->limited = allowed_by_limit(c) > 0;
	a->cpus_allowed = isnan(cpu_analysis_allowed(c)) ? 0 : cpu_analysis_allowed(c);
}

void cpu_analysis_sum_collections(struct cpu_analysis *a)
{
	const struct cpu_capture *c = a->capture;
	struct cpu_collections *out = &a->collections;
	for (size_t i = 0; i < c->collection_count; i++) {
		const struct capture_collection *x = &c->collections[i];
		out->count++;
		out->by_generation[x->generation < 0 || x->generation > 2 ? 2 : x->generation]++;
		out->total_ns += x->end_ns - x->start_ns;
		if (x->end_ns - x->start_ns > out->longest_ns)
			out->longest_ns = x->end_ns - x->start_ns;
	}
}

void cpu_analysis_run(const struct cpu_capture *c, struct cpu_analysis *out)
{
	struct cpu_method_table table = {0};
	*out = (struct cpu_analysis){.capture = c};
	out->period_ns = 1000000000 / (c->frequency_hertz > 0 ? c->frequency_hertz : 99);
	stack_tree_init(&out->tree);
	cpu_method_table_build(&table, out);
	out->threads = stack_threads_new(c);
	out->thread_categories = mem_calloc(c->thread_count + 1, sizeof *out->thread_categories);
	cpu_lines_begin(out, &table);
	count_samples(out, &table);
	cpu_lines_count(out);
	cpu_method_table_decide_machines(out);
	cpu_method_table_fini(&table);
	cpu_analysis_sum_collections(out);
	stack_tree_finish(&out->tree);
	make_cpu_leaves(out);
	cpu_analysis_sum_methods(out);
	cpu_analysis_order_methods(out);
	sum_threads(out);
	measure_busyness(out);
}

void cpu_analysis_fini(struct cpu_analysis *a)
{
	for (size_t i = 0; i < a->method_count; i++) {
		free(a->methods[i].name);
		free(a->methods[i].module);
	}
	cpu_lines_end(a);
	stack_threads_free(a->threads, a->capture ? a->capture->thread_count : 0);
	free(a->methods);
	free(a->by_self);
	free(a->by_total);
	free(a->stack_nodes);
	free(a->sample_work);
	free(a->sample_category);
	free(a->leaves);
	free(a->thread_categories);
	free(a->thread_order);
	stack_tree_fini(&a->tree);
	*a = (struct cpu_analysis){0};
}
