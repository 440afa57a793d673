#include "agent/profilers/survivors/survivors_signs.h"

#include "agent/profilers/survivors/survivors_keeper.h"
#include "agent/symbols/type_pattern.h"

#include <string.h>

/* by type ---------------------------------------------------------------------------------------------------------- */

struct sign {
	double count, bytes, own, old;
};

static void add_group(const struct survivors *s, const struct survivors_group *g, struct sign *out)
{
	const struct heap_total *t = &g->total;
	out->count += (double)t->count;
	out->bytes += s->graph ? (double)t->retained : (double)t->bytes;
	out->own += (double)t->bytes;
	for (int i = HEAP_GEN2; i < HEAP_GENERATIONS; i++)
		out->old += (double)t->generation_bytes[i];
}

static double old_percent(const struct sign *x)
{
	return x->own > 0 ? 100 * x->old / x->own : 0;
}

static void sign_types(const struct survivors *s, struct survivors_numbers *out)
{
	struct sign signs[TYPE_PATTERNS] = {0};
	for (uint32_t i = 0; i < s->types.count; i++)
		add_group(s, &s->types.items[i], &signs[type_pattern_of(s->types.items[i].name)]);
	out->timers = signs[TYPE_PATTERN_TIMER].count;
	out->timer_bytes = signs[TYPE_PATTERN_TIMER].bytes;
	out->timer_old_percent = old_percent(&signs[TYPE_PATTERN_TIMER]);
	out->sources = signs[TYPE_PATTERN_CANCELLATION].count;
	out->source_bytes = signs[TYPE_PATTERN_CANCELLATION].bytes;
	out->source_old_percent = old_percent(&signs[TYPE_PATTERN_CANCELLATION]);
	out->load_contexts = signs[TYPE_PATTERN_LOAD_CONTEXT].count;
	out->load_context_bytes = signs[TYPE_PATTERN_LOAD_CONTEXT].bytes;
	out->trackers = signs[TYPE_PATTERN_TRACKER].count;
	out->tracker_bytes = signs[TYPE_PATTERN_TRACKER].bytes;
	out->tracked_entities = signs[TYPE_PATTERN_TRACKED].count;
	out->scopes = signs[TYPE_PATTERN_SCOPE].count;
}

/* by place --------------------------------------------------------------------------------------------------------- */

static const struct heap_type *type_at(const struct survivors *s, uint32_t node)
{
	uint32_t type = s->tree.nodes[node].type;
	return type == HEAP_NODE_NONE ? NULL : &s->snapshot->types[type];
}

static uint32_t child_called(const struct survivors *s, uint32_t node, const char *name)
{
	for (uint32_t i = s->tree.nodes[node].first; i; i = s->tree.nodes[i].next)
		if (strcmp(survivors_tree_name(&s->tree, s->snapshot, i), name) == 0)
			return i;
	return 0;
}

/* A scope has one List<object>: what it will dispose of. What others hold, too, is not below it. */
static void sign_disposables(const struct survivors *s, struct survivors_numbers *out)
{
	const struct survivors_node *nodes = s->tree.nodes;
	uint64_t most = 0;
	out->disposables = out->disposable_bytes = 0;
	for (uint32_t i = 1; i < s->tree.count; i++) {
		const struct heap_type *t = type_at(s, i);
		if (!t || type_pattern_of(t->name) != TYPE_PATTERN_SCOPE)
			continue;
		uint32_t list = child_called(s, i, "System.Collections.Generic.List<object>"), array = list ? child_called(s, list, "object[]") : 0;
		for (uint32_t k = array ? nodes[array].first : 0; k; k = nodes[k].next) {
			out->disposables += (double)nodes[k].objects;
			if (nodes[k].retained <= most)
				continue;
			most = nodes[k].retained;
			rules_set_text(&out->disposable_type, type_at(s, k)->name);
		}
		out->disposable_bytes += list ? (double)nodes[list].retained : 0;
	}
}

/* "PriceFeed.Changed": the field by which an object of the owner's type holds the delegate. */
static void name_event(const struct survivors *s, uint32_t owner, uint32_t delegate, struct rule_text *out)
{
	const struct heap_type *types = s->snapshot->types;
	AUTO_BUF struct buf name;
	buf_init(&name, 4096);
	buf_puts(&name, types[owner].short_name);
	for (size_t i = 0; i < s->paths.count; i++) {
		const struct heap_path *p = &s->paths.paths[i];
		for (size_t k = 0; k + 1 < p->step_count; k++) {
			const char *field = p->steps[k + 1].field;
			if (p->steps[k].type != owner || p->steps[k + 1].type != delegate || !field || !*field)
				continue;
			buf_printf(&name, ".%s", field);
			rules_set_text(out, buf_str(&name));
			return;
		}
	}
	rules_set_text(out, buf_str(&name));
}

/* An event with handlers is a delegate that holds an array of delegates; those of its own type are one node with it. */
static void sign_handlers(const struct survivors *s, struct survivors_numbers *out)
{
	const struct survivors_node *nodes = s->tree.nodes;
	out->handlers = out->handler_bytes = 0;
	for (uint32_t i = 1; i < s->tree.count; i++) {
		const struct heap_type *t = type_at(s, i), *owner = type_at(s, nodes[i].parent);
		uint32_t array = t && survivors_keeper_is_delegate(t) ? child_called(s, i, "object[]") : 0;
		if (!array || !owner || (double)nodes[i].retained <= out->handler_bytes)
			continue;
		out->handlers = (double)(nodes[i].objects - nodes[array].objects);
		out->handler_bytes = (double)nodes[i].retained;
		name_event(s, nodes[nodes[i].parent].type, nodes[i].type, &out->event);
	}
}

/* A strong handle holds a collectible context from its Unload() until nothing refers to it any more. */
static void sign_unloading(const struct survivors *s, struct survivors_numbers *out)
{
	const struct heap_snapshot *h = s->snapshot;
	out->unloading_contexts = 0;
	for (size_t i = 0; i < h->root_count; i++) {
		const struct heap_root *r = &h->roots[i];
		if (r->kind != HEAP_ROOT_HANDLE || r->flags & (HEAP_ROOT_WEAK | HEAP_ROOT_PINNED | HEAP_ROOT_INTERIOR))
			continue;
		uint32_t node = heap_graph_node(s->graph, r->object);
		if (node == HEAP_NODE_NONE)
			continue;
		const struct heap_type *t = &h->types[heap_graph_type(s->graph, node)];
		for (size_t k = 0; k < t->field_count; k++)
			if (strcmp(t->fields[k].name, "_unloadLock") == 0) {
				out->unloading_contexts++;
				break;
			}
	}
}

void survivors_signs_of(const struct survivors *s, struct survivors_numbers *out)
{
	sign_types(s, out);
	if (!s->graph)
		return;
	sign_disposables(s, out);
	sign_handlers(s, out);
	if (out->load_contexts > 0)
		sign_unloading(s, out);
}
