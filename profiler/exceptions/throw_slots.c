/* Context: CLR callback (push, pop) and own thread (begin). */
#include "profiler/exceptions/throw_slots.h"

#include "common/proto/difference.h"

#include <stdatomic.h>
#include <string.h>

#define SLOTS_BITS 10
#define SLOTS_SIZE (1u << SLOTS_BITS)
#define PROBES 8
#define NESTED_MAX 4

struct thread_throws {
	_Atomic uintptr_t thread; /* 0: free */
	_Atomic uint32_t count, period;
	_Atomic uint32_t threw; /* the period in which it threw last, 0: none */
	_Atomic uint64_t site[NESTED_MAX], cpu_ns[NESTED_MAX]; /* atomic only because the place may change hands */
};

static struct thread_throws threads[SLOTS_SIZE];
static _Atomic uint32_t period; /* of telling */

static WRAPS uint32_t first_place(uintptr_t thread)
{
	return (uint32_t)((thread >> 4) * 0x9e3779b97f4a7c15u >> (64 - SLOTS_BITS));
}

/* What another period left there is gone. */
static struct thread_throws *in_period(struct thread_throws *t)
{
	uint32_t now = atomic_load_explicit(&period, memory_order_relaxed);

	if (atomic_load_explicit(&t->period, memory_order_relaxed) != now) {
		atomic_store_explicit(&t->count, 0, memory_order_relaxed);
		atomic_store_explicit(&t->period, now, memory_order_relaxed);
	}
	return t;
}

static struct thread_throws *find_thread_throws(uintptr_t thread)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		struct thread_throws *t = &threads[(first_place(thread) + i) % SLOTS_SIZE];
		if (atomic_load_explicit(&t->thread, memory_order_relaxed) == thread)
			return in_period(t);
	}
	return NULL;
}

/* A free place near its own, else its own: who has that may have ended long ago. */
static struct thread_throws *claim_thread_throws(uintptr_t thread)
{
	for (uint32_t i = 0; i < PROBES; i++) {
		struct thread_throws *t = &threads[(first_place(thread) + i) % SLOTS_SIZE];
		uintptr_t none = 0;
		if (atomic_compare_exchange_strong(&t->thread, &none, thread))
			return in_period(t);
	}
	struct thread_throws *t = &threads[first_place(thread)];
	atomic_store(&t->count, 0);
	atomic_store(&t->threw, 0);
	atomic_store(&t->thread, thread);
	return in_period(t);
}

void throw_slots_push(uintptr_t thread, struct throw_slot thrown)
{
	struct thread_throws *t = find_thread_throws(thread);

	if (!t)
		t = claim_thread_throws(thread);
	uint32_t count = atomic_load_explicit(&t->count, memory_order_relaxed);
	if (count >= NESTED_MAX) { /* the oldest one was never caught: one that came later took its place */
		for (uint32_t i = 1; i < NESTED_MAX; i++) {
			atomic_store_explicit(&t->site[i - 1], atomic_load_explicit(&t->site[i], memory_order_relaxed), memory_order_relaxed);
			atomic_store_explicit(&t->cpu_ns[i - 1], atomic_load_explicit(&t->cpu_ns[i], memory_order_relaxed), memory_order_relaxed);
		}
		count = NESTED_MAX - 1;
	}
	atomic_store_explicit(&t->site[count], thrown.site, memory_order_relaxed);
	atomic_store_explicit(&t->cpu_ns[count], thrown.cpu_ns, memory_order_relaxed);
	atomic_store_explicit(&t->count, count + 1, memory_order_relaxed);
	atomic_store_explicit(&t->threw, atomic_load_explicit(&t->period, memory_order_relaxed), memory_order_relaxed);
}

bool throw_slots_threw(uintptr_t thread)
{
	struct thread_throws *t = find_thread_throws(thread);
	uint32_t threw = t ? atomic_load_explicit(&t->threw, memory_order_relaxed) : 0;

	return threw && threw == atomic_load_explicit(&t->period, memory_order_relaxed);
}

bool throw_slots_pop(uintptr_t thread, struct throw_slot *out)
{
	struct thread_throws *t = find_thread_throws(thread);
	uint32_t count = t ? atomic_load_explicit(&t->count, memory_order_relaxed) : 0;

	if (count == 0 || count > NESTED_MAX)
		return false;
	*out = (struct throw_slot){
		.site = atomic_load_explicit(&t->site[count - 1], memory_order_relaxed),
		.cpu_ns = atomic_load_explicit(&t->cpu_ns[count - 1], memory_order_relaxed),
	};
	atomic_store_explicit(&t->count, count - 1, memory_order_relaxed);
	return true;
}

void throw_slots_begin(void)
{
	atomic_fetch_add(&period, 1);
}
