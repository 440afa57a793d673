#include "agent/profilers/survivors/survivors_json.h"

#include "agent/symbols/method_name.h"
#include "agent/report/old_json.h"
#include "agent/profilers/survivors/survivors_source.h"
#include "agent/profilers/survivors/survivors_text.h"
#include "agent/profilers/survivors/survivors_types.h"
#include "common/base/mem.h"
#include "common/base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NODES 20000
#define PATH_CHARS 200
#define NAME_BYTES 300

static void put_percent(const struct survivors *s, uint64_t bytes, struct report_file *f)
{
	old_json_number(f, "percent", survivors_percent(s, bytes), 2);
}

/* What only a graph tells: null without one. */
static void put_held(const struct survivors *s, struct report_file *f, const char *key, uint64_t value)
{
	old_json_known(f, key, s->graph ? (int64_t)value : -1);
}

static void put_size(struct report_file *f, const char *key, uint64_t value)
{
	old_json_integer(f, key, (int64_t)value);
}

static void put_shown(struct report_file *f, const char *value)
{
	AUTO_BUF struct buf shown;
	buf_init(&shown, NAME_BYTES * 16);
	if (!value) {
		buf_puts(&f->text, "null");
		return;
	}
	method_name_printable(value, NAME_BYTES, &shown);
	text_append_json(&f->text, buf_str(&shown), shown.len);
}

/* The first member of an object in a list has no comma before it: each such object begins here. */
static void begin_item(struct report_file *f, bool first, const char *key, const char *value)
{
	buf_printf(&f->text, "%s\n{\"%s\":", first ? "" : ",", key);
	put_shown(f, value);
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
	buf_puts(&f->text, ",\n\"main\":");
	begin_item(f, true, "holder", d->holder ? d->holder->name : NULL);
	old_json_string(f, "path", d->path ? buf_str(&path) : NULL);
	old_json_string(f, "type", d->type == HEAP_NODE_NONE ? NULL : s->snapshot->types[d->type].name);
	buf_puts(&f->text, "}");
}

static void put_types_only(const struct survivors *s, struct report_file *f)
{
	const struct heap_facts *w = &s->snapshot->facts;
	if (s->graph) {
		buf_puts(&f->text, ",\"typesOnly\":null");
		return;
	}
	buf_puts(&f->text, ",\"typesOnly\":{\"seenPercent\":");
	buf_printf(&f->text, "%.1f", survivors_types_seen_percent(s));
	old_json_known(f, "wholePauseBudgetMilliseconds", w->part ? w->whole_budget_ms : -1);
	old_json_known(f, "holdersPauseBudgetMilliseconds", w->needs.budget_ms ? w->needs.budget_ms : -1);
	old_json_known(f, "holdersAgentMemoryBytes", w->needs.limit_bytes ? w->needs.limit_bytes : -1);
	old_json_known(f, "holdersAgentFileBytes", w->needs.file_bytes ? w->needs.file_bytes : -1);
	buf_puts(&f->text, "}");
}

static void put_walk(const struct survivors_source *x, struct report_file *f)
{
	const struct survivors *s = x->survivors;
	const struct heap_facts *w = &s->snapshot->facts;
	int64_t stops_us = w->collection_stop_us + w->walk_stop_us;
	buf_puts(&f->text, ",\n\"walk\":");
	begin_item(f, true, "roots", s->graph ? w->way == HEAP_WAY_EXACT ? "exact" : "noCollection" : "none");
	old_json_string(f, "rootsWhy", w->why);
	put_types_only(s, f);
	old_json_integer(f, "stopMicroseconds", w->paused_us);
	old_json_integer(f, "totalStopMicroseconds", stops_us > w->paused_us ? stops_us : w->paused_us);
	old_json_known(f, "predictedStopMicroseconds", w->predicted_stop_us ? w->predicted_stop_us : -1);
	put_size(f, "objects", s->objects);
	put_size(f, "references", w->edges);
	old_json_integer(f, "analysisMilliseconds", x->analysis_ms);
	buf_puts(&f->text, "}");
}

static void put_generations(const struct survivors *s, struct report_file *f)
{
	static const char *const names[HEAP_GENERATIONS] = {"gen0", "gen1", "gen2", "loh", "poh", "frozen"};
	buf_puts(&f->text, ",\"generations\":[");
	for (int i = 0; i < HEAP_GENERATIONS; i++) {
		const struct heap_space *p = &s->spaces[i];
		uint64_t used = p->bytes + p->dead_bytes;
		begin_item(f, i == 0, "generation", names[i]);
		put_size(f, "sizeBytes", p->range_bytes > used + p->free_bytes ? p->range_bytes : used + p->free_bytes);
		put_size(f, "objects", p->count + p->dead_count);
		put_size(f, "usedBytes", used);
		put_held(s, f, "unreachableBytes", p->dead_bytes);
		put_size(f, "freeBytes", p->free_bytes);
		old_json_known(f, "largestFreeBytes", p->largest_free_bytes || !p->free_bytes ? (int64_t)p->largest_free_bytes : -1);
		put_held(s, f, "pinnedObjects", p->pinned_count);
		buf_puts(&f->text, "}");
	}
	buf_puts(&f->text, "]");
}

static void put_heap(const struct survivors *s, struct report_file *f)
{
	buf_printf(&f->text, ",\n\"heap\":{\"bytes\":%" PRIu64, s->bytes);
	put_held(s, f, "heldObjects", s->held_objects);
	put_held(s, f, "heldBytes", s->held_bytes);
	put_held(s, f, "unreachableObjects", s->unreachable_objects);
	put_held(s, f, "unreachableBytes", s->unreachable_bytes);
	put_size(f, "freeBytes", s->free_bytes);
	put_held(s, f, "pinnedObjects", s->pinned_objects);
	put_held(s, f, "pinnedBytes", s->pinned_bytes);
	put_generations(s, f);
	buf_puts(&f->text, "}");
}

static void put_kinds(const struct survivors *s, struct report_file *f)
{
	buf_puts(&f->text, ",\n\"rootKinds\":[");
	for (int i = 0; s->graph && i < SURVIVORS_KINDS; i++) {
		begin_item(f, i == 0, "kind", survivors_kind_name(i));
		put_size(f, "roots", s->kinds[i].roots);
		put_size(f, "retainedBytes", s->kinds[i].retained);
		put_percent(s, s->kinds[i].retained, f);
		buf_puts(&f->text, "}");
	}
	buf_puts(&f->text, "]");
}

/* `place`: by node, its place in the tree that is written; 0: not there. */
static void put_holders(const struct survivors *s, const uint32_t *place, struct report_file *f)
{
	buf_puts(&f->text, ",\n\"holders\":[");
	for (uint32_t i = 0; i < s->holder_count; i++) {
		const struct survivors_holder *h = &s->holders[i];
		const struct survivors_node *n = &s->tree.nodes[h->node];
		begin_item(f, i == 0, "name", h->name);
		old_json_string(f, "kind", survivors_kind_name(h->kind));
		old_json_known(f, "node", place[h->node] ? (int64_t)place[h->node] : -1);
		put_size(f, "roots", n->objects);
		put_size(f, "retainedBytes", n->retained);
		put_size(f, "retainedObjects", n->retained_objects);
		put_percent(s, n->retained, f);
		buf_puts(&f->text, "}");
		report_file_flow(f);
	}
	buf_puts(&f->text, "]");
}

static void put_steps(const struct survivors *s, const struct heap_path *p, struct report_file *f)
{
	buf_puts(&f->text, ",\"steps\":[");
	begin_item(f, true, "name", survivors_text_root(s->snapshot, p));
	buf_printf(&f->text, ",\"field\":null,\"objects\":0,\"bytes\":%" PRIu64 "}", p->root_held);
	for (size_t i = 0; i < p->step_count; i++) {
		const struct heap_step *step = &p->steps[i];
		begin_item(f, false, "name", s->snapshot->types[step->type].name);
		old_json_string(f, "field", step->field && step->field[0] ? step->field : NULL);
		put_size(f, "objects", step->count);
		put_size(f, "bytes", step->held);
		buf_puts(&f->text, "}");
	}
	buf_puts(&f->text, "]");
}

static void put_paths(const struct survivors *s, struct report_file *f)
{
	buf_puts(&f->text, ",\n\"paths\":[");
	for (size_t i = 0; i < s->paths.count; i++) {
		const struct heap_path *p = &s->paths.paths[i];
		AUTO_BUF struct buf text;
		buf_init(&text, 8192);
		put_path_text(s, p, &text);
		begin_item(f, i == 0, "path", buf_str(&text));
		old_json_string(f, "kind", survivors_kind_name(survivors_text_path_kind(p)));
		put_size(f, "bytes", p->held);
		put_size(f, "objects", p->step_count ? p->steps[p->step_count - 1].count : 0);
		put_percent(s, p->held, f);
		put_steps(s, p, f);
		buf_puts(&f->text, "}");
		report_file_flow(f);
	}
	buf_puts(&f->text, "]");
}

static void put_type(const struct survivors *s, const struct survivors_group *g, struct report_file *f)
{
	old_json_string(f, "namespace", s->snapshot->types[g->type].space);
	old_json_string(f, "assembly", s->snapshot->types[g->type].module);
	put_size(f, "objects", g->total.count + g->total.dead_count);
	put_size(f, "shallowBytes", g->total.bytes + g->total.dead_bytes);
	put_held(s, f, "retainedBytes", g->total.retained);
	put_held(s, f, "unreachableBytes", g->total.dead_bytes + g->total.unheld_bytes);
	buf_puts(&f->text, ",\"generationBytes\":[");
	for (int i = 0; i < HEAP_GENERATIONS; i++)
		buf_printf(&f->text, "%s%" PRIu64, i ? "," : "", g->total.generation_bytes[i]);
	buf_puts(&f->text, "]}");
}

static void put_types(const struct survivors *s, struct report_file *f)
{
	buf_puts(&f->text, ",\n\"types\":[");
	for (uint32_t i = 0; i < s->types.count; i++) {
		begin_item(f, i == 0, "name", s->types.items[i].name);
		put_type(s, &s->types.items[i], f);
		report_file_flow(f);
	}
	buf_printf(&f->text, "],\n\"typesLeftOut\":{\"types\":%" PRIu64, s->types.left_out);
	put_size(f, "objects", s->types.left_out_objects);
	put_size(f, "shallowBytes", s->types.left_out_bytes);
	buf_puts(&f->text, "}");
}

static void put_groups(const struct survivors *s, const char *key, const struct survivors_groups *g, struct report_file *f)
{
	buf_printf(&f->text, ",\n\"%s\":[", key);
	for (uint32_t i = 0; i < g->count; i++) {
		const struct heap_total *t = &g->items[i].total;
		begin_item(f, i == 0, "name", g->items[i].name);
		put_size(f, "objects", t->count + t->dead_count);
		put_size(f, "shallowBytes", t->bytes + t->dead_bytes);
		put_held(s, f, "retainedBytes", t->retained);
		buf_puts(&f->text, "}");
		report_file_flow(f);
	}
	buf_puts(&f->text, "]");
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
	buf_puts(&f->text, ",\n\"tree\":{");
	for (int c = 0; c < COLUMNS; c++) {
		buf_printf(&f->text, "%s\"%s\":[", c ? ",\n" : "\n", keys[c]);
		for (uint32_t i = 0; i < p->count; i++) {
			buf_printf(&f->text, "%s%" PRId64, i ? "," : "", cell(&s->tree, p, c, i));
			report_file_flow(f);
		}
		buf_puts(&f->text, "]");
	}
	buf_puts(&f->text, "},\n\"names\":[");
	for (uint32_t i = 0; i < p->name_count; i++) {
		buf_puts(&f->text, i ? ",\n" : "\n");
		put_shown(f, survivors_tree_name(&s->tree, s->snapshot, p->named[i]));
		report_file_flow(f);
	}
	buf_puts(&f->text, "]");
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
	old_json_begin(&x->head, survivors_finding_name(x->diagnosis->finding), NULL, f);
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
	old_json_end(&x->head, f);
	plan_fini(&plan);
}
