/* Context: own thread. */
#include "profiler/names/type_name.h"

#include "profiler/clr/module_guard.h"
#include "common/proto/signature.h"

#define MAX_NESTING 12
#define MAX_DEPTH 6 /* of arguments within arguments */
#define NAME_CAP 512

#define ELEMENT_POINTER 0x0f /* ECMA-335 II.23.1.16 */
#define ELEMENT_FUNCTION_POINTER 0x1b

#define TOKEN_TABLE(t) ((t) >> 24)
#define TABLE_TYPE_REF 0x01
#define TABLE_TYPE_DEF 0x02
#define TABLE_TYPE_SPEC 0x1b

void type_name_put(void *out, const char *text)
{
	text_puts(out, text);
}

static void put_utf16_name(struct text *out, hresult hr, const wchar16 *name)
{
	if (hr < 0)
		text_puts(out, "?");
	else
		text_put_utf16(out, name, NAME_CAP);
}

void type_name_of_def(void *import, md_token type, struct text *out)
{
	md_token chain[MAX_NESTING];
	int n = 0;

	if (out->cut)
		return;
	chain[n++] = type;
	while (n < MAX_NESTING && md_get_nested_class_props(import, chain[n - 1], &chain[n]) == COR_S_OK &&
	       TOKEN_TABLE(chain[n]) == TABLE_TYPE_DEF && (chain[n] & 0xffffff))
		n++;
	while (n-- > 0) {
		wchar16 name[NAME_CAP] = {0};
		uint32_t len = 0;
		put_utf16_name(out, md_get_type_def_props(import, chain[n], name, NAME_CAP, &len), name);
		if (n)
			text_puts(out, "+");
	}
}

static void name_of_ref(void *import, md_token type, struct text *out, int depth)
{
	wchar16 name[NAME_CAP] = {0};
	md_token scope = 0;
	uint32_t len = 0;
	hresult hr = md_get_type_ref_props(import, type, &scope, name, NAME_CAP, &len);

	if (hr >= 0 && TOKEN_TABLE(scope) == TABLE_TYPE_REF && depth > 0) {
		name_of_ref(import, scope, out, depth - 1);
		text_puts(out, "+");
	}
	put_utf16_name(out, hr, name);
}

/* A TypeSpec as a parameter type is rare; one that refers to another one is not followed. */
static void spec_type(void *import, uint32_t token, void *out)
{
	if (TOKEN_TABLE(token) == TABLE_TYPE_SPEC)
		text_puts(out, "?");
	else
		type_name_of_token(import, token, out);
}

static void spec_variable(void *import, bool of_method, uint32_t index, void *out)
{
	(void)import;
	text_puts(out, of_method ? "!!" : "!");
	text_put_u32(out, index);
}

static void name_of_spec(void *import, md_token token, struct text *out)
{
	const struct signature_names names = {import, type_name_put, spec_type, spec_variable};
	const uint8_t *sig = 0;
	uint32_t len = 0;

	if (md_get_type_spec(import, token, &sig, &len) < 0 || !sig || !signature_type(sig, len, &names, out))
		text_puts(out, "?");
}

void type_name_of_token(void *import, md_token token, struct text *out)
{
	if (out->cut)
		return;
	switch (TOKEN_TABLE(token)) {
	case TABLE_TYPE_DEF:
		type_name_of_def(import, token, out);
		break;
	case TABLE_TYPE_REF:
		name_of_ref(import, token, out, MAX_NESTING);
		break;
	case TABLE_TYPE_SPEC:
		name_of_spec(import, token, out);
		break;
	default:
		text_puts(out, "?");
	}
}

static void name_of_class(void *info, cor_id cls, struct text *out, int depth);

static void name_list(void *info, const cor_id *classes, uint32_t count, struct text *out, int depth)
{
	for (uint32_t i = 0; i < count; i++) {
		if (i)
			text_puts(out, ",");
		name_of_class(info, classes[i], out, depth);
	}
}

static void name_of_array(void *info, cor_id base, uint32_t element, uint32_t rank, struct text *out, int depth)
{
	const char *primitive = signature_primitive(element);

	if (element == ELEMENT_POINTER || element == ELEMENT_FUNCTION_POINTER)
		text_puts(out, "System.Void*"); /* to what, the runtime does not say */
	else if (base)
		name_of_class(info, base, out, depth);
	else
		text_puts(out, primitive ? primitive : "?");
	text_puts(out, "[");
	for (uint32_t i = 1; i < rank && i < 32; i++)
		text_puts(out, ",");
	text_puts(out, "]");
}

static void name_of_class(void *info, cor_id cls, struct text *out, int depth)
{
	cor_id module = 0, base = 0, args[TYPE_NAME_MAX_ARGS];
	uint32_t element = 0, rank = 0, count = 0;
	md_token token = 0;
	void *import = 0;

	if (out->cut)
		return;
	if (depth == 0 || !cls) {
		text_puts(out, "?");
		return;
	}
	if (info_is_array_class(info, cls, &element, &base, &rank) == COR_S_OK) {
		name_of_array(info, base, element, rank, out, depth - 1);
		return;
	}
	if (info_get_class_id_info2(info, cls, &module, &token, TYPE_NAME_MAX_ARGS, &count, args) < 0 || !module ||
	    module_guard_gone(module) || info_get_module_meta_data(info, module, &import) != COR_S_OK || !import) {
		text_puts(out, "?");
		return;
	}
	type_name_of_def(import, token, out);
	cor_release(import);
	if (count) {
		text_puts(out, "<");
		name_list(info, args, count < TYPE_NAME_MAX_ARGS ? count : TYPE_NAME_MAX_ARGS, out, depth - 1);
		text_puts(out, ">");
	}
}

void type_name_of_class(void *info, cor_id cls, struct text *out)
{
	name_of_class(info, cls, out, MAX_DEPTH);
}

void type_name_list(void *info, const cor_id *classes, uint32_t count, struct text *out)
{
	name_list(info, classes, count, out, MAX_DEPTH);
}
