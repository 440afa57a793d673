#include "agent/heap/heap_search.h"

#include <string.h>

#define WANTED 6

static int init(struct heap_search *s, const struct heap_nodes *n, struct err *e)
{
	size_t all = (size_t)n->count + n->snapshot->root_count + 2;

	*s = (struct heap_search){.nodes = n, .memory = n->memory};
	if (heap_memory_take(s->memory, &s->number_array, all, sizeof *s->number, HEAP_AT_RANDOM, e) < 0 ||
	    heap_memory_take(s->memory, &s->semi_array, all, sizeof *s->semi, HEAP_AT_RANDOM, e) < 0 ||
	    heap_memory_take(s->memory, &s->parent_array, all, sizeof *s->parent, HEAP_IN_ORDER, e) < 0 ||
	    heap_memory_take(s->memory, &s->node_array, all, sizeof *s->node, HEAP_IN_ORDER, e) < 0 ||
	    heap_memory_take(s->memory, &s->stack_array, 1024, sizeof(struct heap_row), HEAP_IN_ORDER, e) < 0 ||
	    heap_arcs_init(&s->arcs, s->memory, (uint32_t)all, e) < 0) {
		heap_search_fini(s);
		return -1;
	}
	s->number = s->number_array.data;
	s->semi = s->semi_array.data;
	s->parent = s->parent_array.data;
	s->node = s->node_array.data;
	memset(s->number, 0xff, all * sizeof *s->number);
	return 0;
}

void heap_search_fini(struct heap_search *s)
{
	if (!s->memory)
		return;
	heap_arcs_fini(&s->arcs);
	heap_memory_give(s->memory, &s->number_array);
	heap_memory_give(s->memory, &s->semi_array);
	heap_memory_give(s->memory, &s->parent_array);
	heap_memory_give(s->memory, &s->node_array);
	heap_memory_give(s->memory, &s->stack_array);
	heap_memory_give(s->memory, &s->unheld_array);
	*s = (struct heap_search){0};
}

static inline uint32_t number_node(struct heap_search *s, uint32_t node, uint32_t parent)
{
	uint32_t number = s->count++;

	s->number[node] = number;
	s->node[number] = node;
	s->parent[number] = s->semi[number] = parent;
	return number;
}

static int push_row(struct heap_search *s, const struct heap_row *row, struct err *e)
{
	size_t need = (s->stack_depth + 1) * sizeof *row;

	if (need > s->stack_array.bytes && heap_memory_grow(s->memory, &s->stack_array, 2 * need, e) < 0)
		return -1;
	((struct heap_row *)s->stack_array.data)[s->stack_depth++] = *row;
	return 0;
}

/* An arc to a node that has its number: down to a descendant, or back or across to a lower number. */
static inline int add_arc(struct heap_search *s, uint32_t from, uint32_t to, struct err *e)
{
	if (to < s->floor)
		return 0;
	if (to < from)
		return heap_arcs_add(&s->arcs, from, to, e);
	if (from < s->semi[to])
		s->semi[to] = from;
	return 0;
}

/* The first objects of a row will be looked at one by one, with much between: they are asked for together. */
static void prefetch_targets(const struct heap_search *s, struct heap_row row)
{
	for (int i = 0; i < WANTED && row.at != row.end; i++) {
		uint32_t target = heap_row_next(&row);
		__builtin_prefetch(&s->number[target]);
		heap_rows_want_start(&s->nodes->rows, target);
	}
}

/* From an object that was just entered. A row that is read to its end is not kept: a list that is linked by its last field needs no
 * stack at all. */
static int descend(struct heap_search *s, uint32_t node, uint32_t number, struct err *e)
{
	const struct heap_rows *rows = &s->nodes->rows;
	size_t bottom = s->stack_depth;
	struct heap_row row = {.owner = number};

	heap_rows_of(rows, node, &row);
	for (;;) {
		while (row.at == row.end) {
			if (s->stack_depth == bottom)
				return 0;
			row = ((struct heap_row *)s->stack_array.data)[--s->stack_depth];
		}
		uint32_t target = heap_row_next(&row), known = s->number[target];
		if (known != HEAP_SEARCH_NONE) {
			if (known != row.owner && add_arc(s, row.owner, known, e) < 0)
				return -1;
			continue;
		}
		known = number_node(s, target, row.owner);
		if (!heap_rows_holds(rows, target))
			continue;
		if (row.at != row.end && push_row(s, &row, e) < 0)
			return -1;
		row.owner = known;
		heap_rows_of(rows, target, &row);
		prefetch_targets(s, row);
	}
}

/* The arc from a root (or what stands for one) to the object that it holds. */
static int follow_root(struct heap_search *s, uint32_t number, uint32_t object, struct err *e)
{
	uint32_t known = s->number[object];

	if (known != HEAP_SEARCH_NONE)
		return add_arc(s, number, known, e);
	known = number_node(s, object, number);
	return heap_rows_holds(&s->nodes->rows, object) ? descend(s, object, known, e) : 0;
}

/* Visits what cannot be seen from the objects visited before; their numbers stay free. The queue is the unused end of s->node. */
static void visit_from(struct heap_search *s, uint64_t *visited, uint32_t start)
{
	uint32_t *queue = s->node + s->count, head = 0, tail = 0;
	struct heap_row row;

	queue[tail++] = start;
	visited[start / 64] |= UINT64_C(1) << start % 64;
	while (head < tail) {
		heap_rows_of(&s->nodes->rows, queue[head++], &row);
		while (row.at != row.end) {
			uint32_t to = heap_row_next(&row);
			uint64_t bit = UINT64_C(1) << to % 64;
			if (s->number[to] != HEAP_SEARCH_NONE || visited[to / 64] & bit)
				continue;
			visited[to / 64] |= bit;
			queue[tail++] = to;
		}
	}
}

static int add_start(struct heap_search *s, uint32_t node, struct err *e)
{
	size_t need = ((size_t)s->unheld_count + 1) * sizeof *s->unheld;

	if (need > s->unheld_array.bytes && heap_memory_grow(s->memory, &s->unheld_array, 2 * need, e) < 0)
		return -1;
	s->unheld = s->unheld_array.data;
	s->unheld[s->unheld_count++] = node;
	return 0;
}

/* As few objects as possible from which all can be reached that no root does: one of each group that holds each other and that nobody
 * else holds. They are among those that no search before saw, and nothing that was started later leads to the last one of them: so
 * from the last to the first, without those seen by now. */
static int find_unheld(struct heap_search *s, uint64_t *visited, struct err *e)
{
	for (uint32_t i = 0; i < s->nodes->count; i++) {
		if (s->number[i] != HEAP_SEARCH_NONE || visited[i / 64] >> i % 64 & 1)
			continue;
		if (add_start(s, i, e) < 0)
			return -1;
		visit_from(s, visited, i);
	}
	return 0;
}

static int follow_unheld(struct heap_search *s, struct err *e)
{
	const struct heap_nodes *n = s->nodes;
	struct heap_array visited = {0};
	uint32_t number = number_node(s, n->count + (uint32_t)n->snapshot->root_count, 0), kept;

	if (heap_memory_take(s->memory, &s->unheld_array, 1024, sizeof *s->unheld, HEAP_IN_ORDER, e) < 0 ||
	    heap_memory_take(s->memory, &visited, n->count / 64 + 1, sizeof(uint64_t), HEAP_AT_RANDOM, e) < 0)
		return -1;
	int rc = find_unheld(s, visited.data, e);
	heap_memory_give(s->memory, &visited);
	kept = s->unheld_count;
	for (uint32_t i = s->unheld_count; i-- > 0 && rc == 0;)
		if (s->number[s->unheld[i]] == HEAP_SEARCH_NONE) {
			s->unheld[--kept] = s->unheld[i];
			rc = follow_root(s, number, s->unheld[i], e);
		}
	if (kept)
		memmove(s->unheld, s->unheld + kept, (s->unheld_count -= kept) * sizeof *s->unheld);
	return rc;
}

static bool lasts(const struct heap_root *r)
{
	return r->kind != HEAP_ROOT_STACK && r->kind != HEAP_ROOT_FINALIZER;
}

enum which { ALL, LASTING, PASSING };

static int follow_roots(struct heap_search *s, enum which which, struct err *e)
{
	const struct heap_nodes *n = s->nodes;

	for (uint32_t i = 0; i < (uint32_t)n->snapshot->root_count; i++) {
		bool wanted = which == ALL || lasts(&n->snapshot->roots[i]) == (which == LASTING);
		if (wanted && n->held[i] != HEAP_INDEX_NONE && follow_root(s, number_node(s, n->count + i, 0), n->held[i], e) < 0)
			return -1;
	}
	return 0;
}

int heap_search_run(struct heap_search *s, const struct heap_nodes *n, bool unheld, bool lasting_first, struct err *e)
{
	if (init(s, n, e) < 0)
		return -1;
	number_node(s, n->count + (uint32_t)n->snapshot->root_count + 1, 0);
	if (follow_roots(s, lasting_first ? LASTING : ALL, e) < 0)
		return -1;
	if (lasting_first) {
		s->floor = s->count;
		if (follow_roots(s, PASSING, e) < 0)
			return -1;
		s->floor = s->count;
	}
	if (unheld && follow_unheld(s, e) < 0)
		return -1;
	heap_memory_give(s->memory, &s->stack_array);
	return 0;
}
