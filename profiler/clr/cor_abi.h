/* The part of the CLR profiling and metadata interfaces that the library uses, as binary facts: GUIDs, vtable slots, numbers.
 * A COM object is a pointer to a pointer to an array of functions that take the object first; slots 0-2 are QueryInterface,
 * AddRef, Release. Slots are the same on .NET 8, 9 and 10 (tests/system/profiler proves each used one in each runtime).
 * Sources: the public documentation of ICorProfilerInfo..15, ICorProfilerCallback..11, IMetaDataImport and ECMA-335. */
#ifndef DRDOTNET_COR_ABI_H
#define DRDOTNET_COR_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int32_t hresult;
typedef uint16_t wchar16;
typedef uintptr_t cor_id; /* FunctionID, ClassID, ModuleID, AssemblyID, ReJITID */
typedef uint32_t md_token;

struct guid {
	uint32_t a;
	uint16_t b, c;
	uint8_t d[8];
};

#define COR_HR(x) ((hresult)(x))
#define COR_S_OK COR_HR(0)
#define COR_S_FALSE COR_HR(1)
#define COR_E_FAIL COR_HR(0x80004005u)
#define COR_E_NOINTERFACE COR_HR(0x80004002u)
#define COR_E_POINTER COR_HR(0x80004003u)
#define COR_E_INVALIDARG COR_HR(0x80070057u)
#define COR_E_SUSPENSION_IN_PROGRESS COR_HR(0x80131388u)
#define COR_CLASS_E_NOAGGREGATION COR_HR(0x80040110u)
#define COR_CLASS_E_CLASSNOTAVAILABLE COR_HR(0x80040111u)
#define COR_PROF_E_PROFILER_ALREADY_ACTIVE COR_HR(0x8013136au)

#define COR_MONITOR_JIT_COMPILATION 0x20u /* DynamicMethodJITCompilationStarted comes with it */
#define COR_MONITOR_MODULE_LOADS 0x4u
#define COR_MONITOR_SUSPENDS 0x10000u
#define COR_GC_INDUCED 1 /* COR_PRF_GC_REASON */
#define COR_ENABLE_STACK_SNAPSHOT 0x10000000u /* DoStackSnapshot */
#define COR_HIGH_BASIC_GC 0x10u /* GarbageCollectionStarted and Finished, and no more */
#define COR_HIGH_MONITOR_EVENT_PIPE 0x80u /* EventPipeEventDelivered */

/* Slots ---------------------------------------------------------------------------------------------------------------- */
enum cor_callback_slot { /* ICorProfilerCallback11, implemented by us */
	CB_MODULE_LOAD_FINISHED = 14,
	CB_MODULE_UNLOAD_STARTED = 15,
	CB_RUNTIME_SUSPEND_STARTED = 42,
	CB_RUNTIME_SUSPEND_FINISHED = 43,
	CB_RUNTIME_SUSPEND_ABORTED = 44,
	CB_RUNTIME_RESUME_STARTED = 45,
	CB_RUNTIME_RESUME_FINISHED = 46,
	CB_RUNTIME_THREAD_SUSPENDED = 47,
	CB_GARBAGE_COLLECTION_STARTED = 73,
	CB_GARBAGE_COLLECTION_FINISHED = 75,
	CB_INITIALIZE_FOR_ATTACH = 80,
	CB_PROFILER_ATTACH_COMPLETE = 81,
	CB_PROFILER_DETACH_SUCCEEDED = 82,
	CB_DYNAMIC_METHOD_JIT_COMPILATION_STARTED = 92,
	CB_EVENT_PIPE_EVENT_DELIVERED = 95,
	CB_LOAD_AS_NOTIFICATION_ONLY = 97,
	CB_COUNT = 98,
};

enum cor_info_slot { /* ICorProfilerInfo12 */
	INFO_IS_ARRAY_CLASS = 11,
	INFO_GET_FUNCTION_INFO = 15,
	INFO_GET_MODULE_INFO = 20,
	INFO_GET_MODULE_META_DATA = 21,
	INFO_DO_STACK_SNAPSHOT = 36,
	INFO_GET_FUNCTION_INFO2 = 38,
	INFO_GET_CLASS_ID_INFO2 = 41,
	INFO_REQUEST_PROFILER_DETACH = 58,
	INFO_GET_RUNTIME_INFORMATION = 67,
	INFO_SET_EVENT_MASK2 = 82,
	INFO_IS_FUNCTION_DYNAMIC = 87,
	INFO_GET_FUNCTION_FROM_IP3 = 88,
	INFO_GET_DYNAMIC_FUNCTION_INFO = 89,
	INFO_GET_NATIVE_CODE_START_ADDRESSES = 90,
	INFO_GET_IL_TO_NATIVE_MAPPING3 = 91,
	INFO_GET_CODE_INFO4 = 92,
	INFO_EVENT_PIPE_START_SESSION = 101,
	INFO_EVENT_PIPE_STOP_SESSION = 103,
	INFO_EVENT_PIPE_GET_PROVIDER_INFO = 105,
};

/* COR_PRF_EVENTPIPE_PROVIDER_CONFIG */
struct cor_event_provider {
	const wchar16 *name;
	uint64_t keywords;
	uint32_t level;
	const wchar16 *filter; /* NULL: none */
};

enum cor_import_slot { /* IMetaDataImport */
	MD_CLOSE_ENUM = 3,
	MD_GET_SCOPE_PROPS = 10,
	MD_GET_TYPE_DEF_PROPS = 12,
	MD_GET_TYPE_REF_PROPS = 14,
	MD_ENUM_METHODS_WITH_NAME = 19,
	MD_GET_METHOD_PROPS = 30,
	MD_GET_TYPE_SPEC_FROM_TOKEN = 44,
	MD_GET_NESTED_CLASS_PROPS = 62,
};

extern const struct guid cor_iid_info12;
extern const struct guid cor_iid_import;

static inline void *cor_slot(void *object, unsigned slot)
{
	return (*(void ***)object)[slot];
}

/* IUnknown ------------------------------------------------------------------------------------------------------------- */
static inline hresult cor_query(void *o, const struct guid *iid, void **out)
{
	return ((hresult(*)(void *, const struct guid *, void **))cor_slot(o, 0))(o, iid, out);
}

static inline void cor_release(void *o)
{
	if (o)
		((uint32_t(*)(void *))cor_slot(o, 2))(o);
}

/* ICorProfilerInfo ------------------------------------------------------------------------------------------------------ */
static inline hresult info_is_array_class(void *o, cor_id cls, uint32_t *element, cor_id *base, uint32_t *rank)
{
	return ((hresult(*)(void *, cor_id, uint32_t *, cor_id *, uint32_t *))cor_slot(o, INFO_IS_ARRAY_CLASS))(o, cls, element,
														 base, rank);
}

static inline hresult info_get_function_info(void *o, cor_id function, cor_id *cls, cor_id *module, md_token *token)
{
	return ((hresult(*)(void *, cor_id, cor_id *, cor_id *, md_token *))cor_slot(o, INFO_GET_FUNCTION_INFO))(
		o, function, cls, module, token);
}

/* `base`: where its image begins; 0: it has none. */
static inline hresult info_get_module_place(void *o, cor_id module, uintptr_t *base, uint32_t cap, uint32_t *len, wchar16 *name)
{
	cor_id assembly;
	return ((hresult(*)(void *, cor_id, uintptr_t *, uint32_t, uint32_t *, wchar16 *, cor_id *))cor_slot(o, INFO_GET_MODULE_INFO))(
		o, module, base, cap, len, name, &assembly);
}

static inline hresult info_get_module_info(void *o, cor_id module, uint32_t cap, uint32_t *len, wchar16 *name)
{
	uintptr_t base;
	return info_get_module_place(o, module, &base, cap, len, name);
}

static inline hresult info_get_module_meta_data(void *o, cor_id module, void **import)
{
	return ((hresult(*)(void *, cor_id, uint32_t, const struct guid *, void **))cor_slot(o, INFO_GET_MODULE_META_DATA))(
		o, module, 0 /* ofRead */, &cor_iid_import, import);
}

/* A COR_S_FALSE ends the walk. `function` 0: native frames. */
typedef hresult cor_frame_fn(cor_id function, uintptr_t ip, cor_id frame, uint32_t context_len, uint8_t *context, void *data);

/* Managed frames, leaf first, of a thread (0: the calling one). */
static inline hresult info_do_stack_snapshot(void *o, cor_id thread, cor_frame_fn *fn, void *data)
{
	return ((hresult(*)(void *, cor_id, cor_frame_fn *, uint32_t, void *, uint8_t *, uint32_t))cor_slot(o, INFO_DO_STACK_SNAPSHOT))(
		o, thread, fn, 0 /* COR_PRF_SNAPSHOT_DEFAULT */, data, 0, 0);
}

static inline hresult info_get_function_info2(void *o, cor_id function, cor_id *cls, cor_id *module, md_token *token, uint32_t cap,
					      uint32_t *count, cor_id *args)
{
	return ((hresult(*)(void *, cor_id, uintptr_t, cor_id *, cor_id *, md_token *, uint32_t, uint32_t *, cor_id *))cor_slot(
		o, INFO_GET_FUNCTION_INFO2))(o, function, 0, cls, module, token, cap, count, args);
}

static inline hresult info_get_class_id_info2(void *o, cor_id cls, cor_id *module, md_token *token, uint32_t cap, uint32_t *count,
					      cor_id *args)
{
	cor_id parent;
	return ((hresult(*)(void *, cor_id, cor_id *, md_token *, cor_id *, uint32_t, uint32_t *, cor_id *))cor_slot(
		o, INFO_GET_CLASS_ID_INFO2))(o, cls, module, token, &parent, cap, count, args);
}

static inline hresult info_request_profiler_detach(void *o, uint32_t expected_ms)
{
	return ((hresult(*)(void *, uint32_t))cor_slot(o, INFO_REQUEST_PROFILER_DETACH))(o, expected_ms);
}

static inline hresult info_get_runtime_information(void *o, uint16_t *major, uint16_t *minor, uint16_t *build)
{
	uint16_t instance, qfe;
	uint32_t type, len;
	return ((hresult(*)(void *, uint16_t *, uint32_t *, uint16_t *, uint16_t *, uint16_t *, uint16_t *, uint32_t, uint32_t *,
			    wchar16 *))cor_slot(o, INFO_GET_RUNTIME_INFORMATION))(o, &instance, &type, major, minor, build, &qfe, 0,
										  &len, 0);
}

static inline hresult info_set_event_mask2(void *o, uint32_t low, uint32_t high)
{
	return ((hresult(*)(void *, uint32_t, uint32_t))cor_slot(o, INFO_SET_EVENT_MASK2))(o, low, high);
}

static inline hresult info_is_function_dynamic(void *o, cor_id function, int32_t *dynamic)
{
	return ((hresult(*)(void *, cor_id, int32_t *))cor_slot(o, INFO_IS_FUNCTION_DYNAMIC))(o, function, dynamic);
}

static inline hresult info_get_function_from_ip3(void *o, uint64_t ip, cor_id *function, cor_id *rejit)
{
	return ((hresult(*)(void *, uintptr_t, cor_id *, cor_id *))cor_slot(o, INFO_GET_FUNCTION_FROM_IP3))(o, (uintptr_t)ip, function,
													   rejit);
}

static inline hresult info_get_dynamic_function_info(void *o, cor_id function, cor_id *module, uint32_t cap, uint32_t *len,
						     wchar16 *name)
{
	const uint8_t *sig;
	uint32_t sig_len;
	return ((hresult(*)(void *, cor_id, cor_id *, const uint8_t **, uint32_t *, uint32_t, uint32_t *, wchar16 *))cor_slot(
		o, INFO_GET_DYNAMIC_FUNCTION_INFO))(o, function, module, &sig, &sig_len, cap, len, name);
}

/* Where the bodies of a method's code begin: tiers, on-stack replacement. */
static inline hresult info_get_native_code_start_addresses(void *o, cor_id function, cor_id rejit, uint32_t cap, uint32_t *count,
							   uintptr_t *starts)
{
	return ((hresult(*)(void *, cor_id, cor_id, uint32_t, uint32_t *, uintptr_t *))cor_slot(o, INFO_GET_NATIVE_CODE_START_ADDRESSES))(
		o, function, rejit, cap, count, starts);
}

/* COR_PRF_CODE_INFO */
struct cor_code_info {
	uintptr_t start;
	size_t bytes;
};

/* The pieces of one body, the one with its first instruction first. */
static inline hresult info_get_code_info4(void *o, uintptr_t start, uint32_t cap, uint32_t *count, struct cor_code_info *pieces)
{
	return ((hresult(*)(void *, uintptr_t, uint32_t, uint32_t *, struct cor_code_info *))cor_slot(o, INFO_GET_CODE_INFO4))(
		o, start, cap, count, pieces);
}

/* COR_DEBUG_IL_TO_NATIVE_MAP: a piece of a body's code, by its distance from the body's start. */
struct cor_il_map {
	int32_t il; /* negative: CorDebugIlToNativeMappingTypes */
	uint32_t start, end;
};
#define COR_IL_NO_MAPPING (-1)
#define COR_IL_PROLOG (-2)
#define COR_IL_EPILOG (-3)

/* Which IL the pieces of one body were made from. *count may be more than `cap`: so many there are. */
static inline hresult info_get_il_to_native_mapping3(void *o, uintptr_t start, uint32_t cap, uint32_t *count, struct cor_il_map *rows)
{
	return ((hresult(*)(void *, uintptr_t, uint32_t, uint32_t *, struct cor_il_map *))cor_slot(o, INFO_GET_IL_TO_NATIVE_MAPPING3))(
		o, start, cap, count, rows);
}

static inline hresult info_event_pipe_start_session(void *o, uint32_t count, const struct cor_event_provider *providers, uint64_t *session)
{
	return ((hresult(*)(void *, uint32_t, const struct cor_event_provider *, int32_t, uint64_t *))cor_slot(
		o, INFO_EVENT_PIPE_START_SESSION))(o, count, providers, 0 /* no rundown */, session);
}

static inline hresult info_event_pipe_stop_session(void *o, uint64_t session)
{
	return ((hresult(*)(void *, uint64_t))cor_slot(o, INFO_EVENT_PIPE_STOP_SESSION))(o, session);
}

static inline hresult info_event_pipe_get_provider_info(void *o, cor_id provider, uint32_t cap, uint32_t *len, wchar16 *name)
{
	return ((hresult(*)(void *, cor_id, uint32_t, uint32_t *, wchar16 *))cor_slot(o, INFO_EVENT_PIPE_GET_PROVIDER_INFO))(o, provider, cap,
															     len, name);
}

/* IMetaDataImport ------------------------------------------------------------------------------------------------------- */
static inline hresult md_get_scope_props(void *o, wchar16 *name, uint32_t cap, uint32_t *len)
{
	struct guid mvid;
	return ((hresult(*)(void *, wchar16 *, uint32_t, uint32_t *, struct guid *))cor_slot(o, MD_GET_SCOPE_PROPS))(o, name, cap, len,
														     &mvid);
}

static inline hresult md_get_type_def_props(void *o, md_token type, wchar16 *name, uint32_t cap, uint32_t *len)
{
	uint32_t flags;
	md_token extends;
	return ((hresult(*)(void *, md_token, wchar16 *, uint32_t, uint32_t *, uint32_t *, md_token *))cor_slot(
		o, MD_GET_TYPE_DEF_PROPS))(o, type, name, cap, len, &flags, &extends);
}

static inline hresult md_get_type_ref_props(void *o, md_token type, md_token *scope, wchar16 *name, uint32_t cap, uint32_t *len)
{
	return ((hresult(*)(void *, md_token, md_token *, wchar16 *, uint32_t, uint32_t *))cor_slot(o, MD_GET_TYPE_REF_PROPS))(
		o, type, scope, name, cap, len);
}

/* How many methods called `name` (up to `cap`, at most 8) the type has. */
static inline uint32_t md_count_methods(void *o, md_token type, const wchar16 *name, uint32_t cap)
{
	void *cursor = 0;
	md_token methods[8];
	uint32_t count = 0;
	hresult hr = ((hresult(*)(void *, void **, md_token, const wchar16 *, md_token *, uint32_t, uint32_t *))cor_slot(
		o, MD_ENUM_METHODS_WITH_NAME))(o, &cursor, type, name, methods, cap < 8 ? cap : 8, &count);
	if (cursor)
		((void (*)(void *, void *))cor_slot(o, MD_CLOSE_ENUM))(o, cursor);
	return hr < 0 ? 0 : count;
}

static inline hresult md_get_method_props(void *o, md_token method, md_token *type, wchar16 *name, uint32_t cap, uint32_t *len,
					  const uint8_t **sig, uint32_t *sig_len)
{
	uint32_t attributes, rva, implementation;
	return ((hresult(*)(void *, md_token, md_token *, wchar16 *, uint32_t, uint32_t *, uint32_t *, const uint8_t **, uint32_t *,
			    uint32_t *, uint32_t *))cor_slot(o, MD_GET_METHOD_PROPS))(o, method, type, name, cap, len, &attributes, sig,
										      sig_len, &rva, &implementation);
}

static inline hresult md_get_type_spec(void *o, md_token spec, const uint8_t **sig, uint32_t *sig_len)
{
	return ((hresult(*)(void *, md_token, const uint8_t **, uint32_t *))cor_slot(o, MD_GET_TYPE_SPEC_FROM_TOKEN))(o, spec, sig,
														      sig_len);
}

static inline hresult md_get_nested_class_props(void *o, md_token type, md_token *enclosing)
{
	return ((hresult(*)(void *, md_token, md_token *))cor_slot(o, MD_GET_NESTED_CLASS_PROPS))(o, type, enclosing);
}

#endif
