#include "agent/profilers/leak/leak_group.h"

#include "agent/symbols/type_pattern.h"
#include "agent/profilers/leak/leak_async.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define LARGE_OBJECT_BYTES 85000
#define LEAST_ADDED 8 /* fewer new objects say little: what grew lies further down */

struct search {
	const struct leak_model *m;
	struct leak_groups *out;
	size_t cap;
	uint8_t *is;        /* by step: enum mark */
	uint32_t *group_of; /* by holder; LEAK_NONE */
	uint64_t least;
};

enum mark { FREE, ADDED /* objects were added here */, BELOW /* of added ones */ };

static uint64_t self_bytes(const struct leak_model *m, uint32_t step, size_t walk)
{
	return leak_model_at(m, step, walk)->bytes;
}

/* More objects, and that is what made it grow: were these as large as those before, it would explain half of it. */
static bool were_added(const struct leak_model *m, uint32_t step)
{
	int64_t more = leak_model_more(m, step), grown = leak_model_grown(m, step);
	const struct leak_figures *first = leak_model_at(m, step, 0);
	if (more < LEAST_ADDED || grown <= 0)
		return false;
	return first->count == 0 || (double)first->held / (double)first->count * (double)more >= (double)grown / 2;
}

/* One object that grew itself: the array of a list of numbers. */
static bool grew_itself(const struct leak_model *m, uint32_t step)
{
	int64_t self = (int64_t)(self_bytes(m, step, m->walk_count - 1) - self_bytes(m, step, 0));
	return self > 0 && self >= leak_model_grown(m, step) / 2;
}

static struct leak_group *group_at(struct search *s, uint32_t holder)
{
	if (s->group_of[holder] == LEAK_NONE) {
		GROW(s->out->items, s->out->count, s->cap);
		s->group_of[holder] = (uint32_t)s->out->count;
		s->out->items[s->out->count++] = (struct leak_group){.holder = holder, .element = LEAK_NONE, .state = LEAK_NONE};
	}
	return &s->out->items[s->group_of[holder]];
}

static void add_bytes(const struct leak_model *m, struct leak_group *g, uint32_t step, bool held, bool element)
{
	for (size_t w = 0; w < m->walk_count; w++) {
		uint64_t bytes = held ? leak_model_at(m, step, w)->held : self_bytes(m, step, w);
		g->bytes[w] += bytes;
		g->added[w] += element ? bytes : 0;
	}
}

static void add_element(struct search *s, uint32_t step)
{
	const struct leak_model *m = s->m;
	uint32_t parent = m->steps[step].parent;
	struct leak_group *g = group_at(s, parent);
	if (g->element == LEAK_NONE && m->steps[parent].parent != LEAK_NONE)
		add_bytes(m, g, parent, false, false);
	add_bytes(m, g, step, true, true);
	if (g->element == LEAK_NONE || g->element == g->holder || leak_model_grown(m, step) > leak_model_grown(m, g->element))
		g->element = step;
}

/* Arrays of one object (the entries and the buckets of a dictionary) grow at once: they are one group, and where objects were added to one of them
 * (the entries' orders) these tell its course. */
static void add_array(struct search *s, uint32_t step)
{
	const struct leak_model *m = s->m;
	uint32_t parent = m->steps[step].parent;
	for (size_t i = 0; i < s->out->count; i++) {
		struct leak_group *g = &s->out->items[i];
		if (m->steps[g->holder].parent != parent || m->steps[parent].parent == LEAK_NONE)
			continue;
		add_bytes(m, g, step, false, g->grew_itself);
		if (g->grew_itself && leak_model_grown(m, step) > leak_model_grown(m, g->element))
			g->element = g->holder = step;
		s->group_of[step] = (uint32_t)i;
		return;
	}
	struct leak_group *g = group_at(s, step);
	g->element = step;
	g->grew_itself = true;
	add_bytes(m, g, step, false, true);
}

/* Parents stand before their children. */
static void find_leak_groups(struct search *s)
{
	const struct leak_model *m = s->m;
	for (uint32_t i = 0; i < m->step_count; i++) {
		uint32_t parent = m->steps[i].parent;
		if (parent == LEAK_NONE)
			continue;
		if (s->is[parent] != FREE)
			s->is[i] = BELOW;
		else if (leak_model_grown(m, i) >= (int64_t)s->least && were_added(m, i)) {
			s->is[i] = ADDED;
			add_element(s, i);
		}
	}
	for (uint32_t i = 0; i < m->step_count; i++) {
		if (m->steps[i].parent == LEAK_NONE || s->is[i] != FREE || s->group_of[i] != LEAK_NONE)
			continue;
		if (leak_model_grown(m, i) >= (int64_t)s->least && grew_itself(m, i))
			add_array(s, i);
	}
}

/* What no type explains: many kinds of objects, each a little. Named as deep as half of it still hangs on one step. */
static void find_mixtures(struct search *s)
{
	const struct leak_model *m = s->m;
	AUTO_FREE int64_t *most = mem_calloc(m->step_count + 1, sizeof *most); /* of the children that nothing explains */
	AUTO_FREE bool *explained = mem_calloc(m->step_count + 1, sizeof *explained);
	for (uint32_t i = (uint32_t)m->step_count; i-- > 0;) {
		uint32_t parent = m->steps[i].parent;
		int64_t grown = leak_model_grown(m, i);
		if (s->is[i] != FREE || s->group_of[i] != LEAK_NONE)
			explained[i] = true;
		if (parent == LEAK_NONE)
			continue;
		if (explained[i])
			explained[parent] = true;
		else if (grown > most[parent])
			most[parent] = grown;
		if (explained[i] || grown < (int64_t)s->out->material_bytes || most[i] * 2 >= grown)
			continue;
		struct leak_group *g = group_at(s, i);
		g->element = i;
		add_bytes(m, g, i, true, true);
		explained[parent] = true;
	}
}

/* Through the framework's own types (a timer's queue entries, a delegate) down to the first type of somebody else, as long as it is
 * about as many objects. */
static uint32_t payload_of(const struct leak_model *m, uint32_t element, const uint32_t *heaviest)
{
	int64_t more = leak_model_more(m, element);
	for (uint32_t at = element; at != LEAK_NONE; at = heaviest[at]) {
		if (leak_model_more(m, at) < more / 2)
			break;
		if (!type_pattern_is_framework(leak_model_text(m, m->steps[at].name)))
			return at;
	}
	return element;
}

/* By step, the child that grew most. */
static uint32_t *heaviest_children(const struct leak_model *m)
{
	uint32_t *heaviest = mem_calloc(m->step_count + 1, sizeof *heaviest);
	memset(heaviest, 0xff, m->step_count * sizeof *heaviest);
	for (uint32_t i = 0; i < m->step_count; i++) {
		uint32_t parent = m->steps[i].parent;
		if (parent != LEAK_NONE &&
		    (heaviest[parent] == LEAK_NONE || leak_model_grown(m, i) > leak_model_grown(m, heaviest[parent])))
			heaviest[parent] = i;
	}
	return heaviest;
}

/* Whether the growth of this type, wherever it is held, is in the oldest generation. */
static bool grew_old(const struct leak_model *m, uint32_t step)
{
	size_t last = m->walk_count - 1;
	for (uint32_t i = 0; i < m->type_count; i++) {
		const struct leak_type_figures *a = leak_model_type_at(m, i, 0), *b = leak_model_type_at(m, i, last);
		if (m->types[i].name != m->steps[step].name || m->types[i].module != m->steps[step].module)
			continue;
		return b->bytes > a->bytes && b->old_bytes > a->old_bytes && (b->old_bytes - a->old_bytes) * 2 >= b->bytes - a->bytes;
	}
	return false;
}

/* Whether its objects, by their average size, lie on the large object heap. */
static bool is_large(const struct leak_model *m, uint32_t step)
{
	const struct leak_figures *f = leak_model_at(m, step, m->walk_count - 1);
	return f->count && f->bytes / f->count >= LARGE_OBJECT_BYTES;
}

/* Objects that hang on another path for a while (a timer in another queue) make a growth seem to fall back. Where there were never fewer of them in all, their
 * number tells the course. */
static bool moved_only(const struct leak_model *m, const struct leak_group *g, struct leak_series *s)
{
	size_t last = m->walk_count - 1;
	for (uint32_t i = 0; i < m->type_count && g->counts[last]; i++) {
		const struct leak_type_figures *t = leak_model_type_at(m, i, 0);
		if (m->types[i].name != m->steps[g->payload].name || m->types[i].module != m->steps[g->payload].module)
			continue;
		for (size_t w = 1; w <= last; w++) {
			if (t[w].count < t[w - 1].count)
				return false;
		}
		for (size_t w = 0; w <= last; w++)
			s->bytes[w] = t[w].count * (g->added[last] / g->counts[last]);
		return true;
	}
	return false;
}

/* Else its objects were there before, and held by others. */
static bool heap_grew_with(const struct leak_model *m, const struct leak_group *g)
{
	return (int64_t)(m->walks[m->walk_count - 1].bytes - m->walks[0].bytes) * 2 >= g->grown_bytes;
}

static void judge_leak_group(const struct leak_model *m, struct leak_group *g, uint64_t material)
{
	size_t last = m->walk_count - 1;
	struct leak_series s = {
		.walks = m->walk_count,
		.root = m->steps[g->holder].root,
		.roots_unread = leak_model_roots_unread(m),
		.uptime_ms = m->uptime_ms,
		.material_bytes = 1,
	};
	for (size_t w = 0; w < m->walk_count; w++) {
		s.at_ns[w] = m->walks[w].at_ns;
		s.bytes[w] = g->added[w];
		g->counts[w] = leak_model_at(m, g->payload, w)->count;
	}
	s.leaps = g->grew_itself;
	s.lacked_cpu = leak_model_given_ns(m, s.given_ns);
	g->large = is_large(m, g->element);
	g->grown_bytes = (int64_t)(g->bytes[last] - g->bytes[0]);
	g->grown_count = (int64_t)(g->counts[last] - g->counts[0]);
	g->bytes_per_minute = (double)g->grown_bytes * 60 / leak_model_seconds(m);
	s.old = s.root == LEAK_ROOT_STACK && grew_old(m, g->element);
	s.course = leak_curve_course(&m->curve, (uint64_t)g->grown_bytes);
	leak_fit_make(s.at_ns, s.bytes, s.walks, &g->fit);
	g->verdict = g->grown_bytes < (int64_t)material ? LEAK_STEADY : leak_verdict_of(&s);
	if (g->verdict == LEAK_FLUCTUATES && moved_only(m, g, &s)) {
		leak_fit_make(s.at_ns, s.bytes, s.walks, &g->fit);
		g->verdict = leak_verdict_of(&s);
	}
	if (g->verdict > LEAK_UNCERTAIN && leak_pattern_pooled(m, g->payload))
		g->verdict = heap_grew_with(m, g) ? LEAK_UNCERTAIN : LEAK_FLUCTUATES;
	g->pattern = leak_pattern_of(m, g->payload, g->holder);
}

static int leak_group_by_growth(const void *a, const void *b)
{
	const struct leak_group *x = a, *y = b;
	bool gx = x->verdict == LEAK_GROWS, gy = y->verdict == LEAK_GROWS;
	if (gx != gy)
		return gx ? -1 : 1;
	if (x->grown_bytes != y->grown_bytes)
		return x->grown_bytes < y->grown_bytes ? 1 : -1;
	return x->holder < y->holder ? -1 : x->holder > y->holder;
}

static void keep_grown(struct leak_groups *g)
{
	size_t kept = 0;
	for (size_t i = 0; i < g->count; i++) {
		if (g->items[i].grown_bytes <= 0)
			continue;
		g->by_verdict[g->items[i].verdict] += (uint64_t)g->items[i].grown_bytes;
		g->items[kept++] = g->items[i];
	}
	g->count = kept;
	if (kept)
		qsort(g->items, kept, sizeof *g->items, leak_group_by_growth);
}

void leak_groups_find(const struct leak_model *m, struct leak_groups *out)
{
	*out = (struct leak_groups){.material_bytes = leak_material_bytes(m->walks[m->walk_count - 1].bytes)};
	AUTO_FREE uint8_t *is = mem_calloc(m->step_count + 1, 1);
	AUTO_FREE uint32_t *group_of = mem_calloc(m->step_count + 1, sizeof *group_of);
	AUTO_FREE uint32_t *heaviest = heaviest_children(m);
	memset(group_of, 0xff, m->step_count * sizeof *group_of);
	struct search s = {m, out, 0, is, group_of, out->material_bytes / 4};
	find_leak_groups(&s);
	find_mixtures(&s);
	for (size_t i = 0; i < out->count; i++) {
		struct leak_group *g = &out->items[i];
		g->payload = payload_of(m, g->element, heaviest);
		g->state = leak_async_state(m, g->payload);
		if (g->state != LEAK_NONE && g->state > g->payload)
			g->payload = g->state; /* what is .NET's own and more holds a method's state */
		judge_leak_group(m, g, out->material_bytes);
	}
	keep_grown(out);
}

void leak_groups_fini(struct leak_groups *g)
{
	if (!g)
		return;
	free(g->items);
	*g = (struct leak_groups){0};
}

const struct leak_group *leak_groups_first(const struct leak_groups *g, enum leak_verdict v)
{
	for (size_t i = 0; i < g->count; i++) {
		if (g->items[i].verdict == v)
			return &g->items[i];
	}
	return NULL;
}
