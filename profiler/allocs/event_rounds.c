/* Context: own thread, and CLR callback (event_rounds_counting). */
#include "profiler/allocs/event_rounds.h"

#include "common/proto/difference.h"
#include "profiler/allocs/alloc_round.h"
#include "profiler/allocs/site_store.h"
#include "profiler/base/now.h"
#include "profiler/clr/event_mask.h"
#include "profiler/clr/event_pipe.h"
#include "profiler/stacks/own_stack.h"

#define RETRY_NS 2000000000u /* where the runtime would not tell of events again */

void event_rounds_reset(struct event_rounds *r)
{
	r->counted_ns = r->covered_sum_ns = r->sampled_sum_ns = r->cpu_sum_ns = 0;
	r->held_ns = 0;
	r->resting = false;
}

bool event_rounds_running(const struct event_rounds *r)
{
	return atomic_load(&r->on);
}

bool event_rounds_counting(const struct event_rounds *r)
{
	return atomic_load_explicit(&r->counting, memory_order_relaxed);
}

static hresult begin_sampling(struct event_rounds *r, const char **message)
{
	hresult hr = r->listen(r->info, message);

	r->sampling_ns = now_ns();
	r->round_cpu_ns = now_of(CLOCK_PROCESS_CPUTIME_ID);
	r->resting = hr < 0;
	atomic_store(&r->counting, hr >= 0);
	return hr;
}

hresult event_rounds_begin(struct event_rounds *r, void *info, const char **message)
{
	*message = "SetEventMask2 refused to allow stack snapshots";
	hresult hr = event_mask_add(info, COR_ENABLE_STACK_SNAPSHOT, 0);
	if (hr < 0)
		return hr;
	r->info = info;
	own_stack_prepare(info);
	atomic_store(&r->on, true);
	hr = begin_sampling(r, message);
	r->counted_ns = r->sampling_ns;
	if (hr < 0) {
		atomic_store(&r->on, false);
		event_mask_remove(info, COR_ENABLE_STACK_SNAPSHOT, 0);
	}
	return hr;
}

/* What was taken in this round stands for all of the time since the last one. Returns for how long nothing is to be taken after it. */
static uint64_t end_round(struct event_rounds *r, struct channel_io *io, uint64_t now, uint64_t cpu)
{
	struct channel_alloc_round round = alloc_round_of(r->counted_ns, r->sampling_ns, now);

	if (!round.sampled_ns)
		return 0;
	r->send_new(io);
	uint64_t events = site_store_send_counts(io, r->counts, &round);
	uint64_t of_cpu = r->most_per_cpu_second * difference(cpu, r->round_cpu_ns) / 1000000000u;
	uint64_t always = r->always_per_second * round.sampled_ns / 1000000000u;
	r->covered_sum_ns += round.covered_ns;
	r->sampled_sum_ns += round.sampled_ns;
	r->cpu_sum_ns += difference(cpu, r->round_cpu_ns);
	r->counted_ns = now;
	r->round_cpu_ns = cpu;
	return r->rest_ns(events, of_cpu > always ? of_cpu : always, round.sampled_ns);
}

void event_rounds_hold(struct event_rounds *r)
{
	if (!atomic_exchange(&r->counting, false))
		return;
	r->held_ns = now_ns();
	r->held_cpu_ns = now_of(CLOCK_PROCESS_CPUTIME_ID);
	event_pipe_stop(r->info);
}

/* Nothing is counted any more, and what was is told. */
static void rest_from_now(struct event_rounds *r, struct channel_io *io, uint64_t rest_ns)
{
	event_rounds_hold(r);
	end_round(r, io, r->held_ns, r->held_cpu_ns);
	r->held_ns = 0;
	r->resting = true;
	r->rest_until_ns = now_ns() + rest_ns;
}

WRAPS uint64_t event_rounds_about(uint64_t ns)
{
	return ns / 4 * 3 + (now_ns() * 0x9e3779b97f4a7c15u >> 32) % (ns / 2 + 1);
}

void event_rounds_tick(struct event_rounds *r, struct channel_io *io)
{
	const char *message;
	uint64_t now = now_ns();

	own_stack_tick();
	if (r->resting) {
		if (now >= r->rest_until_ns && begin_sampling(r, &message) < 0)
			r->rest_until_ns = now + RETRY_NS;
		return;
	}
	r->send_new(io);
	if (!r->held_ns && (difference(now, r->counted_ns) < ALLOC_ROUND_NS || difference(now, r->sampling_ns) < ALLOC_ROUND_NS))
		return;
	uint64_t rest_ns = r->held_ns ? end_round(r, io, r->held_ns, r->held_cpu_ns) : end_round(r, io, now, now_of(CLOCK_PROCESS_CPUTIME_ID));
	if (rest_ns || r->held_ns)
		rest_from_now(r, io, rest_ns);
}

void event_rounds_stop(struct event_rounds *r, void *info, struct channel_io *io)
{
	if (!event_rounds_running(r))
		return;
	if (!r->resting)
		rest_from_now(r, io, 0);
	atomic_store(&r->on, false);
	event_mask_remove(info, COR_ENABLE_STACK_SNAPSHOT, 0);
}
