#include "agent/heap/heap_snapshot_private.h"

#include "agent/heap/heap_counts.h"
#include "agent/symbols/method_name.h"
#include "common/api/reason.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define METHOD_NAME_BYTES 300

void heap_scan_fini(struct heap_scan *s)
{
	free(s->types);
	free(s->roots);
	free(s->statics);
	free(s->threads);
	*s = (struct heap_scan){0};
}

static void free_type(struct heap_type *t)
{
	free(t->name);
	free(t->short_name);
	free(t->raw);
	free(t->space);
	free(t->module);
	for (size_t i = 0; i < t->field_count; i++)
		free(t->fields[i].name);
	free(t->fields);
}

void heap_snapshot_free(struct heap_snapshot *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->type_count; i++)
		free_type(&s->types[i]);
	for (size_t i = 0; i < s->labels->count; i++)
		free(s->labels->items[i]);
	free(s->labels->items);
	heap_store_fini(&s->labels->store);
	free(s->labels);
	heap_counts_free(s->counts);
	free(s->types);
	free(s->shapes);
	for (size_t i = 0; i < s->method_count; i++) {
		free(s->methods[i].name);
		free(s->methods[i].raw);
	}
	free(s->methods);
	free(s->ranges);
	free(s->roots);
	free(s);
}

/* Reading the stream once, to its end ---------------------------------------------------------------------------------------- */
struct reading {
	struct heap_snapshot *s;
	struct heap_scan *scan;
	struct heap_cursor c;
	size_t type_cap, range_cap, method_cap;
	uint64_t objects; /* that are there themselves */
	const char *bad; /* what is wrong with it */
};

static void add_snapshot_type(struct reading *r)
{
	const struct heap_type_record *t = &r->c.type;

	if (t->index < r->s->type_count)
		return;
	size_t count = r->s->type_count;
	if (count == r->type_cap) {
		r->type_cap = r->type_cap ? r->type_cap * 2 : 1024;
		r->s->types = mem_realloc(r->s->types, r->type_cap, sizeof *r->s->types);
		r->s->shapes = mem_realloc(r->s->shapes, r->type_cap, sizeof *r->s->shapes);
		r->scan->types = mem_realloc(r->scan->types, r->type_cap, sizeof *r->scan->types);
	}
	r->s->types[count] = (struct heap_type){.class_id = t->class_id, .flags = t->flags, .values = t->values, .base_size = t->base_size};
	r->s->shapes[count] = (struct heap_shape){.flags = t->flags, .values = t->values, .base_size = t->base_size};
	r->scan->types[count] = *t;
	r->s->type_count++;
	r->c.shapes = r->s->shapes;
	r->c.shape_count = r->s->type_count;
}

/* The types of a stream with counts come one by one, each before its own. */
static void add_counted(struct reading *r)
{
	const struct heap_count_record *k = &r->c.counted;
	struct heap_counts *counts = r->s->counts;

	if (!counts)
		counts = r->s->counts = mem_alloc(sizeof *counts);
	while (counts->type_count <= k->type)
		heap_counts_add_type(counts);
	counts->of[k->type][k->generation].objects += k->objects;
	counts->of[k->type][k->generation].bytes += k->bytes;
}

static void add_range(struct reading *r)
{
	if (r->s->range_count == HEAP_RANGES_MAX)
		r->bad = "too many ranges";
	else {
		GROW(r->s->ranges, r->s->range_count, r->range_cap);
		r->s->ranges[r->s->range_count++] = r->c.range;
	}
}

static void add_root(struct reading *r)
{
	struct heap_scan *n = r->scan;

	if (n->root_count == HEAP_ROOTS_MAX)
		r->bad = "too many roots";
	else {
		GROW(n->roots, n->root_count, n->root_cap);
		n->roots[n->root_count++] = r->c.root;
	}
}

static void add_static(struct reading *r)
{
	struct heap_scan *n = r->scan;

	if (r->c.field.index != n->static_count)
		r->bad = "statics out of order";
	else {
		GROW(n->statics, n->static_count, n->static_cap);
		n->statics[n->static_count++] = r->c.field;
	}
}

static void add_thread(struct reading *r)
{
	struct heap_scan *n = r->scan;

	if (r->c.thread.index != n->thread_count)
		r->bad = "threads out of order";
	else {
		GROW(n->threads, n->thread_count, n->thread_cap);
		n->threads[n->thread_count++] = r->c.thread;
	}
}

static void add_method(struct reading *r)
{
	struct heap_snapshot *s = r->s;

	if (r->c.method.index != s->method_count)
		r->bad = "methods out of order";
	else {
		GROW(s->methods, s->method_count, r->method_cap);
		s->methods[s->method_count++] = (struct heap_method){.function_id = r->c.method.function_id};
	}
}

static void read_one_object(struct reading *r)
{
	struct heap_string_record string;
	uint64_t offset, target;

	while (heap_cursor_edge(&r->c, &offset, &target))
		;
	heap_cursor_string(&r->c, &string);
}

static enum heap_record read_heap_record(struct reading *r)
{
	enum heap_record kind = heap_cursor_next(&r->c);

	switch (kind) {
	case HEAP_OBJECT:
		read_one_object(r);
		r->objects++;
		break;
	case HEAP_COUNT:
		add_counted(r);
		break;
	case HEAP_TYPE:
		add_snapshot_type(r);
		break;
	case HEAP_RANGE:
		add_range(r);
		break;
	case HEAP_ROOT:
		add_root(r);
		break;
	case HEAP_STATIC:
		add_static(r);
		break;
	case HEAP_THREAD:
		add_thread(r);
		break;
	case HEAP_METHOD:
		add_method(r);
		break;
	case HEAP_END:
		r->scan->end = r->c.last;
		if (!r->c.last.complete)
			r->bad = "the library did not come to its end";
		else if (r->c.last.collections)
			r->bad = "a garbage collection moved the objects in the middle";
		else if (r->s->counts && (r->objects || r->scan->root_count))
			r->bad = "it has both objects and counts";
		break;
	case HEAP_BAD:
	case HEAP_MORE:
		r->bad = kind == HEAP_BAD ? "it is malformed" : "it has no end";
	}
	return kind;
}

static int range_by_start(const void *a, const void *b)
{
	const struct heap_range_record *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static void finish_facts(struct heap_snapshot *s, const struct heap_end_record *end)
{
	while (s->counts && s->counts->type_count < s->type_count)
		heap_counts_add_type(s->counts);
	if (s->counts)
		s->facts.way = HEAP_WAY_TYPES;
	if (s->range_count)
		qsort(s->ranges, s->range_count, sizeof *s->ranges, range_by_start);
	s->facts.objects = end->objects;
	s->facts.edges = end->edges;
	s->facts.bytes = end->bytes;
	for (size_t i = 0; i < s->range_count; i++)
		s->facts.heap_bytes += s->ranges[i].length;
}

struct heap_snapshot *heap_snapshot_scan_take(struct heap_store *store, bool strings, struct heap_scan *scan, struct err *e)
{
	struct heap_snapshot *s = mem_alloc(sizeof *s);
	struct reading r = {.s = s, .scan = scan};

	*scan = (struct heap_scan){0};
	s->labels = mem_alloc(sizeof *s->labels);
	s->labels->store = *store;
	heap_store_init(store, -1, 0, 0);
	s->stream = s->labels->store.len ? s->labels->store.data : (const uint8_t *)"";
	s->stream_bytes = s->labels->store.len;
	s->strings = strings;
	heap_cursor_init(&r.c, s->stream, s->stream_bytes, NULL, 0, strings);
	enum heap_record kind;
	do
		kind = read_heap_record(&r);
	while (!r.bad && kind != HEAP_END);
	if (r.bad) {
		err_set_reason(e, ERR_PROTOCOL, REASON_HeapWalkTorn, "the heap walk cannot be used: %s", r.bad);
		heap_scan_fini(scan);
		heap_snapshot_free(s);
		return NULL;
	}
	finish_facts(s, &scan->end);
	return s;
}

/* Readers --------------------------------------------------------------------------------------------------------------------- */
void heap_snapshot_cursor(const struct heap_snapshot *s, struct heap_cursor *c)
{
	heap_cursor_init(c, s->stream, s->stream_bytes, s->shapes, s->type_count, s->strings);
}

bool heap_snapshot_object(struct heap_cursor *c)
{
	for (;;) {
		enum heap_record kind = heap_cursor_next(c);
		if (kind == HEAP_OBJECT)
			return true;
		if (kind == HEAP_END || kind == HEAP_BAD || kind == HEAP_MORE)
			return false;
	}
}

enum heap_generation heap_snapshot_generation(const struct heap_snapshot *s, uint64_t address)
{
	size_t low = 0, high = s->range_count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		if (s->ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0 || address - s->ranges[low - 1].start >= s->ranges[low - 1].length)
		return HEAP_GEN0;
	return (enum heap_generation)s->ranges[low - 1].generation;
}

const char *heap_facts_unheld(const struct heap_facts *f)
{
	return f->roots_unread ? "held by a root that was not read, or garbage"
	       : f->way == HEAP_WAY_EXACT ? "garbage, not yet collected"
					  : "held by a handle, or garbage";
}

const char *heap_generation_name(enum heap_generation g)
{
	static const char *const names[HEAP_GENERATIONS] = {"gen0", "gen1", "gen2", "LOH", "POH", "frozen"};

	return g < HEAP_GENERATIONS ? names[g] : "";
}

/* The last field at or before `offset`: a struct's fields lie behind its own beginning. */
static const char *field_name_at(const struct heap_type *t, uint64_t offset)
{
	const char *name = "";

	for (size_t i = 0; i < t->field_count && t->fields[i].offset <= offset; i++)
		name = t->fields[i].name;
	return name;
}

const char *heap_type_field(const struct heap_type *t, uint64_t offset)
{
	if (offset == 0)
		return t->flags & HEAP_TYPE_COLLECTIBLE ? "(its type)" : "";
	if (!(t->flags & HEAP_TYPE_ARRAY))
		return field_name_at(t, offset);
	if (offset < t->elements_at || t->element_size == 0 || t->field_count == 0)
		return "[]";
	const char *name = field_name_at(t, (offset - t->elements_at) % t->element_size);
	return name[0] ? name : "[]";
}

void heap_snapshot_name_method(struct heap_method *m, const char *type, const char *method)
{
	struct method_name name;
	const struct frame f = {.kind = FRAME_MANAGED, .module = (char *)"", .type = (char *)type, .method = (char *)method};
	AUTO_BUF struct buf text = {0};

	buf_init(&text, 4 * METHOD_NAME_BYTES);
	if (method[0]) {
		method_name_make(&f, &name);
		method_name_printable(name.text, METHOD_NAME_BYTES, &text);
	}
	m->name = buf_steal(&text);
	m->raw = type[0] ? mem_printf("%s.%s", type, method) : mem_strdup(method);
}

const char *heap_snapshot_label_take(struct heap_snapshot *s, char *label)
{
	GROW(s->labels->items, s->labels->count, s->labels->cap);
	return s->labels->items[s->labels->count++] = label;
}
