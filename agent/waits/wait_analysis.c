#include "agent/waits/wait_analysis.h"

#include "agent/waits/wait_holders.h"
#include "agent/waits/wait_join.h"
#include "agent/stacks/cpu_method_table.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_MAX 4096
#define BLOCKED 0.9 /* of a worker's time */

const char *wait_analysis_place(const struct wait_analysis *a, const struct wait_place *p)
{
	return p->method == CPU_NO_METHOD ? "code of .NET" : a->base.methods[p->method].name;
}

double wait_analysis_percent(const struct wait_analysis *a, double ns)
{
	return a->waiting_ns > 0 ? 100 * ns / a->waiting_ns : 0;
}

double wait_analysis_threads(const struct wait_analysis *a, double ns)
{
	return a->seconds > 0 ? ns / 1e9 / a->seconds : 0;
}

double wait_analysis_recorded_percent(const struct wait_analysis *a)
{
	if (!a->capture->looks)
		return 100;
	return a->seconds > 0 ? fmin(100, (double)a->capture->recorded_ns / 1e7 / a->seconds) : 0;
}

/* stacks ----------------------------------------------------------------------------------------------------------- */

struct waiting_stack {
	uint32_t *methods; /* root first */
	size_t count;
	uint32_t place, nearest;
	bool done;
};

struct placing {
	struct cpu_method_table table;
	struct waiting_stack *stacks;
	uint32_t *nodes; /* by stack and kind */
	uint32_t kinds[WAIT_KIND_COUNT], cut;
	uint32_t *place_of; /* by joined wait */
};

/* The runtime's own frames where it waits tell nothing, unless there are no others. */
static size_t without_natives(const struct wait_analysis *a, const uint32_t *methods, size_t count)
{
	size_t managed = count;
	while (managed && a->base.methods[methods[managed - 1]].layer > LAYER_LIBRARY)
		managed--;
	return managed ? managed : count;
}

/* What waits, for whomever: Monitor, Task, awaiters and the like. */
static bool is_waiting_itself(const char *name)
{
	static const char parallel[] = "System.Threading.Tasks.Parallel", threading[] = "System.Threading.", awaiters[] = "System.Runtime.CompilerServices.";
	if (strncmp(name, parallel, sizeof parallel - 1) == 0)
		return false;
	return strncmp(name, threading, sizeof threading - 1) == 0 || strncmp(name, awaiters, sizeof awaiters - 1) == 0;
}

static const struct waiting_stack *logical_stack(struct wait_analysis *a, struct placing *p, uint32_t stack)
{
	uint32_t methods[CAPTURE_MAX_DEPTH + 1];
	struct waiting_stack *out = &p->stacks[stack];
	if (out->done)
		return out;
	out->done = true;
	out->place = out->nearest = CPU_NO_METHOD;
	out->count = without_natives(a, methods, cpu_method_table_logical(&p->table, &a->base, &a->capture->stacks.stacks[stack], methods));
	out->methods = mem_calloc(out->count + 1, sizeof *out->methods);
	memcpy(out->methods, methods, out->count * sizeof *methods);
	for (size_t i = 0; i < out->count; i++) {
		const struct cpu_method *m = &a->base.methods[methods[i]];
		out->place = m->layer == LAYER_APPLICATION ? methods[i] : out->place;
		out->nearest = m->layer == LAYER_LIBRARY && !is_waiting_itself(m->name) ? methods[i] : out->nearest;
	}
	return out;
}

static uint32_t kind_method(struct wait_analysis *a, struct placing *p, enum wait_kind kind)
{
	if (p->kinds[kind] == CPU_NO_METHOD) {
		AUTO_FREE char *name = mem_printf("[%s]", wait_kind_title(kind));
		p->kinds[kind] = cpu_method_table_special(&a->base, name, LAYER_WAIT);
	}
	return p->kinds[kind];
}

/* The kind comes first: the graph is one of kinds, each with its stacks. */
static uint32_t node_of(struct wait_analysis *a, struct placing *p, const struct joined_wait *w)
{
	uint32_t *node = &p->nodes[w->stack * WAIT_KIND_COUNT + w->meaning.kind];
	if (*node)
		return *node;
	const struct waiting_stack *s = logical_stack(a, p, w->stack);
	uint32_t at = stack_tree_child(&a->base.tree, STACK_TREE_ROOT, kind_method(a, p, w->meaning.kind));
	if (a->capture->stacks.stacks[w->stack].truncated) {
		if (p->cut == CPU_NO_METHOD)
			p->cut = cpu_method_table_special(&a->base, "[stack cut]", LAYER_UNKNOWN);
		at = stack_tree_child(&a->base.tree, at, p->cut);
	}
	for (size_t i = 0; i < s->count; i++)
		at = stack_tree_child(&a->base.tree, at, s->methods[i]);
	return *node = at;
}

/* places ----------------------------------------------------------------------------------------------------------- */

static bool same_place(const struct wait_place *p, const struct joined_wait *w, uint32_t method)
{
	return p->meaning.kind == w->meaning.kind && p->meaning.idle == w->meaning.idle && p->meaning.what == w->meaning.what &&
	       (p->method == method || w->meaning.idle);
}

static uint32_t find_place(struct wait_analysis *a, const struct joined_wait *w, uint32_t method, size_t *cap)
{
	for (size_t i = 0; i < a->place_count; i++)
		if (same_place(&a->places[i], w, method))
			return (uint32_t)i;
	if (a->place_count == PLACES_MAX)
		return UINT32_MAX;
	GROW(a->places, a->place_count, *cap);
	a->places[a->place_count] =
		(struct wait_place){.id = (uint32_t)a->place_count, .meaning = w->meaning, .method = method, .stack = w->stack,
				     .nearest = CPU_NO_METHOD, .holder = CPU_NO_METHOD};
	return (uint32_t)a->place_count++;
}

static void add_to_place(struct wait_analysis *a, struct wait_place *p, const struct joined_wait *w, uint32_t nearest)
{
	p->ns += w->ns;
	p->count += w->count;
	p->looked += w->wait->looked;
	p->whole += w->wait->began_before && w->wait->open;
	p->pool_ns += a->is_worker[w->thread] ? w->ns : 0;
	if (w->least_ns > p->longest_ns) {
		p->longest_ns = w->least_ns;
		p->stack = w->stack;
		p->nearest = nearest;
	}
}

static void add_to_sums(struct wait_analysis *a, const struct joined_wait *w)
{
	bool ready = w->meaning.kind == WAIT_KIND_CPU;
	if (w->meaning.idle) {
		a->idle_ns += w->ns;
		a->thread_idle_ns[w->thread] += w->ns;
		return;
	}
	a->by_kind[w->meaning.kind] += w->ns;
	a->thread_kind_ns[(size_t)w->thread * WAIT_KIND_COUNT + w->meaning.kind] += w->ns;
	a->counts[w->meaning.kind] += w->count;
	a->waiting_ns += ready ? 0 : w->ns;
	a->cut_ns += !ready && a->capture->stacks.stacks[w->stack].truncated ? w->ns : 0;
	a->base.threads[w->thread].weight += ready ? 0 : (uint64_t)w->ns;
}

static void place_waits(struct wait_analysis *a, struct placing *p, const struct wait_join *j)
{
	size_t cap = 0;
	for (size_t i = 0; i < j->count; i++) {
		const struct joined_wait *w = &j->list[i];
		const struct waiting_stack *s = logical_stack(a, p, w->stack);
		p->place_of[i] = find_place(a, w, s->place, &cap);
		if (p->place_of[i] != UINT32_MAX)
			add_to_place(a, &a->places[p->place_of[i]], w, s->nearest);
		add_to_sums(a, w);
		if (w->meaning.idle || w->meaning.kind == WAIT_KIND_CPU)
			continue;
		uint32_t node = node_of(a, p, w); /* may move the nodes */
		a->base.tree.nodes[node].self += (uint64_t)w->ns;
	}
}

/* lengths ---------------------------------------------------------------------------------------------------------- */

struct length_item {
	uint32_t place, thread;
	int64_t ns;
	double count;
	bool looked;
};

static int by_place_and_length(const void *x, const void *y)
{
	const struct length_item *a = x, *b = y;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return (a->ns > b->ns) - (a->ns < b->ns);
}

static int by_place_and_thread(const void *x, const void *y)
{
	const struct length_item *a = x, *b = y;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	return (a->thread > b->thread) - (a->thread < b->thread);
}

/* Of those that stand for some; where none does, of those that looks met. */
static int64_t length_at(const struct length_item *list, size_t count, double part)
{
	double all = 0, looked = 0, sum = 0;
	for (size_t i = 0; i < count; i++) {
		all += list[i].count;
		looked += list[i].looked;
	}
	for (size_t i = 0; i < count; i++) {
		sum += all > 0 ? list[i].count : list[i].looked;
		if (sum > 0 && sum >= part * (all > 0 ? all : looked))
			return list[i].ns;
	}
	return count ? list[count - 1].ns : 0;
}

static void set_lengths(struct wait_place *p, const struct length_item *list, size_t count)
{
	p->p50_ns = length_at(list, count, 0.5);
	p->p99_ns = length_at(list, count, 0.99);
	if (p->p50_ns > p->longest_ns) /* short ones that only single looks met */
		p->longest_ns = p->p50_ns;
	if (p->p99_ns > p->longest_ns)
		p->p99_ns = p->longest_ns;
	p->count = fmax(p->count, p->looked);
}

static void measure_lengths(struct wait_analysis *a, const struct placing *p, const struct wait_join *j)
{
	AUTO_FREE struct length_item *list = mem_calloc(j->count + 1, sizeof *list);
	size_t count = 0;
	for (size_t i = 0; i < j->count; i++)
		if (p->place_of[i] != UINT32_MAX)
			list[count++] = (struct length_item){p->place_of[i], j->list[i].thread, j->list[i].length_ns, j->list[i].count,
							     j->list[i].wait->looked};
	qsort(list, count, sizeof *list, by_place_and_thread);
	for (size_t i = 0; i < count; i++)
		a->places[list[i].place].threads += i == 0 || by_place_and_thread(&list[i - 1], &list[i]) != 0;
	qsort(list, count, sizeof *list, by_place_and_length);
	for (size_t i = 0, end; i < count; i = end) {
		for (end = i; end < count && list[end].place == list[i].place; end++)
			;
		set_lengths(&a->places[list[i].place], list + i, end - i);
	}
}

static int more_waiting(const void *x, const void *y)
{
	const struct wait_place *a = x, *b = y;
	if (a->meaning.idle != b->meaning.idle)
		return a->meaning.idle ? 1 : -1;
	return a->ns > b->ns ? -1 : a->ns < b->ns;
}

/* leaves, pool ----------------------------------------------------------------------------------------------------- */

static void make_wait_leaves(struct wait_analysis *a, struct placing *p, const struct wait_join *j)
{
	struct cpu_analysis *base = &a->base;
	base->leaves = mem_calloc(j->count + 1, sizeof *base->leaves);
	for (size_t i = 0; i < j->count; i++) {
		const struct joined_wait *w = &j->list[i];
		if (!w->meaning.idle && w->meaning.kind != WAIT_KIND_CPU)
			base->leaves[base->leaf_count++] = (struct stack_leaf){node_of(a, p, w), w->thread, (uint64_t)(w->count + 0.5), (uint64_t)w->ns};
	}
	cpu_analysis_join_leaves(base);
}

/* A worker's time is from its first wait on, or the session's beginning. */
static void sum_workers(struct wait_analysis *a, const struct wait_join *j)
{
	const struct wait_capture *c = a->capture;
	for (size_t i = 0, end; i < j->timed_count; i = end) {
		double blocked = 0, idle = 0;
		uint32_t thread = j->list[i].thread;
		for (end = i; end < j->timed_count && j->list[end].thread == thread; end++) {
			*(j->list[end].meaning.idle ? &idle : &blocked) += j->list[end].meaning.kind == WAIT_KIND_CPU ? 0 : j->list[end].ns;
		}
		if (!a->is_worker[thread])
			continue;
		double alive = (double)(c->ended_ns - j->list[i].wait->out_ns);
		a->pool.workers++;
		a->pool.alive_ns += alive;
		a->pool.blocked_ns += blocked;
		a->pool.idle_ns += idle;
		a->pool.blocked += blocked >= BLOCKED * alive;
		a->pool.still += !j->list[i].meaning.idle && j->list[i].wait->began_before && j->list[i].wait->open;
	}
}

/* all of it -------------------------------------------------------------------------------------------------------- */

static void begin_placing(struct wait_analysis *a, struct placing *p, const struct wait_join *j)
{
	size_t stacks = a->capture->stacks.stack_count;
	*p = (struct placing){.cut = CPU_NO_METHOD};
	memset(p->kinds, 0xff, sizeof p->kinds);
	p->stacks = mem_calloc(stacks + 1, sizeof *p->stacks);
	p->nodes = mem_calloc((stacks + 1) * WAIT_KIND_COUNT, sizeof *p->nodes);
	p->place_of = mem_calloc(j->count + 1, sizeof *p->place_of);
	cpu_method_table_build(&p->table, &a->base);
}

static void end_placing(struct wait_analysis *a, struct placing *p)
{
	for (size_t i = 0; i < a->capture->stacks.stack_count; i++)
		free(p->stacks[i].methods);
	free(p->stacks);
	free(p->nodes);
	cpu_method_table_fini(&p->table);
}

static void finish_waits(struct wait_analysis *a, struct placing *p, const struct wait_join *j)
{
	cpu_method_table_decide_machines(&a->base);
	stack_tree_finish(&a->base.tree);
	cpu_analysis_sum_methods(&a->base);
	cpu_analysis_order_methods(&a->base);
	measure_lengths(a, p, j);
	make_wait_leaves(a, p, j);
	sum_workers(a, j);
	a->method_of = mem_calloc(a->capture->stacks.stack_count + 1, sizeof *a->method_of);
	for (size_t i = 0; i < a->capture->stacks.stack_count; i++)
		a->method_of[i] = p->stacks[i].done ? p->stacks[i].place : CPU_NO_METHOD;
	wait_holders_find(a, j, p->place_of, a->method_of);
	if (a->place_count)
		qsort(a->places, a->place_count, sizeof *a->places, more_waiting);
	AUTO_FREE uint32_t *now_at = mem_calloc(a->place_count + 1, sizeof *now_at);
	for (size_t i = 0; i < a->place_count; i++)
		now_at[a->places[i].id] = (uint32_t)i;
	a->place_of = p->place_of;
	for (size_t i = 0; i < j->count; i++)
		if (a->place_of[i] != UINT32_MAX)
			a->place_of[i] = now_at[a->place_of[i]];
	while (a->blocking_count < a->place_count && !a->places[a->blocking_count].meaning.idle)
		a->blocking_count++;
}

void wait_analysis_run(const struct wait_capture *c, struct wait_analysis *out)
{
	struct wait_join join;
	struct placing p;
	wait_join_make(c, &join);
	*out = (struct wait_analysis){.capture = c, .base = {.capture = &c->stacks}, .unseen_ns = join.unseen_ns, .waits = join.count};
	out->seconds = (double)(c->ended_ns - c->started_ns) / 1e9;
	out->is_worker = join.is_worker;
	join.is_worker = NULL;
	out->base.threads = stack_threads_new(&c->stacks);
	out->thread_idle_ns = mem_calloc(c->stacks.thread_count + 1, sizeof *out->thread_idle_ns);
	out->thread_kind_ns = mem_calloc((c->stacks.thread_count + 1) * WAIT_KIND_COUNT, sizeof *out->thread_kind_ns);
	out->switches = c->looks && c->recorded_ns <= 0 ? c->counted_switches : (uint64_t)wait_capture_switches(c);
	stack_tree_init(&out->base.tree);
	begin_placing(out, &p, &join);
	place_waits(out, &p, &join);
	out->by_kind[WAIT_KIND_CPU] += join.ready_ns;
	out->counts[WAIT_KIND_CPU] += join.ready_count;
	finish_waits(out, &p, &join);
	wait_states_make(c, &join, &out->states);
	out->unseen_ns += out->states.lost_ns;
	out->base.thread_order = stack_threads_order(out->base.threads, c->stacks.thread_count);
	end_placing(out, &p);
	out->join = join;
}

void wait_analysis_fini(struct wait_analysis *a)
{
	free(a->thread_idle_ns);
	free(a->thread_kind_ns);
	wait_states_fini(&a->states);
	free(a->is_worker);
	free(a->place_of);
	free(a->method_of);
	wait_join_fini(&a->join);
	free(a->places);
	cpu_analysis_fini(&a->base);
	*a = (struct wait_analysis){0};
}

void wait_analysis_profile(const struct wait_analysis *a, const char *subject, const char *headline, struct stack_profile *out)
{
	stack_profile_init(out, &a->base);
	out->count_value = (struct stack_value){"waits", "count"};
	out->weight_value = (struct stack_value){"delay", "nanoseconds"};
	out->period = a->capture->period;
	out->subject = subject;
	out->headline = headline;
}
