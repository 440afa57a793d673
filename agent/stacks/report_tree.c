#include "agent/stacks/report_tree.h"

#include "agent/report/report_json.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>

enum column { COLUMN_PARENT, COLUMN_METHOD, COLUMN_SELF, COLUMN_TOTAL, COLUMN_OBJECTS };

static uint64_t column_value(const struct stack_tree *t, const uint64_t *objects, enum column column, uint32_t node)
{
	const struct stack_node *n = &t->nodes[node];
	switch (column) {
	case COLUMN_PARENT:
		return t->rank[n->parent];
	case COLUMN_METHOD:
		return n->method;
	case COLUMN_SELF:
		return n->self;
	case COLUMN_TOTAL:
		return n->total;
	case COLUMN_OBJECTS:
		return objects[node];
	}
	return 0;
}

static void put_tree_column(struct report_file *f, const struct stack_tree *t, const uint64_t *objects, const char *key, enum column column)
{
	if (column)
		jsonw_line(&f->json);
	jsonw_array(&f->json, key);
	for (size_t i = 0; i < t->count; i++) {
		if (i == 0 && column <= COLUMN_METHOD)
			jsonw_integer(&f->json, NULL, -1); /* the root has neither */
		else
			jsonw_unsigned(&f->json, NULL, column_value(t, objects, column, t->order[i]));
		report_file_flow(f);
	}
	jsonw_end(&f->json);
}

void report_tree_json(struct report_file *f, const struct stack_tree *t, const uint64_t *objects)
{
	static const char *const keys[] = {"parent", "method", "self", "total", "objects"};
	jsonw_line(&f->json);
	jsonw_object(&f->json, "tree");
	for (int column = COLUMN_PARENT; column <= (objects ? COLUMN_OBJECTS : COLUMN_TOTAL); column++)
		put_tree_column(f, t, objects, keys[column], column);
	jsonw_end(&f->json);
}

/* weights at nodes ------------------------------------------------------------------------------------------------- */

static uint64_t time_column_value(const struct report_tree_time *p, int column)
{
	return column == 0 ? p->node : column == 1 ? p->bucket : p->weight;
}

static void put_parts(struct report_file *f, const char *key, const char *part, const struct report_tree_time *list, size_t count)
{
	const char *const keys[] = {"node", part, "weight"};
	jsonw_line(&f->json);
	jsonw_object(&f->json, key);
	for (int column = 0; column < 3; column++) {
		if (column)
			jsonw_line(&f->json);
		jsonw_array(&f->json, keys[column]);
		for (size_t i = 0; i < count; i++) {
			jsonw_unsigned(&f->json, NULL, time_column_value(&list[i], column));
			report_file_flow(f);
		}
		jsonw_end(&f->json);
	}
	jsonw_end(&f->json);
}

static int by_node_and_bucket(const void *x, const void *y)
{
	const struct report_tree_time *a = x, *b = y;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->bucket < b->bucket ? -1 : a->bucket > b->bucket;
}

void report_tree_leaves(struct report_file *f, const struct cpu_analysis *a)
{
	AUTO_FREE uint32_t *place = mem_calloc(a->capture->thread_count + 1, sizeof *place);
	AUTO_FREE struct report_tree_time *list = mem_calloc(a->leaf_count + 1, sizeof *list);
	for (size_t i = 0; i < a->capture->thread_count; i++)
		place[a->thread_order[i]] = (uint32_t)i;
	for (size_t i = 0; i < a->leaf_count; i++)
		list[i] = (struct report_tree_time){a->tree.rank[a->leaves[i].node], place[a->leaves[i].thread], a->leaves[i].weight};
	qsort(list, a->leaf_count, sizeof *list, by_node_and_bucket);
	put_parts(f, "leaves", "thread", list, a->leaf_count);
}

void report_tree_times(struct report_file *f, struct report_tree_time *list, size_t count)
{
	size_t kept = 0;
	qsort(list, count, sizeof *list, by_node_and_bucket);
	for (size_t i = 0; i < count; i++) {
		if (kept && list[kept - 1].node == list[i].node && list[kept - 1].bucket == list[i].bucket)
			list[kept - 1].weight += list[i].weight;
		else
			list[kept++] = list[i];
	}
	if (kept <= REPORT_TREE_TIMES_MAX) {
		put_parts(f, "leavesOverTime", "bucket", list, kept);
		return;
	}
	jsonw_line(&f->json);
	jsonw_null(&f->json, "leavesOverTime");
}

void report_tree_methods(struct report_file *f, const struct cpu_analysis *a, report_method_fn *more, const void *ctx)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "methods");
	for (size_t i = 0; i < a->method_count; i++) {
		const struct cpu_method *m = &a->methods[i];
		report_json_record(f);
		jsonw_string(w, "name", m->name);
		jsonw_string(w, "module", m->module);
		jsonw_string(w, "layer", cpu_layer_name(m->layer));
		jsonw_unsigned(w, "self", m->self);
		jsonw_unsigned(w, "total", m->total);
		if (more)
			more(ctx, i, f);
		report_json_marks(f, "marks", m->marks);
		report_json_end(f);
	}
	jsonw_end(w);
}

void report_tree_stack(struct json_writer *w, const struct cpu_analysis *a, uint32_t node, int most)
{
	const struct stack_tree *t = &a->tree;
	jsonw_array(w, "stack");
	for (int i = 0; i < most && node != STACK_TREE_ROOT; i++, node = t->nodes[node].parent)
		jsonw_string(w, NULL, a->methods[t->nodes[node].method].name);
	jsonw_end(w);
}

/* beside the tree --------------------------------------------------------------------------------------------------- */

void report_tree_threads(struct report_file *f, const struct cpu_analysis *a, const char *key, double all)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "threads");
	for (size_t i = 0; i < a->capture->thread_count; i++) {
		const struct stack_thread *t = &a->threads[a->thread_order[i]];
		report_json_record(f);
		jsonw_integer(w, "tid", t->tid < 0 ? 0 : t->tid);
		jsonw_string(w, "name", t->name);
		jsonw_unsigned(w, key, t->weight);
		jsonw_number(w, "percent", all > 0 ? 100 * (double)t->weight / all : 0, 2);
		report_json_end(f);
	}
	jsonw_end(w);
}

void report_tree_timeline(struct report_file *f, const struct cpu_analysis *a, const char *key, const double values[CPU_TIMELINE_BUCKETS], int decimals)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_object(w, "timeline");
	jsonw_number(w, "bucketSeconds", (double)a->capture->facts.duration_ns / 1e9 / CPU_TIMELINE_BUCKETS, 6);
	jsonw_array(w, key);
	for (size_t i = 0; i < CPU_TIMELINE_BUCKETS; i++)
		jsonw_number(w, NULL, values[i], decimals);
	jsonw_end(w);
	jsonw_end(w);
}

void report_tree_collections(struct report_file *f, const struct cpu_analysis *a)
{
	const struct cpu_collections *c = &a->collections;
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_object(w, "collections");
	jsonw_unsigned(w, "count", c->count);
	jsonw_array(w, "byGeneration");
	for (int i = 0; i < 3; i++)
		jsonw_unsigned(w, NULL, c->by_generation[i]);
	jsonw_end(w);
	jsonw_integer(w, "totalNanoseconds", c->total_ns);
	jsonw_integer(w, "longestNanoseconds", c->longest_ns);
	jsonw_end(w);
}
