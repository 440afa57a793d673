#include "agent/heap/heap_label.h"

#include "agent/heap/heap_type_name.h"
#include "agent/symbols/method_name.h"
#include "common/base/buf.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <string.h>
#include <uthash.h>

#define FIELD_MAX_BYTES 200
#define LABEL_MAX_BYTES 1200

/* Types ---------------------------------------------------------------------------------------------------------------------------- */
static char *printable_prefix(const char *s, size_t len, size_t max)
{
	AUTO_FREE char *text = mem_strndup(s ? s : "", len);
	AUTO_BUF struct buf out = {0};

	buf_init(&out, 4 * max);
	method_name_printable(text, max, &out);
	return buf_steal(&out);
}

/* "<page>5__2": a variable of an async method or an iterator. Its length; 0: it is none. */
static size_t local_variable(const char *part, size_t len)
{
	static const char digits[] = "0123456789", mark[] = ">5__";
	const char *end = len > 2 && part[0] == '<' ? memchr(part, '>', len) : NULL;
	size_t tail = end ? len - (size_t)(end - part) : 0;

	if (tail < sizeof mark || end == part + 1 || memcmp(end, mark, sizeof mark - 1) != 0)
		return 0;
	for (size_t i = sizeof mark - 1; i < tail; i++)
		if (!memchr(digits, end[i], sizeof digits - 1))
			return 0;
	return (size_t)(end - part) - 1;
}

/* "<Name>k__BackingField" is what the compiler makes of the property Name. */
static void put_field_part(struct buf *out, const char *part, size_t len)
{
	static const char suffix[] = ">k__BackingField";
	const size_t tail = sizeof suffix - 1;

	if (len > 1 + tail && part[0] == '<' && memcmp(part + len - tail, suffix, tail) == 0)
		buf_append(out, part + 1, len - 1 - tail);
	else if (local_variable(part, len))
		buf_append(out, part + 1, local_variable(part, len));
	else
		buf_append(out, part, len);
}

/* A field of a struct within: "_entry.Value". Points stand in such names only between two fields, or in <>. */
char *heap_label_field(const char *name, size_t len)
{
	AUTO_BUF struct buf plain = {0};
	size_t from = 0;
	int depth = 0;

	buf_init(&plain, len + 1);
	for (size_t i = 0; i <= len; i++) {
		if (i < len && name[i] != '.') {
			depth += (name[i] == '<') - (name[i] == '>');
			continue;
		}
		if (i < len && depth > 0)
			continue;
		put_field_part(&plain, name + from, i - from);
		if (i < len)
			buf_putc(&plain, '.');
		from = i + 1;
	}
	return printable_prefix(buf_str(&plain), plain.len, FIELD_MAX_BYTES);
}

static struct heap_type *find_named_type(const struct heap_naming *n, uint64_t class_id)
{
	for (uint32_t i = n->first; i < n->first + n->count; i++)
		if (n->s->types[i].class_id == class_id)
			return &n->s->types[i];
	return NULL;
}

static void read_fields(struct heap_type *t, uint16_t count, struct wire_reader *r)
{
	struct channel_text name;
	uint32_t offset;

	t->fields = count ? mem_calloc(count, sizeof *t->fields) : NULL;
	while (t->field_count < count && heap_get_field(r, &offset, &name)) {
		if (offset == 0 && !(t->flags & HEAP_TYPE_ARRAY)) { /* no field */
			heap_type_set_lambda(t, name.data ? name.data : "", name.data ? name.len : 0);
			continue;
		}
		if (t->field_count && offset < t->fields[t->field_count - 1].offset)
			return;
		t->fields[t->field_count++] = (struct heap_field){offset, heap_label_field(name.data ? name.data : "", name.data ? name.len : 0)};
	}
}

void heap_label_type(void *ctx, const struct heap_type_frame *f, struct wire_reader *fields)
{
	struct heap_type *t = find_named_type(ctx, f->class_id);

	if (!t || t->name || !f->name.data)
		return;
	AUTO_FREE char *name = mem_strndup(f->name.data, f->name.len);
	heap_type_set_name(t, name);
	if (t->flags & HEAP_TYPE_VALUES || strstr(name, "+<"))
		t->raw = mem_strdup(name);
	t->module = printable_prefix(f->module.data, f->module.data ? f->module.len : 0, FIELD_MAX_BYTES);
	t->elements_at = f->elements_at;
	t->element_size = f->element_size;
	read_fields(t, f->field_count, fields);
}

static void name_unnamed(struct heap_snapshot *s)
{
	for (uint32_t i = 0; i < s->type_count; i++) {
		struct heap_type *t = &s->types[i];
		if (t->name)
			continue;
		t->name = mem_strdup("(unloaded type)");
		t->short_name = mem_strdup(t->name);
		t->space = mem_strdup("");
		t->module = mem_strdup("");
	}
}

static int name_types(struct heap_client *c, struct heap_snapshot *s, int64_t deadline_ms, struct err *e)
{
	struct heap_naming n = {.s = s};
	uint64_t ids[HEAP_FRAME_MAX_IDS];
	int r = 0;

	c->on_type = heap_label_type;
	c->ctx = &n;
	for (n.first = 0; n.first < s->type_count && r == 0; n.first += n.count) {
		uint32_t left = s->type_count - n.first;
		n.count = left < HEAP_FRAME_MAX_IDS ? left : HEAP_FRAME_MAX_IDS;
		for (uint32_t i = 0; i < n.count; i++)
			ids[i] = s->types[n.first + i].class_id;
		r = heap_client_name_types(c, ids, n.count, deadline_ms, e);
	}
	c->on_type = NULL;
	name_unnamed(s);
	return r;
}

/* Roots ---------------------------------------------------------------------------------------------------------------------------- */
struct known_text {
	uint64_t key;
	char *text;
	UT_hash_handle hh;
};

struct labeling {
	struct heap_client *client;
	struct heap_snapshot *s;
	const struct heap_scan *scan;
	int64_t deadline_ms;
	struct known_text *functions, *labels;
	char **statics; /* "Shop.Cache._items", as many as the scan's */
	size_t first_static, asked_statics;
};

static char *static_name(const struct heap_static_frame *f)
{
	struct heap_type t = {0};
	AUTO_FREE char *type = mem_strndup(f->type.data ? f->type.data : "?", f->type.data ? f->type.len : 1);
	AUTO_FREE char *field = heap_label_field(f->field.data ? f->field.data : "?", f->field.data ? f->field.len : 1);

	heap_type_set_name(&t, type);
	char *name = mem_printf("%s.%s", t.name, field);
	free(t.name);
	free(t.short_name);
	free(t.space);
	return name;
}

static void label_static(void *ctx, const struct heap_static_frame *f)
{
	struct labeling *l = ctx;

	for (size_t i = l->first_static; i < l->first_static + l->asked_statics; i++)
		if (!l->statics[i] && l->scan->statics[i].class_id == f->class_id && l->scan->statics[i].token == f->token)
			l->statics[i] = static_name(f);
}

static int name_statics(struct labeling *l, struct err *e)
{
	int r = 0;

	l->statics = mem_calloc(l->scan->static_count + 1, sizeof *l->statics);
	l->client->on_static = label_static;
	l->client->ctx = l;
	for (; l->first_static < l->scan->static_count && r == 0; l->first_static += l->asked_statics) {
		size_t left = l->scan->static_count - l->first_static;
		l->asked_statics = left < HEAP_FRAME_MAX_IDS ? left : HEAP_FRAME_MAX_IDS;
		r = heap_client_name_statics(l->client, l->scan->statics + l->first_static, l->asked_statics, l->deadline_ms, e);
	}
	l->client->on_static = NULL;
	return r;
}

static char *function_name(const struct resolved_function *f)
{
	struct method_name name;
	struct frame frame = {.kind = FRAME_MANAGED, .module = (char *)f->module, .type = (char *)f->type, .type_args = (char *)f->type_args,
			      .method = (char *)f->method, .method_args = (char *)f->method_args, .params = (char *)f->params,
			      .overloaded = f->overloaded, .dynamic = f->dynamic};

	method_name_make(&frame, &name);
	return mem_strdup(name.text);
}

/* Ids that are asked for together. */
struct asked_functions {
	uint64_t ids[HEAP_FRAME_MAX_IDS];
	size_t count;
};

static int ask_functions(struct labeling *l, struct asked_functions *a, struct err *e)
{
	int r = a->count ? heap_client_name_functions(l->client, a->ids, a->count, l->deadline_ms, e) : 0;

	a->count = 0;
	return r;
}

static int want_function(struct labeling *l, uint64_t id, struct asked_functions *a, struct err *e)
{
	struct known_text *known = NULL;

	HASH_FIND(hh, l->functions, &id, sizeof id, known);
	if (known || !id)
		return 0;
	known = mem_alloc(sizeof *known);
	known->key = a->ids[a->count++] = id;
	HASH_ADD(hh, l->functions, key, sizeof known->key, known);
	return a->count == HEAP_FRAME_MAX_IDS ? ask_functions(l, a, e) : 0;
}

static void name_methods(struct labeling *l)
{
	for (size_t i = 0; i < l->s->method_count; i++) {
		struct heap_method *m = &l->s->methods[i];
		const struct resolved_function *f = m->function_id ? profiler_channel_function(l->client->channel, m->function_id) : NULL;
		heap_snapshot_name_method(m, f && f->type ? f->type : "", f && f->method ? f->method : "");
	}
}

/* Of the frames that roots were found in, and of the methods that are suspended. */
static int name_functions(struct labeling *l, struct err *e)
{
	struct asked_functions a = {.count = 0};
	int r = 0;

	for (size_t i = 0; i < l->scan->root_count && r == 0; i++)
		if (l->scan->roots[i].kind == HEAP_ROOT_STACK)
			r = want_function(l, l->scan->roots[i].id, &a, e);
	for (size_t i = 0; i < l->s->method_count && r == 0; i++)
		r = want_function(l, l->s->methods[i].function_id, &a, e);
	if (r == 0)
		r = ask_functions(l, &a, e);
	if (r == 0)
		name_methods(l);
	for (struct known_text *f = l->functions; f && r == 0; f = f->hh.next) {
		const struct resolved_function *said = profiler_channel_function(l->client->channel, f->key);
		f->text = said ? function_name(said) : NULL;
	}
	return r;
}

static void put_root_thread(const struct labeling *l, uint32_t thread, struct buf *out)
{
	if (thread == 0 || thread > l->scan->thread_count)
		return;
	const struct heap_thread_record *t = &l->scan->threads[thread - 1];
	buf_printf(out, " (thread %u", t->tid);
	if (t->name[0])
		buf_putc(out, ' ');
	method_name_printable(t->name, HEAP_THREAD_NAME_MAX, out);
	buf_putc(out, ')');
}

static void put_static(const struct labeling *l, const char *what, uint64_t index, struct buf *out)
{
	const char *name = index < l->scan->static_count ? l->statics[index] : NULL;

	buf_printf(out, "%s %s", what, name ? name : "(unnamed)");
}

static void put_stack_root(const struct labeling *l, const struct heap_root_record *r, struct buf *out)
{
	struct known_text *f = NULL;

	if (r->id)
		HASH_FIND(hh, l->functions, &r->id, sizeof r->id, f);
	buf_puts(out, "stack");
	if (f && f->text)
		buf_printf(out, " of %s", f->text);
	put_root_thread(l, r->thread, out);
}

/* Literals and their like: the runtime keeps them, whoever refers to them. */
static bool is_frozen(const struct labeling *l, const struct heap_root_record *r)
{
	return r->kind == HEAP_ROOT_OTHER && heap_snapshot_generation(l->s, r->object) == HEAP_GEN_FROZEN;
}

static void put_label(const struct labeling *l, const struct heap_root_record *r, struct buf *out)
{
	switch (r->kind) {
	case HEAP_ROOT_STACK:
		put_stack_root(l, r, out);
		break;
	case HEAP_ROOT_STATIC:
		put_static(l, "static", r->id, out);
		break;
	case HEAP_ROOT_THREAD_STATIC:
		if (r->id)
			put_static(l, "thread static", r->id - 1, out);
		else
			buf_puts(out, "thread statics");
		put_root_thread(l, r->thread, out);
		break;
	case HEAP_ROOT_HANDLE:
		buf_puts(out, r->flags & HEAP_ROOT_PINNED ? "handle (pinned)" : r->flags & HEAP_ROOT_WEAK ? "handle (weak)" : "handle");
		break;
	default:
		buf_puts(out, r->kind == HEAP_ROOT_FINALIZER	? "finalizer queue"
			      : r->kind == HEAP_ROOT_DEPENDENT	? "dependent handle"
			      : is_frozen(l, r)			? "frozen objects"
								: "runtime");
	}
}

/* Equal texts are one label. */
static const char *label_of(struct labeling *l, const struct heap_root_record *r)
{
	AUTO_BUF struct buf text = {0};
	struct known_text *known = NULL;

	buf_init(&text, LABEL_MAX_BYTES);
	put_label(l, r, &text);
	HASH_FIND(hh, l->labels, buf_str(&text), text.len, known);
	if (!known) {
		known = mem_alloc(sizeof *known);
		size_t len = text.len;
		known->text = (char *)heap_snapshot_label_take(l->s, buf_steal(&text));
		HASH_ADD_KEYPTR(hh, l->labels, known->text, len, known);
	}
	return known->text;
}

static void label_roots(struct labeling *l)
{
	struct heap_snapshot *s = l->s;

	s->root_count = l->scan->root_count;
	s->roots = mem_calloc(s->root_count + 1, sizeof *s->roots);
	for (size_t i = 0; i < s->root_count; i++) {
		const struct heap_root_record *r = &l->scan->roots[i];
		s->roots[i] = (struct heap_root){(enum heap_root_kind)r->kind, r->flags, r->object, r->second, label_of(l, r)};
	}
}

static void free_known(struct known_text *list, bool texts)
{
	struct known_text *k, *next;

	HASH_ITER(hh, list, k, next)
	{
		HASH_DEL(list, k);
		if (texts)
			free(k->text);
		free(k);
	}
}

int heap_label_all(struct heap_client *c, struct heap_snapshot *s, const struct heap_scan *scan, int64_t deadline_ms, struct err *e)
{
	struct labeling l = {.client = c, .s = s, .scan = scan, .deadline_ms = deadline_ms};

	int r = name_types(c, s, deadline_ms, e);
	if (r == 0)
		r = name_statics(&l, e);
	if (r == 0)
		r = name_functions(&l, e);
	if (r == 0)
		label_roots(&l);
	for (size_t i = 0; l.statics && i < scan->static_count; i++)
		free(l.statics[i]);
	free(l.statics);
	free_known(l.functions, true);
	free_known(l.labels, false);
	return r;
}
