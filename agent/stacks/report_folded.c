#include "agent/stacks/report_folded.h"

#include "agent/symbols/method_name.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

static int by_name(const void *x, const void *y, void *ctx)
{
	const struct stack_thread *t = ctx;
	return strcmp(t[*(const uint32_t *)x].name, t[*(const uint32_t *)y].name);
}

/* For each thread the first (in order) of those that have its name. */
static uint32_t *name_sakes(const struct stack_profile *a)
{
	size_t count = a->thread_count;
	uint32_t *first = mem_calloc(count + 1, sizeof *first);
	AUTO_FREE uint32_t *order = mem_calloc(count + 1, sizeof *order);
	for (size_t i = 0; i < count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, count, sizeof *order, by_name, (void *)a->threads);
	for (size_t i = 0; i < count; i++) {
		bool same = i > 0 && by_name(&order[i], &order[i - 1], (void *)a->threads) == 0;
		first[order[i]] = same ? first[order[i - 1]] : order[i];
	}
	return first;
}

/* The text of a path, ";root;...;leaf": neighbours in preorder share their beginnings. */
struct path {
	struct buf text;
	uint32_t nodes[STACK_PATH_MAX]; /* by depth */
	size_t ends[STACK_PATH_MAX];    /* of the text, by depth; 0: nothing */
	uint32_t depth;
};

static void put_folded_name(struct buf *out, const char *name)
{
	size_t begin = out->len;
	buf_puts(out, name);
	for (char *p = out->data + begin; (p = strchr(p, ';'));)
		*p = ':';
}

static void path_move(struct path *p, const struct stack_profile *a, uint32_t node)
{
	uint32_t below[STACK_PATH_MAX], count = 0;
	const struct stack_node *nodes = a->tree->nodes;
	while (nodes[node].depth > p->depth || p->nodes[nodes[node].depth] != node) {
		below[count++] = node;
		node = nodes[node].parent;
	}
	p->depth = nodes[node].depth;
	p->text.len = p->ends[p->depth];
	while (count--) {
		buf_putc(&p->text, ';');
		put_folded_name(&p->text, a->methods[nodes[below[count]].method].name);
		p->nodes[++p->depth] = below[count];
		p->ends[p->depth] = p->text.len;
	}
}

static void put_folded_line(const struct path *p, const char *thread, uint64_t weight, struct report_file *f)
{
	put_folded_name(&f->text, thread[0] ? thread : "(no name)");
	buf_append(&f->text, p->text.data, p->text.len);
	buf_putc(&f->text, ' ');
	report_file_number(f, weight);
	buf_putc(&f->text, '\n');
	report_file_flow(f);
}

/* Threads of one name are one root: a pool's threads would repeat each stack. */
void report_folded_write(const struct stack_profile *a, struct report_file *f)
{
	AUTO_FREE uint32_t *first = name_sakes(a);
	AUTO_FREE uint64_t *weights = mem_calloc(a->thread_count + 1, sizeof *weights);
	AUTO_FREE struct path *path = mem_alloc(sizeof *path);
	buf_init(&path->text, STACK_PATH_MAX * (METHOD_NAME_SIZE + 1));
	for (size_t i = 0, end; i < a->leaf_count; i = end) {
		path_move(path, a, a->leaves[i].node);
		for (end = i; end < a->leaf_count && a->leaves[end].node == a->leaves[i].node; end++)
			weights[first[a->leaves[end].thread]] += a->leaves[end].weight;
		for (size_t k = i; k < end; k++) {
			uint32_t thread = first[a->leaves[k].thread];
			if (weights[thread])
				put_folded_line(path, a->threads[thread].name, weights[thread], f);
			weights[thread] = 0;
		}
	}
	buf_fini(&path->text);
}
