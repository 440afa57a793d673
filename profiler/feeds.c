/* Context: own thread. */
#include "profiler/feeds.h"

#include "common/proto/channel_exceptions.h"
#include "profiler/allocs/allocs.h"
#include "profiler/exceptions/exceptions.h"
#include "profiler/requests/requests.h"

#include <errno.h>

void feeds_reset(void)
{
	allocs_reset();
	exceptions_reset();
	requests_reset();
}

static bool allocs_answers(uint16_t request)
{
	return request == CHANNEL_ALLOCS_START || request == CHANNEL_ALLOCS_STOP;
}

bool feeds_answers(uint16_t request)
{
	return allocs_answers(request) || exceptions_answers(request) || requests_answers(request);
}

/* They share their memory (profiler/allocs/site_store.h) and the one EventPipe session. */
static bool other_runs(uint16_t request)
{
	return (request == CHANNEL_ALLOCS_START && (exceptions_running() || requests_running())) ||
	       (request == CHANNEL_EXCEPTIONS_START && (allocs_running() || requests_running())) ||
	       (request == CHANNEL_REQUESTS_START && (allocs_running() || exceptions_running()));
}

bool feeds_answer(void *info, const struct channel_frame *request, struct channel_io *io)
{
	if (other_runs(request->type))
		return channel_io_refuse(io, request->type, EBUSY, "allocations, exceptions and requests cannot be watched at the same time");
	if (requests_answers(request->type))
		return requests_answer(info, request, io);
	return allocs_answers(request->type) ? allocs_answer(info, request, io) : exceptions_answer(info, request, io);
}

int feeds_tick_ms(void)
{
	return allocs_running() ? ALLOCS_TICK_MS : exceptions_running() ? EXCEPTIONS_TICK_MS : requests_running() ? REQUESTS_TICK_MS : -1;
}

void feeds_tick(struct channel_io *io)
{
	if (allocs_running())
		allocs_tick(io);
	if (exceptions_running())
		exceptions_tick(io);
	if (requests_running())
		requests_tick(io);
}

void feeds_hold(void)
{
	allocs_hold();
	exceptions_hold();
	requests_hold();
}

uint32_t feeds_left(void)
{
	return requests_left();
}

void feeds_stop(void *info, struct channel_io *io)
{
	allocs_stop(info, io);
	exceptions_stop(info, io);
	requests_stop(info, io);
}
