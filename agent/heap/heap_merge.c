#include "agent/heap/heap_merge.h"

#include "agent/symbols/type_pattern.h"
#include "common/base/hash.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define ROOT_TYPE 0x80000000u /* in the table's keys: the type is a root */
#define FIRST_SLOT_BITS 10
#define AT_ONCE 16       /* objects of a row */
#define AHEAD 8          /* rows of the queue */

static uint32_t group_slot(const struct heap_merge *m, uint32_t parent, uint32_t type)
{
	return (uint32_t)(((uint64_t)parent << 32 | type) * UINT64_C(0x9E3779B97F4A7C15) >> (64 - m->slot_bits));
}

static uint32_t *find_group_slot(const struct heap_merge *m, uint32_t parent, uint32_t type)
{
	uint32_t mask = (1u << m->slot_bits) - 1, at = group_slot(m, parent, type);

	while (m->slots[at]) {
		const struct heap_group *g = &m->groups[m->slots[at]];
		if (g->parent == parent && g->type == type)
			break;
		at = (at + 1) & mask;
	}
	return &m->slots[at];
}

static void grow_group_slots(struct heap_merge *m)
{
	free(m->slots);
	m->slot_bits = m->slot_bits ? m->slot_bits + 1 : FIRST_SLOT_BITS;
	m->slots = mem_calloc((size_t)1 << m->slot_bits, sizeof *m->slots);
	for (uint32_t i = 1; i < m->count; i++)
		*find_group_slot(m, m->groups[i].parent, m->groups[i].type) = i;
}

static uint32_t add_group(struct heap_merge *m, uint32_t parent, uint32_t type, uint32_t depth)
{
	GROW(m->groups, m->count, m->cap);
	m->groups[m->count] = (struct heap_group){.parent = parent, .type = type, .depth = depth, .sample = HEAP_GROUP_NONE};
	return m->count++;
}

/* Itself or a group a few steps above that has this type. */
static uint32_t look_back(const struct heap_merge *m, uint32_t group, uint32_t type)
{
	for (int i = 0; i < HEAP_MERGE_LOOK_BACK && m->groups[group].depth > 1; i++, group = m->groups[group].parent)
		if (m->groups[group].type == type)
			return group;
	return HEAP_GROUP_NONE;
}

static uint32_t child_of(struct heap_merge *m, uint32_t parent, uint32_t type)
{
	uint32_t above = look_back(m, parent, type);

	if (above != HEAP_GROUP_NONE) {
		m->groups[above].nested = true;
		return above;
	}
	uint32_t *slot = find_group_slot(m, parent, type);
	if (*slot)
		return *slot;
	if (m->count >= HEAP_MERGE_MAX_GROUPS)
		return parent;
	uint32_t group = *slot = add_group(m, parent, type, m->groups[parent].depth + 1);
	if (m->count * 2 > 1u << m->slot_bits)
		grow_group_slots(m);
	return group;
}

/* The runtime's timers are one list for each CPU, which holds them. Who keeps one of them (a Timer that is held elsewhere) would take its neighbours, too,
 * as many as stand nearer to it than to the list's head: others at each moment. So the lists go first. */
static bool holds_timers(const struct heap_merge *m, uint32_t group)
{
	return m->groups[group].type == m->timer_type || m->groups[group].type == m->timer_queue_type;
}

/* An object that was not met before, held by one of the group. */
static void reach(struct heap_merge *m, uint32_t object, uint32_t parent)
{
	uint32_t type = heap_nodes_type(m->nodes, object);

	if (type == m->timer_type && !m->listed && !holds_timers(m, parent)) {
		GROW(m->kept, m->kept_count, m->kept_cap);
		m->kept[m->kept_count++] = (struct heap_kept){object, parent};
		return;
	}
	if (parent != m->last_parent || type != m->last_type) {
		m->last_group = child_of(m, parent, type);
		m->last_parent = parent;
		m->last_type = type;
	}
	struct heap_group *g = &m->groups[m->last_group];
	if (!g->count++)
		g->sample = object;
	g->bytes += heap_nodes_size(m->nodes, object);
	m->group[object] = m->last_group;
	if (heap_rows_holds(&m->nodes->rows, object))
		m->queue[m->queue_count++] = object;
}

/* Some objects of a row at a time: first all are asked for, then looked at, so that the waits for memory overlap. */
static void reach_row(struct heap_merge *m, struct heap_row *row, uint32_t parent)
{
	uint32_t targets[AT_ONCE], count = 0, fresh = 0;

	for (; count < AT_ONCE && row->at != row->end; count++) {
		targets[count] = heap_row_next(row);
		__builtin_prefetch(&m->group[targets[count]]);
	}
	for (uint32_t i = 0; i < count; i++)
		if (m->group[targets[i]] == HEAP_GROUP_NONE) {
			__builtin_prefetch(&m->nodes->words[targets[i]]);
			targets[fresh++] = targets[i];
		}
	for (uint32_t i = 0; i < fresh; i++)
		if (m->group[targets[i]] == HEAP_GROUP_NONE) /* one may come twice */
			reach(m, targets[i], parent);
}

/* Breadth first. */
static void reach_all(struct heap_merge *m)
{
	const struct heap_rows *rows = &m->nodes->rows;
	struct heap_row row = {0};

	for (uint32_t head = 0; head < m->queue_count; head++) {
		uint32_t object = m->queue[head], parent = m->group[object];
		if (head + 2 * AHEAD < m->queue_count)
			heap_rows_want_start(rows, m->queue[head + 2 * AHEAD]);
		if (head + AHEAD < m->queue_count)
			heap_rows_want(rows, m->queue[head + AHEAD]);
		heap_rows_of(rows, object, &row);
		while (row.at != row.end)
			reach_row(m, &row, parent);
	}
	m->queue_count = 0;
}

/* What is in no list any more, or whose list nobody has reached. */
static void reach_kept_timers(struct heap_merge *m)
{
	m->listed = true;
	for (uint32_t i = 0; i < m->kept_count; i++)
		if (m->group[m->kept[i].object] == HEAP_GROUP_NONE)
			reach(m, m->kept[i].object, m->kept[i].parent);
	reach_all(m);
	m->listed = false;
	m->kept_count = 0;
}

static void find_timers(struct heap_merge *m)
{
	const struct heap_snapshot *s = m->nodes->snapshot;
	uint32_t timer = HEAP_GROUP_NONE, queue = HEAP_GROUP_NONE;

	for (uint32_t i = 0; i < s->type_count; i++) {
		enum type_pattern pattern = s->types[i].name ? type_pattern_of(s->types[i].name) : TYPE_PATTERN_NONE;
		timer = pattern == TYPE_PATTERN_TIMER ? i : timer;
		queue = pattern == TYPE_PATTERN_TIMER_QUEUE ? i : queue;
	}
	m->timer_type = queue == HEAP_GROUP_NONE ? HEAP_GROUP_NONE : timer;
	m->timer_queue_type = queue;
}

/* Roots ----------------------------------------------------------------------------------------------------------------------- */
enum { LASTING_CLASSES = 7 };

/* 0: what lasts longest. A word that may be no reference at all comes last. */
static int lasting_class(const struct heap_root *r)
{
	switch (r->kind) {
	case HEAP_ROOT_STATIC:
		return 0;
	case HEAP_ROOT_THREAD_STATIC:
		return 1;
	case HEAP_ROOT_HANDLE:
		return 2;
	case HEAP_ROOT_FINALIZER:
		return 4;
	case HEAP_ROOT_STACK:
		return r->flags & HEAP_ROOT_CONSERVATIVE ? 6 : 5;
	case HEAP_ROOT_DEPENDENT:
	case HEAP_ROOT_OTHER:
		break;
	}
	return 3;
}

struct label {
	const char *text;
	uint32_t group;
	UT_hash_handle hh;
};

static uint32_t group_of_label(struct heap_merge *m, struct label **labels, uint32_t root)
{
	const char *text = m->nodes->snapshot->roots[root].label;
	struct label *l;

	text = text ? text : "";
	HASH_FIND_STR(*labels, text, l);
	if (!l) {
		l = mem_alloc(sizeof *l);
		l->text = text;
		l->group = add_group(m, 0, root | ROOT_TYPE, 1);
		HASH_ADD_KEYPTR(hh, *labels, text, strlen(text), l);
	}
	m->groups[l->group].count++;
	return l->group;
}

static void reach_from_roots(struct heap_merge *m)
{
	const struct heap_snapshot *s = m->nodes->snapshot;
	struct label *labels = NULL, *l, *next;

	for (int class = 0; class < LASTING_CLASSES; class++) {
		for (uint32_t i = 0; i < s->root_count; i++) {
			uint32_t object = m->nodes->held[i];
			if (object == HEAP_INDEX_NONE || lasting_class(&s->roots[i]) != class)
				continue;
			uint32_t group = group_of_label(m, &labels, i);
			if (m->group[object] == HEAP_GROUP_NONE)
				reach(m, object, group);
		}
		reach_all(m);
		reach_kept_timers(m);
	}
	HASH_ITER(hh, labels, l, next) {
		HASH_DEL(labels, l);
		free(l);
	}
}

static void sum_held(struct heap_merge *m)
{
	for (uint32_t i = 0; i < m->count; i++) {
		m->groups[i].held = m->groups[i].bytes;
		if (m->groups[i].depth == 1)
			m->groups[i].type &= ~ROOT_TYPE;
	}
	for (uint32_t i = m->count; i-- > 1;)
		m->groups[m->groups[i].parent].held += m->groups[i].held;
}

int heap_merge_run(struct heap_merge *m, const struct heap_nodes *n, struct err *e)
{
	*m = (struct heap_merge){.nodes = n, .memory = n->memory, .last_parent = HEAP_GROUP_NONE};
	if (heap_memory_take(m->memory, &m->group_array, n->count, sizeof *m->group, HEAP_AT_RANDOM, e) < 0 ||
	    heap_memory_take(m->memory, &m->queue_array, n->count, sizeof *m->queue, HEAP_IN_ORDER, e) < 0) {
		heap_merge_fini(m);
		return -1;
	}
	m->group = m->group_array.data;
	m->queue = m->queue_array.data;
	memset(m->group, 0xff, n->count * sizeof *m->group);
	add_group(m, HEAP_GROUP_NONE, 0, 0);
	grow_group_slots(m);
	find_timers(m);
	reach_from_roots(m);
	return 0;
}

void heap_merge_finish(struct heap_merge *m, const uint32_t *unheld, uint32_t unheld_count)
{
	if (unheld_count) {
		uint32_t group = add_group(m, 0, (uint32_t)m->nodes->snapshot->root_count | ROOT_TYPE, 1);
		m->groups[group].count = unheld_count;
		for (uint32_t i = 0; i < unheld_count; i++)
			reach(m, unheld[i], group);
		reach_all(m);
		reach_kept_timers(m);
	}
	sum_held(m);
	heap_memory_give(m->memory, &m->queue_array);
	free(m->slots);
	m->slots = NULL;
}

void heap_merge_fini(struct heap_merge *m)
{
	if (!m->memory)
		return;
	heap_memory_give(m->memory, &m->group_array);
	heap_memory_give(m->memory, &m->queue_array);
	free(m->groups);
	free(m->slots);
	free(m->kept);
	*m = (struct heap_merge){0};
}
