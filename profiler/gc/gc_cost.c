/* Context: CLR callback (started, finished) and own thread. Collections that block do not overlap: what begins is what ends next. */
#include "profiler/gc/gc_cost.h"

#include "common/proto/difference.h"

#include <stdatomic.h>

static _Atomic bool no_background, forcing;
static _Atomic uint64_t begun_ns; /* of the one under way, if it counts; 0: none */
static _Atomic uint64_t count, total_ns;

void gc_cost_reset(bool none)
{
	atomic_store(&no_background, none);
	atomic_store(&forcing, false);
	atomic_store(&begun_ns, 0);
	atomic_store(&count, 0);
	atomic_store(&total_ns, 0);
}

void gc_cost_forcing(bool on)
{
	atomic_store(&forcing, on);
}

struct gc_cost gc_cost_counts(void)
{
	return (struct gc_cost){atomic_load(&count), atomic_load(&total_ns)};
}

void gc_cost_started(uint32_t generation, bool induced, uint64_t now_ns)
{
	bool counts = generation == 2 && (atomic_load(&no_background) || (induced && atomic_load(&forcing)));

	atomic_store(&begun_ns, counts ? now_ns : 0);
}

void gc_cost_finished(uint64_t now_ns)
{
	uint64_t begin_ns = atomic_exchange(&begun_ns, 0);

	if (!begin_ns)
		return;
	atomic_fetch_add(&count, 1);
	atomic_fetch_add(&total_ns, difference(now_ns, begin_ns));
}
