/* Context: own thread (start, stop, end), a thread of its own (thread_main and what it calls) and CLR callback (delivered). */
#include "profiler/clr/event_pipe.h"

#include "profiler/clr/event_mask.h"
#include "profiler/clr/runtime_signal.h"
#include "profiler/base/own_thread.h"

#include <linux/futex.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STACK_BYTES (1536 * 1024) /* the runtime's event sources are told in managed code */
#define NAME_CAP 64               /* of a provider: longer ones are none of ours */
#define STOP_TRIES 10
#define STOP_RETRY_MS 50

enum order { AT_REST, START, STOP, END };

static struct call {
	void *info;
	const struct cor_event_provider *providers;
	uint32_t count;
	uint64_t session;
	hresult hr;
} call;
static _Atomic uint32_t order; /* a futex: what the thread is to do; AT_REST again when it has */
static bool has_thread;
static pthread_t thread;

/* Threads of the application read it while it is set: the count is set last, and read first. */
struct pipe {
	const struct cor_event_provider *_Atomic providers;
	_Atomic uint32_t count;
	uint64_t session;                             /* 0: none */
	_Atomic cor_id handles[EVENT_PIPE_PROVIDERS]; /* of the providers, as they are met */
};

static void *the_info;
static struct pipe first, second, held;
static bool left_on; /* a session that the runtime would not stop */
static _Atomic(event_pipe_fn *) receiver;

/* The thread ------------------------------------------------------------------------------------------------------------------ */

static void wait_while(uint32_t is)
{
	while (atomic_load(&order) == is)
		syscall(SYS_futex, &order, FUTEX_WAIT_PRIVATE, is, NULL, NULL, 0);
}

static void set_order(uint32_t now)
{
	atomic_store(&order, now);
	syscall(SYS_futex, &order, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *thread_main(void *unused)
{
	enum order o;

	(void)unused;
	own_thread_name();
	runtime_signal_unblock();
	do {
		wait_while(AT_REST);
		o = atomic_load(&order);
		if (o == START)
			call.hr = info_event_pipe_start_session(call.info, call.count, call.providers, &call.session);
		else if (o == STOP)
			call.hr = info_event_pipe_stop_session(call.info, call.session);
		set_order(AT_REST);
	} while (o != END);
	return NULL;
}

/* Own thread ------------------------------------------------------------------------------------------------------------------ */

static hresult on_the_thread(enum order what)
{
	set_order(what);
	wait_while(what);
	return call.hr;
}

/* Made before there is anything to end: a process at its limit of threads or memory gives none when it is time to. */
static hresult make_thread(void)
{
	int error = has_thread ? 0 : own_thread_start(&thread, STACK_BYTES, thread_main, NULL);

	has_thread = error == 0;
	return error ? COR_HR(0x80070000u | (uint32_t)error) : COR_S_OK;
}

static hresult start_pipe(struct pipe *p, void *info, const struct cor_event_provider *providers, uint32_t count, const char **message)
{
	atomic_store(&p->count, 0);
	atomic_store(&p->providers, providers);
	for (uint32_t i = 0; i < EVENT_PIPE_PROVIDERS; i++)
		atomic_store(&p->handles[i], 0);
	atomic_store(&p->count, count);
	*message = "EventPipeStartSession failed";
	call = (struct call){.info = info, .providers = providers, .count = count};
	hresult hr = on_the_thread(START);
	p->session = hr >= 0 ? call.session : 0;
	return hr;
}

static bool stop_pipe(struct pipe *p, void *info)
{
	hresult hr = COR_E_FAIL;

	call = (struct call){.info = info, .session = p->session};
	for (int i = 0; i < STOP_TRIES && hr < 0; i++) {
		if (i)
			poll(NULL, 0, STOP_RETRY_MS);
		hr = on_the_thread(STOP);
	}
	p->session = 0;
	if (hr < 0)
		left_on = true;
	return hr >= 0;
}

hresult event_pipe_start(void *info, const struct cor_event_provider *providers, uint32_t count, event_pipe_fn *on_event, const char **message)
{
	*message = "another EventPipe session of the library runs";
	if (first.session || count > EVENT_PIPE_PROVIDERS)
		return COR_E_FAIL;
	*message = "the process may make no thread to end EventPipe's events with: it is at its limit of threads or memory";
	hresult hr = make_thread();
	if (hr < 0)
		return hr;
	*message = "SetEventMask2 refused to tell of EventPipe's events";
	hr = event_mask_add(info, 0, COR_HIGH_MONITOR_EVENT_PIPE);
	if (hr < 0)
		return hr;
	the_info = info;
	atomic_store(&second.count, 0);
	atomic_store(&receiver, on_event);
	hr = start_pipe(&first, info, providers, count, message);
	if (hr >= 0)
		return COR_S_OK;
	atomic_store(&receiver, NULL);
	event_mask_remove(info, 0, COR_HIGH_MONITOR_EVENT_PIPE);
	return hr;
}

hresult event_pipe_start_second(void *info, const struct cor_event_provider *providers, uint32_t count, const char **message)
{
	*message = "there is no first EventPipe session, or a second one runs";
	if (!first.session || second.session || count > EVENT_PIPE_PROVIDERS)
		return COR_E_FAIL;
	return start_pipe(&second, info, providers, count, message);
}

bool event_pipe_stop_second(void *info)
{
	return !second.session || stop_pipe(&second, info);
}

bool event_pipe_stop(void *info)
{
	bool stopped = event_pipe_stop_second(info);

	if (!first.session)
		return stopped;
	stopped = stop_pipe(&first, info) && stopped;
	atomic_store(&receiver, NULL);
	event_mask_remove(info, 0, COR_HIGH_MONITOR_EVENT_PIPE);
	return stopped;
}

hresult event_pipe_hold(void *info, const struct cor_event_provider *providers, uint32_t count)
{
	const char *message;

	if (!has_thread || count > EVENT_PIPE_PROVIDERS)
		return COR_E_FAIL;
	return held.session ? COR_S_OK : start_pipe(&held, info, providers, count, &message);
}

bool event_pipe_release(void *info)
{
	return !held.session || stop_pipe(&held, info);
}

bool event_pipe_end(void *info)
{
	event_pipe_release(info);
	event_pipe_stop(info);
	if (has_thread) {
		on_the_thread(END);
		pthread_join(thread, NULL);
	}
	has_thread = false;
	bool ended = !left_on;
	left_on = false;
	return ended;
}

/* CLR callback ---------------------------------------------------------------------------------------------------------------- */

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

static bool is_of_pipe(struct pipe *p, cor_id provider, uint32_t *index)
{
	uint32_t count = atomic_load_explicit(&p->count, memory_order_acquire);

	for (*index = 0; *index < count; ++*index)
		if (atomic_load_explicit(&p->handles[*index], memory_order_relaxed) == provider)
			return true;
	return false;
}

static bool is_met_by_pipe(struct pipe *p, cor_id provider, uint32_t *index)
{
	uint32_t count = atomic_load_explicit(&p->count, memory_order_acquire);
	const struct cor_event_provider *providers = atomic_load_explicit(&p->providers, memory_order_acquire);

	for (*index = 0; *index < count; ++*index)
		if (has_name(provider, providers[*index].name)) {
			atomic_store_explicit(&p->handles[*index], provider, memory_order_relaxed);
			return true;
		}
	return false;
}

/* The runtime delivers what any profiler's session asks for: another's providers are not ours. */
static bool is_ours(cor_id provider, uint32_t *index)
{
	if (is_of_pipe(&first, provider, index))
		return true;
	bool of_second = is_of_pipe(&second, provider, index);
	if (!of_second && is_met_by_pipe(&first, provider, index))
		return true;
	if (!of_second && !is_met_by_pipe(&second, provider, index))
		return false;
	*index += EVENT_PIPE_PROVIDERS;
	return true;
}

void event_pipe_delivered(cor_id provider, struct event_pipe_event *e)
{
	event_pipe_fn *to = atomic_load(&receiver);

	if (to && is_ours(provider, &e->provider))
		to(e);
}
