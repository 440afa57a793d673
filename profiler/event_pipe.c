/* Context: own thread (start, stop), a thread of its own (run_start, run_stop) and CLR callback (delivered). */
#include "profiler/event_pipe.h"

#include "profiler/event_mask.h"
#include "profiler/own_thread.h"

#include <stdatomic.h>

#define STACK_BYTES (1536 * 1024) /* the runtime's event sources are told in managed code */
#define NAME_CAP 64               /* of a provider: longer ones are none of ours */

struct call {
	void *info;
	const struct cor_event_provider *providers;
	uint32_t count;
	uint64_t session;
	hresult hr;
};

static void *the_info;
static const struct cor_event_provider *wanted;
static uint32_t wanted_count;
static uint64_t session; /* 0: none */
static _Atomic(event_pipe_fn *) receiver;
static _Atomic cor_id handles[EVENT_PIPE_PROVIDERS]; /* of the wanted providers, as they are met */

static void *run_start(void *argument)
{
	struct call *c = argument;

	own_thread_name();
	c->hr = info_event_pipe_start_session(c->info, c->count, c->providers, &c->session);
	return NULL;
}

static void *run_stop(void *argument)
{
	struct call *c = argument;

	own_thread_name();
	c->hr = info_event_pipe_stop_session(c->info, c->session);
	return NULL;
}

static hresult on_a_thread(void *run(void *), struct call *c)
{
	pthread_t thread;

	if (own_thread_start(&thread, STACK_BYTES, run, c))
		return COR_E_FAIL;
	pthread_join(thread, NULL);
	return c->hr;
}

hresult event_pipe_start(void *info, const struct cor_event_provider *providers, uint32_t count, event_pipe_fn *on_event, const char **message)
{
	struct call c = {.info = info, .providers = providers, .count = count};

	*message = "another EventPipe session of the library runs";
	if (session || count > EVENT_PIPE_PROVIDERS)
		return COR_E_FAIL;
	*message = "SetEventMask2 refused to tell of EventPipe's events";
	hresult hr = event_mask_add(info, 0, COR_HIGH_MONITOR_EVENT_PIPE);
	if (hr < 0)
		return hr;
	the_info = info;
	wanted = providers;
	wanted_count = count;
	for (uint32_t i = 0; i < EVENT_PIPE_PROVIDERS; i++)
		atomic_store(&handles[i], 0);
	atomic_store(&receiver, on_event);
	*message = "EventPipeStartSession failed";
	hr = on_a_thread(run_start, &c);
	if (hr >= 0) {
		session = c.session;
		return COR_S_OK;
	}
	atomic_store(&receiver, NULL);
	event_mask_remove(info, 0, COR_HIGH_MONITOR_EVENT_PIPE);
	return hr;
}

hresult event_pipe_stop(void *info)
{
	struct call c = {.info = info, .session = session};

	if (!session)
		return COR_S_OK;
	hresult hr = on_a_thread(run_stop, &c);
	atomic_store(&receiver, NULL);
	session = 0;
	event_mask_remove(info, 0, COR_HIGH_MONITOR_EVENT_PIPE);
	return hr;
}

static bool has_name(cor_id provider, const wchar16 *wanted_name)
{
	wchar16 name[NAME_CAP];
	uint32_t len = 0, i = 0;

	if (info_event_pipe_get_provider_info(the_info, provider, NAME_CAP, &len, name) < 0)
		return false;
	name[NAME_CAP - 1] = 0;
	while (name[i] && name[i] == wanted_name[i])
		i++;
	return name[i] == wanted_name[i];
}

/* The runtime delivers what any profiler's session asks for: another's providers are not ours. */
static uint32_t index_of(cor_id provider)
{
	for (uint32_t i = 0; i < wanted_count; i++)
		if (atomic_load_explicit(&handles[i], memory_order_relaxed) == provider)
			return i;
	for (uint32_t i = 0; i < wanted_count; i++)
		if (has_name(provider, wanted[i].name)) {
			atomic_store_explicit(&handles[i], provider, memory_order_relaxed);
			return i;
		}
	return EVENT_PIPE_PROVIDERS;
}

void event_pipe_delivered(cor_id provider, uint32_t id, uint32_t version, uint64_t time_ns, const uint8_t *data, size_t len)
{
	event_pipe_fn *to = atomic_load(&receiver);
	struct event_pipe_event e = {.id = id, .version = version, .time_ns = time_ns, .data = data, .len = len};

	if (!to)
		return;
	e.provider = index_of(provider);
	if (e.provider < wanted_count)
		to(&e);
}
