/* Context: signal handler (put) and own thread (take). */
#include "profiler/stacks/sample_ring.h"

#include "common/proto/difference.h"

#define AT(r, i) (&(r)->words[(i) & (SAMPLE_RING_WORDS - 1)])

/* What it copies may be a part of the thread's stack, of which a sanitizer believes that nobody should read it. */
__attribute__((no_sanitize("address"))) WRAPS bool sample_ring_put(struct sample_ring *r, const uint64_t *a, size_t a_len, const uint64_t *b, size_t b_len)
{
	uint64_t len = a_len + b_len;
	uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);

	do { /* a producer that lost its CPU may have a head which the consumer has passed: the difference is below 0 then, and the exchange fails */
		if ((int64_t)(head + 1 + len - atomic_load_explicit(&r->tail, memory_order_acquire)) > (int64_t)SAMPLE_RING_WORDS) {
			atomic_fetch_add_explicit(&r->dropped, 1, memory_order_relaxed);
			return false;
		}
	} while (!atomic_compare_exchange_weak_explicit(&r->head, &head, head + 1 + len, memory_order_relaxed, memory_order_relaxed));
	for (size_t i = 0; i < a_len; i++)
		atomic_store_explicit(AT(r, head + 1 + i), a[i], memory_order_relaxed);
	for (size_t i = 0; i < b_len; i++)
		atomic_store_explicit(AT(r, head + 1 + a_len + i), b[i], memory_order_relaxed);
	atomic_store_explicit(AT(r, head), len + 1, memory_order_release);
	return true;
}

size_t sample_ring_used(struct sample_ring *r)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed); /* first: the head is never behind it */
	return difference(atomic_load_explicit(&r->head, memory_order_relaxed), tail);
}

size_t sample_ring_take(struct sample_ring *r, uint64_t *out, size_t cap)
{
	uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
	uint64_t header = atomic_load_explicit(AT(r, tail), memory_order_acquire);

	if (header == 0)
		return 0;
	uint64_t len = header - 1;
	bool fits = len <= cap;
	for (uint64_t i = 0; i < header; i++) {
		if (i > 0 && fits)
			out[i - 1] = atomic_load_explicit(AT(r, tail + i), memory_order_relaxed);
		atomic_store_explicit(AT(r, tail + i), 0, memory_order_relaxed);
	}
	atomic_store_explicit(&r->tail, tail + header, memory_order_release);
	if (fits)
		return (size_t)len;
	atomic_fetch_add_explicit(&r->dropped, 1, memory_order_relaxed);
	return sample_ring_take(r, out, cap);
}
