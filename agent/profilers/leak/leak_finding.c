#include "agent/profilers/leak/leak_finding.h"

#include "agent/catalogue/catalogue.h"
#include "agent/profilers/leak/leak_lines.h"
#include "agent/profilers/leak/leak_types.h"

#include <stdlib.h>
#include <string.h>

#define UNMANAGED_BYTES (INT64_C(6) << 20)        /* less comes and goes with the JIT, malloc's own ways, and what the profiler adds */
#define UNMANAGED_YOUNG_BYTES (INT64_C(24) << 20) /* of a process that has just started */
#define UNMANAGED_PART 100                        /* 1% of the process */
#define BOOKKEEPING_PART 8                        /* the collector's tables grow with the heap, and with what it keeps for later */
#define FREE_BYTES (INT64_C(32) << 20)
#define LEAST_PINNED 100                          /* more pinned objects, to be blamed for gaps */
#define FREE_PART 10                              /* a tenth of the process */

const char *leak_finding_name(enum leak_finding f)
{
	static const char *const names[LEAK_FINDINGS] = {"grows",	    "unmanaged",   "freeMemory", "uncertain", "slowsDown", "warmingUp",
							 "levelledOff", "churn",       "steady",     "unknown",   "typesGrow"};
	return names[f];
}

static int64_t max_i64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t process_bytes(const struct leak_model *m)
{
	return (int64_t)(m->last.total.rss + m->last.total.swap);
}

static void measure_memory(const struct leak_model *m, struct leak_diagnosis *d)
{
	d->memory_known = m->memory_known;
	if (!m->memory_known)
		return;
	const struct memory_figures *a = &m->first.by_kind[MEMORY_GC], *b = &m->last.by_kind[MEMORY_GC];
	const struct leak_walk *first = &m->walks[0], *last = &m->walks[m->walk_count - 1];
	int64_t live = (int64_t)(last->bytes - first->bytes) + m->beyond_bytes;
	d->unmanaged_bytes = first->unmanaged_bytes >= 0 && last->unmanaged_bytes >= 0 /* of the walks that are compared */
				     ? last->unmanaged_bytes - first->unmanaged_bytes
				     : (int64_t)(memory_account_unmanaged(&m->last) - memory_account_unmanaged(&m->first));
	d->free_bytes = (int64_t)(b->rss + b->swap - a->rss - a->swap) - live;
}

static bool is_young(const struct leak_model *m)
{
	return m->uptime_ms >= 0 && m->uptime_ms < LEAK_JUST_STARTED_MS;
}

/* From each walk's figure, where all are known: what only warms up, fills up or comes and goes is no leak here either. */
static enum leak_verdict unmanaged_course(const struct leak_model *m, const struct leak_diagnosis *d, struct leak_fit *fit)
{
	struct leak_series s = {
		.walks = m->walk_count,
		.root = LEAK_ROOT_STATIC,
		.uptime_ms = m->walk_count > 2 ? m->uptime_ms : -1, /* of two walks, the larger bound tells */
		.course = leak_curve_course(&m->curve, (uint64_t)d->unmanaged_bytes),
		.material_bytes = 1,
	};
	for (size_t w = 0; w < m->walk_count; w++) {
		if (m->walks[w].unmanaged_bytes < 0)
			return s.course == LEAK_COURSE_LEVELS ? LEAK_UNCERTAIN : LEAK_GROWS;
		s.at_ns[w] = m->walks[w].at_ns;
		s.bytes[w] = (uint64_t)m->walks[w].unmanaged_bytes;
	}
	s.lacked_cpu = leak_model_given_ns(m, s.given_ns);
	leak_fit_make(s.at_ns, s.bytes, s.walks, fit);
	return leak_verdict_of(&s);
}

static void judge_unmanaged(const struct leak_model *m, struct leak_diagnosis *d)
{
	int64_t least = max_i64(UNMANAGED_BYTES, process_bytes(m) / UNMANAGED_PART);
	if (is_young(m))
		least = max_i64(least, UNMANAGED_YOUNG_BYTES);
	least = max_i64(least, (d->heap_bytes + max_i64(d->free_bytes, 0)) / BOOKKEEPING_PART);
	d->unmanaged = d->memory_known && d->unmanaged_bytes >= least ? unmanaged_course(m, d, &d->fit) : LEAK_STEADY;
}

static bool free_memory_grows(const struct leak_model *m, const struct leak_diagnosis *d)
{
	return d->memory_known && d->free_bytes >= max_i64(FREE_BYTES, process_bytes(m) / FREE_PART);
}

/* Pinned objects became more, and so did the gaps between objects, which may lie in memory that the heap had before. */
static bool is_torn(const struct leak_model *m)
{
	const struct leak_walk *first = &m->walks[0], *last = &m->walks[m->walk_count - 1];
	int64_t gaps = (int64_t)(last->free_bytes - first->free_bytes), least = (int64_t)last->bytes / FREE_PART;
	return last->pinned_objects >= first->pinned_objects + LEAST_PINNED && gaps >= max_i64(FREE_BYTES, least);
}

/* What pins, whether it is said to grow or not. */
static const struct leak_group *pinned_group(const struct leak_model *m, const struct leak_groups *g)
{
	for (size_t i = 0; i < g->count; i++) {
		if (m->steps[g->items[i].holder].root == LEAK_ROOT_PINNED_HANDLE)
			return &g->items[i];
	}
	return NULL;
}

/* No leak is seen, and none is excluded. */
static bool may_grow(enum leak_verdict v)
{
	return v == LEAK_UNCERTAIN || v == LEAK_SLOWS_DOWN;
}

/* Nothing is found to grow. */
static void choose_calm(const struct leak_model *m, struct leak_diagnosis *d)
{
	static const struct {
		enum leak_verdict verdict;
		enum leak_finding finding;
	} calm[] = {{LEAK_LEVELLED_OFF, LEAK_FOUND_LEVELLED_OFF},
		    {LEAK_IN_USE, LEAK_FOUND_CHURN},
		    {LEAK_NOT_HELD, LEAK_FOUND_CHURN},
		    {LEAK_FLUCTUATES, LEAK_FOUND_CHURN}};
	for (size_t i = 0; i < d->groups.count; i++) { /* most growth first */
		enum leak_verdict v = d->groups.items[i].verdict;
		if (v != LEAK_UNCERTAIN && v != LEAK_WARMING_UP && v != LEAK_SLOWS_DOWN)
			continue;
		d->group = &d->groups.items[i];
		d->finding = v == LEAK_UNCERTAIN ? LEAK_FOUND_UNCERTAIN : v == LEAK_WARMING_UP ? LEAK_FOUND_WARMING_UP : LEAK_FOUND_SLOWS_DOWN;
		return;
	}
	if (may_grow(d->unmanaged)) {
		d->finding = LEAK_FOUND_SLOWS_DOWN;
		return;
	}
	for (size_t i = 0; i < sizeof calm / sizeof calm[0]; i++) {
		d->group = leak_groups_first(&d->groups, calm[i].verdict);
		d->finding = calm[i].finding;
		if (d->group)
			return;
	}
	const struct leak_walk *last = &m->walks[m->walk_count - 1];
	d->finding = last->loose_bytes >= m->walks[0].loose_bytes + d->groups.material_bytes ? LEAK_FOUND_CHURN : LEAK_FOUND_STEADY;
}

/* The same with types only. */
static void choose_calm_types(struct leak_diagnosis *d)
{
	enum leak_verdict v = d->types;
	if (may_grow(v))
		d->finding = v == LEAK_UNCERTAIN ? LEAK_FOUND_UNCERTAIN : LEAK_FOUND_SLOWS_DOWN;
	else if (may_grow(d->unmanaged))
		d->finding = LEAK_FOUND_SLOWS_DOWN;
	else if (v == LEAK_WARMING_UP || v == LEAK_LEVELLED_OFF)
		d->finding = v == LEAK_WARMING_UP ? LEAK_FOUND_WARMING_UP : LEAK_FOUND_LEVELLED_OFF;
	else
		d->finding = d->churn_bytes >= (int64_t)d->groups.material_bytes ? LEAK_FOUND_CHURN : LEAK_FOUND_STEADY;
}

/* What counts for the time until the limit: only what is said to grow. */
static double pace(const struct leak_model *m, const struct leak_diagnosis *d)
{
	double bytes = (double)d->held_bytes;
	if (d->unmanaged == LEAK_GROWS)
		bytes += (double)d->unmanaged_bytes;
	return bytes * 60 / leak_model_seconds(m);
}

/* Set by judge_unmanaged() where nothing else is what the finding is about. */
static void fit_of_finding(const struct leak_model *m, struct leak_diagnosis *d)
{
	if (d->group)
		d->fit = d->group->fit;
	else if (d->type != LEAK_NONE && d->finding != LEAK_FOUND_UNMANAGED)
		leak_types_fit(m, d->type, &d->fit);
}

/* All that grew, and how; not yet what the report is about. */
static void find_growth(const struct leak_model *m, struct leak_diagnosis *out)
{
	const uint64_t *by = out->groups.by_verdict;
	out->heap_bytes = (int64_t)(m->walks[m->walk_count - 1].bytes - m->walks[0].bytes);
	if (leak_model_types_only(m)) {
		out->types = leak_types_find(m, out);
	} else {
		leak_groups_find(m, &out->groups);
		out->held_bytes = (int64_t)by[LEAK_GROWS];
		out->churn_bytes = (int64_t)(by[LEAK_IN_USE] + by[LEAK_NOT_HELD] + by[LEAK_FLUCTUATES]);
	}
	measure_memory(m, out);
	judge_unmanaged(m, out);
	out->torn = !leak_model_types_only(m) && is_torn(m);
	out->keeps = free_memory_grows(m, out);
	leak_forecast_make(&m->limit, pace(m, out), leak_model_seconds(m), &out->forecast);
	out->detectable_per_minute = (double)out->groups.material_bytes * 60 / leak_model_seconds(m);
}

/* What the report is about when that rule leads. `part`: of what is held. */
static enum leak_finding leads_to(const char *id, enum leak_part *part)
{
	static const struct {
		const char *id;
		enum leak_finding finding;
		enum leak_part part;
	} leads[] = {
		{"AssemblyLoadContextsKept", LEAK_FOUND_GROWS, LEAK_PART_CONTEXTS},
		{"MemoryLeak", LEAK_FOUND_GROWS, LEAK_PART_HELD},
		{"EventHandlers", LEAK_FOUND_GROWS, LEAK_PART_EVENTS},
		{"TimersPileUp", LEAK_FOUND_GROWS, LEAK_PART_TIMERS},
		{"CancellationTokenSourcesPileUp", LEAK_FOUND_GROWS, LEAK_PART_TOKENS},
		{"AsyncCallsNeverEnd", LEAK_FOUND_GROWS, LEAK_PART_ASYNC},
		{"DisposablesInContainer", LEAK_FOUND_GROWS, LEAK_PART_CONTAINER},
		{"TrackedEntities", LEAK_FOUND_GROWS, LEAK_PART_ENTITIES},
		{"NativeMemoryGrowth", LEAK_FOUND_UNMANAGED, LEAK_PARTS},
		{"HeapFragmentation", LEAK_FOUND_FREE_MEMORY, LEAK_PARTS},
		{"HeapKeepsFreeMemory", LEAK_FOUND_FREE_MEMORY, LEAK_PARTS},
	};
	for (size_t i = 0; i < sizeof leads / sizeof *leads; i++) {
		if (strcmp(leads[i].id, id) != 0)
			continue;
		*part = leads[i].part;
		return leads[i].finding;
	}
	*part = LEAK_PARTS;
	return LEAK_FOUND_GROWS;
}

/* The rules say what leads. */
static void choose_finding(const struct leak_model *m, struct leak_diagnosis *d)
{
	enum leak_part part;
	const struct finding *lead = findings_lead(&d->findings);
	if (!lead && leak_model_types_only(m)) {
		choose_calm_types(d);
		return;
	}
	if (!lead) {
		choose_calm(m, d);
		return;
	}
	d->finding = leads_to(lead->id, &part);
	if (part < LEAK_PARTS)
		d->group = leak_numbers_group(m, &d->groups, part);
	else if (d->finding == LEAK_FOUND_FREE_MEMORY && d->torn)
		d->group = pinned_group(m, &d->groups);
	if (d->finding == LEAK_FOUND_GROWS && leak_model_types_only(m) && d->held_bytes > 0)
		d->finding = LEAK_FOUND_TYPES;
}

void leak_diagnosis_make(const struct leak_model *m, struct leak_diagnosis *out)
{
	bool many = m->walk_count >= 2 && leak_model_seconds(m) > 0;
	*out = (struct leak_diagnosis){.finding = LEAK_FOUND_UNKNOWN, .confidence = LEAK_LOW, .type = LEAK_NONE};
	if (many)
		find_growth(m, out);
	else
		leak_forecast_make(&m->limit, 0, 0, &out->forecast);
	leak_numbers_of(m, out, &out->numbers);
	catalogue_judge("MemoryLeak", &leak_numbers_fields, &out->numbers, &out->findings);
	if (many) {
		choose_finding(m, out);
		fit_of_finding(m, out);
		out->confidence = leak_confidence_of(m->walk_count, m->uptime_ms, out->fit.steady);
	}
	leak_lines_make(m, out);
}

void leak_diagnosis_fini(struct leak_diagnosis *d)
{
	if (!d)
		return;
	leak_groups_fini(&d->groups);
	findings_fini(&d->findings);
	free(d->headline);
	free(d->text);
	*d = (struct leak_diagnosis){0};
}
