#include "agent/stacks/cpu_lines.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define NO_LINE UINT32_MAX

static bool has_lines(const struct cpu_capture *c)
{
	for (size_t i = 0; i < c->frame_count; i++)
		if (c->frames[i].file)
			return true;
	return false;
}

void cpu_lines_begin(struct cpu_analysis *a, const struct cpu_method_table *t)
{
	const struct cpu_capture *c = a->capture;
	if (!has_lines(c))
		return;
	a->frame_methods = mem_calloc(c->frame_count + 1, sizeof *a->frame_methods);
	memcpy(a->frame_methods, t->method_of, c->frame_count * sizeof *a->frame_methods);
	size_t places = c->stack_count * WORK_COUNT;
	a->paths.first = mem_calloc(places + 1, sizeof *a->paths.first);
	memset(a->paths.first, 0xff, places * sizeof *a->paths.first);
}

/* paths ------------------------------------------------------------------------------------------------------------ */

void cpu_lines_path_begin(struct cpu_analysis *a, size_t stack_node)
{
	if (a->paths.first)
		a->paths.first[stack_node] = (uint32_t)a->paths.count;
}

void cpu_lines_path_step(struct cpu_analysis *a, uint32_t frame)
{
	if (!a->paths.first)
		return;
	GROW(a->paths.items, a->paths.count, a->paths.cap);
	a->paths.items[a->paths.count++] = frame;
}

const uint32_t *cpu_lines_path(const struct cpu_analysis *a, size_t stack_node)
{
	return a->paths.first && a->paths.first[stack_node] != STACK_TREE_NONE ? a->paths.items + a->paths.first[stack_node] : NULL;
}

/* lines ------------------------------------------------------------------------------------------------------------ */

static int frame_by_place(const void *x, const void *y, void *ctx)
{
	const struct cpu_analysis *a = ctx;
	uint32_t i = *(const uint32_t *)x, j = *(const uint32_t *)y;
	const struct frame *f = &a->capture->frames[i], *g = &a->capture->frames[j];
	if (a->frame_methods[i] != a->frame_methods[j])
		return a->frame_methods[i] < a->frame_methods[j] ? -1 : 1;
	int files = strcmp(f->file, g->file);
	return files ? files : f->line < g->line ? -1 : f->line > g->line;
}

/* Frames at one line of one method are one line: there are several of generic code, and of a state machine and its stub. */
static void number_lines(struct cpu_analysis *a, uint32_t *line_of)
{
	size_t n = 0;
	AUTO_FREE uint32_t *order = mem_calloc(a->capture->frame_count + 1, sizeof *order);
	for (size_t i = 0; i < a->capture->frame_count; i++) {
		line_of[i] = NO_LINE;
		if (a->capture->frames[i].file)
			order[n++] = (uint32_t)i;
	}
	qsort_r(order, n, sizeof *order, frame_by_place, a);
	a->lines = mem_calloc(n + 1, sizeof *a->lines);
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || frame_by_place(&order[i - 1], &order[i], a) != 0)
			a->lines[a->line_count++] = (struct cpu_line){.frame = order[i]};
		line_of[order[i]] = (uint32_t)a->line_count - 1;
	}
}

/* `seen`: by line, the last stack that has counted there. */
static void count_stack_lines(struct cpu_analysis *a, uint32_t stack, uint32_t samples, const uint32_t *line_of, uint32_t *seen)
{
	const struct capture_stack *s = &a->capture->stacks[stack];
	for (uint32_t i = 0; i < s->depth; i++) {
		uint32_t line = line_of[a->capture->stack_frames[s->first + i]];
		if (line == NO_LINE)
			continue;
		a->lines[line].self += i == 0 ? samples : 0;
		a->lines[line].total += seen[line] == stack + 1 ? 0 : samples;
		seen[line] = stack + 1;
	}
}

static int line_by_total(const void *x, const void *y, void *ctx)
{
	const struct cpu_analysis *a = ctx;
	const struct cpu_line *l = x, *m = y;
	const struct frame *f = &a->capture->frames[l->frame], *g = &a->capture->frames[m->frame];
	if (l->total != m->total)
		return l->total > m->total ? -1 : 1;
	if (l->self != m->self)
		return l->self > m->self ? -1 : 1;
	return f->line < g->line ? -1 : f->line > g->line;
}

static void give_lines_to_methods(struct cpu_analysis *a)
{
	for (size_t i = 0, end; i < a->line_count; i = end) {
		uint32_t method = a->frame_methods[a->lines[i].frame];
		for (end = i; end < a->line_count && a->frame_methods[a->lines[end].frame] == method; end++)
			;
		qsort_r(a->lines + i, end - i, sizeof *a->lines, line_by_total, a);
		a->methods[method].first_line = (uint32_t)i;
		a->methods[method].line_count = (uint32_t)(end - i);
	}
}

void cpu_lines_count(struct cpu_analysis *a)
{
	const struct cpu_capture *c = a->capture;
	if (!a->frame_methods)
		return;
	AUTO_FREE uint32_t *line_of = mem_calloc(c->frame_count + 1, sizeof *line_of);
	AUTO_FREE uint32_t *samples = mem_calloc(c->stack_count + 1, sizeof *samples);
	number_lines(a, line_of);
	AUTO_FREE uint32_t *seen = mem_calloc(a->line_count + 1, sizeof *seen);
	for (size_t i = 0; i < c->sample_count; i++)
		samples[c->samples[i].stack]++;
	for (uint32_t i = 0; i < c->stack_count; i++)
		if (samples[i])
			count_stack_lines(a, i, samples[i], line_of, seen);
	give_lines_to_methods(a);
}

void cpu_lines_end(struct cpu_analysis *a)
{
	free(a->lines);
	free(a->frame_methods);
	free(a->paths.items);
	free(a->paths.first);
}

const struct frame *cpu_lines_hottest(const struct cpu_analysis *a, uint32_t method)
{
	const struct cpu_method *m = &a->methods[method];
	return m->line_count ? &a->capture->frames[a->lines[m->first_line].frame] : NULL;
}
