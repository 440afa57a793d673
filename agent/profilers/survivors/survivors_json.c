#include "agent/profilers/survivors/survivors_json.h"

#include "agent/report/report_json.h"
#include "agent/profilers/survivors/survivors_source.h"
#include "agent/profilers/survivors/survivors_text.h"
#include "agent/profilers/survivors/survivors_types.h"
#include "common/base/mem.h"

#include <stdlib.h>

#define MAX_NODES 20000
#define PATH_CHARS 200

static void put_percent(const struct survivors *s, uint64_t bytes, struct json_writer *w)
{
	jsonw_number(w, "percent", survivors_percent(s, bytes), 2);
}

/* What only a graph tells: null without one. */
static void put_held(const struct survivors *s, struct json_writer *w, const char *key, uint64_t value)
{
	jsonw_known(w, key, s->graph ? (int64_t)value : -1);
}

/* What is not known, or was not, is 0 in the facts. */
static void put_nonzero(struct json_writer *w, const char *key, int64_t value)
{
	jsonw_known(w, key, value ? value : -1);
}

static void put_path_text(const struct survivors *s, const struct heap_path *p, struct buf *out)
{
	buf_puts(out, survivors_text_root(s->snapshot, p));
	buf_puts(out, " -> ");
	survivors_text_steps(out, s->snapshot, p, PATH_CHARS);
}

static void put_main(const struct survivors_source *x, struct report_file *f)
{
	const struct survivors *s = x->survivors;
	const struct survivors_diagnosis *d = x->diagnosis;
	AUTO_BUF struct buf path;
	buf_init(&path, 8192);
	if (d->path)
		put_path_text(s, d->path, &path);
	jsonw_line(&f->json);
	jsonw_object(&f->json, "main");
	report_json_string(f, "holder", survivors_diagnosis_named(s, d));
	report_json_string(f, "path", d->path ? buf_str(&path) : NULL);
	report_json_string(f, "type", d->type == HEAP_NODE_NONE ? NULL : s->snapshot->types[d->type].name);
	jsonw_end(&f->json);
}

static void put_types_only(const struct survivors *s, struct json_writer *w)
{
	const struct heap_facts *facts = &s->snapshot->facts;
	if (s->graph) {
		jsonw_null(w, "typesOnly");
		return;
	}
	jsonw_object(w, "typesOnly");
	jsonw_number(w, "seenPercent", survivors_types_seen_percent(s), 1);
	jsonw_known(w, "wholePauseBudgetMilliseconds", facts->part ? facts->whole_budget_ms : -1);
	put_nonzero(w, "holdersPauseBudgetMilliseconds", facts->needs.budget_ms);
	put_nonzero(w, "holdersAgentMemoryBytes", facts->needs.limit_bytes);
	put_nonzero(w, "holdersAgentFileBytes", facts->needs.file_bytes);
	jsonw_end(w);
}

static void put_walk(const struct survivors_source *x, struct report_file *f)
{
	const struct survivors *s = x->survivors;
	const struct heap_facts *facts = &s->snapshot->facts;
	struct json_writer *w = &f->json;
	int64_t stops_us = facts->collection_stop_us + facts->walk_stop_us;
	jsonw_line(w);
	jsonw_object(w, "walk");
	jsonw_string(w, "roots", s->graph ? facts->way == HEAP_WAY_EXACT ? "exact" : "noCollection" : "none");
	report_json_string(f, "rootsWhy", facts->why);
	put_types_only(s, w);
	jsonw_integer(w, "stopMicroseconds", facts->paused_us);
	jsonw_integer(w, "totalStopMicroseconds", stops_us > facts->paused_us ? stops_us : facts->paused_us);
	put_nonzero(w, "collectionStopMicroseconds", facts->collection_stop_us);
	put_nonzero(w, "walkStopMicroseconds", facts->walk_stop_us);
	put_nonzero(w, "predictedStopMicroseconds", facts->predicted_stop_us);
	jsonw_unsigned(w, "objects", s->objects);
	jsonw_unsigned(w, "references", facts->edges);
	jsonw_integer(w, "analysisMilliseconds", x->analysis_ms);
	jsonw_end(w);
}

static void put_generations(const struct survivors *s, struct report_file *f)
{
	static const char *const names[HEAP_GENERATIONS] = {"gen0", "gen1", "gen2", "loh", "poh", "frozen"};
	struct json_writer *w = &f->json;
	jsonw_array(w, "generations");
	for (int i = 0; i < HEAP_GENERATIONS; i++) {
		const struct heap_space *p = &s->spaces[i];
		uint64_t used = p->bytes + p->dead_bytes;
		report_json_record(f);
		jsonw_string(w, "generation", names[i]);
		jsonw_unsigned(w, "sizeBytes", p->range_bytes > used + p->free_bytes ? p->range_bytes : used + p->free_bytes);
		jsonw_unsigned(w, "objects", p->count + p->dead_count);
		jsonw_unsigned(w, "usedBytes", used);
		put_held(s, w, "unreachableBytes", p->dead_bytes);
		jsonw_unsigned(w, "freeBytes", p->free_bytes);
		jsonw_known(w, "largestFreeBytes", p->largest_free_bytes || !p->free_bytes ? (int64_t)p->largest_free_bytes : -1);
		put_held(s, w, "pinnedObjects", p->pinned_count);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void put_heap(const struct survivors *s, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_object(w, "heap");
	jsonw_unsigned(w, "bytes", s->bytes);
	put_held(s, w, "heldObjects", s->held_objects);
	put_held(s, w, "heldBytes", s->held_bytes);
	put_held(s, w, "unreachableObjects", s->unreachable_objects);
	put_held(s, w, "unreachableBytes", s->unreachable_bytes);
	jsonw_unsigned(w, "freeBytes", s->free_bytes);
	put_held(s, w, "pinnedObjects", s->pinned_objects);
	put_held(s, w, "pinnedBytes", s->pinned_bytes);
	put_generations(s, f);
	jsonw_end(w);
}

static void put_kinds(const struct survivors *s, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "rootKinds");
	for (int i = 0; s->graph && i < SURVIVORS_KINDS; i++) {
		report_json_record(f);
		jsonw_string(w, "kind", survivors_kind_name(i));
		jsonw_string(w, "title", survivors_kind_title(s->snapshot, i));
		jsonw_unsigned(w, "roots", s->kinds[i].roots);
		jsonw_unsigned(w, "retainedBytes", s->kinds[i].retained);
		put_percent(s, s->kinds[i].retained, w);
		jsonw_end(w);
	}
	jsonw_end(w);
}

/* `place`: by node, its place in the tree that is written; 0: not there. */
static void put_holders(const struct survivors *s, const uint32_t *place, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "holders");
	for (uint32_t i = 0; i < s->holder_count; i++) {
		const struct survivors_holder *h = &s->holders[i];
		const struct survivors_node *n = &s->tree.nodes[h->node];
		report_json_record(f);
		report_json_string(f, "name", h->name);
		jsonw_string(w, "kind", survivors_kind_name(h->kind));
		put_nonzero(w, "node", place[h->node]);
		jsonw_unsigned(w, "roots", n->objects);
		jsonw_unsigned(w, "retainedBytes", n->retained);
		jsonw_unsigned(w, "retainedObjects", n->retained_objects);
		put_percent(s, n->retained, w);
		report_json_end(f);
	}
	jsonw_end(w);
}

static void put_step(struct report_file *f, const char *name, const struct heap_step *step)
{
	struct json_writer *w = &f->json;
	report_json_record(f);
	report_json_string(f, "name", name);
	report_json_string(f, "field", step->field && step->field[0] ? step->field : NULL);
	jsonw_unsigned(w, "objects", step->count);
	jsonw_unsigned(w, "bytes", step->held);
	jsonw_bool(w, "nested", step->nested);
	jsonw_end(w);
}

static void put_steps(const struct survivors *s, const struct heap_path *p, struct report_file *f)
{
	const struct heap_step root = {.held = p->root_held};
	jsonw_array(&f->json, "steps");
	put_step(f, survivors_text_root(s->snapshot, p), &root);
	for (size_t i = 0; i < p->step_count; i++)
		put_step(f, s->snapshot->types[p->steps[i].type].name, &p->steps[i]);
	jsonw_end(&f->json);
}

static void put_paths(const struct survivors *s, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "paths");
	for (size_t i = 0; i < s->paths.count; i++) {
		const struct heap_path *p = &s->paths.paths[i];
		AUTO_BUF struct buf text;
		buf_init(&text, 8192);
		put_path_text(s, p, &text);
		report_json_record(f);
		report_json_string(f, "path", buf_str(&text));
		jsonw_string(w, "kind", survivors_kind_name(survivors_text_path_kind(p)));
		jsonw_unsigned(w, "bytes", p->held);
		jsonw_unsigned(w, "objects", p->step_count ? p->steps[p->step_count - 1].count : 0);
		put_percent(s, p->held, w);
		put_steps(s, p, f);
		report_json_end(f);
	}
	jsonw_end(w);
}

static void put_type(const struct survivors *s, const struct survivors_group *g, struct report_file *f)
{
	struct json_writer *w = &f->json;
	report_json_record(f);
	report_json_string(f, "name", g->name);
	report_json_string(f, "namespace", s->snapshot->types[g->type].space);
	report_json_string(f, "assembly", s->snapshot->types[g->type].module);
	jsonw_unsigned(w, "objects", g->total.count + g->total.dead_count);
	jsonw_unsigned(w, "shallowBytes", g->total.bytes + g->total.dead_bytes);
	put_held(s, w, "retainedBytes", g->total.retained);
	put_held(s, w, "unreachableBytes", g->total.dead_bytes + g->total.unheld_bytes);
	jsonw_array(w, "generationBytes");
	for (int i = 0; i < HEAP_GENERATIONS; i++)
		jsonw_unsigned(w, NULL, g->total.generation_bytes[i]);
	jsonw_end(w);
	report_json_end(f);
}

static void put_types(const struct survivors *s, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, "types");
	for (uint32_t i = 0; i < s->types.count; i++)
		put_type(s, &s->types.items[i], f);
	jsonw_end(w);
	jsonw_line(w);
	jsonw_object(w, "typesLeftOut");
	jsonw_unsigned(w, "types", s->types.left_out);
	jsonw_unsigned(w, "objects", s->types.left_out_objects);
	jsonw_unsigned(w, "shallowBytes", s->types.left_out_bytes);
	jsonw_end(w);
}

static void put_groups(const struct survivors *s, const char *key, const struct survivors_groups *g, struct report_file *f)
{
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_array(w, key);
	for (uint32_t i = 0; i < g->count; i++) {
		const struct heap_total *t = &g->items[i].total;
		report_json_record(f);
		report_json_string(f, "name", g->items[i].name);
		jsonw_unsigned(w, "objects", t->count + t->dead_count);
		jsonw_unsigned(w, "shallowBytes", t->bytes + t->dead_bytes);
		put_held(s, w, "retainedBytes", t->retained);
		report_json_end(f);
	}
	jsonw_end(w);
}

/* the tree -------------------------------------------------------------------------------------------------------- */

struct tree_plan {
	uint32_t *order; /* the nodes that are written, in preorder */
	uint32_t *place; /* by node: where it is among them; 0: it is the first or is not there */
	uint32_t count;
	uint32_t *name;  /* by place: its number among the names; nodes of one type have one */
	uint32_t *named; /* by name: a node that has it */
	uint32_t name_count;
};

enum column { COLUMN_PARENT, COLUMN_NAME, COLUMN_KIND, COLUMN_OBJECTS, COLUMN_BYTES, COLUMN_RETAINED, COLUMNS };

static int64_t cell(const struct survivors_tree *t, const struct tree_plan *p, enum column c, uint32_t i)
{
	const struct survivors_node *n = &t->nodes[p->order[i]];
	switch (c) {
	case COLUMN_PARENT:
		return i ? (int64_t)p->place[n->parent] : -1;
	case COLUMN_NAME:
		return p->name[i];
	case COLUMN_KIND:
		return n->kind < SURVIVORS_KINDS ? (int64_t)n->kind : -1;
	case COLUMN_OBJECTS:
		return (int64_t)n->objects;
	case COLUMN_BYTES:
		return (int64_t)n->bytes;
	default:
		return (int64_t)n->retained;
	}
}

static void put_tree(const struct survivors *s, const struct tree_plan *p, struct report_file *f)
{
	static const char *const keys[COLUMNS] = {"parent", "name", "kind", "objects", "shallowBytes", "retainedBytes"};
	struct json_writer *w = &f->json;
	jsonw_line(w);
	jsonw_object(w, "tree");
	for (int c = 0; c < COLUMNS; c++) {
		jsonw_line(w);
		jsonw_array(w, keys[c]);
		for (uint32_t i = 0; i < p->count; i++) {
			jsonw_integer(w, NULL, cell(&s->tree, p, c, i));
			report_file_flow(f);
		}
		jsonw_end(w);
	}
	jsonw_end(w);
	jsonw_line(w);
	jsonw_array(w, "names");
	for (uint32_t i = 0; i < p->name_count; i++) {
		jsonw_line(w);
		report_json_string(f, NULL, survivors_tree_name(&s->tree, s->snapshot, p->named[i]));
		report_file_flow(f);
	}
	jsonw_end(w);
}

static void plan_tree(const struct survivors *s, struct tree_plan *p)
{
	uint32_t *of_type = mem_calloc(s->snapshot->type_count + 1, sizeof *of_type);
	*p = (struct tree_plan){
		.order = mem_calloc(MAX_NODES, sizeof *p->order),
		.place = mem_calloc(s->tree.count, sizeof *p->place),
		.name = mem_calloc(MAX_NODES, sizeof *p->name),
		.named = mem_calloc(MAX_NODES, sizeof *p->named),
	};
	p->count = survivors_tree_preorder(&s->tree, s->bytes / SURVIVORS_TREE_PART + 1, p->order, MAX_NODES);
	for (uint32_t i = 0; i < p->count; i++) {
		const struct survivors_node *n = &s->tree.nodes[p->order[i]];
		uint32_t *known = n->type == HEAP_NODE_NONE ? NULL : &of_type[n->type];
		p->place[p->order[i]] = i;
		p->name[i] = known && *known ? *known : p->name_count;
		if (p->name[i] == p->name_count)
			p->named[p->name_count++] = p->order[i];
		if (known)
			*known = p->name[i];
	}
	free(of_type);
}

static void plan_fini(struct tree_plan *p)
{
	free(p->order);
	free(p->place);
	free(p->name);
	free(p->named);
}

void survivors_json_write(const void *source, struct report_file *f)
{
	const struct survivors_source *x = source;
	const struct survivors *s = x->survivors;
	struct tree_plan plan;
	plan_tree(s, &plan);
	report_head_json_begin(&x->head, survivors_finding_name(x->diagnosis->finding), f);
	jsonw_end(&f->json);
	put_main(x, f);
	put_walk(x, f);
	put_heap(s, f);
	put_kinds(s, f);
	put_holders(s, plan.place, f);
	put_paths(s, f);
	put_types(s, f);
	put_groups(s, "namespaces", &s->namespaces, f);
	put_groups(s, "assemblies", &s->assemblies, f);
	put_tree(s, &plan, f);
	report_head_json_end(&x->head, f);
	plan_fini(&plan);
}
