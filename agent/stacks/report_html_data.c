#include "agent/stacks/report_html_data.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BUDGET_BYTES (290u * 1024)   /* of the data; styles and script take some 40 KiB more */
#define EXTRA_NAMES_BYTES (48u * 1024) /* methods that stand only in the table */
#define EXTRA_METHODS 400
#define MAX_THREADS 200
#define NODE_BYTES 6
#define TRIPLE_BYTES 9
#define METHOD_BYTES 24
#define SMALLEST_SHARE 10000 /* a 10,000th of the samples is less than a pixel */

/* what is kept ---------------------------------------------------------------------------------------------------- */

/* An estimate of the data's size with this threshold; fills the plan's node ids. */
static size_t try_threshold(const struct stack_profile *a, struct html_plan *p, uint64_t least)
{
	const struct stack_tree *t = a->tree;
	size_t bytes = 0;
	p->least_total = least;
	p->node_count = 0;
	memset(p->method_id, 0xff, (a->method_count + 1) * sizeof *p->method_id);
	for (size_t i = 0; i < t->count; i++) {
		const struct stack_node *n = &t->nodes[t->order[i]];
		if (i > 0 && n->total < least) {
			p->node_id[i] = p->node_id[t->rank[n->parent]];
			continue;
		}
		p->node_id[i] = p->node_count++;
		bytes += NODE_BYTES;
		if (i > 0 && p->method_id[n->method] == CPU_NO_METHOD) {
			p->method_id[n->method] = 0;
			bytes += METHOD_BYTES + strlen(a->methods[n->method].name);
		}
	}
	uint32_t last_node = UINT32_MAX, last_thread = UINT32_MAX;
	p->hidden = 0;
	for (size_t i = 0; i < a->leaf_count; i++) {
		uint32_t id = p->node_id[t->rank[a->leaves[i].node]];
		bytes += id == last_node && a->leaves[i].thread == last_thread ? 0 : TRIPLE_BYTES;
		last_node = id;
		last_thread = a->leaves[i].thread;
		if (t->nodes[a->leaves[i].node].total < least)
			p->hidden += a->leaves[i].weight;
	}
	return bytes;
}

static void keep_methods(const struct stack_profile *a, struct html_plan *p)
{
	size_t bytes = 0;
	for (size_t i = 0; i < a->method_count && i < EXTRA_METHODS; i++) {
		uint32_t m = a->by_self[i];
		if (p->method_id[m] != CPU_NO_METHOD || a->methods[m].self == 0)
			continue;
		bytes += METHOD_BYTES + strlen(a->methods[m].name);
		if (bytes > EXTRA_NAMES_BYTES)
			break;
		p->method_id[m] = 0;
	}
	p->methods = mem_calloc(a->method_count + 1, sizeof *p->methods);
	for (size_t i = 0; i < a->method_count; i++) {
		uint32_t m = a->by_total[i];
		if (p->method_id[m] == CPU_NO_METHOD)
			continue;
		p->method_id[m] = p->method_count;
		p->methods[p->method_count++] = m;
	}
}

void html_plan_make(const struct stack_profile *a, uint64_t unit, struct html_plan *out)
{
	*out = (struct html_plan){.unit = unit};
	out->node_id = mem_calloc(a->tree->count + 1, sizeof *out->node_id);
	out->method_id = mem_calloc(a->method_count + 1, sizeof *out->method_id);
	uint64_t least = a->total / SMALLEST_SHARE + (a->total % SMALLEST_SHARE != 0);
	while (try_threshold(a, out, least) > BUDGET_BYTES && least <= a->total)
		least += least / 2 + 1;
	keep_methods(a, out);
	for (size_t i = 0; i < a->thread_count && i < MAX_THREADS; i++)
		out->thread_count += a->threads[a->thread_order[i]].weight > 0;
}

void html_plan_fini(struct html_plan *p)
{
	free(p->node_id);
	free(p->method_id);
	free(p->methods);
	*p = (struct html_plan){0};
}

/* In units of the page, rounded. */
static uint64_t units(const struct html_plan *p, uint64_t weight)
{
	return (weight + p->unit / 2) / p->unit;
}

/* triples --------------------------------------------------------------------------------------------------------- */

struct triple {
	uint32_t node, thread;
	uint64_t weight;
};

static int by_place(const void *x, const void *y)
{
	const struct triple *a = x, *b = y;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->thread < b->thread ? -1 : a->thread > b->thread;
}

static uint32_t *thread_places(const struct stack_profile *a, const struct html_plan *p)
{
	uint32_t *place = mem_calloc(a->thread_count + 1, sizeof *place);
	for (size_t i = 0; i < a->thread_count; i++)
		place[a->thread_order[i]] = i < p->thread_count ? (uint32_t)i : p->thread_count;
	return place;
}

/* The samples of kept nodes (own) or those of nodes left out, at the ancestor that was kept. */
static void put_triples(const struct stack_profile *a, const struct html_plan *p, const char *key, bool own, struct report_file *f)
{
	AUTO_FREE struct triple *list = mem_calloc(a->leaf_count + 1, sizeof *list);
	AUTO_FREE uint32_t *place = thread_places(a, p);
	size_t count = 0, kept = 0;
	for (size_t i = 0; i < a->leaf_count; i++) {
		const struct stack_leaf *l = &a->leaves[i];
		bool shown = l->node == STACK_TREE_ROOT || a->tree->nodes[l->node].total >= p->least_total;
		if (shown == own)
			list[count++] = (struct triple){p->node_id[a->tree->rank[l->node]], place[l->thread], l->weight};
	}
	qsort(list, count, sizeof *list, by_place);
	for (size_t i = 0; i < count; i++) {
		if (kept && list[kept - 1].node == list[i].node && list[kept - 1].thread == list[i].thread)
			list[kept - 1].weight += list[i].weight;
		else
			list[kept++] = list[i];
	}
	buf_printf(&f->text, ",\n\"%s\":[", key);
	for (size_t i = 0; i < kept; i++) {
		if (i)
			buf_putc(&f->text, ',');
		report_file_number(f, list[i].node - (i ? list[i - 1].node : 0));
		buf_putc(&f->text, ',');
		report_file_number(f, list[i].thread);
		buf_putc(&f->text, ',');
		report_file_number(f, units(p, list[i].weight));
		report_file_flow(f);
	}
	buf_putc(&f->text, ']');
}

/* the rest -------------------------------------------------------------------------------------------------------- */

static void put_tree(const struct stack_profile *a, const struct html_plan *p, struct report_file *f)
{
	const struct stack_tree *t = a->tree;
	for (int column = 0; column < 2; column++) {
		uint32_t depth = 0;
		const char *comma = "";
		buf_puts(&f->text, column ? ",\n\"m\":[" : ",\n\"pop\":[");
		for (size_t i = 1; i < t->count; i++) {
			const struct stack_node *n = &t->nodes[t->order[i]];
			if (n->total < p->least_total)
				continue;
			buf_puts(&f->text, comma);
			report_file_number(f, column ? p->method_id[n->method] : depth + 1 - n->depth);
			report_file_flow(f);
			depth = n->depth;
			comma = ",";
		}
		buf_putc(&f->text, ']');
	}
	put_triples(a, p, "leaf", true, f);
	put_triples(a, p, "rest", false, f);
}

enum column { COLUMN_NAME, COLUMN_MODULE, COLUMN_LAYER, COLUMN_MARKS, COLUMN_SELF, COLUMN_TOTAL };

static void put_column(const struct stack_profile *a, const struct html_plan *p, const char *key, enum column column,
		       const uint32_t *module_id, struct report_file *f)
{
	buf_printf(&f->text, ",\n\"%s\":[", key);
	for (uint32_t i = 0; i < p->method_count; i++) {
		const struct cpu_method *m = &a->methods[p->methods[i]];
		if (i)
			buf_putc(&f->text, ',');
		if (column == COLUMN_NAME)
			text_append_json(&f->text, m->name, strlen(m->name));
		else
			report_file_number(f, column == COLUMN_MODULE	? module_id[i]
					      : column == COLUMN_LAYER	? m->layer
					      : column == COLUMN_MARKS	? m->marks
					      : units(p, column == COLUMN_SELF ? m->self : m->total));
		report_file_flow(f);
	}
	buf_putc(&f->text, ']');
}

static int by_module(const void *x, const void *y, void *ctx)
{
	const struct cpu_method *m = ctx;
	return strcmp(m[*(const uint32_t *)x].module, m[*(const uint32_t *)y].module);
}

static void put_methods(const struct stack_profile *a, const struct html_plan *p, struct report_file *f)
{
	AUTO_FREE uint32_t *order = mem_calloc(p->method_count + 1, sizeof *order);
	AUTO_FREE uint32_t *module_id = mem_calloc(p->method_count + 1, sizeof *module_id);
	uint32_t modules = 0;
	memcpy(order, p->methods, p->method_count * sizeof *order);
	qsort_r(order, p->method_count, sizeof *order, by_module, (void *)a->methods);
	buf_puts(&f->text, ",\n\"mods\":[");
	for (uint32_t i = 0; i < p->method_count; i++) {
		const char *module = a->methods[order[i]].module;
		if (i == 0 || strcmp(module, a->methods[order[i - 1]].module) != 0) {
			if (modules++)
				buf_putc(&f->text, ',');
			text_append_json(&f->text, module, strlen(module));
		}
		module_id[p->method_id[order[i]]] = modules - 1;
	}
	buf_putc(&f->text, ']');
	put_column(a, p, "names", COLUMN_NAME, NULL, f);
	put_column(a, p, "mod", COLUMN_MODULE, module_id, f);
	put_column(a, p, "layer", COLUMN_LAYER, NULL, f);
	put_column(a, p, "marks", COLUMN_MARKS, NULL, f);
	put_column(a, p, "self", COLUMN_SELF, NULL, f);
	put_column(a, p, "total", COLUMN_TOTAL, NULL, f);
}

static void put_threads(const struct stack_profile *a, const struct html_plan *p, struct report_file *f)
{
	uint64_t others = 0;
	int64_t others_ns = 0;
	size_t count = a->thread_count, listed = count < MAX_THREADS ? count : MAX_THREADS;
	buf_puts(&f->text, ",\n\"threads\":[");
	for (size_t i = 0; i < listed; i++) {
		const struct stack_thread *t = &a->threads[a->thread_order[i]];
		uint32_t top = t->top_method == CPU_NO_METHOD ? CPU_NO_METHOD : p->method_id[t->top_method];
		buf_printf(&f->text, "%s[%" PRId64 ",", i ? ",\n" : "", t->tid < 0 ? 0 : t->tid);
		text_append_json(&f->text, t->name, strlen(t->name));
		buf_printf(&f->text, ",%" PRIu64 ",%" PRId64 ",%" PRId64 "]", units(p, t->weight), t->cpu_ns / 1000000,
			   top == CPU_NO_METHOD ? (int64_t)-1 : (int64_t)top);
	}
	for (size_t i = listed; i < count; i++) {
		others += a->threads[a->thread_order[i]].weight;
		others_ns += a->threads[a->thread_order[i]].cpu_ns;
	}
	if (count > listed)
		buf_printf(&f->text, ",[-1,\"%zu other threads\",%" PRIu64 ",%" PRId64 ",-1]", count - listed, units(p, others),
			   others_ns / 1000000);
	buf_putc(&f->text, ']');
}

void html_data_write(const struct stack_profile *a, const struct html_plan *p, const char *words, struct report_file *f)
{
	buf_printf(&f->text, "{\"v\":1,\"period\":%" PRIu64 ",\"samples\":%" PRIu64 ",\"hidden\":%" PRIu64 "%s", a->scale * p->unit,
		   units(p, a->total), units(p, p->hidden), words ? words : "");
	put_threads(a, p, f);
	put_methods(a, p, f);
	put_tree(a, p, f);
	buf_puts(&f->text, "}");
}
