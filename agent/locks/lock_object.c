#include "agent/locks/lock_object.h"

#include <string.h>

#define OWNER 16
#define STATE 20
#define RECURSION 24
#define OBJECT_BYTES 32
#define HELD 1u
#define WAITERS_SHIFT 7

static uint32_t field_at(const uint8_t *object, size_t at)
{
	uint32_t x;
	memcpy(&x, object + at, sizeof x);
	return x;
}

bool lock_object_read(const struct process_memory *m, uint64_t object, const struct managed_threads *threads, struct monitor *out)
{
	uint8_t o[OBJECT_BYTES];
	if (!process_memory_whole(m, object, o, sizeof o))
		return false;
	uint32_t state = field_at(o, STATE), owner = state & HELD ? field_at(o, OWNER) : 0;
	*out = (struct monitor){
		.kind = LOCK_KIND_LOCK,
		.object = object,
		.type = process_memory_word(m, object) & ~UINT64_C(7),
		.owner = owner && threads->own_locks_by_managed_id ? managed_threads_inner_tid(threads, owner) : owner,
		.recursion = field_at(o, RECURSION),
		.waiters = state >> WAITERS_SHIFT,
	};
	return out->waiters <= THREAD_WAITS_MAX;
}
