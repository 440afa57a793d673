/* Names of types and methods as the metadata of a stranger's module may have them: of any length, of lone surrogates, with NULs, nested in themselves. */
#include "profiler/names/function_name.h"
#include "profiler/names/type_name.h"

#include "common/base/text.h"
#include "tests/unit/profiler/strange_text.h"

#include <criterion/criterion.h>

static struct strange s = {3};
static void *info_slots[128], *import_slots[128];
static void **info = info_slots, **import = import_slots;

static hresult not_here(void)
{
	return COR_E_FAIL;
}

/* The runtime ends a name within its room; other implementations of its interface need not. */
static hresult put_name(wchar16 *name, uint32_t cap, uint32_t *len)
{
	size_t n = strange_length(&s);
	uint32_t flavour = strange_below(&s, STRANGE_FLAVOURS);

	for (size_t i = 0; i < n && i < cap; i++)
		name[i] = strange_unit(&s, flavour);
	if (n < cap)
		name[n] = 0;
	else if (strange_below(&s, 4))
		name[cap - 1] = 0;
	*len = (uint32_t)n + 1;
	return strange_below(&s, 16) ? COR_S_OK : COR_E_FAIL;
}

static md_token any_token(void)
{
	static const md_token tables[] = {0x01000000, 0x02000000, 0x06000000, 0x1b000000};

	return tables[strange_below(&s, 4)] + strange_below(&s, 4);
}

static hresult type_def(void *self, md_token t, wchar16 *name, uint32_t cap, uint32_t *len, uint32_t *flags, md_token *extends)
{
	(void)self, (void)t;
	*flags = *extends = 0;
	return put_name(name, cap, len);
}

static hresult type_ref(void *self, md_token t, md_token *scope, wchar16 *name, uint32_t cap, uint32_t *len)
{
	(void)self, (void)t;
	*scope = any_token();
	return put_name(name, cap, len);
}

static hresult nested_in(void *self, md_token t, md_token *enclosing)
{
	(void)self;
	*enclosing = strange_below(&s, 3) ? t : any_token();
	return COR_S_OK;
}

static hresult scope_props(void *self, wchar16 *name, uint32_t cap, uint32_t *len, struct guid *mvid)
{
	(void)self, (void)mvid;
	return put_name(name, cap, len);
}

static const uint8_t signature[] = {0x00, 0x03, 0x01, 0x12, 0x05, 0x1d, 0x13, 0x00, 0x15, 0x12, 0x09, 0x02, 0x1e, 0x01, 0x0e};

static hresult method(void *self, md_token t, md_token *type, wchar16 *name, uint32_t cap, uint32_t *len, uint32_t *attributes, const uint8_t **sig,
		      uint32_t *sig_len, uint32_t *rva, uint32_t *implementation)
{
	(void)self, (void)t;
	*attributes = *rva = *implementation = 0;
	*type = any_token();
	*sig = signature;
	*sig_len = strange_below(&s, sizeof signature + 1);
	return put_name(name, cap, len);
}

static hresult module_info(void *self, cor_id module, const uint8_t **base, uint32_t cap, uint32_t *len, wchar16 *name, cor_id *assembly)
{
	(void)self, (void)module;
	*base = NULL;
	*assembly = 0;
	return put_name(name, cap, len);
}

static hresult meta_data(void *self, cor_id module, uint32_t flags, const struct guid *iid, void **out)
{
	(void)self, (void)module, (void)flags, (void)iid;
	*out = &import;
	return COR_S_OK;
}

/* The count may be larger than the room. */
static void put_classes(uint32_t cap, uint32_t *count, cor_id *list)
{
	*count = strange_below(&s, 2 * TYPE_NAME_MAX_ARGS);
	for (uint32_t i = 0; i < *count && i < cap; i++)
		list[i] = strange_below(&s, 8);
}

static hresult class_info(void *self, cor_id cls, cor_id *module, md_token *t, cor_id *parent, uint32_t cap, uint32_t *count, cor_id *list)
{
	(void)self, (void)cls;
	*module = 1;
	*t = any_token();
	*parent = 0;
	put_classes(strange_below(&s, 4) ? 0 : cap, count, list);
	if (strange_below(&s, 4))
		*count = 0;
	return COR_S_OK;
}

static hresult function_info(void *self, cor_id function, uintptr_t frame, cor_id *cls, cor_id *module, md_token *t, uint32_t cap, uint32_t *count,
			     cor_id *list)
{
	(void)self, (void)frame, (void)function;
	*cls = 1;
	*module = 1;
	*t = any_token();
	put_classes(cap, count, list);
	return COR_S_OK;
}

static uint32_t count_one(void)
{
	return 1;
}

static void fill_slots(void)
{
	for (size_t i = 0; i < sizeof info_slots / sizeof *info_slots; i++)
		info_slots[i] = import_slots[i] = (void *)not_here;
	info_slots[2] = import_slots[2] = (void *)count_one;
	info_slots[INFO_GET_MODULE_INFO] = (void *)module_info;
	info_slots[INFO_GET_MODULE_META_DATA] = (void *)meta_data;
	info_slots[INFO_GET_CLASS_ID_INFO2] = (void *)class_info;
	info_slots[INFO_GET_FUNCTION_INFO2] = (void *)function_info;
	import_slots[MD_GET_SCOPE_PROPS] = (void *)scope_props;
	import_slots[MD_GET_TYPE_DEF_PROPS] = (void *)type_def;
	import_slots[MD_GET_TYPE_REF_PROPS] = (void *)type_ref;
	import_slots[MD_GET_METHOD_PROPS] = (void *)method;
	import_slots[MD_GET_NESTED_CLASS_PROPS] = (void *)nested_in;
}

static void check_name(struct channel_text t, size_t most)
{
	cr_assert_leq(t.len, most);
	for (size_t i = 0; i < t.len;) {
		uint32_t c = 0;
		size_t n = text_decode_utf8(t.data + i, t.len - i, &c);
		cr_assert(c != 0xfffd || n == 3, "no UTF-8 at %zu", i);
		i += n;
	}
}

Test(strange_names, types_end_where_their_room_ends)
{
	fill_slots();
	for (unsigned i = 0; i < 3000; i++) {
		size_t cap = strange_length(&s);
		char *exact = malloc(cap ? cap : 1);
		struct text out = {.data = exact, .cap = cap};
		if (strange_below(&s, 2))
			type_name_of_class(&info, 1 + strange_below(&s, 8), &out);
		else
			type_name_of_token(&import, any_token(), &out);
		check_name((struct channel_text){out.data, out.len}, cap);
		free(exact);
	}
}

Test(strange_names, methods_end_where_their_room_ends)
{
	static struct function_text t;
	unsigned described = 0;

	fill_slots();
	for (unsigned i = 0; i < 1000; i++) {
		struct channel_function f;
		if (function_name_describe(&info, 1, &t, &f) < 0)
			continue;
		described++;
		check_name(f.module, sizeof t.module);
		check_name(f.type, sizeof t.type);
		check_name(f.type_args, sizeof t.type_args);
		check_name(f.method, sizeof t.method);
		check_name(f.method_args, sizeof t.method_args);
		check_name(f.params, sizeof t.params);
		check_name(f.path, sizeof t.path);
	}
	cr_expect_gt(described, 500);
}
