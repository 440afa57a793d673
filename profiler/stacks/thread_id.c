/* Context: CLR callback (now) and own thread (reset). */
#include "profiler/stacks/thread_id.h"

#include "common/proto/difference.h"
#include "profiler/stacks/frame_walk.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TABLE_BITS 8
#define BEING_WRITTEN 1

static struct entry {
	_Atomic uintptr_t thread; /* its pointer; 0: none */
	_Atomic uint64_t value;   /* id << 32 | milliseconds until which it is believed */
} table[1u << TABLE_BITS];

WRAPS uint32_t thread_id_now(uint64_t now_ns)
{
	uintptr_t tp = frame_walk_thread_pointer();
	struct entry *e = &table[(uint64_t)tp * 0x9e3779b97f4a7c15u >> (64 - TABLE_BITS)];
	uint32_t now_ms = (uint32_t)(now_ns / 1000000);

	uintptr_t there = atomic_load_explicit(&e->thread, memory_order_acquire);
	if (there == tp) {
		uint64_t value = atomic_load_explicit(&e->value, memory_order_acquire);
		bool same = atomic_load_explicit(&e->thread, memory_order_relaxed) == tp;
		if (same && (uint32_t)value - now_ms <= THREAD_ID_KEEP_MS)
			return (uint32_t)(value >> 32);
	}
	uint32_t tid = (uint32_t)syscall(SYS_gettid);
	if (there == BEING_WRITTEN || !atomic_compare_exchange_strong(&e->thread, &there, BEING_WRITTEN))
		return tid;
	atomic_store(&e->value, (uint64_t)tid << 32 | (uint32_t)(now_ms + THREAD_ID_KEEP_MS));
	atomic_store(&e->thread, tp);
	return tid;
}

void thread_id_reset(void)
{
	for (unsigned i = 0; i < 1u << TABLE_BITS; i++)
		atomic_store(&table[i].thread, 0);
}
