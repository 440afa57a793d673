#include "agent/profilers/threads/threads_analysis.h"

#include "agent/profilers/threads/threads_growth.h"
#include "common/base/index_set.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define BURST_NS INT64_C(2000000000)
#define OFTEN_SWITCHES 50 /* of a thread that did one piece of work and then stood there are few */

/* names ------------------------------------------------------------------------------------------------------------ */

struct method_table {
	struct threads_analysis *a;
	struct index_set by_name;
};

static uint32_t intern_method(struct method_table *t, const char *name, enum cpu_layer layer)
{
	struct threads_analysis *a = t->a;
	uint32_t hash = index_hash(INDEX_HASH_START, name, strlen(name)), i;
	size_t at = hash;
	while ((i = index_set_next(&t->by_name, hash, &at)) != INDEX_NONE)
		if (a->methods[i].layer == layer && strcmp(a->methods[i].name, name) == 0)
			return i;
	GROW(a->methods, a->method_count, a->method_cap);
	a->methods[a->method_count] = (struct threads_method){mem_strdup(name), layer};
	index_set_add(&t->by_name, hash, (uint32_t)a->method_count);
	return (uint32_t)a->method_count++;
}

static void name_frames(struct threads_analysis *a)
{
	const struct cpu_capture *c = &a->capture->stacks;
	struct method_table t = {.a = a};
	a->method_of = mem_calloc(c->frame_count + 1, sizeof *a->method_of);
	for (size_t i = 0; i < c->frame_count; i++) {
		struct method_name name;
		method_name_make(&c->frames[i], &name);
		a->method_of[i] = intern_method(&t, name.text[0] ? name.text : "code without a name", cpu_layer_of(&c->frames[i]));
	}
	index_set_fini(&t.by_name);
}

const char *threads_method_name(const struct threads_analysis *a, uint32_t method)
{
	return method < a->method_count ? a->methods[method].name : "";
}

/* kinds ------------------------------------------------------------------------------------------------------------ */

static uint32_t frame_at(const uint32_t *stack, uint32_t i)
{
	return i == UINT32_MAX ? THREADS_NONE : stack[i];
}

/* The runtime makes its finalizer thread before it runs any code of the application, which may name threads as it likes. */
static size_t oldest_finalizer(const struct threads_capture *c)
{
	size_t oldest = c->count;
	for (size_t i = 0; i < c->count; i++)
		if (strcmp(c->threads[i].wait.name, ".NET Finalizer") == 0 && (oldest == c->count || c->threads[i].age_ns > c->threads[oldest].age_ns))
			oldest = i;
	return oldest;
}

static void classify_thread(struct threads_analysis *a, size_t i, bool first_of_name)
{
	const struct threads_capture *c = a->capture;
	const struct seen_thread *t = &c->threads[i];
	struct thread_nature *n = &a->natures[i];
	struct thread_clues clues = {
		.frames = c->stacks.frames,
		.name = t->wait.name,
		.first_of_name = first_of_name,
		.main = t->wait.inner_tid == c->main_tid,
		.asleep = t->witness != STACK_SAMPLED && t->wait.state != 'R',
		.futex = t->wait.system_call == SYS_futex,
		.monitor = t->monitor,
	};
	clues.stack = threads_capture_stack(c, i, &clues.depth);
	clues.cut = clues.depth && c->stacks.stacks[t->stack].truncated;
	thread_kind_of(&clues, n);
	n->place = frame_at(clues.stack, n->place);
	n->call = frame_at(clues.stack, n->call);
	n->entry = frame_at(clues.stack, n->entry);
	a->kinds[n->kind]++;
	a->still += t->still;
	a->unread += t->stack == THREADS_STACK_NONE;
	a->finalizer_waiters += n->wait == THREAD_WAIT_FINALIZERS;
	if (n->kind == THREAD_KIND_FINALIZER)
		a->finalizer = (uint32_t)i;
}

/* the tree --------------------------------------------------------------------------------------------------------- */

uint32_t threads_path(const struct threads_analysis *a, size_t thread, uint32_t *out)
{
	uint32_t depth, count = 0;
	const uint32_t *stack = threads_capture_stack(a->capture, thread, &depth);
	for (uint32_t i = depth; i-- > 0;) {
		uint32_t method = a->method_of[stack[i]];
		if (count && out[count - 1] == method && a->methods[method].layer != LAYER_APPLICATION)
			continue; /* functions of one library that has no symbols */
		if (count < CAPTURE_MAX_DEPTH)
			out[count++] = method;
	}
	return count;
}

static void grow_tree(struct threads_analysis *a)
{
	uint32_t path[CAPTURE_MAX_DEPTH];
	stack_tree_init(&a->tree);
	for (size_t i = 0; i < a->capture->count; i++) {
		uint32_t count = threads_path(a, i, path), node = STACK_TREE_ROOT;
		for (uint32_t k = 0; k < count; k++)
			node = stack_tree_child(&a->tree, node, path[k]);
		a->tree.nodes[node].self += count > 0;
	}
	stack_tree_finish(&a->tree);
}

/* groups ----------------------------------------------------------------------------------------------------------- */

bool threads_group_idles(const struct threads_group *g)
{
	return g->place == THREADS_NONE || g->wait == THREAD_WAIT_IDLE;
}

static uint32_t method_at(const struct threads_analysis *a, uint32_t frame)
{
	return frame == THREADS_NONE ? THREADS_NONE : a->method_of[frame];
}

static uint32_t find_group(struct threads_analysis *a, struct index_set *set, size_t thread)
{
	const struct thread_nature *n = &a->natures[thread];
	const uint32_t key[3] = {(uint32_t)n->kind, (uint32_t)n->wait, method_at(a, n->place)};
	uint32_t hash = index_hash(INDEX_HASH_START, key, sizeof key), i;
	size_t at = hash;
	while ((i = index_set_next(set, hash, &at)) != INDEX_NONE) {
		const struct threads_group *g = &a->groups[i];
		if (g->kind == n->kind && g->wait == n->wait && g->place == key[2])
			return i;
	}
	a->groups[a->group_count] = (struct threads_group){
		.kind = n->kind, .wait = n->wait, .place = key[2], .call = method_at(a, n->call), .oldest_ns = -1, .youngest_ns = -1, .some = (uint32_t)thread};
	index_set_add(set, hash, (uint32_t)a->group_count);
	return (uint32_t)a->group_count++;
}

/* Only they can stand there for ever. */
static bool stands_untimed(const struct seen_thread *t)
{
	return t->still && !t->wait.timed;
}

static void add_to_group(struct threads_group *g, const struct seen_thread *t)
{
	g->threads++;
	g->still += t->still;
	if (!stands_untimed(t))
		return;
	g->untimed++;
	g->worked += t->wait.switches >= OFTEN_SWITCHES;
	if (t->age_ns < 0)
		return;
	g->oldest_ns = t->age_ns > g->oldest_ns ? t->age_ns : g->oldest_ns;
	g->youngest_ns = g->youngest_ns < 0 || t->age_ns < g->youngest_ns ? t->age_ns : g->youngest_ns;
}

struct aged {
	uint32_t group;
	int64_t age_ns;
};

static int by_group_and_age(const void *a, const void *b)
{
	const struct aged *x = a, *y = b;
	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return (x->age_ns > y->age_ns) - (x->age_ns < y->age_ns);
}

/* How many of a group began together: workers that were made at once are no growing heap of leftovers. */
static void find_bursts(struct threads_analysis *a)
{
	const struct threads_capture *c = a->capture;
	struct aged *list = mem_calloc(c->count + 1, sizeof *list);
	size_t count = 0, from = 0;
	for (size_t i = 0; i < c->count; i++)
		if (stands_untimed(&c->threads[i]) && c->threads[i].age_ns >= 0)
			list[count++] = (struct aged){a->groups_of[i], c->threads[i].age_ns};
	if (count)
		qsort(list, count, sizeof *list, by_group_and_age);
	for (size_t i = 0; i < count; i++) {
		while (list[from].group != list[i].group || list[i].age_ns - list[from].age_ns > BURST_NS)
			from++;
		struct threads_group *g = &a->groups[list[i].group];
		uint32_t together = (uint32_t)(i - from + 1);
		g->burst = together > g->burst ? together : g->burst;
	}
	free(list);
}

static int by_interest(const void *a, const void *b)
{
	const struct threads_group *x = a, *y = b;
	bool idle_x = threads_group_idles(x), idle_y = threads_group_idles(y);
	if (idle_x != idle_y)
		return idle_x ? 1 : -1;
	if (x->threads != y->threads)
		return x->threads < y->threads ? 1 : -1;
	return (x->some > y->some) - (x->some < y->some);
}

static void sort_groups(struct threads_analysis *a)
{
	uint32_t *moved = mem_calloc(a->group_count + 1, sizeof *moved), *of_some = mem_calloc(a->capture->count + 1, sizeof *of_some);
	for (size_t i = 0; i < a->group_count; i++)
		of_some[a->groups[i].some] = (uint32_t)i;
	if (a->group_count)
		qsort(a->groups, a->group_count, sizeof *a->groups, by_interest);
	for (size_t i = 0; i < a->group_count; i++)
		moved[of_some[a->groups[i].some]] = (uint32_t)i;
	for (size_t i = 0; i < a->capture->count; i++)
		a->groups_of[i] = moved[a->groups_of[i]];
	free(moved);
	free(of_some);
}

static void make_groups(struct threads_analysis *a)
{
	struct index_set set = {0};
	size_t count = a->capture->count;
	a->groups = mem_calloc(count + 1, sizeof *a->groups);
	a->groups_of = mem_calloc(count + 1, sizeof *a->groups_of);
	for (size_t i = 0; i < count; i++) {
		a->groups_of[i] = find_group(a, &set, i);
		add_to_group(&a->groups[a->groups_of[i]], &a->capture->threads[i]);
	}
	index_set_fini(&set);
	find_bursts(a);
	sort_groups(a);
}

/* all -------------------------------------------------------------------------------------------------------------- */

void threads_analysis_make(const struct threads_capture *c, struct threads_analysis *out)
{
	*out = (struct threads_analysis){.capture = c, .finalizer = THREADS_NONE};
	out->natures = mem_calloc(c->count + 1, sizeof *out->natures);
	name_frames(out);
	size_t finalizer = oldest_finalizer(c);
	for (size_t i = 0; i < c->count; i++)
		classify_thread(out, i, i == finalizer);
	make_groups(out);
	grow_tree(out);
	threads_growth_find(out, THREAD_KIND_APPLICATION, &out->application);
	threads_growth_find(out, THREAD_KIND_WORKER, &out->workers);
	threads_growth_find(out, THREAD_KIND_LIBRARY, &out->libraries);
}

void threads_analysis_fini(struct threads_analysis *a)
{
	for (size_t i = 0; i < a->method_count; i++)
		free(a->methods[i].name);
	free(a->methods);
	free(a->method_of);
	free(a->natures);
	free(a->groups);
	free(a->groups_of);
	stack_tree_fini(&a->tree);
	*a = (struct threads_analysis){0};
}
