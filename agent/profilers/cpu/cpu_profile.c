#include "agent/profilers/cpu/cpu_profile.h"

#include "agent/stacks/report_folded.h"
#include "agent/stacks/report_pprof.h"
#include "agent/stacks/report_speedscope.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

void cpu_profile_make(const struct cpu_analysis *a, const char *subject, const char *headline, struct stack_profile *out)
{
	stack_profile_init(out, a);
	out->lines = a->lines;
	out->total = a->samples;
	out->count_value = (struct stack_value){"samples", "count"};
	out->weight_value = (struct stack_value){"cpu", "nanoseconds"};
	out->scale = (uint64_t)a->period_ns;
	out->period = (uint64_t)a->period_ns;
	out->subject = subject;
	out->headline = headline;
}

static int sample_by_stack(const void *x, const void *y, void *ctx)
{
	const struct cpu_analysis *a = ctx;
	uint32_t i = *(const uint32_t *)x, j = *(const uint32_t *)y;
	const struct capture_sample *s = &a->capture->samples[i], *t = &a->capture->samples[j];
	if (s->stack != t->stack)
		return s->stack < t->stack ? -1 : 1;
	if (a->sample_work[i] != a->sample_work[j])
		return a->sample_work[i] < a->sample_work[j] ? -1 : 1;
	return s->thread < t->thread ? -1 : s->thread > t->thread;
}

/* Samples with the same lines in the same order, once for each thread. */
static struct stack_line_leaf *line_leaves_of(const struct cpu_analysis *a, size_t *count)
{
	size_t n = a->capture->sample_count;
	struct stack_line_leaf *out = mem_calloc(n + 1, sizeof *out);
	AUTO_FREE uint32_t *order = mem_calloc(n + 1, sizeof *order);
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof *order, sample_by_stack, (void *)a);
	*count = 0;
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || sample_by_stack(&order[i - 1], &order[i], (void *)a) != 0)
			out[(*count)++] = (struct stack_line_leaf){
				.node = cpu_analysis_node(a, order[i]),
				.thread = a->capture->samples[order[i]].thread,
				.frames = cpu_analysis_path_frames(a, order[i]),
			};
		out[*count - 1].count++;
		out[*count - 1].weight++;
	}
	return out;
}

void cpu_profile_pprof(const void *source, struct report_file *f)
{
	const struct report_source *s = source;
	struct stack_profile p = s->profile;
	AUTO_FREE struct stack_line_leaf *leaves = NULL;
	if (s->analysis->line_count) {
		leaves = line_leaves_of(s->analysis, &p.line_leaf_count);
		p.line_leaves = leaves;
		p.frame_methods = s->analysis->frame_methods;
		p.frame_count = s->analysis->capture->frame_count;
	}
	report_pprof_write(&p, f);
}

void cpu_profile_folded(const void *source, struct report_file *f)
{
	report_folded_write(&((const struct report_source *)source)->profile, f);
}

struct timed { /* samples of each thread together, by time: those of thread t are order[first[t]..first[t + 1]] */
	const struct cpu_analysis *a;
	size_t *first;
	uint32_t *order;
};

static void sort_by_thread(struct timed *t)
{
	const struct cpu_capture *c = t->a->capture;
	AUTO_FREE size_t *next = mem_calloc(c->thread_count + 1, sizeof *next);
	for (size_t i = 0; i < c->thread_count; i++)
		t->first[i + 1] = t->first[i] + t->a->threads[i].weight;
	memcpy(next, t->first, c->thread_count * sizeof *next);
	for (size_t i = 0; i < c->sample_count; i++)
		t->order[next[c->samples[i].thread]++] = (uint32_t)i;
}

/* Runs of one stack become one sample. */
static size_t runs_of(const void *ctx, uint32_t thread, uint32_t *nodes, uint64_t *weights)
{
	const struct timed *t = ctx;
	size_t runs = 0;
	for (size_t i = t->first[thread]; i < t->first[thread + 1]; i++) {
		uint32_t node = cpu_analysis_node(t->a, t->order[i]);
		if (runs && nodes[runs - 1] == node) {
			weights[runs - 1]++;
			continue;
		}
		nodes[runs] = node;
		weights[runs++] = 1;
	}
	return runs;
}

void cpu_profile_speedscope(const void *source, struct report_file *f)
{
	const struct report_source *s = source;
	const struct cpu_capture *c = s->analysis->capture;
	AUTO_FREE size_t *first = mem_calloc(c->thread_count + 2, sizeof *first);
	AUTO_FREE uint32_t *order = mem_calloc(c->sample_count + 1, sizeof *order);
	struct timed timed = {s->analysis, first, order};
	sort_by_thread(&timed);
	report_speedscope_write(&s->profile, &(struct speedscope_order){runs_of, &timed, c->sample_count}, f);
}
