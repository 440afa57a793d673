#include "agent/locks/lock_object.h"

#define HELD 1u
#define WAITERS_SHIFT 7

struct lock_object { /* as it lies in memory */
	uint64_t type, wait_event;
	uint32_t owner, state, recursion, spins;
};

bool lock_object_read(const struct process_memory *m, uint64_t object, const struct managed_threads *threads, struct monitor *out)
{
	struct lock_object o;
	if (!process_memory_whole(m, object, &o, sizeof o))
		return false;
	uint32_t owner = o.state & HELD ? o.owner : 0;
	*out = (struct monitor){
		.kind = LOCK_KIND_LOCK,
		.object = object,
		.type = o.type & ~UINT64_C(7),
		.owner = owner && threads->own_locks_by_managed_id ? managed_threads_inner_tid(threads, owner) : owner,
		.recursion = o.recursion,
		.waiters = o.state >> WAITERS_SHIFT,
	};
	return out->waiters <= THREAD_WAITS_MAX;
}
