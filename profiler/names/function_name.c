/* Context: own thread. */
#include "profiler/names/function_name.h"

#include "common/proto/difference.h"
#include "profiler/clr/module_guard.h"
#include "common/proto/signature.h"
#include "profiler/names/type_name.h"

#define NAME_CAP 512

struct method {
	void *info, *import;
	cor_id cls, module;
	md_token token, type;
	cor_id method_args[TYPE_NAME_MAX_ARGS], type_args[TYPE_NAME_MAX_ARGS];
	uint32_t method_arg_count, type_arg_count;
};

static struct channel_text text_view(const struct text *t)
{
	return (struct channel_text){t->data, t->len};
}

static struct channel_text as_text_or_none(const struct text *t)
{
	return t->len ? text_view(t) : (struct channel_text){0};
}

void function_name_module(void *info, cor_id module, void *import, struct text *out)
{
	wchar16 path[NAME_CAP] = {0};
	uint32_t len = 0, base = 0;

	if (info_get_module_info(info, module, NAME_CAP, &len, path) < 0 || !path[0]) {
		if (!import || md_get_scope_props(import, path, NAME_CAP, &len) < 0)
			return;
	}
	path[NAME_CAP - 1] = 0;
	for (uint32_t i = 0; path[i]; i++)
		if (path[i] == '/')
			base = i + 1;
	text_put_utf16(out, path + base, difference(NAME_CAP, base));
}

static struct channel_text module_name(void *info, cor_id module, void *import, struct text *out)
{
	function_name_module(info, module, import, out);
	return as_text_or_none(out);
}

/* The file that it was loaded from, and where it lies: what its debugging symbols are found by. */
static void put_module_place(void *info, cor_id module, struct text *path, struct channel_function *out)
{
	wchar16 name[NAME_CAP] = {0};
	uintptr_t base = 0;
	uint32_t len = 0;

	if (info_get_module_place(info, module, &base, NAME_CAP, &len, name) < 0 || len > NAME_CAP)
		return;
	name[NAME_CAP - 1] = 0;
	text_put_utf16(path, name, NAME_CAP);
	out->image = base;
	out->path = path->cut ? (struct channel_text){0} : as_text_or_none(path);
}

static void param_type(void *ctx, uint32_t token, void *out)
{
	type_name_of_token(((struct method *)ctx)->import, token, out);
}

static void param_variable(void *ctx, bool of_method, uint32_t index, void *out)
{
	const struct method *m = ctx;
	uint32_t count = of_method ? m->method_arg_count : m->type_arg_count;
	const cor_id *args = of_method ? m->method_args : m->type_args;

	if (index < count) {
		type_name_of_class(m->info, args[index], out);
		return;
	}
	text_puts(out, of_method ? "!!" : "!");
	text_put_u32(out, index);
}

static hresult method_find(void *info, cor_id function, struct method *m)
{
	cor_id module;
	md_token token;

	*m = (struct method){.info = info};
	hresult hr = info_get_function_info2(info, function, &m->cls, &m->module, &m->token, TYPE_NAME_MAX_ARGS, &m->method_arg_count,
					     m->method_args);
	if (hr < 0)
		hr = info_get_function_info(info, function, &m->cls, &m->module, &m->token);
	if (hr < 0)
		return hr;
	if (module_guard_gone(m->module))
		return COR_E_FAIL;
	/* Code shared by several instantiations has no class without a frame; the runtime's canonical one says as much as can be known. */
	if (!m->cls)
		info_get_function_info(info, function, &m->cls, &module, &token);
	if (m->cls && info_get_class_id_info2(info, m->cls, &module, &token, TYPE_NAME_MAX_ARGS, &m->type_arg_count, m->type_args) < 0)
		m->type_arg_count = 0;
	if (m->type_arg_count > TYPE_NAME_MAX_ARGS)
		m->type_arg_count = TYPE_NAME_MAX_ARGS;
	if (m->method_arg_count > TYPE_NAME_MAX_ARGS)
		m->method_arg_count = TYPE_NAME_MAX_ARGS;
	return info_get_module_meta_data(info, m->module, &m->import);
}

bool function_name_gone(void *info, cor_id function)
{
	int32_t dynamic = 0;
	cor_id cls, module = 0;
	md_token token;

	if (info_is_function_dynamic(info, function, &dynamic) == COR_S_OK && dynamic)
		return false;
	return info_get_function_info(info, function, &cls, &module, &token) < 0 || module_guard_gone(module);
}

static hresult describe_method(struct method *m, struct function_text *t, struct channel_function *out)
{
	const struct signature_names names = {m, type_name_put, param_type, param_variable};
	struct text module = TEXT_ON(t->module), type = TEXT_ON(t->type), type_args = TEXT_ON(t->type_args);
	struct text method = TEXT_ON(t->method), method_args = TEXT_ON(t->method_args), params = TEXT_ON(t->params);
	struct text path = TEXT_ON(t->path);
	wchar16 name[NAME_CAP] = {0};
	const uint8_t *sig = 0;
	uint32_t len = 0, sig_len = 0;

	hresult hr = md_get_method_props(m->import, m->token, &m->type, name, NAME_CAP, &len, &sig, &sig_len);
	if (hr < 0)
		return hr;
	name[NAME_CAP - 1] = 0;
	text_put_utf16(&method, name, NAME_CAP);
	type_name_of_def(m->import, m->type, &type);
	type_name_list(m->info, m->type_args, m->type_arg_count, &type_args);
	type_name_list(m->info, m->method_args, m->method_arg_count, &method_args);
	bool known = sig && signature_params(sig, sig_len, &names, &params);
	if (md_count_methods(m->import, m->type, name, 2) > 1)
		out->flags |= CHANNEL_OVERLOADED;
	out->module = module_name(m->info, m->module, m->import, &module);
	out->type = as_text_or_none(&type);
	out->type_args = as_text_or_none(&type_args);
	out->method = text_view(&method);
	out->method_args = as_text_or_none(&method_args);
	out->params = known ? text_view(&params) : (struct channel_text){0};
	out->token = m->token;
	put_module_place(m->info, m->module, &path, out);
	return COR_S_OK;
}

static hresult describe_dynamic(void *info, cor_id function, struct function_text *t, struct channel_function *out)
{
	struct text module = TEXT_ON(t->module), method = TEXT_ON(t->method);
	wchar16 name[NAME_CAP] = {0};
	cor_id module_id = 0;
	uint32_t len = 0;

	hresult hr = info_get_dynamic_function_info(info, function, &module_id, NAME_CAP, &len, name);
	if (hr < 0)
		return hr;
	text_put_utf16(&method, name, NAME_CAP);
	out->flags |= CHANNEL_DYNAMIC;
	out->method = text_view(&method);
	if (module_id)
		out->module = module_name(info, module_id, 0, &module);
	return COR_S_OK;
}

hresult function_name_describe(void *info, cor_id function, struct function_text *t, struct channel_function *out)
{
	struct method m;
	int32_t dynamic = 0;

	*out = (struct channel_function){.id = function};
	if (info_is_function_dynamic(info, function, &dynamic) == COR_S_OK && dynamic)
		return describe_dynamic(info, function, t, out);
	hresult hr = method_find(info, function, &m);
	if (hr != COR_S_OK || !m.import)
		return hr < 0 ? hr : COR_E_FAIL;
	hr = describe_method(&m, t, out);
	cor_release(m.import);
	return hr;
}
