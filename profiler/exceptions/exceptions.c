/* Context: CLR callback (on_exception_event) and own thread. */
#include "profiler/exceptions/exceptions.h"

#include "profiler/allocs/event_rounds.h"
#include "profiler/base/event_budget.h"
#include "profiler/clr/event_pipe.h"
#include "profiler/exceptions/throw_sites.h"
#include "profiler/exceptions/throw_slots.h"

#include <errno.h>

#define EXCEPTION_KEYWORD 0x8000u
#define LEVEL_ERROR 2
#define LEVEL_INFORMATIONAL 4         /* the catch blocks, too */
#define MOST_PER_CPU_SECOND 4000u     /* throws and catches: one of each costs the runtime and us 5 to 10 us, so this is 1 to 2% of its CPU time */
#define ALWAYS_PER_SECOND 4000u       /* so many are taken whatever they are of its CPU time */
#define BURST 16000                   /* may be taken at once */

static uint32_t wanted;
static struct event_budget budget;
static struct event_rounds rounds;

static const wchar16 runtime_provider[] = u"Microsoft-Windows-DotNETRuntime";
static const struct cor_event_provider throws_provider = {runtime_provider, EXCEPTION_KEYWORD, LEVEL_ERROR, NULL};
static const struct cor_event_provider catches_provider = {runtime_provider, EXCEPTION_KEYWORD, LEVEL_INFORMATIONAL, NULL};

/* CLR callback ---------------------------------------------------------------------------------------------------------------- */

static void on_exception_event(const struct event_pipe_event *e)
{
	struct exception_thrown thrown;

	if (!event_rounds_counting(&rounds))
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

static hresult listen_to_exceptions(void *info, const char **message)
{
	const struct cor_event_provider *provider = wanted & CHANNEL_EXCEPTIONS_CATCHERS ? &catches_provider : &throws_provider;

	throw_slots_begin();
	return event_pipe_start(info, provider, 1, on_exception_event, message);
}

static uint64_t rest_from_exceptions(uint64_t events, uint64_t allowed, uint64_t round_ns)
{
	uint64_t ns = event_budget_spend(&budget, events, allowed, round_ns);

	return ns ? event_rounds_about(ns) : 0;
}

static struct event_rounds rounds = {
	.listen = listen_to_exceptions,
	.send_new = throw_sites_send_new,
	.counts = CHANNEL_EXCEPTIONS_COUNTS,
	.rest_ns = rest_from_exceptions,
	.most_per_cpu_second = MOST_PER_CPU_SECOND,
	.always_per_second = ALWAYS_PER_SECOND,
};

void exceptions_reset(void)
{
	throw_sites_reset(wanted);
	event_rounds_reset(&rounds);
	budget = (struct event_budget){BURST, BURST};
}

bool exceptions_answers(uint16_t request)
{
	return request == CHANNEL_EXCEPTIONS_START || request == CHANNEL_EXCEPTIONS_STOP;
}

bool exceptions_running(void)
{
	return event_rounds_running(&rounds);
}

static hresult exceptions_begin(void *info, uint32_t what, const char **message)
{
	*message = "exceptions are watched already";
	if (exceptions_running())
		return COR_HR(0x80070000u | EALREADY);
	wanted = what & (CHANNEL_EXCEPTIONS_REVEAL | CHANNEL_EXCEPTIONS_CATCHERS);
	exceptions_reset();
	return event_rounds_begin(&rounds, info, message);
}

void exceptions_tick(struct channel_io *io)
{
	event_rounds_tick(&rounds, io);
}

void exceptions_hold(void)
{
	event_rounds_hold(&rounds);
}

void exceptions_stop(void *info, struct channel_io *io)
{
	event_rounds_stop(&rounds, info, io);
}

static void send_exceptions_state(struct channel_io *io)
{
	struct channel_exceptions_state s = {
		.running = exceptions_running(),
		.covered_ns = rounds.covered_sum_ns,
		.sampled_ns = rounds.sampled_sum_ns,
		.cpu_ns = rounds.cpu_sum_ns,
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
	hresult hr = exceptions_begin(info, what, &message);
	if (hr >= 0) {
		send_exceptions_state(io);
		return true;
	}
	channel_io_refuse(io, request->type, (uint32_t)hr, message);
	return true;
}
