/* Context: CLR callback (on_request_event) and own thread. */
#include "profiler/requests/requests.h"

#include "common/proto/difference.h"
#include "profiler/base/event_budget.h"
#include "profiler/base/now.h"
#include "profiler/clr/event_pipe.h"
#include "profiler/requests/answers.h"
#include "profiler/requests/await_events.h"
#include "profiler/requests/follow_plan.h"
#include "profiler/requests/grpc_methods.h"
#include "profiler/requests/request_calls.h"
#include "profiler/requests/request_send.h"
#include "profiler/requests/request_table.h"
#include "profiler/requests/rest_watch.h"
#include "profiler/requests/shape_table.h"
#include "profiler/requests/unanswered.h"
#include "profiler/stacks/thread_id.h"

#include <errno.h>
#include <stdatomic.h>

#define OPEN_ROUND_NS 1000000000u
#define LEVEL_INFORMATIONAL 4
#define LEVEL_VERBOSE 5
#define TASK_FLOW 0x80u      /* activity ids of starts and stops */
#define TASK_SWITCHES 0x40000u /* SetActivityId */
#define DIAGNOSTIC_EVENTS 2u
#define ALL_KEYWORDS 0xffffffffffffffffu

#define SWITCHES_PER_CPU_SECOND 2500u /* each costs one to four microseconds: half a percent of the process's CPU time */
#define SWITCHES_ALWAYS 2000u         /* a second, whatever they are of it */
#define SWITCHES_BURST 40000          /* more at once: so short a session is told whole */
#define SWITCHES_OF_WINDOW 16000u     /* about */
#define STATUS_COST 3                 /* switches */
#define COMMAND_COST 3                /* either end of it */
#define WINDOW_NS 1000000000u
#define RETRY_NS 2000000000u          /* where the runtime would not tell of events */

enum request_provider {
	TASKS,
	HOSTING,
	FIRST_CALL,
	DIAGNOSTICS = EVENT_PIPE_PROVIDERS + 1, /* of the second session */
	AWAITS,
};

static const wchar16 tasks_name[] = u"System.Threading.Tasks.TplEventSource", hosting_name[] = u"Microsoft.AspNetCore.Hosting";
static const wchar16 diagnostics_name[] = u"Microsoft-Diagnostics-DiagnosticSource";
static const wchar16 awaits_name[] = AWAIT_EVENTS_NAME; /* .NET 11 */
static const wchar16 http_name[] = u"System.Net.Http", names_name[] = u"System.Net.NameResolution", sockets_name[] = u"System.Net.Sockets";
static const wchar16 security_name[] = u"System.Net.Security", npgsql_name[] = u"Npgsql.Sql";
static const wchar16 listener_filter[] = u"FilterAndPayloadSpecs=\"Microsoft.AspNetCore/Microsoft.AspNetCore.Hosting.EndRequest:"
				    u"-httpContext.Response.StatusCode;httpContext.Response.ContentType;"
				    u"Path=httpContext.Request.Path.Value;Route=httpContext.Request.RouteValues.*Enumerate;"
				    u"Client=httpContext.Connection.RemoteIpAddress;Port=httpContext.Connection.RemotePort\n" LISTENER_CALL_SPECS u"\"";

/* Tasks first: hosting asks whether activities flow when it is told to begin. */
static const struct cor_event_provider always[] = {
	[TASKS] = {tasks_name, TASK_FLOW, LEVEL_VERBOSE, NULL},
	[HOSTING] = {hosting_name, ALL_KEYWORDS, LEVEL_INFORMATIONAL, NULL},
	[FIRST_CALL + CALL_HTTP] = {http_name, ALL_KEYWORDS, LEVEL_INFORMATIONAL, NULL},
	[FIRST_CALL + CALL_NAME] = {names_name, ALL_KEYWORDS, LEVEL_INFORMATIONAL, NULL},
	[FIRST_CALL + CALL_CONNECT] = {sockets_name, ALL_KEYWORDS, LEVEL_INFORMATIONAL, NULL},
	[FIRST_CALL + CALL_TLS] = {security_name, ALL_KEYWORDS, LEVEL_INFORMATIONAL, NULL},
	[FIRST_CALL + CALL_NPGSQL] = {npgsql_name, ALL_KEYWORDS, LEVEL_INFORMATIONAL, NULL},
};
_Static_assert(sizeof always / sizeof *always <= EVENT_PIPE_PROVIDERS, "all in one session");

/* Which thread works for which request, the status of responses, and where methods are resumed: what costs much, so for a part of the time only. */
static const struct cor_event_provider sometimes[] = {
	{tasks_name, TASK_FLOW | TASK_SWITCHES, LEVEL_VERBOSE, NULL},
	{diagnostics_name, DIAGNOSTIC_EVENTS, LEVEL_INFORMATIONAL, listener_filter},
	{awaits_name, AWAIT_EVENTS_KEYWORDS, LEVEL_INFORMATIONAL, NULL},
};

static void *the_info; /* while it runs */
static bool tracked;   /* activities, in this session */
static _Atomic bool on, counting;
static uint64_t open_sent_ns, began_ns;
static _Atomic bool switching;  /* the second session runs, and what it tells is sent */
static _Atomic uint64_t switches;
static _Atomic uint64_t told_from_ns; /* since it began */
static uint64_t window_ns;      /* since when */
static uint64_t window_cpu_ns;  /* CPU time of the process then */
static uint64_t window_switches;
static uint64_t window_dropped; /* of a window that lacks some nothing is told: they would be given to the wrong request */
static uint64_t rest_until_ns;
static struct event_budget budget;
static struct follow_plan follow;
static struct follow_now held; /* since when the agent keeps us waiting, and nobody is followed; ns 0: it does not */
static _Atomic uint64_t call_events;
static struct rest_told seen;
static _Atomic uint64_t untracked, malformed;
static uint64_t open_unfollowed; /* at the end */
static _Atomic uint32_t last_number;

static void count(_Atomic uint64_t *n)
{
	atomic_fetch_add_explicit(n, 1, memory_order_relaxed);
}

/* CLR callback ---------------------------------------------------------------------------------------------------------------- */

/* From now on the thread works for that request. */
static void note_switch(uint64_t time_ns, uint32_t tid, uint32_t number)
{
	if (!atomic_load_explicit(&switching, memory_order_relaxed))
		return;
	count(&switches);
	request_send_switch(time_ns, tid, number);
}

static void on_call(enum call_kind kind, const struct event_pipe_event *e)
{
	count(&call_events);
	if (!request_calls_event(kind, e))
		count(&malformed);
}

static void on_command(const struct event_pipe_event *e, const struct listener_call *c)
{
	atomic_fetch_add_explicit(&switches, COMMAND_COST, memory_order_relaxed);
	request_calls_command(e, c);
}

static void on_request_start(const struct event_pipe_event *e)
{
	struct event_text method, path;
	struct path_shape shape;

	count(&seen.started);
	if (!request_event_start(e->data, e->len, &method, &path)) {
		count(&malformed);
		return;
	}
	int kind = grpc_methods_find(&path);
	if (kind >= 0)
		path_shape_make_known(&method, &path, &shape);
	else
		path_shape_make(&method, &path, &shape);
	struct request r = {
		.number = atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1,
		.shape = shape_table_intern(&shape),
		.tid = thread_id_now(e->time_ns),
		.start_ns = e->time_ns,
		/* CONNECT: a web socket of HTTP/2 */
		.stream = (uint8_t)(kind >= 0 ? REQUEST_GRPC + kind : event_text_is(&method, "CONNECT", true) ? REQUEST_WEB_SOCKET : REQUEST_NO_STREAM),
	};
	if (!request_table_put(&requests_open, activity_path_of(e->activity), &r))
		count(&untracked);
	else
		note_switch(e->time_ns, r.tid, r.number);
}

static void on_request_stop(const struct event_pipe_event *e)
{
	struct request r;
	uint32_t tid = thread_id_now(e->time_ns);

	count(&seen.ended);
	note_switch(e->time_ns, tid, 0);
	if (!request_table_take(&requests_open, activity_path_of(e->activity), &r)) {
		count(&seen.older);
		return;
	}
	request_send_done(&r, e->time_ns, tid, atomic_load_explicit(&switching, memory_order_relaxed) &&
						       r.start_ns >= atomic_load_explicit(&told_from_ns, memory_order_relaxed));
	request_calls_end(r.number);
}

/* It costs more than a switch. */
static void on_response(const struct event_pipe_event *e, const struct request_end *end)
{
	struct activity_path p = activity_path_of(e->activity);

	atomic_fetch_add_explicit(&switches, STATUS_COST, memory_order_relaxed);
	uint32_t shape = request_table_end(&requests_open, p, end->status, end->stream);
	struct request r;
	if (!shape || !request_table_peek(&requests_open, p, &r))
		return;
	if (end->stream == REQUEST_GRPC && r.stream == REQUEST_NO_STREAM)
		grpc_methods_missed();
	shape_table_note_route(shape, &end->path, &end->route);
	answers_put(&r, e->time_ns, end);
}

static void on_request_event(const struct event_pipe_event *e)
{
	struct request_end end;
	struct listener_call command;

	if (!atomic_load_explicit(&counting, memory_order_relaxed))
		return;
	if (e->provider == HOSTING && e->id == REQUEST_EVENT_START)
		on_request_start(e);
	else if (e->provider == HOSTING && e->id == REQUEST_EVENT_STOP)
		on_request_stop(e);
	else if (e->provider == DIAGNOSTICS && request_event_end(e->data, e->len, &end))
		on_response(e, &end);
	else if (e->provider == DIAGNOSTICS && listener_call_read(e->data, e->len, &command))
		on_command(e, &command);
	else if (e->provider == AWAITS && e->id == AWAIT_EVENTS_ID)
		atomic_fetch_add_explicit(&switches, await_events_put(e->data, e->len), memory_order_relaxed);
	else if (e->provider >= FIRST_CALL && e->provider < FIRST_CALL + CALL_KINDS)
		on_call((enum call_kind)(e->provider - FIRST_CALL), e);
	else if (e->provider == TASKS && e->id == REQUEST_EVENT_ACTIVITY)
		note_switch(e->time_ns, thread_id_now(e->time_ns),
			    request_table_find(&requests_open, activity_path_of(request_event_activity(e->data, e->len))));
}

/* Own thread ------------------------------------------------------------------------------------------------------------------ */

bool requests_answers(uint16_t request)
{
	return request == CHANNEL_REQUESTS_START || request == CHANNEL_REQUESTS_STOP;
}

void requests_reset(void)
{
	tracked = false;
}

uint32_t requests_left(void)
{
	return tracked ? CHANNEL_LEFT_TRACKING : 0;
}

bool requests_running(void)
{
	return atomic_load(&on);
}

static struct follow_now follow_now(void)
{
	return (struct follow_now){now_ns(), now_of(CLOCK_PROCESS_CPUTIME_ID), atomic_load(&seen.started) + atomic_load(&call_events) / 2, false};
}

static hresult begin_following(const char **message)
{
	atomic_store(&counting, true);
	hresult hr = event_pipe_start(the_info, always, sizeof always / sizeof *always, on_request_event, message);
	atomic_store(&counting, hr >= 0);
	tracked |= hr >= 0;
	return hr;
}

static hresult requests_begin(void *info, const char **message)
{
	*message = "requests are watched already";
	if (requests_running())
		return COR_HR(0x80070000u | EALREADY);
	shape_table_reset();
	request_table_reset(&requests_open);
	request_calls_reset();
	request_send_reset();
	answers_reset();
	grpc_methods_reset();
	grpc_methods_learn(info);
	seen = (struct rest_told){0};
	atomic_store(&untracked, 0);
	atomic_store(&malformed, 0);
	atomic_store(&last_number, 0);
	atomic_store(&call_events, 0);
	the_info = info;
	rest_watch_reset(&seen);
	open_unfollowed = REST_NOT_COUNTED;
	began_ns = now_ns(); /* what comes while the runtime makes ready may be followed: it is not counted as there before */
	hresult hr = begin_following(message);
	const struct follow_now now = follow_now();
	atomic_store(&on, hr >= 0);
	follow_plan_init(&follow, &now);
	open_sent_ns = now.ns;
	budget = (struct event_budget){SWITCHES_BURST, SWITCHES_BURST};
	window_dropped = rest_until_ns = held.ns = 0;
	return hr;
}

/* A window of switches begins when the runtime has agreed. */
static void begin_window(void)
{
	const char *message;

	if (event_pipe_start_second(the_info, sometimes, sizeof sometimes / sizeof *sometimes, &message) < 0) {
		rest_until_ns = now_ns() + RETRY_NS;
		return;
	}
	window_switches = atomic_load(&switches);
	window_cpu_ns = now_of(CLOCK_PROCESS_CPUTIME_ID);
	window_ns = now_ns();
	atomic_store(&told_from_ns, window_ns);
	atomic_store(&switching, true);
}

/* What it told so far is one window; returns for how long none is to be told after it. */
static uint64_t end_window(struct channel_io *io, uint64_t now)
{
	uint64_t cpu = now_of(CLOCK_PROCESS_CPUTIME_ID), told = difference(atomic_load(&switches), window_switches), length = difference(now, window_ns);
	uint64_t of_cpu = SWITCHES_PER_CPU_SECOND * (difference(cpu, window_cpu_ns) / 1000) / 1000000, always_so = SWITCHES_ALWAYS * (length / 1000) / 1000000;

	if (request_send_dropped_switches() == window_dropped)
		request_send_window(io, window_ns, now);
	window_dropped = request_send_dropped_switches();
	window_ns = now;
	window_cpu_ns = cpu;
	window_switches += told;
	return event_budget_spend(&budget, told, of_cpu > always_so ? of_cpu : always_so, length);
}

static void tick_window(struct channel_io *io, uint64_t now)
{
	if (!atomic_load(&switching)) {
		if (now >= rest_until_ns)
			begin_window();
		return;
	}
	if (difference(now, window_ns) < WINDOW_NS && difference(atomic_load(&switches), window_switches) < SWITCHES_OF_WINDOW)
		return;
	uint64_t rest_ns = end_window(io, now);
	if (!rest_ns) {
		await_events_nudge(the_info);
		return;
	}
	atomic_store(&switching, false);
	event_pipe_stop_second(the_info);
	request_calls_end_window();
	rest_until_ns = now_ns() + rest_ns;
}

static void stop_window(struct channel_io *io, uint64_t now)
{
	if (atomic_exchange(&switching, false))
		end_window(io, now);
}

void requests_hold(void)
{
	if (!atomic_load(&counting))
		return;
	held = follow_now();
	atomic_store(&switching, false);
	atomic_store(&counting, false);
	event_pipe_stop(the_info);
}

/* The plan has just ended that round. What is under way will end unseen. */
static void begin_rest(struct channel_io *io, const struct follow_round *round, bool counted)
{
	uint64_t rest_requests = rest_watch_count(), now = follow.since.ns;

	request_send_open(io, now);
	stop_window(io, now);
	atomic_store(&counting, false);
	event_pipe_stop(the_info);
	request_send_all(io);
	request_table_reset(&requests_open);
	request_calls_reset();
	rest_watch_rest(the_info, counted, now);
	request_send_round(io, round, rest_requests);
	held.ns = 0;
}

static void end_hold(struct channel_io *io)
{
	struct follow_round round;

	follow_plan_break(&follow, &held, &round);
	begin_rest(io, &round, false);
}

static void end_rest(void)
{
	const char *message;

	if (begin_following(&message) < 0) {
		follow_plan_postpone(&follow, RETRY_NS);
		return;
	}
	const struct follow_now now = follow_now();
	follow_plan_resumed(&follow, &now);
	rest_watch_round(the_info);
}

static void note_slow(void *now, const struct request *r)
{
	struct follow_now *n = now;
	n->slow |= n->ns > r->start_ns && n->ns - r->start_ns >= FOLLOW_SLOW_NS;
}

static void tick_following(struct channel_io *io)
{
	struct follow_now now = follow_now();
	struct follow_round round;

	if (follow_plan_asks(&follow, &now))
		request_table_each(&requests_open, note_slow, &now);
	switch (follow_plan_step(&follow, &now, &round)) {
	case FOLLOW_GO_ON:
		return;
	case FOLLOW_ROUND:
		request_send_round(io, &round, rest_watch_count());
		return;
	case FOLLOW_REST:
		begin_rest(io, &round, follow_plan_counts(&round));
		return;
	case FOLLOW_RESUME:
		end_rest();
	}
}

void requests_tick(struct channel_io *io)
{
	request_send_all(io);
	answers_send(io);
	grpc_methods_tick(the_info, now_ns());
	if (held.ns)
		end_hold(io);
	tick_following(io);
	if (follow.resting || held.ns)
		return;
	uint64_t now = now_ns();
	answers_look(io, now);
	tick_window(io, now);
	if (difference(now, open_sent_ns) < OPEN_ROUND_NS)
		return;
	open_sent_ns = now;
	request_send_open(io, now);
}

static void send_unanswered(struct channel_io *io)
{
	struct unanswered u;

	unanswered_find(began_ns, &u);
	const struct channel_requests_unanswered v = {u.connections, u.oldest_ns};
	channel_put_requests_unanswered(channel_io_begin(io, CHANNEL_REQUESTS_UNANSWERED), &v);
	channel_io_end(io);
}

void requests_stop(void *info, struct channel_io *io)
{
	if (!requests_running())
		return;
	if (held.ns)
		end_hold(io);
	const struct follow_now now = follow_now();
	struct follow_round round;

	if (!follow.resting)
		request_send_open(io, now.ns);
	send_unanswered(io);
	stop_window(io, now.ns);
	if (follow.resting)
		rest_watch_round(info);
	uint64_t rest_requests = rest_watch_count();
	open_unfollowed = rest_watch_in_flight(!follow.resting);
	event_pipe_stop(info);
	atomic_store(&counting, false);
	request_send_all(io);
	answers_send(io);
	follow_plan_end(&follow, &now, &round);
	request_send_round(io, &round, rest_requests);
	atomic_store(&on, false);
}

static void send_requests_state(struct channel_io *io)
{
	struct channel_requests_state s = {
		.running = requests_running(),
		.started = atomic_load(&seen.started),
		.ended = atomic_load(&seen.ended),
		.untracked = atomic_load(&untracked),
		.older = atomic_load(&seen.older),
		.dropped = request_send_dropped(),
		.malformed = atomic_load(&malformed),
		.open_unfollowed = open_unfollowed,
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
	if (hr >= 0)
		send_requests_state(io);
	else
		channel_io_refuse(io, request->type, (uint32_t)hr, message);
	return true;
}
