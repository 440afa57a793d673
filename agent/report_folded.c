#include "agent/report_folded.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

static void put_name(struct report_file *f, const char *name)
{
	size_t begin = f->text.len;
	buf_puts(&f->text, name);
	for (char *p = f->text.data + begin; (p = strchr(p, ';'));)
		*p = ':';
}

static int by_name(const void *x, const void *y, void *ctx)
{
	const struct cpu_thread *t = ctx;
	return strcmp(t[*(const uint32_t *)x].name, t[*(const uint32_t *)y].name);
}

/* For each thread the first (in order) of those that have its name. */
static uint32_t *name_sakes(const struct cpu_analysis *a)
{
	size_t count = a->capture->thread_count;
	uint32_t *first = mem_calloc(count + 1, sizeof *first);
	AUTO_FREE uint32_t *order = mem_calloc(count + 1, sizeof *order);
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, count, sizeof *order, by_name, a->threads);
	for (size_t i = 0; i < count; i++) {
		bool same = i > 0 && by_name(&order[i], &order[i - 1], a->threads) == 0;
		first[order[i]] = same ? first[order[i - 1]] : order[i];
	}
	return first;
}

static void put_line(const struct cpu_analysis *a, uint32_t thread, uint32_t node, uint32_t count, struct report_file *f)
{
	uint32_t path[REPORT_PATH_MAX];
	size_t depth = report_path(&a->tree, node, path);
	put_name(f, a->threads[thread].name[0] ? a->threads[thread].name : "(no name)");
	for (size_t k = 0; k < depth; k++) {
		buf_putc(&f->text, ';');
		put_name(f, a->methods[path[k]].name);
	}
	buf_putc(&f->text, ' ');
	report_file_number(f, count);
	buf_putc(&f->text, '\n');
	report_file_flow(f);
}

/* Threads of one name are one root: a pool's threads would repeat each stack. */
void report_folded_write(const struct report_source *s, struct report_file *f)
{
	const struct cpu_analysis *a = s->analysis;
	AUTO_FREE uint32_t *first = name_sakes(a);
	AUTO_FREE uint32_t *counts = mem_calloc(a->capture->thread_count + 1, sizeof *counts);
	for (size_t i = 0, end; i < a->leaf_count; i = end) {
		for (end = i; end < a->leaf_count && a->leaves[end].node == a->leaves[i].node; end++)
			counts[first[a->leaves[end].thread]] += a->leaves[end].count;
		for (size_t k = i; k < end; k++) {
			uint32_t thread = first[a->leaves[k].thread];
			if (counts[thread])
				put_line(a, thread, a->leaves[k].node, counts[thread], f);
			counts[thread] = 0;
		}
	}
}
