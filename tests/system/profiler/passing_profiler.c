/* A profiler that attaches, does once what its client data's first byte asks of the runtime, and leaves: what a runtime keeps of that is its
 * own. For tests only. gcc -shared -fPIC -I. passing_profiler.c; class {11111111-2222-3333-4444-555555555555}. */
#include "profiler/clr/cor_heap_abi.h"
#include "tests/system/profiler/little_profiler.h"

#include <poll.h>
#include <pthread.h>

enum { DO_EVENTS = 1, DO_COLLECTION = 2 }; /* tests/resilience/soak/control.py */

#define MASK (COR_MONITOR_JIT_COMPILATION | COR_MONITOR_MODULE_LOADS | COR_ENABLE_STACK_SNAPSHOT)
#define GC_KEYWORD 1u
#define LEVEL_INFORMATIONAL 4
#define DETACH_HINT_MS 300
#define DETACH_RETRY_MS 100

const struct guid cor_iid_info12 = {0x27b24ccd, 0x1cb1, 0x47c5, {0x96, 0xee, 0x98, 0x19, 0x0d, 0xc3, 0x09, 0x59}};

static const struct cor_event_provider provider = {u"Microsoft-Windows-DotNETRuntime", GC_KEYWORD, LEVEL_INFORMATIONAL, NULL};
static void *info;
static pthread_t thread;
static uint8_t asked;

static void *pass(void *unused)
{
	uint64_t session;

	(void)unused;
	if (asked & DO_EVENTS && info_event_pipe_start_session(info, 1, &provider, &session) >= 0)
		info_event_pipe_stop_session(info, session);
	if (asked & DO_COLLECTION)
		info_force_gc(info);
	while (info_request_profiler_detach(info, DETACH_HINT_MS) < 0)
		poll(NULL, 0, DETACH_RETRY_MS);
	return NULL;
}

/* No further object is told of then, and the roots are. */
static hresult decline(void)
{
	return COR_E_FAIL;
}

static hresult initialize_for_attach(struct object *self, void *unknown, const uint8_t *data, uint32_t len)
{
	(void)self;
	asked = len ? *data : 0;
	if (cor_query(unknown, &cor_iid_info12, &info) < 0)
		return COR_E_FAIL;
	return info_set_event_mask2(info, MASK | (asked & DO_COLLECTION ? COR_MONITOR_GC : 0),
				    COR_HIGH_BASIC_GC | (asked & DO_EVENTS ? COR_HIGH_MONITOR_EVENT_PIPE : 0));
}

static hresult attach_complete(struct object *self)
{
	(void)self;
	return pthread_create(&thread, NULL, pass, NULL) ? COR_E_FAIL : COR_S_OK;
}

static hresult detach_succeeded(struct object *self)
{
	(void)self;
	pthread_join(thread, NULL);
	cor_release(info);
	return COR_S_OK;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static void *const table[CB_COUNT] = {
	LITTLE_CALLBACKS(CB_COUNT),
	[CB_OBJECT_REFERENCES] = (void *)decline,
	[CB_INITIALIZE_FOR_ATTACH] = (void *)initialize_for_attach,
	[CB_PROFILER_ATTACH_COMPLETE] = (void *)attach_complete,
	[CB_PROFILER_DETACH_SUCCEEDED] = (void *)detach_succeeded,
};
#pragma GCC diagnostic pop

LITTLE_PROFILER(table)
