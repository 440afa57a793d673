#include "agent/profilers/pauses/pause_analysis.h"

#include "agent/stacks/cpu_category.h"
#include "agent/profilers/pauses/pause_collect.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <math.h>
#include <stdlib.h>

int64_t pause_histogram_from_us(size_t step)
{
	static const int64_t within[] = {1, 2, 5};
	int64_t from = 1;
	if (step == 0)
		return 0;
	for (size_t i = 0; i < (step - 1) / 3; i++)
		from *= 10;
	return from * within[(step - 1) % 3];
}

static size_t histogram_step(int64_t ns)
{
	size_t step = 0;
	while (step + 1 < PAUSE_HISTOGRAM_STEPS && ns / 1000 >= pause_histogram_from_us(step + 1))
		step++;
	return step;
}

double pause_analysis_percent(const struct pause_analysis *a, int64_t ns)
{
	return a->length.total_ns ? 100.0 * (double)ns / (double)a->length.total_ns : 0;
}

/* sums ------------------------------------------------------------------------------------------------------------------------ */

static void add_to_sum(struct pause_sum *sum, const struct pause_kind *k, int64_t ns)
{
	sum->count++;
	sum->total_ns += ns;
	if (ns > sum->longest_ns)
		sum->longest_ns = ns;
	if (k->generation >= 0)
		sum->by_generation[k->generation]++;

}

static int most_time_first(const void *a, const void *b)
{
	const struct pause_sum *x = a, *y = b;
	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return (x->index > y->index) - (x->index < y->index);
}

/* Orders the sums and returns how many have something in them. */
static size_t order(struct pause_sum *sums, size_t count)
{
	size_t used = 0;
	for (size_t i = 0; i < count; i++)
		if (sums[i].count)
			sums[used++] = sums[i];
	if (used)
		qsort(sums, used, sizeof *sums, most_time_first);
	return used;
}

static struct pause_sum *sums_new(size_t count)
{
	struct pause_sum *sums = mem_calloc(count + 1, sizeof *sums);
	for (size_t i = 0; i < count; i++)
		sums[i].index = (uint32_t)i;
	return sums;
}

static void add_pause(struct pause_analysis *a, const struct pause *p)
{
	const struct pause_kind *k = &a->capture->kinds[p->kind];
	int64_t ns = pause_length_ns(p);
	bool background = k->reason == PAUSE_BACKGROUND;
	add_to_sum(&a->by_reason[k->reason], k, ns);
	if (k->generation >= 0 || background)
		add_to_sum(&a->by_generation[background && k->generation < 0 ? 2 : k->generation][background], k, ns);
	if (k->induced)
		add_to_sum(&a->induced, k, ns);
	if (p->suspend_ns >= PAUSE_LATE_NS)
		add_to_sum(&a->late, k, p->suspend_ns);
	if (p->late != PAUSE_NONE)
		add_to_sum(&a->by_late[p->late], k, p->suspend_ns);
	a->histogram[histogram_step(ns)]++;
	a->histogram_suspending[histogram_step(p->suspend_ns)]++;
}

static void round_off(const struct pause_tally *t, size_t count, struct pause_sum *sums)
{
	for (size_t i = 0; i < count; i++)
		sums[i] = (struct pause_sum){
			.index = (uint32_t)i,
			.count = (uint32_t)llround(t[i].count),
			.total_ns = llround(t[i].time_ns),
			.longest_ns = t[i].longest_ns,
			.by_generation = {(uint32_t)llround(t[i].by_generation[0]), (uint32_t)llround(t[i].by_generation[1]),
					  (uint32_t)llround(t[i].by_generation[2])},
			.looked = (uint32_t)t[i].looked,
		};
}

/* Sums over what may be a sample. */
static void estimate(struct pause_analysis *a)
{
	const struct pause_capture *c = a->capture;
	struct pause_tally causes[CAUSE_COUNT] = {0};
	AUTO_FREE struct pause_tally *inducers = mem_calloc(c->inducer_count + 1, sizeof *inducers);
	pause_sample_make(c, &a->sample);
	for (size_t i = 0; i < c->pause_count; i++) {
		const struct pause *p = &c->pauses[i];
		const struct pause_kind *k = &c->kinds[p->kind];
		if (k->cause < CAUSE_COUNT)
			pause_sample_add(&a->sample, p, k, &causes[k->cause]);
		if (p->inducer != PAUSE_NONE)
			pause_sample_add(&a->sample, p, k, &inducers[p->inducer]);
	}
	round_off(causes, CAUSE_COUNT, a->by_cause);
	a->by_inducer = sums_new(c->inducer_count);
	round_off(inducers, c->inducer_count, a->by_inducer);
	a->cause_count = order(a->by_cause, CAUSE_COUNT);
	a->inducer_count = order(a->by_inducer, c->inducer_count);
}

static void sum_up_pauses(struct pause_analysis *a)
{
	const struct pause_capture *c = a->capture;
	for (size_t i = 0; i < PAUSE_REASON_COUNT; i++)
		a->by_reason[i].index = (uint32_t)i;
	a->by_late = sums_new(c->late_count);
	for (size_t i = 0; i < c->pause_count; i++)
		add_pause(a, &c->pauses[i]);
	a->reason_count = order(a->by_reason, PAUSE_REASON_COUNT);
	a->late_count = order(a->by_late, c->late_count);
}

/* lengths --------------------------------------------------------------------------------------------------------------------- */

static int rising(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static int64_t rank(const int64_t *sorted, size_t count, unsigned percent)
{
	size_t n = (count * percent + 99) / 100;
	return sorted[n ? n - 1 : 0];
}

static void spread(int64_t *lengths, size_t count, struct pause_spread *out)
{
	if (!count)
		return;
	qsort(lengths, count, sizeof *lengths, rising);
	out->p50_ns = rank(lengths, count, 50);
	out->p95_ns = rank(lengths, count, 95);
	out->p99_ns = rank(lengths, count, 99);
	out->max_ns = lengths[count - 1];
	for (size_t i = 0; i < count; i++)
		out->total_ns += lengths[i];
}

static void spread_all(struct pause_analysis *a)
{
	const struct pause_capture *c = a->capture;
	AUTO_FREE int64_t *lengths = mem_calloc(c->pause_count + 1, sizeof *lengths);
	for (size_t i = 0; i < c->pause_count; i++)
		lengths[i] = pause_length_ns(&c->pauses[i]);
	spread(lengths, c->pause_count, &a->length);
	for (size_t i = 0; i < c->pause_count; i++)
		lengths[i] = c->pauses[i].suspend_ns;
	spread(lengths, c->pause_count, &a->suspending);
	for (size_t i = 0; i < c->pause_count; i++)
		lengths[i] = c->pauses[i].stopped_ns;
	spread(lengths, c->pause_count, &a->stopped);
}

/* Keeps the longest in order, by insertion: there are few. */
static void find_slowest(struct pause_analysis *a)
{
	const struct pause *all = a->capture->pauses;
	for (size_t i = 0; i < a->capture->pause_count; i++) {
		size_t at = a->slowest_count;
		if (at == PAUSE_SLOWEST_MAX && pause_length_ns(&all[i]) <= pause_length_ns(&all[a->slowest[at - 1]]))
			continue;
		at = at == PAUSE_SLOWEST_MAX ? at - 1 : at;
		for (; at > 0 && pause_length_ns(&all[a->slowest[at - 1]]) < pause_length_ns(&all[i]); at--)
			a->slowest[at] = a->slowest[at - 1];
		a->slowest[at] = (uint32_t)i;
		if (a->slowest_count < PAUSE_SLOWEST_MAX)
			a->slowest_count++;
	}
}

void pause_analysis_run(const struct pause_capture *c, struct pause_analysis *out)
{
	*out = (struct pause_analysis){.capture = c};
	sum_up_pauses(out);
	estimate(out);
	spread_all(out);
	find_slowest(out);
	double seconds = (double)c->facts.duration_ns / 1e9;
	out->share_percent = seconds > 0 ? (double)out->length.total_ns / 1e7 / seconds : 0;
	if (out->share_percent > 100)
		out->share_percent = 100;
	out->per_minute = seconds > 0 ? 60.0 * (double)c->pause_count / seconds : 0;
}

void pause_analysis_fini(struct pause_analysis *a)
{
	if (!a)
		return;
	free(a->by_inducer);
	free(a->by_late);
	*a = (struct pause_analysis){0};
}

uint32_t pause_stack_method(const struct cpu_capture *stacks, uint32_t stack)
{
	if (stack == PAUSE_NONE)
		return PAUSE_NONE;
	const struct capture_stack *s = &stacks->stacks[stack];
	for (uint32_t i = 0; i < s->depth; i++)
		if (cpu_layer_of(&stacks->frames[stacks->stack_frames[s->first + i]]) == LAYER_APPLICATION)
			return stacks->stack_frames[s->first + i];
	return s->depth ? stacks->stack_frames[s->first] : PAUSE_NONE;
}
