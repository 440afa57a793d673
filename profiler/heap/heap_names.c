/* Context: own thread. */
#include "profiler/heap/heap_names.h"

#include "common/proto/difference.h"
#include "profiler/names/function_name.h"
#include "profiler/heap/heap_classes.h"
#include "profiler/heap/heap_fields.h"
#include "profiler/heap/heap_statics.h"
#include "profiler/clr/module_guard.h"
#include "profiler/names/type_name.h"

#include <string.h>

struct names {
	void *info;
	struct channel_io *io;
	bool unloaded; /* something since the walk: collectible classes may be gone */
};

static struct channel_text text_or_none(const struct text *t)
{
	return t->len ? (struct channel_text){t->data, t->len} : (struct channel_text){0};
}

/* By what the walk has kept: the class itself may be gone. */
static bool may_look_at(const struct names *n, cor_id cls)
{
	const struct heap_class *c = n->unloaded ? heap_classes_find(cls) : NULL;

	return !n->unloaded || (c && !(c->flags & HEAP_TYPE_COLLECTIBLE));
}

/* The class that says of which module it is: an array's element's, as far down as it takes. */
static cor_id module_class(void *info, cor_id cls)
{
	cor_id base = 0;
	uint32_t element = 0, rank = 0;

	for (int depth = 0; depth < 8 && info_is_array_class(info, cls, &element, &base, &rank) == COR_S_OK && base; depth++)
		cls = base;
	return cls;
}

static void put_module(void *info, cor_id cls, struct text *out)
{
	cor_id module = 0, parent = 0;
	md_token token = 0;
	void *import = NULL;

	if (info_get_parent_class(info, module_class(info, cls), &module, &token, &parent) < 0 || !module ||
	    info_get_module_meta_data(info, module, &import) != COR_S_OK || !import)
		return;
	function_name_module(info, module, import, out);
	cor_release(import);
}

/* The compiler's class of captured variables has the lambdas that use them: their name has the method's in which they were written. */
static void put_lambda_method(void *info, cor_id cls, struct text *out)
{
	cor_id module = 0, parent = 0;
	md_token type = 0, methods[8];
	uint32_t n = 0;
	void *import = NULL, *cursor = NULL;

	if (info_get_parent_class(info, cls, &module, &type, &parent) < 0 || !module ||
	    info_get_module_meta_data(info, module, &import) != COR_S_OK || !import)
		return;
	if (md_enum_methods(import, &cursor, type, methods, 8, &n) < 0)
		n = 0;
	for (uint32_t i = 0; i < n && !out->len; i++) {
		wchar16 name[128] = {0};
		md_token of;
		const uint8_t *sig;
		uint32_t len = 0, sig_len = 0;
		if (md_get_method_props(import, methods[i], &of, name, 128, &len, &sig, &sig_len) >= 0 && name[0] == '<')
			text_put_utf16(out, name, 128);
	}
	md_close_enum(import, cursor);
	cor_release(import);
}

static bool is_closure(const struct text *name)
{
	static const char sign[] = "+<>c__DisplayClass";
	const size_t n = sizeof sign - 1;

	for (size_t i = 0; i + n <= name->len; i++)
		if (memcmp(name->data + i, sign, n) == 0)
			return name->data[difference(name->len, 1)] != ']';
	return false;
}

static void name_heap_type(const struct names *n, cor_id cls)
{
	static char module[256], name[2048], lambda[512];
	static struct heap_fields fields;
	struct text module_text = TEXT_ON(module), name_text = TEXT_ON(name), lambda_text = TEXT_ON(lambda);
	struct heap_type_frame t = {.class_id = cls};

	if (!may_look_at(n, cls))
		return;
	type_name_of_class(n->info, cls, &name_text);
	put_module(n->info, cls, &module_text);
	heap_fields_of(n->info, cls, &fields);
	t.name = text_or_none(&name_text);
	t.module = text_or_none(&module_text);
	t.elements_at = fields.elements_at;
	t.element_size = fields.element_size;
	if (fields.count < HEAP_FRAME_MAX_FIELDS && is_closure(&name_text))
		put_lambda_method(n->info, cls, &lambda_text);
	t.field_count = (uint16_t)(fields.count + (lambda_text.len > 0));
	struct wire_writer *w = channel_io_begin(n->io, HEAP_FRAME_TYPE);
	heap_put_type_frame(w, &t);
	if (lambda_text.len)
		heap_put_field(w, 0, text_or_none(&lambda_text));
	for (uint32_t i = 0; i < fields.count; i++)
		heap_put_field(w, fields.items[i].offset, (struct channel_text){fields.names + fields.items[i].name, fields.items[i].len});
	channel_io_end(n->io);
}

static void name_static(const struct names *n, cor_id cls, md_token field)
{
	static char type[1024], name[256];
	struct text type_text = TEXT_ON(type), name_text = TEXT_ON(name);
	struct heap_static_frame s = {.class_id = cls, .token = field};

	if (n->unloaded && !heap_statics_stay(cls))
		return;
	type_name_of_class(n->info, cls, &type_text);
	heap_fields_static_name(n->info, cls, field, &name_text);
	s.type = text_or_none(&type_text);
	s.field = text_or_none(&name_text);
	heap_put_static_frame(channel_io_begin(n->io, HEAP_FRAME_STATIC), &s);
	channel_io_end(n->io);
}

static void name_function(const struct names *n, cor_id function)
{
	static struct function_text text;
	struct channel_function f;

	/* a function's id does not say whether it can be unloaded */
	if (n->unloaded || function_name_describe(n->info, function, &text, &f) < 0)
		return;
	channel_put_function(channel_io_begin(n->io, CHANNEL_FUNCTION), &f);
	channel_io_end(n->io);
}

static bool read_ids(const struct channel_frame *f, struct wire_reader *r, uint32_t *count, size_t each)
{
	wire_reader_init(r, f->payload, f->len);
	*count = wire_u32(r);
	return !r->bad && *count <= HEAP_FRAME_MAX_IDS && wire_left(r) == *count * each;
}

/* The guard is left between two names: a frame may wait for the agent, and an unload of the application's then waits for nobody. */
bool heap_names_answer(void *info, const struct channel_frame *request, struct channel_io *io, uint32_t unloads)
{
	struct names n = {.info = info, .io = io};
	struct wire_reader r;
	uint32_t count;

	if (!read_ids(request, &r, &count, request->type == HEAP_FRAME_NAME_STATICS ? 12 : 8))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		cor_id id = (cor_id)wire_u64(&r);
		md_token token = request->type == HEAP_FRAME_NAME_STATICS ? wire_u32(&r) : 0;
		if (difference(sizeof io->out, io->out_len) < CHANNEL_MAX_FRAME && !channel_io_flush(io))
			return true;
		module_guard_enter();
		n.unloaded = module_guard_unloads() != unloads;
		if (!id)
			;
		else if (request->type == HEAP_FRAME_NAME_TYPES)
			name_heap_type(&n, id);
		else if (request->type == HEAP_FRAME_NAME_STATICS)
			name_static(&n, id, token);
		else
			name_function(&n, id);
		module_guard_leave();
	}
	wire_put_u32(channel_io_begin(io, HEAP_FRAME_NAMED), count);
	channel_io_end(io);
	return true;
}
