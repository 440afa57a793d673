/* The library's side of a request: which functions the agent asks for, and what a runtime answers that reads them out of the application's
 * modules: names, tokens, signatures. The input is the request (first byte: its length) and then the runtime's answers, in order. */
#include "common/base/text.h"
#include "profiler/clr/module_guard.h"
#include "profiler/names/resolver.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SLOTS 128
#define SIGNATURES 64

struct object {
	void **vtable;
};

static struct {
	const uint8_t *at;
	size_t left;
	uint8_t *signatures[SIGNATURES];
	size_t signature_count;
} input;
static void *info_vtable[SLOTS], *import_vtable[SLOTS];
static struct object info = {info_vtable}, import = {import_vtable};

static uint8_t take(void)
{
	if (!input.left)
		return 0;
	input.left--;
	return *input.at++;
}

static hresult result(void)
{
	return take() % 8 == 7 ? COR_E_FAIL : COR_S_OK;
}

/* As the runtime does it: a name ends within the room that there is, and its length may be larger. */
static void put_name(wchar16 *name, uint32_t cap, uint32_t *len)
{
	uint32_t wanted = take() * (take() % 16 == 0 ? 64u : 1u), n = 0;
	for (; n < wanted && n + 1 < cap; n++) {
		uint8_t c = take();
		name[n] = (wchar16)(c >= 0xf0 ? 0xd800 + c * 16 : c < 8 ? 'a' + c : c);
	}
	if (cap)
		name[n] = 0;
	*len = wanted + 1;
}

/* A signature in memory of its own size. */
static void put_signature(const uint8_t **out, uint32_t *len)
{
	*len = take() % 32;
	*out = NULL;
	if (input.signature_count == SIGNATURES || *len == 0)
		return;
	uint8_t *copy = malloc(*len);
	for (uint32_t i = 0; i < *len; i++)
		copy[i] = take();
	input.signatures[input.signature_count++] = copy;
	*out = copy;
}

static md_token token(void)
{
	static const md_token tables[] = {0x01000000, 0x02000000, 0x06000000, 0x1b000000};
	return tables[take() % 4] + take() % 8;
}

static hresult not_here(void)
{
	return COR_E_FAIL;
}

static uint32_t count_one(void)
{
	return 1;
}

static hresult is_array(struct object *o, cor_id cls, uint32_t *element, cor_id *base, uint32_t *rank)
{
	(void)o;
	*element = take();
	*base = cls / 2;
	*rank = take();
	return take() % 4 == 0 && cls ? COR_S_OK : COR_S_FALSE;
}

static hresult function_info(struct object *o, cor_id function, cor_id *cls, cor_id *module, md_token *t)
{
	(void)o;
	(void)function;
	*cls = take();
	*module = take();
	*t = token();
	return result();
}

static hresult module_info(struct object *o, cor_id module, const uint8_t **base, uint32_t cap, uint32_t *len, wchar16 *name, cor_id *assembly)
{
	(void)o;
	(void)module;
	*base = NULL;
	*assembly = 0;
	put_name(name, cap, len);
	return result();
}

static hresult meta_data(struct object *o, cor_id module, uint32_t flags, const struct guid *iid, void **out)
{
	(void)o;
	(void)module;
	(void)flags;
	(void)iid;
	*out = take() % 8 == 7 ? NULL : &import;
	return COR_S_OK;
}

/* The count may be larger than the room. */
static void put_classes(uint32_t cap, uint32_t *count, cor_id *list)
{
	*count = take() % 24;
	for (uint32_t i = 0; i < *count && i < cap; i++)
		list[i] = take();
}

static hresult function_info2(struct object *o, cor_id function, uintptr_t frame, cor_id *cls, cor_id *module, md_token *t, uint32_t cap,
			      uint32_t *count, cor_id *list)
{
	(void)frame;
	hresult hr = function_info(o, function, cls, module, t);
	put_classes(cap, count, list);
	return hr;
}

static hresult class_info2(struct object *o, cor_id cls, cor_id *module, md_token *t, cor_id *parent, uint32_t cap, uint32_t *count, cor_id *list)
{
	(void)o;
	(void)cls;
	*module = take();
	*t = token();
	*parent = 0;
	put_classes(cap, count, list);
	return result();
}

static hresult from_ip(struct object *o, uintptr_t ip, cor_id *function, cor_id *rejit)
{
	(void)o;
	*rejit = 0;
	*function = (cor_id)(ip % 16);
	return result();
}

static hresult is_dynamic(struct object *o, cor_id function, int32_t *dynamic)
{
	(void)o;
	(void)function;
	*dynamic = take() % 4 == 0;
	return COR_S_OK;
}

static hresult dynamic_info(struct object *o, cor_id function, cor_id *module, const uint8_t **sig, uint32_t *sig_len, uint32_t cap,
			    uint32_t *len, wchar16 *name)
{
	(void)o;
	(void)function;
	*module = 0;
	put_signature(sig, sig_len);
	put_name(name, cap, len);
	return result();
}

static hresult scope(struct object *o, wchar16 *name, uint32_t cap, uint32_t *len, struct guid *mvid)
{
	(void)o;
	memset(mvid, 0, sizeof *mvid);
	put_name(name, cap, len);
	return result();
}

static hresult type_def(struct object *o, md_token t, wchar16 *name, uint32_t cap, uint32_t *len, uint32_t *flags, md_token *extends)
{
	(void)o;
	(void)t;
	*flags = *extends = 0;
	put_name(name, cap, len);
	return result();
}

static hresult type_ref(struct object *o, md_token t, md_token *in, wchar16 *name, uint32_t cap, uint32_t *len)
{
	(void)o;
	(void)t;
	*in = token();
	put_name(name, cap, len);
	return result();
}

static hresult methods_named(struct object *o, void **cursor, md_token t, const wchar16 *name, md_token *out, uint32_t cap, uint32_t *count)
{
	(void)o;
	(void)t;
	(void)name;
	*cursor = &import;
	*count = take() % (cap + 1);
	memset(out, 0, *count * sizeof *out);
	return result();
}

static hresult method(struct object *o, md_token t, md_token *type, wchar16 *name, uint32_t cap, uint32_t *len, uint32_t *attributes,
		      const uint8_t **sig, uint32_t *sig_len, uint32_t *rva, uint32_t *implementation)
{
	(void)o;
	(void)t;
	*type = token();
	*attributes = *rva = *implementation = 0;
	put_name(name, cap, len);
	put_signature(sig, sig_len);
	return result();
}

static hresult type_spec(struct object *o, md_token t, const uint8_t **sig, uint32_t *len)
{
	(void)o;
	(void)t;
	put_signature(sig, len);
	return result();
}

static hresult nested_in(struct object *o, md_token t, md_token *enclosing)
{
	(void)o;
	*enclosing = take() % 4 ? 0 : t ^ 1;
	return result();
}

static void fill_vtables(void)
{
	for (int i = 0; i < SLOTS; i++)
		info_vtable[i] = import_vtable[i] = (void *)not_here;
	info_vtable[2] = import_vtable[2] = import_vtable[MD_CLOSE_ENUM] = (void *)count_one;
	info_vtable[INFO_IS_ARRAY_CLASS] = (void *)is_array;
	info_vtable[INFO_GET_FUNCTION_INFO] = (void *)function_info;
	info_vtable[INFO_GET_MODULE_INFO] = (void *)module_info;
	info_vtable[INFO_GET_MODULE_META_DATA] = (void *)meta_data;
	info_vtable[INFO_GET_FUNCTION_INFO2] = (void *)function_info2;
	info_vtable[INFO_GET_CLASS_ID_INFO2] = (void *)class_info2;
	info_vtable[INFO_IS_FUNCTION_DYNAMIC] = (void *)is_dynamic;
	info_vtable[INFO_GET_FUNCTION_FROM_IP3] = (void *)from_ip;
	info_vtable[INFO_GET_DYNAMIC_FUNCTION_INFO] = (void *)dynamic_info;
	import_vtable[MD_GET_SCOPE_PROPS] = (void *)scope;
	import_vtable[MD_GET_TYPE_DEF_PROPS] = (void *)type_def;
	import_vtable[MD_GET_TYPE_REF_PROPS] = (void *)type_ref;
	import_vtable[MD_ENUM_METHODS_WITH_NAME] = (void *)methods_named;
	import_vtable[MD_GET_METHOD_PROPS] = (void *)method;
	import_vtable[MD_GET_TYPE_SPEC_FROM_TOKEN] = (void *)type_spec;
	import_vtable[MD_GET_NESTED_CLASS_PROPS] = (void *)nested_in;
}

static void check_utf8(struct channel_text t)
{
	for (size_t i = 0; t.data && i < t.len;) {
		uint32_t c;
		size_t n = text_decode_utf8(t.data + i, t.len - i, &c);
		if (c == 0xfffd && n == 1)
			abort();
		i += n;
	}
}

/* What would go to the agent: whole frames, of UTF-8. */
static void check_output(const struct channel_io *io)
{
	struct channel_frame f;
	size_t at = 0, used = 0;
	while (at < io->out_len && channel_next(io->out + at, io->out_len - at, &f, &used) == CHANNEL_FRAME) {
		struct channel_function named;
		if (f.type == CHANNEL_FUNCTION) {
			if (!channel_get_function(&f, &named))
				abort();
			const struct channel_text texts[] = {named.module, named.type, named.type_args, named.method, named.method_args, named.params};
			for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
				check_utf8(texts[i]);
		}
		at += used;
	}
	if (at != io->out_len)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct channel_io io;
	int ends[2];
	if (size < 1 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return 0;
	fill_vtables();
	size_t len = data[0] < size - 1 ? data[0] : size - 1;
	uint8_t *payload = malloc(len ? len : 1); /* nothing behind it */
	memcpy(payload, data + 1, len);
	input.at = data + 1 + len;
	input.left = size - 1 - len;
	io.fd = ends[0];
	io.in_len = io.in_used = io.out_len = 0;
	resolver_reset();
	struct channel_frame request = {.type = CHANNEL_RESOLVE, .payload = payload, .len = (uint32_t)len};
	resolver_answer(&info, &request, &io);
	check_output(&io);
	while (input.signature_count)
		free(input.signatures[--input.signature_count]);
	free(payload);
	close(ends[0]);
	close(ends[1]);
	return 0;
}
