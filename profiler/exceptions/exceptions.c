/* Context: CLR callback (on_exception_event) and own thread. */
#include "profiler/exceptions/exceptions.h"

#include "profiler/allocs/alloc_round.h"
#include "profiler/base/now.h"
#include "profiler/clr/event_mask.h"
#include "profiler/clr/event_pipe.h"
#include "profiler/base/event_budget.h"
#include "profiler/exceptions/throw_sites.h"
#include "profiler/exceptions/throw_slots.h"
#include "profiler/stacks/own_stack.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#define EXCEPTION_KEYWORD 0x8000u
#define LEVEL_ERROR 2
#define LEVEL_INFORMATIONAL 4         /* the catch blocks, too */
#define MOST_PER_CPU_SECOND 4000u     /* throws and catches: one of each costs the runtime and us 5 to 10 us, so this is 1 to 2% of its CPU time */
#define ALWAYS_PER_SECOND 4000u       /* so many are taken whatever they are of its CPU time */
#define BURST 16000                   /* may be taken at once */
#define RETRY_NS 2000000000u          /* where the runtime would not tell of events */

static _Atomic bool on;
static _Atomic bool counting; /* what comes while an EventPipe session starts and stops is of no known time */
static uint32_t wanted;
static bool resting;          /* no EventPipe session: enough was taken for the moment */
static uint64_t counted_ns;   /* when counts were sent last */
static uint64_t sampling_ns;  /* since when events are taken */
static uint64_t round_cpu_ns; /* CPU time of the process when this round began */
static uint64_t rest_until_ns;
static uint64_t covered_sum_ns, sampled_sum_ns, cpu_sum_ns;
static struct event_budget budget;

static const wchar16 runtime_provider[] = u"Microsoft-Windows-DotNETRuntime";
static const struct cor_event_provider throws_provider = {runtime_provider, EXCEPTION_KEYWORD, LEVEL_ERROR, NULL};
static const struct cor_event_provider catches_provider = {runtime_provider, EXCEPTION_KEYWORD, LEVEL_INFORMATIONAL, NULL};

/* CLR callback ---------------------------------------------------------------------------------------------------------------- */

static void on_exception_event(const struct event_pipe_event *e)
{
	struct exception_thrown thrown;

	if (!atomic_load_explicit(&counting, memory_order_relaxed))
		return;
	if (e->id == EXCEPTION_CATCH_START) {
		uint64_t address = exception_catch_read(e->data, e->len);
		if (address)
			throw_sites_caught(address, e->time_ns);
	} else if (e->id == EXCEPTION_THROWN) {
		if (exception_thrown_read(e->version, e->data, e->len, &thrown))
			throw_sites_thrown(&thrown, e->time_ns);
		else
			throw_sites_malformed();
	}
}

/* Own thread ------------------------------------------------------------------------------------------------------------------ */

void exceptions_reset(void)
{
	throw_sites_reset(wanted);
	counted_ns = covered_sum_ns = sampled_sum_ns = cpu_sum_ns = 0;
	resting = false;
	budget = (struct event_budget){BURST, BURST};
}

bool exceptions_answers(uint16_t request)
{
	return request == CHANNEL_EXCEPTIONS_START || request == CHANNEL_EXCEPTIONS_STOP;
}

bool exceptions_running(void)
{
	return atomic_load(&on);
}

static hresult begin_watching(void *info, const char **message)
{
	const struct cor_event_provider *provider = wanted & CHANNEL_EXCEPTIONS_CATCHERS ? &catches_provider : &throws_provider;

	throw_slots_begin();
	hresult hr = event_pipe_start(info, provider, 1, on_exception_event, message);

	sampling_ns = now_ns();
	round_cpu_ns = now_of(CLOCK_PROCESS_CPUTIME_ID);
	resting = hr < 0;
	atomic_store(&counting, hr >= 0);
	return hr;
}

static hresult exceptions_begin(void *info, uint32_t what, const char **message)
{
	*message = "exceptions are watched already";
	if (exceptions_running())
		return COR_HR(0x80070000u | EALREADY);
	wanted = what & (CHANNEL_EXCEPTIONS_REVEAL | CHANNEL_EXCEPTIONS_CATCHERS);
	exceptions_reset();
	*message = "SetEventMask2 refused to allow stack snapshots";
	hresult hr = event_mask_add(info, COR_ENABLE_STACK_SNAPSHOT, 0);
	if (hr < 0)
		return hr;
	own_stack_prepare(info);
	atomic_store(&on, true);
	hr = begin_watching(info, message);
	counted_ns = sampling_ns;
	if (hr < 0) {
		atomic_store(&on, false);
		event_mask_remove(info, COR_ENABLE_STACK_SNAPSHOT, 0);
	}
	return hr;
}

/* Ends a round; returns for how long nothing is to be taken after it. */
static uint64_t end_exceptions_round(struct channel_io *io, uint64_t now)
{
	uint64_t cpu = now_of(CLOCK_PROCESS_CPUTIME_ID);
	struct channel_alloc_round r = alloc_round_of(counted_ns, sampling_ns, now);

	if (!r.sampled_ns)
		return 0;
	throw_sites_send_new(io);
	uint64_t samples = throw_sites_send_counts(io, &r);
	uint64_t of_cpu = MOST_PER_CPU_SECOND * (cpu - round_cpu_ns) / 1000000000u, always = ALWAYS_PER_SECOND * r.sampled_ns / 1000000000u;
	covered_sum_ns += r.covered_ns;
	sampled_sum_ns += r.sampled_ns;
	cpu_sum_ns += cpu - round_cpu_ns;
	counted_ns = now;
	round_cpu_ns = cpu;
	return event_budget_spend(&budget, samples, of_cpu > always ? of_cpu : always, r.sampled_ns);
}

/* Nothing is counted any more, and what was is told. */
static void end_watching(void *info, struct channel_io *io)
{
	atomic_store(&counting, false);
	uint64_t now = now_ns();
	event_pipe_stop(info);
	end_exceptions_round(io, now);
}

/* Not the same time each time, so that nothing keeps step with it. */
static void rest_from_exceptions(void *info, struct channel_io *io, uint64_t ns)
{
	end_watching(info, io);
	uint64_t now = now_ns();

	resting = true;
	rest_until_ns = now + ns / 4 * 3 + (now * 0x9e3779b97f4a7c15u >> 32) % (ns / 2 + 1);
}

static void *the_info; /* while it runs */

void exceptions_tick(struct channel_io *io)
{
	const char *message;
	uint64_t now = now_ns();

	own_stack_tick();
	if (resting) {
		if (now >= rest_until_ns && begin_watching(the_info, &message) < 0)
			rest_until_ns = now + RETRY_NS;
		return;
	}
	throw_sites_send_new(io);
	if (now - counted_ns < ALLOC_ROUND_NS || now - sampling_ns < ALLOC_ROUND_NS)
		return;
	uint64_t rest_ns = end_exceptions_round(io, now);
	if (rest_ns)
		rest_from_exceptions(the_info, io, rest_ns);
}

void exceptions_stop(void *info, struct channel_io *io)
{
	if (!exceptions_running())
		return;
	if (!resting)
		end_watching(info, io);
	atomic_store(&on, false);
	event_mask_remove(info, COR_ENABLE_STACK_SNAPSHOT, 0);
}

static void send_exceptions_state(struct channel_io *io)
{
	struct channel_exceptions_state s = {
		.running = exceptions_running(),
		.covered_ns = covered_sum_ns,
		.sampled_ns = sampled_sum_ns,
		.cpu_ns = cpu_sum_ns,
	};

	throw_sites_state(&s);
	channel_put_exceptions_state(channel_io_begin(io, CHANNEL_EXCEPTIONS_STATE), &s);
	channel_io_end(io);
}

bool exceptions_answer(void *info, const struct channel_frame *request, struct channel_io *io)
{
	struct wire_reader r;
	const char *message = NULL;

	if (request->type == CHANNEL_EXCEPTIONS_STOP) {
		exceptions_stop(info, io);
		send_exceptions_state(io);
		return true;
	}
	wire_reader_init(&r, request->payload, request->len);
	uint32_t what = wire_u32(&r);
	if (r.bad)
		return false;
	the_info = info;
	hresult hr = exceptions_begin(info, what, &message);
	if (hr >= 0) {
		send_exceptions_state(io);
		return true;
	}
	struct channel_error e = {.request = request->type, .code = (uint32_t)hr, .message = {message, strlen(message)}};
	channel_put_error(channel_io_begin(io, CHANNEL_ERROR), &e);
	channel_io_end(io);
	return true;
}
