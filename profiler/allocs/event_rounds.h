/* The turns of taking events of an EventPipe session and resting from it, where they are many: what comes in a round is counted by site (site_store.h), and a
 * round stands for all of the time since the one before. All on our own thread but event_rounds_counting(). */
#ifndef DRDOTNET_EVENT_ROUNDS_H
#define DRDOTNET_EVENT_ROUNDS_H

#include "profiler/base/channel_io.h"
#include "profiler/clr/cor_abi.h"

#include <stdatomic.h>

struct event_rounds {
	/* Whose events, set once. */
	hresult (*listen)(void *info, const char **message); /* begins the EventPipe session */
	void (*send_new)(struct channel_io *io);
	uint16_t counts; /* the type of the frames with counts */
	/* For how long no events are to be taken after a round of round_ns with so many, where `allowed` may be; 0: go on. */
	uint64_t (*rest_ns)(uint64_t events, uint64_t allowed, uint64_t round_ns);
	uint32_t most_per_cpu_second; /* may be taken: of the process's CPU time */
	uint32_t always_per_second;   /* and so many whatever they are of it */

	/* Its own. */
	_Atomic bool on;
	_Atomic bool counting; /* what comes while an EventPipe session starts and stops is of no known time */
	bool resting;          /* no EventPipe session: enough was taken for the moment */
	void *info;
	uint64_t counted_ns;   /* when counts were sent last */
	uint64_t sampling_ns;  /* since when events are taken */
	uint64_t round_cpu_ns; /* CPU time of the process when this round began */
	uint64_t rest_until_ns;
	uint64_t held_ns, held_cpu_ns; /* since when the agent keeps us waiting; 0: it does not */
	uint64_t covered_sum_ns, sampled_sum_ns, cpu_sum_ns;
};

void event_rounds_reset(struct event_rounds *r);
bool event_rounds_running(const struct event_rounds *r);
/* Any thread: whether events count now. */
bool event_rounds_counting(const struct event_rounds *r);

/* Allows stacks and takes events from now on. After event_rounds_reset(). */
hresult event_rounds_begin(struct event_rounds *r, void *info, const char **message);
/* Every EVENT_ROUNDS_TICK_MS. */
void event_rounds_tick(struct event_rounds *r, struct channel_io *io);
/* The agent takes nothing: ends the EventPipe session, and sends nothing. The next tick begins a rest with it. */
void event_rounds_hold(struct event_rounds *r);
/* Ends the EventPipe session and sends what is left. Nothing when none runs. */
void event_rounds_stop(struct event_rounds *r, void *info, struct channel_io *io);
#define EVENT_ROUNDS_TICK_MS 50

/* About as long; not the same each time, so that nothing keeps step with it. */
uint64_t event_rounds_about(uint64_t ns);

#endif
