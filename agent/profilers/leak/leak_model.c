#include "agent/profilers/leak/leak_model.h"

#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define RAN_ENOUGH 0.8   /* of the time in which its threads could run */
#define LEAST_WAITED 0.2 /* of the time between two walks */
#define LEAST_RAN 0.02   /* no stretch counts for nothing */
#define ENOUGH_WALKS 3 /* to tell growth that goes on from a filling */

void leak_model_init(struct leak_model *m)
{
	*m = (struct leak_model){.uptime_ms = -1, .limit = {-1, -1, -1}};
	memory_account_init(&m->first);
	memory_account_init(&m->last);
}

void leak_model_fini(struct leak_model *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->text_count; i++)
		free(m->texts[i]);
	free(m->texts);
	index_set_fini(&m->by_text);
	index_set_fini(&m->by_step);
	index_set_fini(&m->by_type);
	free(m->steps);
	free(m->figures);
	free(m->types);
	free(m->type_figures);
	memory_account_fini(&m->first);
	memory_account_fini(&m->last);
	*m = (struct leak_model){0};
}

bool leak_model_roots_unread(const struct leak_model *m)
{
	for (size_t i = 0; i < m->walk_count; i++)
		if (m->walks[i].roots_unread)
			return true;
	return false;
}

const char *leak_model_text(const struct leak_model *m, uint32_t text)
{
	return text == LEAK_NONE ? "" : m->texts[text];
}

static uint32_t intern_text(struct leak_model *m, const char *text)
{
	if (!text || !text[0])
		return LEAK_NONE;
	uint32_t hash = index_hash_str(INDEX_HASH_START, text), i;
	size_t at = hash;
	while ((i = index_set_next(&m->by_text, hash, &at)) != INDEX_NONE) {
		if (strcmp(m->texts[i], text) == 0)
			return i;
	}
	GROW(m->texts, m->text_count, m->text_cap);
	index_set_add(&m->by_text, hash, (uint32_t)m->text_count);
	m->texts[m->text_count] = mem_strdup(text);
	return (uint32_t)m->text_count++;
}

static uint32_t hash_step_key(uint32_t a, uint32_t b, uint32_t c)
{
	uint32_t all[] = {a, b, c};
	return index_hash(INDEX_HASH_START, all, sizeof all);
}

static uint32_t find_step(const struct leak_model *m, uint32_t hash, const struct leak_step *s)
{
	uint32_t i;
	size_t at = hash;
	while ((i = index_set_next(&m->by_step, hash, &at)) != INDEX_NONE) {
		const struct leak_step *is = &m->steps[i];
		if (is->parent == s->parent && is->name == s->name && is->module == s->module && is->root == s->root)
			return i;
	}
	return LEAK_NONE;
}

/* The array and what stands beside it grow together. */
static uint32_t add_step(struct leak_model *m, const struct leak_step *s)
{
	uint32_t hash = hash_step_key(s->parent, s->name, (uint32_t)s->root), i = find_step(m, hash, s);
	if (i != LEAK_NONE) {
		if (m->steps[i].field == LEAK_NONE)
			m->steps[i].field = s->field;
		return i;
	}
	if (m->step_count >= LEAK_MAX_STEPS) {
		m->no_place++;
		return LEAK_NONE;
	}
	size_t cap = m->step_cap;
	GROW(m->steps, m->step_count, m->step_cap);
	if (cap != m->step_cap)
		m->figures = mem_realloc(m->figures, m->step_cap * LEAK_MAX_WALKS, sizeof *m->figures);
	index_set_add(&m->by_step, hash, (uint32_t)m->step_count);
	memset(&m->figures[m->step_count * LEAK_MAX_WALKS], 0, LEAK_MAX_WALKS * sizeof *m->figures);
	m->steps[m->step_count] = *s;
	return (uint32_t)m->step_count++;
}

uint32_t leak_model_root(struct leak_model *m, enum leak_root kind, const char *label)
{
	uint32_t name = intern_text(m, label);
	struct leak_step s = {.parent = LEAK_NONE, .name = name, .shown = name, .module = LEAK_NONE, .field = LEAK_NONE, .root = kind};
	return add_step(m, &s);
}

uint32_t leak_model_step(struct leak_model *m, uint32_t parent, const char *type, const char *shown, const char *module, const char *field)
{
	if (parent == LEAK_NONE)
		return LEAK_NONE; /* the step above found no place */
	struct leak_step s = {
		.parent = parent,
		.name = intern_text(m, type),
		.shown = intern_text(m, shown),
		.module = intern_text(m, module),
		.field = intern_text(m, field),
		.root = m->steps[parent].root,
		.depth = m->steps[parent].depth + 1,
	};
	return add_step(m, &s);
}

void leak_model_name_field(struct leak_model *m, uint32_t step, const char *field)
{
	uint32_t text = intern_text(m, field);
	if (text != LEAK_NONE)
		m->steps[step].field = text;
}

uint32_t leak_model_type(struct leak_model *m, const char *name, const char *module)
{
	struct leak_type t = {.name = intern_text(m, name), .module = intern_text(m, module)};
	uint32_t hash = hash_step_key(t.name, t.module, 0), i;
	size_t at = hash, cap = m->type_cap;
	while ((i = index_set_next(&m->by_type, hash, &at)) != INDEX_NONE) {
		if (m->types[i].name == t.name && m->types[i].module == t.module)
			return i;
	}
	if (m->type_count >= LEAK_MAX_TYPES) {
		m->no_place++;
		return LEAK_NONE;
	}
	GROW(m->types, m->type_count, m->type_cap);
	if (cap != m->type_cap)
		m->type_figures = mem_realloc(m->type_figures, m->type_cap * LEAK_MAX_WALKS, sizeof *m->type_figures);
	index_set_add(&m->by_type, hash, (uint32_t)m->type_count);
	memset(&m->type_figures[m->type_count * LEAK_MAX_WALKS], 0, LEAK_MAX_WALKS * sizeof *m->type_figures);
	m->types[m->type_count] = t;
	return (uint32_t)m->type_count++;
}

uint64_t leak_model_count_of(const struct leak_model *m, const char *prefix, size_t walk)
{
	uint64_t count = 0;
	for (uint32_t i = 0; i < m->type_count; i++) {
		if (strncmp(leak_model_text(m, m->types[i].name), prefix, strlen(prefix)) == 0)
			count += leak_model_type_at(m, i, walk)->count;
	}
	return count;
}

bool leak_model_types_only(const struct leak_model *m)
{
	for (size_t i = 0; i < m->walk_count; i++) {
		if (m->walks[i].types_only)
			return true;
	}
	return false;
}

/* The walk's figures go, those behind it come one forward. */
static void leave_out_walk(struct leak_model *m, size_t walk)
{
	size_t behind = LEAK_MAX_WALKS - walk - 1;
	for (uint32_t i = 0; i < m->step_count; i++) {
		struct leak_figures *f = leak_model_at(m, i, walk);
		memmove(f, f + 1, behind * sizeof *f);
		f[behind] = (struct leak_figures){0};
	}
	for (uint32_t i = 0; i < m->type_count; i++) {
		struct leak_type_figures *f = leak_model_type_at(m, i, walk);
		memmove(f, f + 1, behind * sizeof *f);
		f[behind] = (struct leak_type_figures){0};
	}
	memmove(&m->walks[walk], &m->walks[walk + 1], behind * sizeof *m->walks);
	m->walk_count--;
}

static int64_t walked_growth(const struct leak_model *m)
{
	return (int64_t)(m->walks[m->walk_count - 1].bytes - m->walks[0].bytes);
}

size_t leak_model_leave_out_types(struct leak_model *m)
{
	size_t with_holders = 0, left_out = 0;
	for (size_t w = 0; w < m->walk_count; w++)
		with_holders += !m->walks[w].types_only;
	if (with_holders < ENOUGH_WALKS)
		return 0;
	int64_t whole = walked_growth(m);
	for (size_t w = m->walk_count; w-- > 0;) {
		if (!m->walks[w].types_only)
			continue;
		leave_out_walk(m, w);
		left_out++;
	}
	m->beyond_bytes = whole - walked_growth(m);
	return left_out;
}

void leak_model_count_all(struct leak_model *m)
{
	for (size_t w = 0; w < m->walk_count; w++) {
		m->walks[w].objects += m->walks[w].loose_objects;
		m->walks[w].bytes += m->walks[w].loose_bytes;
		m->walks[w].loose_objects = m->walks[w].loose_bytes = 0;
		for (uint32_t i = 0; i < m->type_count; i++) {
			struct leak_type_figures *f = leak_model_type_at(m, i, w);
			f->count += f->loose_count;
			f->bytes += f->loose_bytes;
			f->loose_count = f->loose_bytes = 0;
		}
	}
}

int64_t leak_model_grown(const struct leak_model *m, uint32_t step)
{
	return (int64_t)(leak_model_at(m, step, m->walk_count - 1)->held - leak_model_at(m, step, 0)->held);
}

int64_t leak_model_more(const struct leak_model *m, uint32_t step)
{
	return (int64_t)(leak_model_at(m, step, m->walk_count - 1)->count - leak_model_at(m, step, 0)->count);
}

double leak_model_seconds(const struct leak_model *m)
{
	return m->walk_count < 2 ? 0 : (double)(m->walks[m->walk_count - 1].at_ns - m->walks[0].at_ns) / 1e9;
}

double leak_model_cpus(const struct leak_model *m)
{
	double seconds = leak_model_seconds(m);
	int64_t ran_ns = seconds > 0 ? m->walks[m->walk_count - 1].ran_ns - m->walks[0].ran_ns : 0;
	return ran_ns > 0 ? (double)ran_ns / 1e9 / seconds : -1;
}

/* Of the time between the walk and the one before. Threads that ended take what they waited with them; of a process that does next to nothing a short wait
 * tells nothing. */
static double part_that_ran(const struct leak_model *m, size_t walk)
{
	double ran = (double)(m->walks[walk].ran_ns - m->walks[walk - 1].ran_ns), waited = (double)(m->walks[walk].waited_ns - m->walks[walk - 1].waited_ns);
	double least = LEAST_WAITED * (double)(m->walks[walk].at_ns - m->walks[walk - 1].at_ns);
	return waited <= least || ran + waited <= 0 ? 1 : ran < LEAST_RAN * (ran + waited) ? LEAST_RAN : ran / (ran + waited);
}

bool leak_model_given_ns(const struct leak_model *m, int64_t given_ns[LEAK_MAX_WALKS])
{
	double given = 0, whole = leak_model_seconds(m) * 1e9, least = 1;
	for (size_t w = 1; w < m->walk_count; w++) {
		least = part_that_ran(m, w) < least ? part_that_ran(m, w) : least;
		given += part_that_ran(m, w) * (double)(m->walks[w].at_ns - m->walks[w - 1].at_ns);
	}
	if (least > RAN_ENOUGH || given <= 0)
		return false;
	given_ns[0] = m->walks[0].at_ns;
	for (size_t w = 1; w < m->walk_count; w++) /* as long in all */
		given_ns[w] = given_ns[w - 1] + (int64_t)(part_that_ran(m, w) * (double)(m->walks[w].at_ns - m->walks[w - 1].at_ns) * whole / given);
	return true;
}
