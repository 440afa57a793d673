/* Context: own thread. */
#include "profiler/heap/heap_fields.h"

#include "common/proto/difference.h"
#include "profiler/names/field_type.h"
#include "profiler/heap/heap_classes.h"
#include "profiler/heap/heap_nested.h"
#include "profiler/clr/module_guard.h"

#define NAME_CAP 128
#define BASES_MAX 32
#define ARRAY_HEAD 16 /* class, number of elements */

/* A field as it is declared. */
struct declared {
	uint32_t offset;
	enum heap_holds holds;
	uint16_t name, len; /* in declared_names */
	cor_id cls, module;
	const uint8_t *sig;
	uint32_t sig_len;
};

static struct declared declared[HEAP_FRAME_MAX_FIELDS]; /* by offset */
static uint32_t declared_count;
static char declared_names[16384];
static size_t declared_used;

enum heap_holds heap_fields_hold(const uint8_t *sig, uint32_t len)
{
	struct field_type t;

	if (len == 0 || !field_type_read(sig + 1, len - 1, &t) || t.kind == FIELD_TYPE_NOTHING)
		return HEAP_HOLDS_NOTHING;
	return t.kind == FIELD_TYPE_REFERENCE ? HEAP_HOLDS_REFERENCE : HEAP_HOLDS_VALUE;
}

/* As declared ---------------------------------------------------------------------------------------------------------------- */
static void add_declared_field(void *import, const struct cor_field_offset *f, uint32_t base, cor_id cls, cor_id module)
{
	wchar16 name[NAME_CAP] = {0};
	uint32_t len = 0, attributes = 0;
	struct declared d = {.offset = base + f->offset, .cls = cls, .module = module};
	struct text t = {.data = declared_names + declared_used, .cap = difference(sizeof declared_names, declared_used)};

	if (declared_count == HEAP_FRAME_MAX_FIELDS ||
	    md_get_field_props(import, f->field, name, NAME_CAP, &len, &attributes, &d.sig, &d.sig_len) < 0 || !d.sig)
		return;
	d.holds = heap_fields_hold(d.sig, d.sig_len);
	name[NAME_CAP - 1] = 0;
	text_put_utf16(&t, name, NAME_CAP);
	if (t.cut || d.holds == HEAP_HOLDS_NOTHING)
		return;
	d.name = (uint16_t)declared_used;
	d.len = (uint16_t)t.len;
	declared_used += t.len;
	uint32_t i = declared_count++;
	for (; i > 0 && declared[i - 1].offset > d.offset; i--)
		declared[i] = declared[i - 1];
	declared[i] = d;
}

static void add_own_fields(void *info, cor_id cls, cor_id module, uint32_t base)
{
	static struct cor_field_offset layout[HEAP_FRAME_MAX_FIELDS];
	uint32_t count = 0, bytes = 0;
	void *import = NULL;

	if (info_get_class_layout(info, cls, layout, HEAP_FRAME_MAX_FIELDS, &count, &bytes) < 0 ||
	    info_get_module_meta_data(info, module, &import) != COR_S_OK || !import)
		return;
	for (uint32_t i = 0; i < count && i < HEAP_FRAME_MAX_FIELDS; i++)
		add_declared_field(import, &layout[i], base, cls, module);
	cor_release(import);
}

static void add_inherited_fields(void *info, cor_id cls, uint32_t base)
{
	for (int i = 0; cls && i < BASES_MAX; i++) {
		cor_id module = 0, parent = 0;
		md_token token = 0;
		if (info_get_parent_class(info, cls, &module, &token, &parent) < 0 || !module || module_guard_gone(module))
			return;
		add_own_fields(info, cls, module, base);
		cls = parent;
	}
}

/* As told: structs by what they hold ------------------------------------------------------------------------------------------ */
struct slots {
	uint32_t at[HEAP_NESTED_MAX], count;
};

static void add_slot(struct slots *s, uint32_t at, uint32_t from, uint32_t to)
{
	if (at < from || at >= to)
		return;
	if (s->count < HEAP_NESTED_MAX)
		s->at[s->count] = at;
	s->count++;
}

/* Where references lie in [from, to) of an object, or of an array's element, by what the walk has read of the class. */
static void find_slots(const struct heap_class *c, uint32_t elements_at, uint32_t from, uint32_t to, struct slots *out)
{
	const struct heap_series *s = heap_classes_series(c);
	uint32_t at = (uint32_t)difference(c->structs_at, elements_at);

	out->count = 0;
	if (elements_at && c->way == HEAP_CLASS_SERIES) { /* nothing but references */
		for (uint32_t k = from; k < to && k < c->element_size; k += 8)
			add_slot(out, k, from, to);
		return;
	}
	for (uint32_t i = 0; i < c->series_count; i++) {
		uint32_t bytes = c->way == HEAP_CLASS_STRUCTS ? 8 * s[i].start : (uint32_t)((int32_t)((c->base_size + 7) & ~7u) + s[i].more);
		if (c->way != HEAP_CLASS_STRUCTS)
			at = s[i].start;
		for (uint32_t k = 0; k < bytes && out->count <= HEAP_NESTED_MAX; k += 8)
			add_slot(out, at + k, from, to);
		at += bytes + (uint32_t)s[i].more;
	}
}

static void add_field_text(struct heap_fields *out, const struct declared *d, uint32_t offset, const char *inner, size_t inner_len)
{
	struct text t = {.data = out->names + out->used, .cap = difference(sizeof out->names, out->used)};

	if (out->element_size)
		text_puts(&t, "[].");
	text_put(&t, declared_names + d->name, d->len);
	if (inner) {
		text_puts(&t, ".");
		text_put(&t, inner, inner_len);
	}
	if (t.cut || out->count == HEAP_FRAME_MAX_FIELDS)
		return;
	out->items[out->count].offset = offset;
	out->items[out->count].name = (uint16_t)out->used;
	out->items[out->count++].len = (uint16_t)t.len;
	out->used += t.len;
}

/* Only where as many references are declared as there are: else something is laid out in another way than is thought. */
static bool tell_inside(const struct heap_class *c, const struct declared *d, uint32_t to, struct heap_fields *out)
{
	static struct heap_nested nested;
	struct slots slots;

	if (!c || d->holds != HEAP_HOLDS_VALUE || (c->way != HEAP_CLASS_SERIES && c->way != HEAP_CLASS_STRUCTS))
		return false;
	find_slots(c, out->elements_at, d->offset, to, &slots);
	if (slots.count == 0)
		return true;
	if (slots.count > HEAP_NESTED_MAX || !heap_nested_find(d->cls, d->module, d->sig, d->sig_len, &nested) || nested.count != slots.count)
		return false;
	for (uint32_t i = 0; i < slots.count; i++)
		add_field_text(out, d, slots.at[i], nested.names + nested.items[i].name, nested.items[i].len);
	return true;
}

static void tell_all(cor_id cls, struct heap_fields *out)
{
	const struct heap_class *c = heap_classes_find(cls);

	for (uint32_t i = 0; i < declared_count; i++) {
		uint32_t to = i + 1 < declared_count ? declared[i + 1].offset : UINT32_MAX;
		if (!tell_inside(c, &declared[i], to, out))
			add_field_text(out, &declared[i], declared[i].offset, NULL, 0);
	}
}

void heap_fields_of(void *info, cor_id cls, struct heap_fields *out)
{
	cor_id element_class = 0;
	uint32_t element = 0, rank = 0, box = 0;

	out->count = out->elements_at = out->element_size = 0;
	out->used = 0;
	declared_count = 0;
	declared_used = 0;
	if (info_is_array_class(info, cls, &element, &element_class, &rank) != COR_S_OK) {
		/* in a box a value stands behind the class, and the layout begins at the value */
		add_inherited_fields(info, cls, info_get_box_class_layout(info, cls, &box) >= 0 ? box : 0);
	} else {
		out->elements_at = ARRAY_HEAD + (rank > 1 ? rank * 8 : 0); /* lengths and lower bounds */
		out->element_size = *(const uint32_t *)cls & 0xffff;
		if (element_class && info_get_box_class_layout(info, element_class, &box) >= 0)
			add_inherited_fields(info, element_class, 0);
	}
	tell_all(cls, out);
}

void heap_fields_static_name(void *info, cor_id cls, md_token field, struct text *out)
{
	wchar16 name[NAME_CAP] = {0};
	cor_id module = 0, parent = 0;
	md_token token = 0;
	uint32_t len = 0, attributes = 0, sig_len = 0;
	const uint8_t *sig = NULL;
	void *import = NULL;

	if (info_get_parent_class(info, cls, &module, &token, &parent) < 0 || !module || module_guard_gone(module) ||
	    info_get_module_meta_data(info, module, &import) != COR_S_OK || !import)
		return;
	if (md_get_field_props(import, field, name, NAME_CAP, &len, &attributes, &sig, &sig_len) >= 0) {
		name[NAME_CAP - 1] = 0;
		text_put_utf16(out, name, NAME_CAP);
	}
	cor_release(import);
}
