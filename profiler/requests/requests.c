/* Context: CLR callback (on_request_event) and own thread. */
#include "profiler/requests/requests.h"

#include "profiler/base/now.h"
#include "profiler/clr/event_pipe.h"
#include "profiler/requests/request_send.h"
#include "profiler/requests/request_table.h"
#include "profiler/requests/shape_table.h"
#include "profiler/stacks/thread_id.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define OPEN_ROUND_NS 1000000000u
#define LEVEL_INFORMATIONAL 4
#define LEVEL_VERBOSE 5
#define TASK_FLOW 0x80u      /* activity ids of starts and stops */
#define TASK_SWITCHES 0x40000u /* SetActivityId */
#define DIAGNOSTIC_EVENTS 2u

enum request_provider { TASKS, HOSTING, DIAGNOSTICS };

static const wchar16 tasks_name[] = u"System.Threading.Tasks.TplEventSource", hosting_name[] = u"Microsoft.AspNetCore.Hosting";
static const wchar16 diagnostics_name[] = u"Microsoft-Diagnostics-DiagnosticSource";
static const wchar16 end_filter[] = u"FilterAndPayloadSpecs=\"Microsoft.AspNetCore/Microsoft.AspNetCore.Hosting.EndRequest:"
				    u"-httpContext.Response.StatusCode;httpContext.Response.ContentType\"";

/* Tasks first: hosting asks whether activities flow when it is told to begin. */
static const struct cor_event_provider always[] = {
	[TASKS] = {tasks_name, TASK_FLOW, LEVEL_VERBOSE, NULL},
	[HOSTING] = {hosting_name, 0xffffffffffffffffu, LEVEL_INFORMATIONAL, NULL},
	[DIAGNOSTICS] = {diagnostics_name, DIAGNOSTIC_EVENTS, LEVEL_INFORMATIONAL, end_filter},
};

static void *the_info; /* while it runs */
static _Atomic bool on, counting;
static uint64_t open_sent_ns;
static _Atomic uint64_t started, ended, untracked, older, malformed;
static _Atomic uint32_t last_number;

static void count(_Atomic uint64_t *n)
{
	atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
}

/* CLR callback ---------------------------------------------------------------------------------------------------------------- */

static void on_request_start(const struct event_pipe_event *e)
{
	struct event_text method, path;
	struct path_shape shape;

	count(&started);
	if (!request_event_start(e->data, e->len, &method, &path)) {
		count(&malformed);
		return;
	}
	path_shape_make(&method, &path, &shape);
	struct request r = {
		.number = atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1,
		.shape = shape_table_intern(&shape),
		.tid = thread_id_now(e->time_ns),
		.start_ns = e->time_ns,
	};
	if (!request_table_put(activity_path_of(e->activity), &r))
		count(&untracked);
}

static void on_request_stop(const struct event_pipe_event *e)
{
	struct request r;

	count(&ended);
	if (request_table_take(activity_path_of(e->activity), &r))
		request_send_done(&r, e->time_ns, thread_id_now(e->time_ns));
	else
		count(&older);
}

static void on_request_event(const struct event_pipe_event *e)
{
	struct request_end end;

	if (!atomic_load_explicit(&counting, memory_order_relaxed))
		return;
	if (e->provider == HOSTING && e->id == REQUEST_EVENT_START)
		on_request_start(e);
	else if (e->provider == HOSTING && e->id == REQUEST_EVENT_STOP)
		on_request_stop(e);
	else if (e->provider == DIAGNOSTICS && request_event_end(e->data, e->len, &end))
		request_table_end(activity_path_of(e->activity), end.status, end.stream);
}

/* Own thread ------------------------------------------------------------------------------------------------------------------ */

bool requests_answers(uint16_t request)
{
	return request == CHANNEL_REQUESTS_START || request == CHANNEL_REQUESTS_STOP;
}

bool requests_running(void)
{
	return atomic_load(&on);
}

static hresult requests_begin(void *info, const char **message)
{
	*message = "requests are watched already";
	if (requests_running())
		return COR_HR(0x80070000u | EALREADY);
	shape_table_reset();
	request_table_reset();
	request_send_reset();
	atomic_store(&started, 0);
	atomic_store(&ended, 0);
	atomic_store(&untracked, 0);
	atomic_store(&older, 0);
	atomic_store(&malformed, 0);
	atomic_store(&last_number, 0);
	atomic_store(&counting, true);
	hresult hr = event_pipe_start(info, always, sizeof always / sizeof *always, on_request_event, message);
	atomic_store(&on, hr >= 0);
	atomic_store(&counting, hr >= 0);
	the_info = info;
	open_sent_ns = now_ns();
	return hr;
}

void requests_tick(struct channel_io *io)
{
	uint64_t now = now_ns();

	request_send_all(io);
	if (now - open_sent_ns < OPEN_ROUND_NS)
		return;
	open_sent_ns = now;
	request_send_open(io, now);
}

void requests_stop(void *info, struct channel_io *io)
{
	if (!requests_running())
		return;
	request_send_open(io, now_ns());
	event_pipe_stop(info);
	atomic_store(&counting, false);
	request_send_all(io);
	atomic_store(&on, false);
}

static void send_requests_state(struct channel_io *io)
{
	struct channel_requests_state s = {
		.running = requests_running(),
		.started = atomic_load(&started),
		.ended = atomic_load(&ended),
		.untracked = atomic_load(&untracked),
		.older = atomic_load(&older),
		.dropped = request_send_dropped(),
		.malformed = atomic_load(&malformed),
	};

	channel_put_requests_state(channel_io_begin(io, CHANNEL_REQUESTS_STATE), &s);
	channel_io_end(io);
}

bool requests_answer(void *info, const struct channel_frame *request, struct channel_io *io)
{
	const char *message = NULL;

	if (request->type == CHANNEL_REQUESTS_STOP) {
		requests_stop(info, io);
		send_requests_state(io);
		return true;
	}
	hresult hr = requests_begin(info, &message);
	if (hr >= 0) {
		send_requests_state(io);
		return true;
	}
	struct channel_error e = {.request = request->type, .code = (uint32_t)hr, .message = {message, strlen(message)}};
	channel_put_error(channel_io_begin(io, CHANNEL_ERROR), &e);
	channel_io_end(io);
	return true;
}
