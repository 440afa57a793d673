/* The part of the profiling and metadata interfaces that walks of the heap use; see profiler/clr/cor_abi.h. And what of the runtime's own layout
 * of objects is read directly: the contract between the runtime and its (exchangeable) collector, the same on .NET 8, 9 and 10; what a
 * walk concludes from it is compared with the runtime's own answers for the first object of each type (profiler/heap/heap_classes.h). */
#ifndef DRDOTNET_COR_HEAP_ABI_H
#define DRDOTNET_COR_HEAP_ABI_H

#include "profiler/clr/cor_abi.h"

#define COR_MONITOR_GC 0x80u /* roots and objects at each collection; only from InitializeForAttach on */

#define COR_MONITOR_THREADS 0x200u

enum cor_heap_callback_slot {
	CB_THREAD_CREATED = 29,
	CB_OBJECT_REFERENCES = 52,
	CB_ROOT_REFERENCES2 = 77,
	CB_CONDITIONAL_WEAK_TABLE = 89,
};

enum cor_heap_info_slot {
	INFO_GET_CLASS_FROM_TOKEN = 4,
	INFO_GET_FUNCTION_FROM_TOKEN = 8,
	INFO_GET_THREAD_INFO = 12,
	INFO_FORCE_GC = 28,
	INFO_GET_IL_FUNCTION_BODY = 22,
	INFO_GET_CLASS_LAYOUT = 40,
	INFO_GET_BOX_CLASS_LAYOUT = 47,
	INFO_GET_APP_DOMAIN_STATIC_ADDRESS = 50,
	INFO_GET_STATIC_FIELD_INFO = 53,
	INFO_GET_GENERATION_BOUNDS = 54,
	INFO_GET_OBJECT_GENERATION = 55,
	INFO_ENUM_MODULES = 66,
	INFO_GET_THREAD_STATIC_ADDRESS2 = 68,
	INFO_GET_APP_DOMAINS_CONTAINING_MODULE = 69,
	INFO_ENUM_THREADS = 71,
	INFO_GET_OBJECT_SIZE2 = 80,
	INFO_ENUMERATE_OBJECT_REFERENCES = 93,
	INFO_SUSPEND_RUNTIME = 97,
	INFO_RESUME_RUNTIME = 98,
	INFO_GET_NON_GC_HEAP_BOUNDS = 112,    /* ICorProfilerInfo14 */
	INFO_ENUMERATE_GC_HEAP_OBJECTS = 114, /* ICorProfilerInfo15 */
};

enum cor_heap_import_slot {
	MD_ENUM_TYPE_DEFS = 6,
	MD_FIND_TYPE_DEF_BY_NAME = 9,
	MD_ENUM_METHODS = 18,
	MD_ENUM_FIELDS = 20,
	MD_FIND_METHOD = 27,
	MD_FIND_FIELD = 28,
	MD_GET_USER_STRING = 47,
	MD_GET_FIELD_PROPS = 57,
};

extern const struct guid cor_iid_info14, cor_iid_info15;

enum cor_root_kind { COR_ROOT_OTHER, COR_ROOT_STACK, COR_ROOT_FINALIZER, COR_ROOT_HANDLE };
enum cor_root_flag { COR_ROOT_PINNED = 1, COR_ROOT_WEAK = 2, COR_ROOT_INTERIOR = 4 };
enum cor_static_kind { COR_STATIC_APP_DOMAIN = 1, COR_STATIC_THREAD = 2 };

struct cor_generation_range {
	int32_t generation; /* 0, 1, 2, 3: large objects, 4: pinned objects */
	cor_id start;
	uintptr_t length, reserved;
};

struct cor_frozen_range { /* COR_PRF_NONGC_HEAP_RANGE */
	cor_id start;
	uintptr_t length, reserved;
};

struct cor_field_offset {
	md_token field;
	uint32_t offset;
};

typedef int32_t cor_object_fn(cor_id object, void *ctx);                 /* 0: stop */
typedef int32_t cor_reference_fn(cor_id object, cor_id *slot, void *ctx); /* 0: stop */

/* Enumerators (modules, threads): Skip 3, Reset 4, Clone 5, GetCount 6, Next 7. */
static inline hresult enum_next(void *o, uint32_t cap, cor_id *ids, uint32_t *count)
{
	return ((hresult(*)(void *, uint32_t, cor_id *, uint32_t *))cor_slot(o, 7))(o, cap, ids, count);
}

static inline hresult info_enum(void *o, enum cor_heap_info_slot slot, void **out)
{
	return ((hresult(*)(void *, void **))cor_slot(o, slot))(o, out);
}

/* Only within a callback, on a thread that the runtime knows. */
static inline hresult info_get_class_from_token(void *o, cor_id module, md_token type, cor_id *cls)
{
	return ((hresult(*)(void *, cor_id, md_token, cor_id *))cor_slot(o, INFO_GET_CLASS_FROM_TOKEN))(o, module, type, cls);
}

static inline hresult info_get_function_from_token(void *o, cor_id module, md_token method, cor_id *function)
{
	return ((hresult(*)(void *, cor_id, md_token, cor_id *))cor_slot(o, INFO_GET_FUNCTION_FROM_TOKEN))(o, module, method, function);
}

/* With its header; it stays while the module does. */
static inline hresult info_get_il_function_body(void *o, cor_id module, md_token method, const uint8_t **body, uint32_t *len)
{
	return ((hresult(*)(void *, cor_id, md_token, const uint8_t **, uint32_t *))cor_slot(o, INFO_GET_IL_FUNCTION_BODY))(o, module, method, body, len);
}

static inline hresult info_get_thread_info(void *o, cor_id thread, uint32_t *tid)
{
	return ((hresult(*)(void *, cor_id, uint32_t *))cor_slot(o, INFO_GET_THREAD_INFO))(o, thread, tid);
}

static inline hresult info_force_gc(void *o)
{
	return ((hresult(*)(void *))cor_slot(o, INFO_FORCE_GC))(o);
}

/* With each frame's registers. */
static inline hresult info_do_stack_snapshot_registers(void *o, cor_id thread, cor_frame_fn *fn, void *ctx)
{
	return ((hresult(*)(void *, cor_id, cor_frame_fn *, uint32_t, void *, void *, uint32_t))cor_slot(o, INFO_DO_STACK_SNAPSHOT))(
		o, thread, fn, 1 /* COR_PRF_SNAPSHOT_REGISTER_CONTEXT */, ctx, 0, 0);
}

static inline hresult info_get_class_layout(void *o, cor_id cls, struct cor_field_offset *fields, uint32_t cap, uint32_t *count,
					    uint32_t *bytes)
{
	return ((hresult(*)(void *, cor_id, struct cor_field_offset *, uint32_t, uint32_t *, uint32_t *))cor_slot(
		o, INFO_GET_CLASS_LAYOUT))(o, cls, fields, cap, count, bytes);
}

/* Where the value stands in a box; fails for what is no value type. */
static inline hresult info_get_box_class_layout(void *o, cor_id cls, uint32_t *offset)
{
	return ((hresult(*)(void *, cor_id, uint32_t *))cor_slot(o, INFO_GET_BOX_CLASS_LAYOUT))(o, cls, offset);
}

static inline hresult info_get_app_domain_static_address(void *o, cor_id cls, md_token field, cor_id domain, uintptr_t *address)
{
	return ((hresult(*)(void *, cor_id, md_token, cor_id, uintptr_t *))cor_slot(o, INFO_GET_APP_DOMAIN_STATIC_ADDRESS))(
		o, cls, field, domain, address);
}

static inline hresult info_get_thread_static_address2(void *o, cor_id cls, md_token field, cor_id domain, cor_id thread, uintptr_t *address)
{
	return ((hresult(*)(void *, cor_id, md_token, cor_id, cor_id, uintptr_t *))cor_slot(o, INFO_GET_THREAD_STATIC_ADDRESS2))(
		o, cls, field, domain, thread, address);
}

static inline hresult info_get_static_field_info(void *o, cor_id cls, md_token field, uint32_t *kind)
{
	return ((hresult(*)(void *, cor_id, md_token, uint32_t *))cor_slot(o, INFO_GET_STATIC_FIELD_INFO))(o, cls, field, kind);
}

static inline hresult info_get_generation_bounds(void *o, uint32_t cap, uint32_t *count, struct cor_generation_range *ranges)
{
	return ((hresult(*)(void *, uint32_t, uint32_t *, struct cor_generation_range *))cor_slot(o, INFO_GET_GENERATION_BOUNDS))(
		o, cap, count, ranges);
}

/* The range of the object's generation that holds it. */
static inline hresult info_get_object_generation(void *o, cor_id object, struct cor_generation_range *range)
{
	return ((hresult(*)(void *, cor_id, struct cor_generation_range *))cor_slot(o, INFO_GET_OBJECT_GENERATION))(o, object, range);
}

static inline hresult info_get_app_domain_of_module(void *o, cor_id module, cor_id *domain)
{
	uint32_t count = 0;
	return ((hresult(*)(void *, cor_id, uint32_t, uint32_t *, cor_id *))cor_slot(o, INFO_GET_APP_DOMAINS_CONTAINING_MODULE))(
		o, module, 1, &count, domain);
}

static inline hresult info_get_object_size2(void *o, cor_id object, uintptr_t *size)
{
	return ((hresult(*)(void *, cor_id, uintptr_t *))cor_slot(o, INFO_GET_OBJECT_SIZE2))(o, object, size);
}

static inline hresult info_enumerate_object_references(void *o, cor_id object, cor_reference_fn *fn, void *ctx)
{
	return ((hresult(*)(void *, cor_id, cor_reference_fn *, void *))cor_slot(o, INFO_ENUMERATE_OBJECT_REFERENCES))(o, object, fn,
														       ctx);
}

static inline hresult info_suspend_runtime(void *o)
{
	return ((hresult(*)(void *))cor_slot(o, INFO_SUSPEND_RUNTIME))(o);
}

static inline hresult info_resume_runtime(void *o)
{
	return ((hresult(*)(void *))cor_slot(o, INFO_RESUME_RUNTIME))(o);
}

static inline hresult info14_get_non_gc_heap_bounds(void *o, uint32_t cap, uint32_t *count, struct cor_frozen_range *ranges)
{
	return ((hresult(*)(void *, uint32_t, uint32_t *, struct cor_frozen_range *))cor_slot(o, INFO_GET_NON_GC_HEAP_BOUNDS))(
		o, cap, count, ranges);
}

static inline hresult info15_enumerate_gc_heap_objects(void *o, cor_object_fn *fn, void *ctx)
{
	return ((hresult(*)(void *, cor_object_fn *, void *))cor_slot(o, INFO_ENUMERATE_GC_HEAP_OBJECTS))(o, fn, ctx);
}

/* The class, its parent and its arguments. */
static inline hresult info_get_parent_class(void *o, cor_id cls, cor_id *module, md_token *token, cor_id *parent)
{
	uint32_t count = 0;
	return ((hresult(*)(void *, cor_id, cor_id *, md_token *, cor_id *, uint32_t, uint32_t *, cor_id *))cor_slot(
		o, INFO_GET_CLASS_ID_INFO2))(o, cls, module, token, parent, 0, &count, 0);
}

/* IMetaDataImport ------------------------------------------------------------------------------------------------------- */
static inline hresult md_enum_type_defs(void *o, void **cursor, md_token *types, uint32_t cap, uint32_t *count)
{
	return ((hresult(*)(void *, void **, md_token *, uint32_t, uint32_t *))cor_slot(o, MD_ENUM_TYPE_DEFS))(o, cursor, types, cap,
													       count);
}

/* "Namespace.Name"; `enclosing` 0: none. */
static inline hresult md_find_type_def_by_name(void *o, const wchar16 *name, md_token enclosing, md_token *type)
{
	return ((hresult(*)(void *, const wchar16 *, md_token, md_token *))cor_slot(o, MD_FIND_TYPE_DEF_BY_NAME))(o, name, enclosing, type);
}

static inline hresult md_enum_fields(void *o, void **cursor, md_token type, md_token *fields, uint32_t cap, uint32_t *count)
{
	return ((hresult(*)(void *, void **, md_token, md_token *, uint32_t, uint32_t *))cor_slot(o, MD_ENUM_FIELDS))(
		o, cursor, type, fields, cap, count);
}

static inline hresult md_enum_methods(void *o, void **cursor, md_token type, md_token *methods, uint32_t cap, uint32_t *count)
{
	return ((hresult(*)(void *, void **, md_token, md_token *, uint32_t, uint32_t *))cor_slot(o, MD_ENUM_METHODS))(
		o, cursor, type, methods, cap, count);
}

/* Of a type, by name, whatever its signature. */
static inline hresult md_find_method(void *o, md_token type, const wchar16 *name, md_token *method)
{
	return ((hresult(*)(void *, md_token, const wchar16 *, const uint8_t *, uint32_t, md_token *))cor_slot(o, MD_FIND_METHOD))(o, type, name, 0, 0, method);
}

static inline hresult md_find_field(void *o, md_token type, const wchar16 *name, md_token *field)
{
	return ((hresult(*)(void *, md_token, const wchar16 *, const uint8_t *, uint32_t, md_token *))cor_slot(o, MD_FIND_FIELD))(o, type, name, 0, 0, field);
}

/* Of `ldstr`; without a NUL. *len may be more than `cap`: so long it is. */
static inline hresult md_get_user_string(void *o, md_token string, wchar16 *text, uint32_t cap, uint32_t *len)
{
	return ((hresult(*)(void *, md_token, wchar16 *, uint32_t, uint32_t *))cor_slot(o, MD_GET_USER_STRING))(o, string, text, cap, len);
}

static inline void md_close_enum(void *o, void *cursor)
{
	if (cursor)
		((void (*)(void *, void *))cor_slot(o, MD_CLOSE_ENUM))(o, cursor);
}

static inline hresult md_get_field_props(void *o, md_token field, wchar16 *name, uint32_t cap, uint32_t *len, uint32_t *attributes,
					 const uint8_t **sig, uint32_t *sig_len)
{
	md_token type;
	uint32_t constant_type, constant_len;
	const void *constant;
	return ((hresult(*)(void *, md_token, md_token *, wchar16 *, uint32_t, uint32_t *, uint32_t *, const uint8_t **, uint32_t *,
			    uint32_t *, const void **, uint32_t *))cor_slot(o, MD_GET_FIELD_PROPS))(
		o, field, &type, name, cap, len, attributes, sig, sig_len, &constant_type, &constant, &constant_len);
}

/* Objects --------------------------------------------------------------------------------------------------------------- */

/* An object begins with the address of its class, which is its ClassID; the low bits are the collector's. Arrays and strings: u32
 * number of elements at +8. */
static inline cor_id object_class(cor_id object)
{
	return *(const uintptr_t *)object & ~(uintptr_t)7;
}

static inline uint32_t object_length(cor_id object)
{
	return *(const uint32_t *)(object + 8);
}

/* A class begins with u32 flags (the low half: bytes of an element, where it has elements) and u32 base size. */
#define CLASS_HAS_ELEMENTS 0x80000000u
#define CLASS_HAS_REFERENCES 0x01000000u
#define CLASS_COLLECTIBLE 0x00200000u
#define CLASS_COLLECTIBLE_8 0x10000000u /* on .NET 8 */
#define STRING_BASE_SIZE 22u
#define STRING_CHARS_AT 12

/* Before the class, downwards: intptr number of series; > 0: so many { size: bytes + size of the object, start }; < 0: one { items, start }
 * with -number items of { u32 references, u32 bytes to skip }, downwards from where the size would be, over and over. */
static inline intptr_t class_series_count(cor_id cls)
{
	return ((const intptr_t *)cls)[-1];
}

#endif
