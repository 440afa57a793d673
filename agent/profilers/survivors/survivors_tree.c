#include "agent/profilers/survivors/survivors_tree.h"

#include "common/base/index_set.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define NEAR 3 /* a type is one with its like that so few nodes above */

static const struct {
	const char *name, *title;
} kinds[SURVIVORS_KINDS] = {
	[SURVIVORS_STATIC] = {"static", "static fields"},
	[SURVIVORS_THREAD_STATIC] = {"threadStatic", "thread statics"},
	[SURVIVORS_HANDLE] = {"handle", "handles"},
	[SURVIVORS_PINNED_HANDLE] = {"pinnedHandle", "pinned handles"},
	[SURVIVORS_DEPENDENT_HANDLE] = {"dependentHandle", "dependent handles"},
	[SURVIVORS_FINALIZER] = {"finalizer", "the finalizer queue"},
	[SURVIVORS_STACK] = {"stack", "stacks"},
	[SURVIVORS_OTHER] = {"other", "other roots"},
	[SURVIVORS_SEVERAL] = {"several", "held by several roots"},
	[SURVIVORS_UNKNOWN] = {"unknown", NULL},
};

const char *survivors_kind_name(enum survivors_kind k)
{
	return kinds[k].name;
}

const char *survivors_kind_title(const struct heap_snapshot *s, enum survivors_kind k)
{
	return kinds[k].title ? kinds[k].title : heap_facts_unheld(&s->facts);
}

enum survivors_kind survivors_kind_of(const struct heap_root *r)
{
	switch (r->kind) {
	case HEAP_ROOT_STATIC:
		return SURVIVORS_STATIC;
	case HEAP_ROOT_THREAD_STATIC:
		return SURVIVORS_THREAD_STATIC;
	case HEAP_ROOT_HANDLE:
		return r->flags & HEAP_ROOT_PINNED ? SURVIVORS_PINNED_HANDLE : SURVIVORS_HANDLE;
	case HEAP_ROOT_DEPENDENT:
		return SURVIVORS_DEPENDENT_HANDLE;
	case HEAP_ROOT_FINALIZER:
		return SURVIVORS_FINALIZER;
	case HEAP_ROOT_STACK:
		return SURVIVORS_STACK;
	case HEAP_ROOT_OTHER:
		break;
	}
	return SURVIVORS_OTHER;
}

/* Which node the objects of a type below a node belong to. Found once, then looked up. */
struct way {
	uint32_t parent, type, node;
};

struct direct { /* an object and a root that holds it */
	uint32_t object, root;
};

struct open_place { /* one node of the dominator tree whose subtree is being read */
	uint32_t end, node;
};

struct maker {
	const struct heap_graph *g;
	struct survivors_tree *t;
	uint32_t cap;
	struct way *last;         /* by node: where its last child went */
	struct way *ways;
	size_t way_count, way_cap;
	struct index_set way_set, label_set;
	struct open_place *open;
	size_t depth, open_cap;
	struct direct *direct;    /* by object, the most lasting root first */
	size_t direct_count;
};

/* nodes ----------------------------------------------------------------------------------------------------------- */

static uint32_t add_survivors_node(struct maker *m, uint32_t parent, uint32_t type, enum survivors_kind kind, const char *label)
{
	struct survivors_tree *t = m->t;
	if (t->count == m->cap) {
		m->cap = m->cap ? m->cap * 2 : 256;
		t->nodes = mem_realloc(t->nodes, m->cap, sizeof *t->nodes);
		m->last = mem_realloc(m->last, m->cap, sizeof *m->last);
	}
	uint32_t depth = t->count ? t->nodes[parent].depth + 1 : 0;
	t->nodes[t->count] = (struct survivors_node){.parent = parent, .type = type, .depth = depth, .kind = kind, .label = label};
	m->last[t->count] = (struct way){.type = HEAP_NODE_NONE};
	return t->count++;
}

static uint32_t hash_way(uint32_t parent, uint32_t type)
{
	uint32_t pair[2] = {parent, type};
	return index_hash(INDEX_HASH_START, pair, sizeof pair);
}

static uint32_t find_way(const struct maker *m, uint32_t hash, uint32_t parent, uint32_t type)
{
	size_t at = hash;
	uint32_t i;
	while ((i = index_set_next(&m->way_set, hash, &at)) != INDEX_NONE)
		if (m->ways[i].parent == parent && m->ways[i].type == type)
			return m->ways[i].node;
	return HEAP_NODE_NONE;
}

static void add_way(struct maker *m, uint32_t hash, struct way w)
{
	if (m->way_count == m->way_cap) {
		m->way_cap = m->way_cap ? m->way_cap * 2 : 256;
		m->ways = mem_realloc(m->ways, m->way_cap, sizeof *m->ways);
	}
	m->ways[m->way_count] = w;
	index_set_add(&m->way_set, hash, (uint32_t)m->way_count++);
}

/* A type below itself is one node with it: at once where it is near, and where the tree has become deep at any distance. */
static uint32_t like_above(const struct survivors_tree *t, uint32_t parent, uint32_t type)
{
	const struct survivors_node *n = &t->nodes[parent];
	uint32_t reach = n->depth < SURVIVORS_MAX_DEPTH ? NEAR : UINT32_MAX;
	for (uint32_t at = parent; at && reach; at = n->parent, reach--) {
		n = &t->nodes[at];
		if (n->type == type)
			return at;
	}
	return t->nodes[parent].depth < SURVIVORS_MAX_DEPTH && t->count < SURVIVORS_MAX_NODES ? HEAP_NODE_NONE : parent;
}

static uint32_t child_of_type(struct maker *m, uint32_t parent, uint32_t type)
{
	struct way *last = &m->last[parent];
	if (last->type == type)
		return last->node;
	uint32_t hash = hash_way(parent, type), node = find_way(m, hash, parent, type);
	if (node == HEAP_NODE_NONE) {
		node = m->t->nodes[parent].kind == SURVIVORS_OBJECTS ? like_above(m->t, parent, type) : HEAP_NODE_NONE;
		if (node == HEAP_NODE_NONE)
			node = add_survivors_node(m, parent, type, SURVIVORS_OBJECTS, NULL);
		add_way(m, hash, (struct way){parent, type, node});
	}
	m->last[parent] = (struct way){parent, type, node};
	return node;
}

/* Roots of one kind and name are one holder. */
static uint32_t holder_of(struct maker *m, const struct heap_root *r)
{
	enum survivors_kind kind = survivors_kind_of(r);
	const char *label = r->label ? r->label : "";
	uint32_t hash = index_hash_str(INDEX_HASH_START + (uint32_t)kind, label), i;
	size_t at = hash;
	while ((i = index_set_next(&m->label_set, hash, &at)) != INDEX_NONE)
		if (m->t->nodes[i].kind == kind && strcmp(m->t->nodes[i].label, label) == 0)
			return i;
	i = add_survivors_node(m, 0, HEAP_NODE_NONE, kind, label);
	index_set_add(&m->label_set, hash, i);
	return i;
}

static uint32_t group(struct maker *m, uint32_t *node, enum survivors_kind kind)
{
	if (!*node)
		*node = add_survivors_node(m, 0, HEAP_NODE_NONE, kind, survivors_kind_title(m->g->snapshot, kind));
	return *node;
}

/* objects of several roots ------------------------------------------------------------------------------------------ */

static int by_object(const void *a, const void *b, void *ctx)
{
	const struct heap_root *roots = ctx;
	const struct direct *x = a, *y = b;
	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	enum survivors_kind kx = survivors_kind_of(&roots[x->root]), ky = survivors_kind_of(&roots[y->root]);
	if (kx != ky)
		return kx < ky ? -1 : 1;
	return x->root < y->root ? -1 : 1;
}

static void list_direct(struct maker *m)
{
	const struct heap_snapshot *s = m->g->snapshot;
	m->direct = mem_calloc(s->root_count + 1, sizeof *m->direct);
	for (size_t i = 0; i < s->root_count; i++) {
		const struct heap_root *r = &s->roots[i];
		if (r->flags & HEAP_ROOT_WEAK || r->kind == HEAP_ROOT_DEPENDENT)
			continue;
		bool inside = r->flags & (HEAP_ROOT_INTERIOR | HEAP_ROOT_CONSERVATIVE);
		uint32_t object = inside ? heap_graph_holding(m->g, r->object) : heap_graph_node(m->g, r->object);
		if (object != HEAP_NODE_NONE)
			m->direct[m->direct_count++] = (struct direct){object, (uint32_t)i};
	}
	qsort_r(m->direct, m->direct_count, sizeof *m->direct, by_object, s->roots);
}

/* The most lasting root that holds the object itself; NULL: none does. */
static const struct heap_root *direct_root(const struct maker *m, uint32_t object)
{
	size_t low = 0, high = m->direct_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (m->direct[middle].object < object)
			low = middle + 1;
		else
			high = middle;
	}
	return low < m->direct_count && m->direct[low].object == object ? &m->g->snapshot->roots[m->direct[low].root] : NULL;
}

/* the pass -------------------------------------------------------------------------------------------------------- */

static void open_place(struct maker *m, uint32_t end, uint32_t node)
{
	if (m->depth == m->open_cap) {
		m->open_cap = m->open_cap ? m->open_cap * 2 : 1024;
		m->open = mem_realloc(m->open, m->open_cap, sizeof *m->open);
	}
	m->open[m->depth++] = (struct open_place){end, node};
}

static void close_places(struct maker *m, uint32_t place)
{
	while (m->depth && m->open[m->depth - 1].end <= place)
		m->depth--;
}

static void read_object_place(struct maker *m, uint32_t place)
{
	uint32_t object = m->g->node_at[place];
	uint32_t type = heap_graph_type(m->g, object), holder;
	uint64_t size = heap_graph_size(m->g, object);
	if (m->depth) {
		holder = m->open[m->depth - 1].node;
	} else { /* right below the super-root: no root dominates it */
		const struct heap_root *r = direct_root(m, object);
		holder = r ? holder_of(m, r) : group(m, &m->t->several, SURVIVORS_SEVERAL);
	}
	uint32_t at = child_of_type(m, holder, type);
	struct survivors_node *n = &m->t->nodes[at];
	n->retained += size;
	n->retained_objects++;
	if (n->type == type) {
		n->objects++;
		n->bytes += size;
	} else {
		m->t->folded++;
	}
	if (m->g->below[place])
		open_place(m, place + 1 + m->g->below[place], at);
}

static void read_root_place(struct maker *m, uint32_t place)
{
	uint32_t root = m->g->node_at[place];
	bool unheld = root == HEAP_GRAPH_UNHELD(m->g);
	uint32_t at = unheld ? group(m, &m->t->unknown, SURVIVORS_UNKNOWN) : holder_of(m, &m->g->snapshot->roots[root - m->g->objects]);
	m->t->nodes[at].objects += !unheld;
	if (m->g->below[place])
		open_place(m, place + 1 + m->g->below[place], at);
}

/* Each object is in one node: what a node retains are its objects and those of all nodes below. Children come after their parents. */
static void sum_up_retained(struct survivors_tree *t)
{
	for (uint32_t i = t->count; i-- > 1;) {
		t->nodes[t->nodes[i].parent].retained += t->nodes[i].retained;
		t->nodes[t->nodes[i].parent].retained_objects += t->nodes[i].retained_objects;
	}
}

/* order ----------------------------------------------------------------------------------------------------------- */

static int node_by_retained(const void *a, const void *b, void *ctx)
{
	const struct survivors_node *nodes = ctx, *x = &nodes[*(const uint32_t *)a], *y = &nodes[*(const uint32_t *)b];
	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->retained != y->retained)
		return x->retained > y->retained ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static void link_survivors_nodes(struct survivors_tree *t)
{
	uint32_t *order = mem_calloc(t->count, sizeof *order);
	for (uint32_t i = 1; i < t->count; i++)
		order[i - 1] = i;
	qsort_r(order, t->count - 1, sizeof *order, node_by_retained, t->nodes);
	for (uint32_t i = t->count - 1; i-- > 0;) {
		struct survivors_node *n = &t->nodes[order[i]], *parent = &t->nodes[n->parent];
		n->next = parent->first;
		parent->first = order[i];
	}
	free(order);
}

void survivors_tree_make(const struct heap_graph *g, struct survivors_tree *out)
{
	struct maker m = {.g = g, .t = out};
	*out = (struct survivors_tree){0};
	add_survivors_node(&m, 0, HEAP_NODE_NONE, SURVIVORS_OBJECTS, "the heap");
	list_direct(&m);
	for (uint32_t i = 1; i < g->placed; i++) {
		close_places(&m, i);
		if (g->node_at[i] < g->objects)
			read_object_place(&m, i);
		else
			read_root_place(&m, i);
	}
	sum_up_retained(out);
	link_survivors_nodes(out);
	free(m.last);
	free(m.ways);
	free(m.open);
	free(m.direct);
	index_set_fini(&m.way_set);
	index_set_fini(&m.label_set);
}

void survivors_tree_none(struct survivors_tree *out)
{
	*out = (struct survivors_tree){.nodes = mem_alloc(sizeof *out->nodes), .count = 1};
	out->nodes[0] = (struct survivors_node){.type = HEAP_NODE_NONE, .kind = SURVIVORS_OBJECTS, .label = "the heap"};
}

void survivors_tree_fini(struct survivors_tree *t)
{
	free(t->nodes);
	*t = (struct survivors_tree){0};
}

const char *survivors_tree_name(const struct survivors_tree *t, const struct heap_snapshot *s, uint32_t node)
{
	const struct survivors_node *n = &t->nodes[node];
	return n->label ? n->label : s->types[n->type].name;
}

uint32_t survivors_tree_preorder(const struct survivors_tree *t, uint64_t least, uint32_t *out, uint32_t max)
{
	uint32_t count = 0, at = 0;
	while (count < max) {
		out[count++] = at;
		uint32_t next = t->nodes[at].first;
		/* siblings come by falling size: the first that is too small ends them */
		while (!next || t->nodes[next].retained < least) {
			if (!at)
				return count;
			next = t->nodes[at].next;
			at = t->nodes[at].parent;
		}
		at = next;
	}
	return count;
}
