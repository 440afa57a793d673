/* What the runtime calls: the exported entry points, the class factory and the callback object, as hand-made COM objects.
 * Context: CLR callback. Reference counts are constant: the objects are static and the runtime unloads the library itself. */
#include "common/proto/channel.h"
#include "profiler/clr/cor_abi.h"
#include "profiler/clr/dynamic_starts.h"
#include "profiler/clr/event_pipe.h"
#include "profiler/gc/gc_cost.h"
#include "profiler/gc/gc_watch.h"
#include "profiler/heap/heap_collection.h"
#include "profiler/clr/module_guard.h"
#include "profiler/base/pause_watch.h"
#include "profiler/clr/runtime_thread.h"
#include "profiler/session.h"
#include "profiler/gc/stop_log.h"

#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define FACTORY_COUNT 5

typedef void slot_fn(void);

struct com_object {
	slot_fn *const *vtable;
	const uint8_t *clsid;
	bool notification_only;
	struct com_object *creates; /* of a class factory */
};

const struct guid cor_iid_info12 = {0x27b24ccd, 0x1cb1, 0x47c5, {0x96, 0xee, 0x98, 0x19, 0x0d, 0xc3, 0x09, 0x59}};
const struct guid cor_iid_import = {0x7dac8207, 0xd3ae, 0x4c75, {0x9b, 0x67, 0x92, 0x80, 0x1a, 0x49, 0x7d, 0x44}};

const struct guid cor_iid_info14 = {0xf460e352, 0xd76d, 0x4fe9, {0x83, 0x5f, 0xf6, 0xaf, 0x9d, 0x6e, 0x86, 0x2d}};
const struct guid cor_iid_info15 = {0xb446462d, 0xbd22, 0x41dd, {0x87, 0x2d, 0xdc, 0x71, 0x4c, 0x49, 0xeb, 0x56}};

static const struct guid iid_unknown = {0, 0, 0, {0xc0, 0, 0, 0, 0, 0, 0, 0x46}};
static const struct guid iid_class_factory = {1, 0, 0, {0xc0, 0, 0, 0, 0, 0, 0, 0x46}};
static const struct guid iid_callbacks[] = {
	/* ICorProfilerCallback, 2 ... 11 */
	{0x176fbed1, 0xa55c, 0x4796, {0x98, 0xca, 0xa9, 0xda, 0x0e, 0xf8, 0x83, 0xe7}},
	{0x8a8cc829, 0xccf2, 0x49fe, {0xbb, 0xae, 0x0f, 0x02, 0x22, 0x28, 0x07, 0x1a}},
	{0x4fd2ed52, 0x7731, 0x4b8d, {0x94, 0x69, 0x03, 0xd2, 0xcc, 0x30, 0x86, 0xc5}},
	{0x7b63b2e3, 0x107d, 0x4d48, {0xb2, 0xf6, 0xf6, 0x1e, 0x22, 0x94, 0x70, 0xd2}},
	{0x8dfba405, 0x8c9f, 0x45f8, {0xbf, 0xfa, 0x83, 0xb1, 0x4c, 0xef, 0x78, 0xb5}},
	{0xfc13df4b, 0x4448, 0x4f4f, {0x95, 0x0c, 0xba, 0x8d, 0x19, 0xd0, 0x0c, 0x36}},
	{0xf76a2dba, 0x1d52, 0x4539, {0x86, 0x6c, 0x2a, 0xa5, 0x18, 0xf9, 0xef, 0xc3}},
	{0x5bed9b15, 0xc079, 0x4d47, {0xbf, 0xe2, 0x21, 0x5a, 0x14, 0x0c, 0x07, 0xe0}},
	{0x27583ec3, 0xc8f5, 0x482f, {0x80, 0x52, 0x19, 0x4b, 0x8c, 0xe4, 0x70, 0x5a}},
	{0xcec5b60e, 0xc69c, 0x495f, {0x87, 0xf6, 0x84, 0xd2, 0x8e, 0xe1, 0x6f, 0xfb}},
	{0x42350846, 0xaaed, 0x47f7, {0xb1, 0x28, 0xfd, 0x0c, 0x98, 0x88, 0x1c, 0xde}},
};

EXPORT extern const char drdotnet_version[];
const char drdotnet_version[] = DRDOTNET_VERSION;

static bool same_guid(const struct guid *a, const struct guid *b)
{
	return memcmp(a, b, sizeof *a) == 0;
}

static uint32_t add_ref(struct com_object *self)
{
	(void)self;
	return 2;
}

static uint32_t com_release(struct com_object *self)
{
	(void)self;
	return 1;
}

/* The callback object ---------------------------------------------------------------------------------------------------- */
static hresult ignore(void)
{
	return COR_S_OK;
}

static hresult callback_query(struct com_object *self, const struct guid *iid, void **out)
{
	bool known = same_guid(iid, &iid_unknown);

	for (size_t i = 0; !known && i < sizeof iid_callbacks / sizeof *iid_callbacks; i++)
		known = same_guid(iid, &iid_callbacks[i]);
	*out = known ? self : NULL;
	return known ? COR_S_OK : COR_E_NOINTERFACE;
}

static hresult initialize_for_attach(struct com_object *self, void *unknown, void *client_data, uint32_t len)
{
	return session_attach(unknown, client_data, len, self->notification_only);
}

static hresult attach_complete(struct com_object *self)
{
	(void)self;
	session_attach_complete();
	return COR_S_OK;
}

static hresult detach_succeeded(struct com_object *self)
{
	(void)self;
	session_detached();
	return COR_S_OK;
}

static hresult module_unload_started(struct com_object *self, cor_id module)
{
	uint64_t begin_ns = pause_watch_begin(CHANNEL_PAUSE_CALLBACK);

	(void)self;
	module_guard_unload_started(module);
	pause_watch_end(CHANNEL_PAUSE_CALLBACK, begin_ns);
	return COR_S_OK;
}

static hresult module_load_finished(struct com_object *self, cor_id module, hresult status)
{
	uint64_t begin_ns = pause_watch_begin(CHANNEL_PAUSE_CALLBACK);

	(void)self;
	(void)status;
	module_guard_loaded(module);
	pause_watch_end(CHANNEL_PAUSE_CALLBACK, begin_ns);
	return COR_S_OK;
}

static hresult dynamic_method_started(struct com_object *self, cor_id function)
{
	uint64_t begin_ns = pause_watch_begin(CHANNEL_PAUSE_CALLBACK);

	(void)self;
	dynamic_starts_put(function, begin_ns);
	pause_watch_end(CHANNEL_PAUSE_CALLBACK, begin_ns);
	return COR_S_OK;
}

static hresult collection_started(struct com_object *self, int32_t count, const int32_t *collected, int32_t reason)
{
	uint64_t begin_ns = pause_watch_begin(CHANNEL_PAUSE_CALLBACK);
	uint32_t generation = 0;

	(void)self;
	for (int32_t i = 0; i < count && i <= 2; i++)
		if (collected[i])
			generation = (uint32_t)i;
	gc_watch_started((uint32_t)syscall(SYS_gettid), generation, begin_ns);
	gc_cost_started(generation, reason == COR_GC_INDUCED, begin_ns);
	stop_log_collection_started(generation, reason == COR_GC_INDUCED, begin_ns);
	module_guard_collected(generation);
	heap_collection_started(generation, reason == COR_GC_INDUCED);
	pause_watch_end(CHANNEL_PAUSE_CALLBACK, begin_ns);
	return COR_S_OK;
}

static hresult collection_finished(struct com_object *self)
{
	uint64_t begin_ns = pause_watch_begin(CHANNEL_PAUSE_CALLBACK);

	(void)self;
	gc_watch_finished((uint32_t)syscall(SYS_gettid), begin_ns);
	gc_cost_finished(begin_ns);
	stop_log_collection_finished(begin_ns);
	pause_watch_end(CHANNEL_PAUSE_CALLBACK, begin_ns);
	heap_collection_finished(); /* what it takes is counted by who forced the collection */
	return COR_S_OK;
}

static hresult suspend_started(struct com_object *self, int32_t reason)
{
	uint64_t begin_ns = pause_watch_begin(CHANNEL_PAUSE_CALLBACK);

	(void)self;
	stop_log_suspending((uint32_t)reason, begin_ns);
	pause_watch_end_brief(begin_ns);
	return COR_S_OK;
}

/* The other moments of a stop, which carry nothing. */
static hresult tell_moment(void (*tell)(uint64_t at_ns))
{
	uint64_t begin_ns = pause_watch_begin(CHANNEL_PAUSE_CALLBACK);

	tell(begin_ns);
	pause_watch_end_brief(begin_ns);
	return COR_S_OK;
}

static hresult suspend_finished(void)
{
	return tell_moment(stop_log_suspended);
}

static hresult suspend_aborted(void)
{
	return tell_moment(stop_log_aborted);
}

static hresult resume_started(void)
{
	return tell_moment(stop_log_resuming);
}

static hresult resume_finished(void)
{
	return tell_moment(stop_log_resumed);
}

static hresult thread_suspended(void)
{
	return tell_moment(stop_log_thread_halted);
}

static hresult event_pipe_event_delivered(struct com_object *self, cor_id provider, uint32_t id, uint32_t version, uint32_t metadata_len,
					  const uint8_t *metadata, uint32_t len, const uint8_t *data, const uint8_t *activity, const uint8_t *related)
{
	uint64_t begin_ns = pause_watch_begin(CHANNEL_PAUSE_CALLBACK);
	struct event_pipe_event e = {
		.id = id, .version = version, .time_ns = begin_ns, .data = data, .len = len, .activity = activity, .related = related,
		.metadata = metadata, .metadata_len = metadata_len};

	(void)self;
	(void)metadata_len;
	(void)metadata;
	event_pipe_delivered(provider, &e);
	pause_watch_end_brief(begin_ns);
	return COR_S_OK;
}

/* Declined at the first one, and the runtime does not go through the objects; the roots are told all the same. */
static hresult object_references(void)
{
	return COR_E_FAIL;
}

/* What follows comes within a collection. */
static hresult root_references2(struct com_object *self, uint32_t count, const cor_id *objects, const uint32_t *kinds, const uint32_t *flags,
				const uintptr_t *ids)
{
	(void)self;
	heap_collection_roots(count, objects, kinds, flags, ids);
	return COR_S_OK;
}

static hresult conditional_weak_table(struct com_object *self, uint32_t count, const cor_id *keys, const cor_id *values, const uintptr_t *ids)
{
	(void)self;
	heap_collection_dependent(count, keys, values, ids);
	return COR_S_OK;
}

static hresult thread_created(struct com_object *self, cor_id thread)
{
	(void)self;
	(void)thread;
	runtime_thread_created();
	return COR_S_OK;
}

static hresult load_as_notification_only(struct com_object *self, int32_t *notification_only)
{
	*notification_only = self->notification_only;
	return COR_S_OK;
}

/* A default for all slots, then those that do something. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static slot_fn *const callback_vtable[CB_COUNT] = {
	[0 ... CB_COUNT - 1] = (slot_fn *)ignore,
	[0] = (slot_fn *)callback_query,
	[1] = (slot_fn *)add_ref,
	[2] = (slot_fn *)com_release,
	[CB_MODULE_LOAD_FINISHED] = (slot_fn *)module_load_finished,
	[CB_MODULE_UNLOAD_STARTED] = (slot_fn *)module_unload_started,
	[CB_RUNTIME_SUSPEND_STARTED] = (slot_fn *)suspend_started,
	[CB_RUNTIME_SUSPEND_FINISHED] = (slot_fn *)suspend_finished,
	[CB_RUNTIME_SUSPEND_ABORTED] = (slot_fn *)suspend_aborted,
	[CB_RUNTIME_RESUME_STARTED] = (slot_fn *)resume_started,
	[CB_RUNTIME_RESUME_FINISHED] = (slot_fn *)resume_finished,
	[CB_RUNTIME_THREAD_SUSPENDED] = (slot_fn *)thread_suspended,
	[CB_GARBAGE_COLLECTION_STARTED] = (slot_fn *)collection_started,
	[CB_GARBAGE_COLLECTION_FINISHED] = (slot_fn *)collection_finished,
	[CB_INITIALIZE_FOR_ATTACH] = (slot_fn *)initialize_for_attach,
	[CB_PROFILER_ATTACH_COMPLETE] = (slot_fn *)attach_complete,
	[CB_PROFILER_DETACH_SUCCEEDED] = (slot_fn *)detach_succeeded,
	[CB_DYNAMIC_METHOD_JIT_COMPILATION_STARTED] = (slot_fn *)dynamic_method_started,
	[CB_THREAD_CREATED] = (slot_fn *)thread_created,
	[CB_OBJECT_REFERENCES] = (slot_fn *)object_references,
	[CB_ROOT_REFERENCES2] = (slot_fn *)root_references2,
	[CB_CONDITIONAL_WEAK_TABLE] = (slot_fn *)conditional_weak_table,
	[CB_EVENT_PIPE_EVENT_DELIVERED] = (slot_fn *)event_pipe_event_delivered, /* more arguments follow: its thread, its own stack */
	[CB_LOAD_AS_NOTIFICATION_ONLY] = (slot_fn *)load_as_notification_only,
};
#pragma GCC diagnostic pop

static struct com_object callbacks[] = {
	{.vtable = callback_vtable, .clsid = channel_clsid},
	{.vtable = callback_vtable, .clsid = channel_clsid_notification, .notification_only = true},
};

/* The class factory -------------------------------------------------------------------------------------------------------- */
static hresult factory_query(struct com_object *self, const struct guid *iid, void **out)
{
	bool known = same_guid(iid, &iid_unknown) || same_guid(iid, &iid_class_factory);

	*out = known ? self : NULL;
	return known ? COR_S_OK : COR_E_NOINTERFACE;
}

static hresult factory_create(struct com_object *self, void *outer, const struct guid *iid, void **out)
{
	*out = NULL;
	if (outer)
		return COR_CLASS_E_NOAGGREGATION;
	return callback_query(self->creates, iid, out);
}

static slot_fn *const factory_vtable[FACTORY_COUNT] = {
	(slot_fn *)factory_query, (slot_fn *)add_ref, (slot_fn *)com_release, (slot_fn *)factory_create, (slot_fn *)ignore,
};

static struct com_object factories[] = {
	{.vtable = factory_vtable, .creates = &callbacks[0]},
	{.vtable = factory_vtable, .creates = &callbacks[1]},
};

EXPORT hresult DllGetClassObject(const struct guid *clsid, const struct guid *iid, void **out);
hresult DllGetClassObject(const struct guid *clsid, const struct guid *iid, void **out)
{
	if (!clsid || !iid || !out)
		return COR_E_POINTER;
	*out = NULL;
	for (size_t i = 0; i < sizeof factories / sizeof *factories; i++)
		if (memcmp(clsid, factories[i].creates->clsid, sizeof *clsid) == 0)
			return factory_query(&factories[i], iid, out);
	return COR_CLASS_E_CLASSNOTAVAILABLE;
}

EXPORT hresult DllCanUnloadNow(void);
hresult DllCanUnloadNow(void)
{
	return session_idle() ? COR_S_OK : COR_S_FALSE;
}
