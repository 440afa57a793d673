#include "agent/profilers/exceptions/exception_analysis.h"

#include "agent/profilers/exceptions/exception_place.h"
#include "agent/symbols/method_name.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HIDES_RETHROWS 9 /* versions of .NET, from this one on */
#define LEAST_TIMED 20

const char *exception_way_name(enum exception_way w)
{
	static const char *const names[] = {"new", "rethrow", "await"};
	return names[w];
}

const char *exception_distance_name(enum exception_distance d)
{
	static const char *const names[] = {"unknown", "sameMethod", "caller", "far", "task", "outside"};
	return names[d];
}

double exception_analysis_percent(const struct exception_analysis *a, double count)
{
	return a->ways[EXCEPTION_NEW] > 0 ? 100 * count / a->ways[EXCEPTION_NEW] : 0;
}

const char *exception_analysis_method(const struct exception_analysis *a, uint32_t method)
{
	return method == CPU_NO_METHOD ? NULL : a->base.methods[method].name;
}

/* What a library claims may be any number. */
static uint64_t whole(double count)
{
	return !(count > 0) ? 0 : count < 0x1p63 ? (uint64_t)(count + 0.5) : UINT64_MAX;
}

/* sites ----------------------------------------------------------------------------------------------------------- */

struct thrown { /* a site of the capture, placed */
	const struct exception_site *site;
	double count;
	enum exception_way way;
	enum exception_distance distance;
	uint32_t node, method, catcher, type; /* node: that of the type */
	uint32_t frame; /* where the method throws; UINT32_MAX */
	uint64_t caught;
};

struct kinds { /* of the capture */
	uint32_t *type;      /* by kind: the first kind of its type */
	uint32_t *leaf;      /* by kind: "throw X" */
};

static uint32_t throw_of(struct exception_analysis *a, struct kinds *k, uint32_t kind)
{
	uint32_t *leaf = &k->leaf[k->type[kind]];
	if (*leaf != CPU_NO_METHOD)
		return *leaf;
	AUTO_BUF struct buf name;
	AUTO_FREE char *text = mem_printf("throw %s", a->capture->kinds[kind].type);
	buf_init(&name, METHOD_NAME_SIZE * 16);
	method_name_printable(text, METHOD_NAME_SIZE - 4, &name);
	return *leaf = cpu_method_table_special(&a->base, buf_str(&name), LAYER_ALLOCATION);
}

static void count_throw(struct exception_analysis *a, struct exception_placing *p, struct kinds *k, const struct exception_site *s, double scale,
			struct thrown *out)
{
	const struct exception_place *at = exception_place_stack(p, &a->base, s->stack);
	enum exception_way way = s->rethrown ? EXCEPTION_RETHROW : at->again ? EXCEPTION_AWAIT : EXCEPTION_NEW;
	*out = (struct thrown){.site = s, .count = s->estimate * scale, .way = way, .method = at->method, .type = k->type[s->kind],
				.frame = at->frame};
	out->distance = exception_place_catcher(p, &a->base, a->capture, s, &out->catcher, &out->caught);
	a->ways[way] += out->count;
	out->node = at->node;
	a->cut += a->capture->stacks.stacks[s->stack].truncated ? s->counted : 0;
	a->stackless += a->capture->stacks.stacks[s->stack].depth == 0 ? s->counted : 0;
	if (way != EXCEPTION_NEW)
		return;
	out->node = stack_tree_child(&a->base.tree, at->node, throw_of(a, k, s->kind));
	a->inner += s->inner ? out->count : 0;
	a->nested += s->nested ? out->count : 0;
	a->base.tree.nodes[out->node].self += whole(out->count);
	a->base.threads[s->thread].weight += whole(out->count);
}

static int compare_u32(uint32_t a, uint32_t b)
{
	return a < b ? -1 : a > b;
}

static int by_throw(const void *x, const void *y)
{
	const struct thrown *a = x, *b = y;
	int c = compare_u32(a->site->kind, b->site->kind);
	c = c ? c : compare_u32(a->way, b->way);
	c = c ? c : compare_u32(a->method, b->method);
	c = c ? c : compare_u32(a->catcher, b->catcher);
	c = c ? c : compare_u32(a->distance, b->distance);
	return c ? c : compare_u32(a->site->stack, b->site->stack);
}

static bool same_place(const struct exception_sum *s, const struct thrown *t)
{
	return s->kind == t->site->kind && s->way == t->way && s->method == t->method && s->catcher == t->catcher && s->distance == t->distance;
}

static void add_to_sum(struct exception_sum *s, const struct thrown *t)
{
	s->counted += t->site->counted;
	s->count += t->count;
	s->caught += (double)t->caught;
	s->inner += t->site->inner ? t->count : 0;
	s->first_ns = s->counted == t->site->counted || t->site->first_ns < s->first_ns ? t->site->first_ns : s->first_ns;
	s->last_ns = t->site->last_ns > s->last_ns ? t->site->last_ns : s->last_ns;
}

/* Sums of what is equal, which stands together; of equal stacks too. */
static void sum_throws(struct exception_analysis *a, struct thrown *thrown, size_t count)
{
	double stack_count = 0;
	a->sites = mem_calloc(count + 1, sizeof *a->sites);
	qsort(thrown, count, sizeof *thrown, by_throw);
	for (size_t i = 0; i < count; i++) {
		const struct thrown *t = &thrown[i];
		struct exception_sum *s = a->site_count ? &a->sites[a->site_count - 1] : NULL;
		if (!s || !same_place(s, t)) {
			s = &a->sites[a->site_count++];
			*s = (struct exception_sum){.kind = t->site->kind, .way = t->way, .method = t->method, .catcher = t->catcher,
						    .distance = t->distance, .stack = t->site->stack, .frame = t->frame};
		}
		bool same_stack = s->counted && thrown[i - 1].site->stack == t->site->stack;
		stack_count = (same_stack ? stack_count : 0) + t->count;
		add_to_sum(s, t);
		if (stack_count > s->stack_count) {
			s->stack = t->site->stack;
			s->frame = t->frame;
			s->stack_count = stack_count;
		}
	}
}

static int more_thrown(const void *x, const void *y)
{
	const struct exception_sum *a = x, *b = y;
	if (a->count > b->count || a->count < b->count)
		return a->count > b->count ? -1 : 1;
	return compare_u32(a->kind, b->kind);
}

/* Of new ones, from the sums of sites in their order: a type's method is that of its largest. */
static void sum_exception_types(struct exception_analysis *a, const struct kinds *k)
{
	AUTO_FREE uint32_t *place = mem_calloc(a->capture->kind_count + 1, sizeof *place);
	a->types = mem_calloc(a->site_count + 1, sizeof *a->types);
	for (size_t i = 0; i < a->site_count; i++) {
		const struct exception_sum *s = &a->sites[i];
		uint32_t *at = &place[k->type[s->kind]];
		if (s->way != EXCEPTION_NEW)
			continue;
		if (!*at) {
			a->types[a->type_count] = *s;
			*at = (uint32_t)++a->type_count;
			continue;
		}
		struct exception_sum *t = &a->types[*at - 1];
		t->counted += s->counted;
		t->count += s->count;
		t->inner += s->inner;
	}
	qsort(a->types, a->type_count, sizeof *a->types, more_thrown);
}

/* leaves, time, cost ---------------------------------------------------------------------------------------------- */

static void make_throw_leaves(struct exception_analysis *a, const struct thrown *thrown, size_t count)
{
	struct cpu_analysis *base = &a->base;
	base->leaves = mem_calloc(count + 1, sizeof *base->leaves);
	for (const struct thrown *t = thrown; t < thrown + count; t++)
		if (t->way == EXCEPTION_NEW)
			base->leaves[base->leaf_count++] = (struct stack_leaf){t->node, t->site->thread, t->site->counted, whole(t->count)};
	cpu_analysis_join_leaves(base);
}

static void count_cost(struct exception_analysis *a)
{
	const struct exception_capture *c = a->capture;
	double sampled = (double)c->time.sampled_ns;
	a->cpus = c->time.sampled_ns > 0 && c->cpu_ns > 0 ? (double)c->cpu_ns / sampled : NAN;
	a->cost_us = c->timed >= LEAST_TIMED ? (double)c->timed_ns / 1e3 / (double)c->timed : NAN;
	a->cost_percent = NAN;
	if (isnan(a->cpus) || isnan(a->cost_us))
		return;
	double percent = 100 * (double)c->counted * a->cost_us * 1e3 / (double)c->cpu_ns;
	a->cost_percent = percent < 100 ? percent : 100;
}

static int by_type_name(const void *x, const void *y, void *ctx)
{
	const struct exception_kind *kinds = ctx;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	int c = strcmp(kinds[a].type, kinds[b].type);
	return c ? c : compare_u32(a, b);
}

static void kinds_init(struct kinds *k, const struct exception_capture *c)
{
	AUTO_FREE uint32_t *order = mem_calloc(c->kind_count + 1, sizeof *order);
	k->type = mem_calloc(c->kind_count + 1, sizeof *k->type);
	k->leaf = mem_calloc(c->kind_count + 1, sizeof *k->leaf);
	memset(k->leaf, 0xff, (c->kind_count + 1) * sizeof *k->leaf);
	for (size_t i = 0; i < c->kind_count; i++)
		order[i] = (uint32_t)i;
	if (c->kind_count)
		qsort_r(order, c->kind_count, sizeof *order, by_type_name, c->kinds);
	for (size_t i = 0; i < c->kind_count; i++) {
		bool same = i && strcmp(c->kinds[order[i]].type, c->kinds[order[i - 1]].type) == 0;
		k->type[order[i]] = same ? k->type[order[i - 1]] : order[i];
	}
}

/* Where the runtime does not tell of `throw;` (it does on .NET 8) the catch blocks do: one that no throw led to. */
static void count_thrown_again(struct exception_analysis *a, double all)
{
	const struct exception_capture *c = a->capture;
	const char *version = c->stacks.facts.target.runtime_version;
	if (version && strtol(version, NULL, 10) >= HIDES_RETHROWS && c->counted)
		a->ways[EXCEPTION_RETHROW] += (double)c->again * all / (double)c->counted;
}

void exception_analysis_run(const struct exception_capture *c, struct exception_analysis *out)
{
	AUTO_FREE struct thrown *thrown = mem_calloc(c->site_count + 1, sizeof *thrown);
	struct exception_placing p;
	struct kinds k;
	*out = (struct exception_analysis){.capture = c, .base = {.capture = &c->stacks}};
	out->seconds = (double)c->stacks.facts.duration_ns / 1e9;
	double scale = site_time_scale(&c->time, c->stacks.facts.duration_ns);
	out->exact = c->time.sampled_ns >= c->time.covered_ns && !c->dropped;
	kinds_init(&k, c);
	out->base.threads = stack_threads_new(&c->stacks);
	stack_tree_init(&out->base.tree);
	exception_placing_init(&p, &out->base);
	for (size_t i = 0; i < c->site_count; i++)
		count_throw(out, &p, &k, &c->sites[i], scale, &thrown[i]);
	count_thrown_again(out, out->ways[EXCEPTION_NEW] + out->ways[EXCEPTION_RETHROW] + out->ways[EXCEPTION_AWAIT]);
	cpu_method_table_decide_machines(&out->base);
	out->stack_node = exception_placing_end(&p, c->stacks.stack_count);
	stack_tree_finish(&out->base.tree);
	cpu_analysis_sum_methods(&out->base);
	cpu_analysis_order_methods(&out->base);
	sum_throws(out, thrown, c->site_count);
	qsort(out->sites, out->site_count, sizeof *out->sites, more_thrown);
	sum_exception_types(out, &k);
	make_throw_leaves(out, thrown, c->site_count);
	out->base.thread_order = stack_threads_order(out->base.threads, c->stacks.thread_count);
	site_time_fill(&c->time, c->stacks.facts.duration_ns, out->timeline);
	count_cost(out);
	free(k.type);
	free(k.leaf);
}

void exception_analysis_fini(struct exception_analysis *a)
{
	free(a->types);
	free(a->sites);
	free(a->stack_node);
	cpu_analysis_fini(&a->base);
	*a = (struct exception_analysis){0};
}

void exception_analysis_profile(const struct exception_analysis *a, const char *subject, const char *headline, struct stack_profile *out)
{
	stack_profile_init(out, &a->base);
	out->count_value = (struct stack_value){"samples", "count"};
	out->weight_value = (struct stack_value){"exceptions", "count"};
	out->subject = subject;
	out->headline = headline;
}
