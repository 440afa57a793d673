/* Context: own thread. */
#include "profiler/heap_fields.h"

#include "profiler/module_guard.h"

#define NAME_CAP 128
#define BASES_MAX 32
#define ARRAY_HEAD 16 /* class, number of elements */

/* ECMA-335 II.23.1.16 */
#define ELEMENT_VALUE_TYPE 0x11
#define ELEMENT_VARIABLE 0x13
#define ELEMENT_GENERIC 0x15
#define ELEMENT_MODIFIER_REQUIRED 0x1f
#define ELEMENT_MODIFIER_OPTIONAL 0x20

enum heap_holds heap_fields_hold(const uint8_t *sig, uint32_t len)
{
	uint32_t i = 1;

	while (i + 1 < len && (sig[i] == ELEMENT_MODIFIER_REQUIRED || sig[i] == ELEMENT_MODIFIER_OPTIONAL))
		i += 1 + (sig[i + 1] < 0x80 ? 1 : sig[i + 1] < 0xc0 ? 2 : 4); /* a compressed token follows (II.23.2) */
	if (i >= len)
		return HEAP_HOLDS_NOTHING;
	switch (sig[i] == ELEMENT_GENERIC && i + 1 < len ? sig[i + 1] : sig[i]) {
	case 0x0e: /* string */
	case 0x12: /* class */
	case 0x14: /* array */
	case 0x1c: /* object */
	case 0x1d: /* array of one dimension */
		return HEAP_HOLDS_REFERENCE;
	case ELEMENT_VALUE_TYPE:
	case ELEMENT_VARIABLE:
	case 0x16: /* typed reference */
		return HEAP_HOLDS_VALUE;
	default:
		return HEAP_HOLDS_NOTHING;
	}
}

static void add_field(struct heap_fields *out, void *import, const struct cor_field_offset *f, uint32_t base)
{
	wchar16 name[NAME_CAP] = {0};
	uint32_t len = 0, attributes = 0, sig_len = 0;
	const uint8_t *sig = NULL;
	struct text t = {.data = out->names + out->used, .cap = sizeof out->names - out->used};

	if (out->count == HEAP_FRAME_MAX_FIELDS ||
	    md_get_field_props(import, f->field, name, NAME_CAP, &len, &attributes, &sig, &sig_len) < 0 || !sig ||
	    heap_fields_hold(sig, sig_len) == HEAP_HOLDS_NOTHING)
		return;
	name[NAME_CAP - 1] = 0;
	if (out->element_size)
		text_puts(&t, "[].");
	text_put_utf16(&t, name, NAME_CAP);
	if (t.cut)
		return;
	uint32_t i = out->count++;
	for (; i > 0 && out->items[i - 1].offset > base + f->offset; i--)
		out->items[i] = out->items[i - 1];
	out->items[i].offset = base + f->offset;
	out->items[i].name = (uint16_t)out->used;
	out->items[i].len = (uint16_t)t.len;
	out->used += t.len;
}

static void add_own_fields(void *info, cor_id cls, cor_id module, uint32_t base, struct heap_fields *out)
{
	static struct cor_field_offset layout[HEAP_FRAME_MAX_FIELDS];
	uint32_t count = 0, bytes = 0;
	void *import = NULL;

	if (info_get_class_layout(info, cls, layout, HEAP_FRAME_MAX_FIELDS, &count, &bytes) < 0 ||
	    info_get_module_meta_data(info, module, &import) != COR_S_OK || !import)
		return;
	for (uint32_t i = 0; i < count && i < HEAP_FRAME_MAX_FIELDS; i++)
		add_field(out, import, &layout[i], base);
	cor_release(import);
}

static void add_fields(void *info, cor_id cls, uint32_t base, struct heap_fields *out)
{
	for (int i = 0; cls && i < BASES_MAX; i++) {
		cor_id module = 0, parent = 0;
		md_token token = 0;
		if (info_get_parent_class(info, cls, &module, &token, &parent) < 0 || !module || module_guard_gone(module))
			return;
		add_own_fields(info, cls, module, base, out);
		cls = parent;
	}
}

void heap_fields_of(void *info, cor_id cls, struct heap_fields *out)
{
	cor_id element_class = 0;
	uint32_t element = 0, rank = 0, box = 0;

	out->count = out->elements_at = out->element_size = 0;
	out->used = 0;
	if (info_is_array_class(info, cls, &element, &element_class, &rank) != COR_S_OK) {
		/* in a box a value stands behind the class, and the layout begins at the value */
		add_fields(info, cls, info_get_box_class_layout(info, cls, &box) >= 0 ? box : 0, out);
		return;
	}
	out->elements_at = ARRAY_HEAD + (rank > 1 ? rank * 8 : 0); /* lengths and lower bounds */
	out->element_size = *(const uint32_t *)cls & 0xffff;
	if (element_class && info_get_box_class_layout(info, element_class, &box) >= 0)
		add_fields(info, element_class, 0, out);
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
