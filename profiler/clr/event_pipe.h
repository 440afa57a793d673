/* An EventPipe session of the library's own: the runtime calls EventPipeEventDelivered on the thread that has the event, while it
 * happens, with no file, socket or buffer of the runtime between. One session at a time, of up to EVENT_PIPE_PROVIDERS providers, and a second one beside
 * it, which may come and go while the first stays: what costs much is then on for a part of the time only. A third is independent of both, and for what a
 * source does while anybody listens to it: no event of it is delivered.
 * Starting and stopping happen on a thread of its own, which waits between them: the runtime turns the caller of EventPipeStartSession into
 * one of its threads, and on such a thread other calls of the profiling API are refused (GetFunctionFromIP3: 0x80131363). */
#ifndef DRDOTNET_EVENT_PIPE_H
#define DRDOTNET_EVENT_PIPE_H

#include "profiler/clr/cor_abi.h"

#include <stdbool.h>
#include <stddef.h>

#define EVENT_PIPE_PROVIDERS 8 /* of each of the two */

struct event_pipe_event {
	uint32_t provider; /* index into what was asked for; of the second session from EVENT_PIPE_PROVIDERS on, where the first has it not */
	uint32_t id, version;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	const uint8_t *data; /* the payload; until the callback returns */
	size_t len;
	const uint8_t *activity, *related; /* 16 bytes each; NULL: none */
	const uint8_t *metadata; /* u32 id, name in UTF-16 with a NUL, ...; until the callback returns */
	size_t metadata_len;
};

/* On any thread of the application: must not block, allocate or raise a signal. */
typedef void event_pipe_fn(const struct event_pipe_event *e);

/* Own thread. Makes that thread first, if there is none. `providers` and what they point to must stay until the stop. 0, or an HRESULT, then
 * *message says at what. */
hresult event_pipe_start(void *info, const struct cor_event_provider *providers, uint32_t count, event_pipe_fn *on_event,
			 const char **message);
/* Own thread. Afterwards no event is delivered any more (one may be under way: pause_watch_busy()). Nothing when none runs. false: the runtime
 * goes on to make the events, for nobody. */
bool event_pipe_stop(void *info);
/* Own thread, while the first one runs: the second, for the same receiver. Not started or stopped where it is already: nothing. */
hresult event_pipe_start_second(void *info, const struct cor_event_provider *providers, uint32_t count, const char **message);
bool event_pipe_stop_second(void *info);
/* Own thread, after a first one was started once, and while it runs or not: asks for providers at a level at which they have no events. Nothing where that runs
 * already, or does not. */
hresult event_pipe_hold(void *info, const struct cor_event_provider *providers, uint32_t count);
bool event_pipe_release(void *info);
/* Own thread, at the session's end: stops all, and ends the thread. false: a stop failed, now or before. */
bool event_pipe_end(void *info);

/* CLR callback, EventPipeEventDelivered: all of *e is set but its provider. */
void event_pipe_delivered(cor_id provider, struct event_pipe_event *e);

#endif
