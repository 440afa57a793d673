/* Context: CLR callback and own thread. */
#include "profiler/requests/request_table.h"

#include <stddef.h>

#define TAKEN 1 /* a key that no path has: its first byte is not 0 */

struct place {
	_Atomic uint64_t high; /* 0: free; TAKEN: being written */
	_Atomic uint64_t start_ns;
	_Atomic uint32_t low, number, shape, tid;
	_Atomic uint32_t end; /* status, and the stream above it */
};

struct request_table {
	struct place *places;
	unsigned buckets;
};

static struct place request_places[REQUEST_BUCKETS * REQUEST_BUCKET], call_places[CALL_BUCKETS * REQUEST_BUCKET];
struct request_table requests_open = {request_places, REQUEST_BUCKETS}, calls_open = {call_places, CALL_BUCKETS};

static struct place *bucket_of(const struct request_table *t, struct activity_path p)
{
	uint64_t h = (p.high ^ p.low * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;

	return &t->places[(h >> 40) % t->buckets * REQUEST_BUCKET];
}

static bool is_usable(struct activity_path p)
{
	return p.high & 0xff;
}

static struct place *find_place(const struct request_table *t, struct activity_path p)
{
	struct place *bucket = bucket_of(t, p);

	for (unsigned i = 0; i < REQUEST_BUCKET; i++)
		if (atomic_load_explicit(&bucket[i].high, memory_order_acquire) == p.high &&
		    atomic_load_explicit(&bucket[i].low, memory_order_relaxed) == p.low)
			return &bucket[i];
	return 0;
}

bool request_table_put(struct request_table *t, struct activity_path p, const struct request *r)
{
	struct place *bucket = bucket_of(t, p);

	if (!is_usable(p) || find_place(t, p))
		return false;
	for (unsigned i = 0; i < REQUEST_BUCKET; i++) {
		struct place *to = &bucket[i];
		uint64_t is_free = 0;
		if (!atomic_compare_exchange_strong_explicit(&to->high, &is_free, TAKEN, memory_order_acquire, memory_order_relaxed))
			continue;
		atomic_store_explicit(&to->low, p.low, memory_order_relaxed);
		atomic_store_explicit(&to->number, r->number, memory_order_relaxed);
		atomic_store_explicit(&to->shape, r->shape, memory_order_relaxed);
		atomic_store_explicit(&to->tid, r->tid, memory_order_relaxed);
		atomic_store_explicit(&to->end, r->status | (uint32_t)r->stream << 16, memory_order_relaxed);
		atomic_store_explicit(&to->start_ns, r->start_ns, memory_order_relaxed);
		atomic_store_explicit(&to->high, p.high, memory_order_release);
		return true;
	}
	return false;
}

static struct request read_place(struct place *from)
{
	uint32_t end = atomic_load_explicit(&from->end, memory_order_relaxed);

	return (struct request){
		.number = atomic_load_explicit(&from->number, memory_order_relaxed),
		.shape = atomic_load_explicit(&from->shape, memory_order_relaxed),
		.tid = atomic_load_explicit(&from->tid, memory_order_relaxed),
		.status = (uint16_t)end,
		.stream = (uint8_t)(end >> 16),
		.start_ns = atomic_load_explicit(&from->start_ns, memory_order_relaxed),
	};
}

bool request_table_take(struct request_table *t, struct activity_path p, struct request *out)
{
	struct place *from = is_usable(p) ? find_place(t, p) : 0;
	uint64_t high = p.high;

	if (!from)
		return false;
	*out = read_place(from);
	return atomic_compare_exchange_strong_explicit(&from->high, &high, 0, memory_order_release, memory_order_relaxed);
}

uint32_t request_table_end(struct request_table *t, struct activity_path p, uint16_t status, uint8_t stream)
{
	struct place *at = 0;

	if (is_usable(p))
		do
			at = find_place(t, p);
		while (!at && activity_path_parent(&p));
	if (!at)
		return 0;
	uint32_t known = atomic_load_explicit(&at->end, memory_order_relaxed) >> 16;
	atomic_store_explicit(&at->end, status | (known ? known : stream) << 16, memory_order_relaxed);
	return atomic_load_explicit(&at->shape, memory_order_relaxed);
}

bool request_table_peek(struct request_table *t, struct activity_path p, struct request *out)
{
	if (!is_usable(p))
		return false;
	do {
		struct place *at = find_place(t, p);
		if (at)
			*out = read_place(at);
		if (at && atomic_load_explicit(&at->high, memory_order_acquire) == p.high)
			return true;
	} while (activity_path_parent(&p));
	return false;
}

uint32_t request_table_find(struct request_table *t, struct activity_path p)
{
	if (!is_usable(p))
		return 0;
	do {
		struct place *at = find_place(t, p);
		uint32_t number = at ? atomic_load_explicit(&at->number, memory_order_relaxed) : 0;
		if (at && atomic_load_explicit(&at->high, memory_order_acquire) == p.high)
			return number;
	} while (activity_path_parent(&p));
	return 0;
}

void request_table_each(struct request_table *t, request_table_fn *fn, void *ctx)
{
	for (size_t i = 0; i < (size_t)t->buckets * REQUEST_BUCKET; i++) {
		struct place *at = &t->places[i];
		uint64_t high = atomic_load_explicit(&at->high, memory_order_acquire);
		if (!high || high == TAKEN)
			continue;
		struct request r = read_place(at);
		if (atomic_load_explicit(&at->high, memory_order_acquire) == high)
			fn(ctx, &r);
	}
}

void request_table_drop(struct request_table *t, uint8_t stream)
{
	for (size_t i = 0; i < (size_t)t->buckets * REQUEST_BUCKET; i++) {
		struct place *at = &t->places[i];
		uint64_t high = atomic_load_explicit(&at->high, memory_order_acquire);
		if (high && high != TAKEN && atomic_load_explicit(&at->end, memory_order_relaxed) >> 16 == stream)
			atomic_compare_exchange_strong_explicit(&at->high, &high, 0, memory_order_release, memory_order_relaxed);
	}
}

void request_table_reset(struct request_table *t)
{
	for (size_t i = 0; i < (size_t)t->buckets * REQUEST_BUCKET; i++)
		atomic_store_explicit(&t->places[i].high, 0, memory_order_relaxed);
}
