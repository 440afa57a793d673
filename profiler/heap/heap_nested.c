/* Context: own thread. */
#include "profiler/heap/heap_nested.h"

#include "common/proto/difference.h"
#include "profiler/names/field_type.h"
#include "profiler/clr/module_guard.h"

#include <string.h>

#define NAME_CAP 512
#define FIELD_NAME_CAP 128
#define FIELDS_AT_ONCE 32u
#define DEPTH_MAX 6
#define ARGS_MAX 8u
#define MODULES_MAX 1024u
#define LOOKUPS_MAX 2048u  /* by name, each through all types of a module */
#define KNOWN_BITS 11
#define KNOWN_SIZE (1u << KNOWN_BITS)
#define FIELD_STATIC 0x10u

#define TOKEN_TABLE(t) ((t) >> 24)
#define TABLE_TYPE_REF 0x01
#define TABLE_TYPE_DEF 0x02

struct type { /* of a module */
	cor_id module;
	md_token token;
};

/* What stands for a generic parameter: a class, or a signature where other ones stand for its own parameters. */
struct arg {
	cor_id cls;
	const uint8_t *sig;
	uint32_t len;
	const struct scope *scope;
};

struct scope {
	cor_id module;
	void *import;
	struct arg args[ARGS_MAX];
	uint32_t arg_count;
};

static void *profiler_info;
static cor_id modules[MODULES_MAX];
static uint32_t module_count, last_found, lookups;
static struct known {
	struct type from, to; /* to.module 0: nowhere */
} known[KNOWN_SIZE];

void heap_nested_begin(void *info)
{
	profiler_info = info;
	module_count = last_found = lookups = 0;
	memset(known, 0, sizeof known);
}

/* Types of other modules ------------------------------------------------------------------------------------------------------ */
static void list_modules(void)
{
	void *list = NULL;
	uint32_t n = 0;

	if (info_enum(profiler_info, INFO_ENUM_MODULES, &list) < 0 || !list)
		return;
	if (enum_next(list, MODULES_MAX, modules, &n) >= 0)
		module_count = n;
	cor_release(list);
}

static void *import_of(cor_id module)
{
	void *import = NULL;

	return !module_guard_gone(module) && info_get_module_meta_data(profiler_info, module, &import) == COR_S_OK ? import : NULL;
}

static bool find_in(cor_id module, const wchar16 *name, md_token enclosing, struct type *out)
{
	void *import = import_of(module);

	if (!import || ++lookups > LOOKUPS_MAX)
		return false;
	*out = (struct type){.module = module};
	bool found = md_find_type_def_by_name(import, name, enclosing, &out->token) >= 0;
	cor_release(import);
	return found;
}

static bool find_anywhere(const wchar16 *name, struct type *out)
{
	if (!module_count)
		list_modules();
	for (uint32_t i = 0; i < module_count; i++) {
		uint32_t at = (i + last_found) % module_count; /* mostly where the one before was */
		if (find_in(modules[at], name, 0, out)) {
			last_found = at;
			return true;
		}
	}
	return false;
}

static bool find_type_def(void *import, struct type from, int depth, struct type *out);

static bool resolve_type_ref(void *import, md_token ref, int depth, struct type *out)
{
	wchar16 name[NAME_CAP] = {0};
	md_token in = 0;
	uint32_t len = 0;
	struct type outer;

	if (md_get_type_ref_props(import, ref, &in, name, NAME_CAP - 1, &len) < 0)
		return false;
	if (TOKEN_TABLE(in) != TABLE_TYPE_REF)
		return find_anywhere(name, out);
	return find_type_def(import, (struct type){out->module, in}, depth - 1, &outer) && find_in(outer.module, name, outer.token, out);
}

static WRAPS bool find_type_def(void *import, struct type from, int depth, struct type *out)
{
	struct known *k = &known[(from.module / 8 + from.token) * 0x9e3779b97f4a7c15u >> (64 - KNOWN_BITS)];

	*out = from;
	if (TOKEN_TABLE(from.token) != TABLE_TYPE_REF || depth == 0)
		return TOKEN_TABLE(from.token) == TABLE_TYPE_DEF;
	if (k->from.module != from.module || k->from.token != from.token) {
		if (!resolve_type_ref(import, from.token, depth, out))
			*out = (struct type){0};
		*k = (struct known){from, *out};
	}
	*out = k->to;
	return out->module && !module_guard_gone(out->module);
}

/* What a field holds ---------------------------------------------------------------------------------------------------------- */
enum holds { NOTHING, REFERENCE, STRUCT, UNKNOWN };

static enum holds struct_of_class(cor_id cls, struct scope *out, md_token *token)
{
	cor_id base = 0, args[ARGS_MAX];
	uint32_t element = 0, rank = 0, box = 0, count = 0;

	if (info_is_array_class(profiler_info, cls, &element, &base, &rank) == COR_S_OK || info_get_box_class_layout(profiler_info, cls, &box) < 0)
		return REFERENCE;
	if (info_get_class_id_info2(profiler_info, cls, &out->module, token, ARGS_MAX, &count, args) < 0 || count > ARGS_MAX)
		return UNKNOWN;
	for (out->arg_count = 0; out->arg_count < count; out->arg_count++)
		out->args[out->arg_count] = (struct arg){.cls = args[out->arg_count]};
	return STRUCT;
}

static enum holds struct_of_type(const struct field_type *t, const struct scope *in, struct scope *out, md_token *token)
{
	struct type found;

	if (!find_type_def(in->import, (struct type){in->module, t->token}, DEPTH_MAX, &found))
		return UNKNOWN;
	out->module = found.module;
	*token = found.token;
	for (out->arg_count = 0; out->arg_count < t->arg_count; out->arg_count++)
		out->args[out->arg_count] = (struct arg){.sig = t->args[out->arg_count].sig, .len = t->args[out->arg_count].len, .scope = in};
	return STRUCT;
}

/* STRUCT: *out is its inside, but for the import. */
static enum holds what_holds(const uint8_t *sig, uint32_t len, const struct scope *in, int depth, struct scope *out, md_token *token)
{
	struct field_type t;

	if (depth == 0 || !field_type_read(sig, len, &t))
		return UNKNOWN;
	switch (t.kind) {
	case FIELD_TYPE_NOTHING:
		return NOTHING;
	case FIELD_TYPE_REFERENCE:
		return REFERENCE;
	case FIELD_TYPE_VALUE:
		return t.arg_count > ARGS_MAX ? UNKNOWN : struct_of_type(&t, in, out, token);
	case FIELD_TYPE_VARIABLE:
		break;
	}
	if (t.index >= in->arg_count)
		return UNKNOWN;
	const struct arg *a = &in->args[t.index];
	return a->cls ? struct_of_class(a->cls, out, token) : what_holds(a->sig, a->len, a->scope, depth - 1, out, token);
}

/* The references of a struct ---------------------------------------------------------------------------------------------------- */
struct inside {
	struct heap_nested *out;
	char path[512]; /* of the struct: "_entry." */
	size_t path_len;
};

static bool put_leaf(struct inside *k)
{
	struct heap_nested *out = k->out;
	size_t len = difference(k->path_len, 1);

	if (out->count == HEAP_NESTED_MAX || len > difference(sizeof out->names, out->used))
		return false;
	memcpy(out->names + out->used, k->path, len);
	out->items[out->count].name = (uint16_t)out->used;
	out->items[out->count++].len = (uint16_t)len;
	out->used += len;
	return true;
}

static bool put_nested_references(struct inside *k, const struct scope *scope, md_token type, int depth);

/* Of one field: its own reference, or those of its struct, as `wanted`. */
static bool put_field(struct inside *k, const struct scope *in, md_token field, enum holds wanted, int depth)
{
	wchar16 name[FIELD_NAME_CAP] = {0};
	uint32_t len = 0, attributes = 0, sig_len = 0;
	const uint8_t *sig = NULL;
	struct scope inner;
	md_token type = 0;
	size_t before = k->path_len;
	struct text t = {.data = k->path, .cap = sizeof k->path, .len = before};

	if (md_get_field_props(in->import, field, name, FIELD_NAME_CAP, &len, &attributes, &sig, &sig_len) < 0 || !sig || sig_len == 0)
		return false;
	enum holds holds = attributes & FIELD_STATIC ? NOTHING : what_holds(sig + 1, sig_len - 1, in, DEPTH_MAX, &inner, &type);
	if (holds == UNKNOWN)
		return false;
	if (holds != wanted)
		return true;
	name[FIELD_NAME_CAP - 1] = 0;
	text_put_utf16(&t, name, FIELD_NAME_CAP);
	text_puts(&t, ".");
	if (t.cut)
		return false;
	k->path_len = t.len;
	bool put = holds == REFERENCE ? put_leaf(k) : put_nested_references(k, &inner, type, depth - 1);
	k->path_len = before;
	return put;
}

static bool put_fields(struct inside *k, const struct scope *in, md_token type, enum holds wanted, int depth)
{
	void *cursor = NULL;
	md_token fields[FIELDS_AT_ONCE];
	uint32_t n;
	bool whole = true;

	while (n = 0, whole && md_enum_fields(in->import, &cursor, type, fields, FIELDS_AT_ONCE, &n) >= 0 && n > 0)
		for (uint32_t i = 0; i < n && whole; i++)
			whole = put_field(k, in, fields[i], wanted, depth);
	md_close_enum(in->import, cursor);
	return whole;
}

static bool put_nested_references(struct inside *k, const struct scope *scope, md_token type, int depth)
{
	struct scope in = *scope;

	if (depth == 0)
		return false;
	in.import = import_of(in.module);
	if (!in.import)
		return false;
	bool whole = put_fields(k, &in, type, REFERENCE, depth) && put_fields(k, &in, type, STRUCT, depth);
	cor_release(in.import);
	return whole;
}

static bool begin_scope(cor_id cls, cor_id module, struct scope *out)
{
	cor_id args[ARGS_MAX], of = 0;
	uint32_t count = 0;
	md_token token = 0;

	if (info_get_class_id_info2(profiler_info, cls, &of, &token, ARGS_MAX, &count, args) < 0)
		return false;
	*out = (struct scope){.module = module, .import = import_of(module)};
	for (; out->arg_count < count && out->arg_count < ARGS_MAX; out->arg_count++)
		out->args[out->arg_count] = (struct arg){.cls = args[out->arg_count]};
	return out->import != NULL;
}

bool heap_nested_find(cor_id cls, cor_id module, const uint8_t *sig, uint32_t len, struct heap_nested *out)
{
	static struct inside k; /* one is looked for at a time */
	struct scope in, inner;
	md_token type = 0;

	out->count = 0;
	out->used = 0;
	k.out = out;
	k.path_len = 0;
	if (len == 0 || !begin_scope(cls, module, &in))
		return false;
	bool whole = what_holds(sig + 1, difference(len, 1), &in, DEPTH_MAX, &inner, &type) == STRUCT && put_nested_references(&k, &inner, type, DEPTH_MAX);
	cor_release(in.import);
	return whole;
}
