/* Context: CLR callback and own thread. */
#include "profiler/requests/request_table.h"

#include "common/proto/difference.h"

#include <stddef.h>

#define TAKEN 1 /* a key that no path has: its first byte is not 0 */

/* Who reads a place looks at its key before and after: what lies in between has to stay there, and a key that was taken has to be seen by whoever sees
 * what was written behind it. x64 does so by itself; other processors need it said of each load and store of a place. */
#define LOAD memory_order_acquire
#define STORE memory_order_release

/* What a place is looked for by lies together: a search reads one line of the cache where it finds nothing, and two where it does. */
struct bucket {
	_Alignas(64) _Atomic uint64_t high[REQUEST_BUCKET]; /* 0: free; TAKEN: being written */
	struct place {
		_Atomic uint64_t start_ns;
		_Atomic uint32_t low, number, shape, tid;
		_Atomic uint32_t end; /* status, and the stream above it */
	} places[REQUEST_BUCKET];
};

struct request_table {
	struct bucket *buckets;
	unsigned count;
};

struct found {
	struct place *place; /* NULL: none */
	_Atomic uint64_t *high;
};

static struct bucket request_buckets[REQUEST_BUCKETS], call_buckets[CALL_BUCKETS];
struct request_table requests_open = {request_buckets, REQUEST_BUCKETS}, calls_open = {call_buckets, CALL_BUCKETS};

static WRAPS struct bucket *bucket_of(const struct request_table *t, struct activity_path p)
{
	uint64_t h = (p.high ^ p.low * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;

	return &t->buckets[(h >> 40) % t->count];
}

static bool is_usable(struct activity_path p)
{
	return p.high & 0xff;
}

static struct found find_place(const struct request_table *t, struct activity_path p)
{
	struct bucket *b = bucket_of(t, p);

	for (unsigned i = 0; i < REQUEST_BUCKET; i++)
		if (atomic_load_explicit(&b->high[i], memory_order_acquire) == p.high &&
		    atomic_load_explicit(&b->places[i].low, LOAD) == p.low)
			return (struct found){&b->places[i], &b->high[i]};
	return (struct found){NULL, NULL};
}

bool request_table_put(struct request_table *t, struct activity_path p, const struct request *r)
{
	struct bucket *b = bucket_of(t, p);

	if (!is_usable(p) || find_place(t, p).place)
		return false;
	for (unsigned i = 0; i < REQUEST_BUCKET; i++) {
		struct place *to = &b->places[i];
		uint64_t is_free = 0;
		if (!atomic_compare_exchange_strong_explicit(&b->high[i], &is_free, TAKEN, memory_order_acquire, memory_order_relaxed))
			continue;
		atomic_store_explicit(&to->low, p.low, STORE);
		atomic_store_explicit(&to->number, r->number, STORE);
		atomic_store_explicit(&to->shape, r->shape, STORE);
		atomic_store_explicit(&to->tid, r->tid, STORE);
		atomic_store_explicit(&to->end, r->status | (uint32_t)r->stream << 16, STORE);
		atomic_store_explicit(&to->start_ns, r->start_ns, STORE);
		atomic_store_explicit(&b->high[i], p.high, memory_order_release);
		return true;
	}
	return false;
}

static struct request read_place(struct place *from)
{
	uint32_t end = atomic_load_explicit(&from->end, LOAD);

	return (struct request){
		.number = atomic_load_explicit(&from->number, LOAD),
		.shape = atomic_load_explicit(&from->shape, LOAD),
		.tid = atomic_load_explicit(&from->tid, LOAD),
		.status = (uint16_t)end,
		.stream = (uint8_t)(end >> 16),
		.start_ns = atomic_load_explicit(&from->start_ns, LOAD),
	};
}

bool request_table_take(struct request_table *t, struct activity_path p, struct request *out)
{
	struct found from = is_usable(p) ? find_place(t, p) : (struct found){NULL, NULL};
	uint64_t high = p.high;

	if (!from.place)
		return false;
	*out = read_place(from.place);
	return atomic_compare_exchange_strong_explicit(from.high, &high, 0, memory_order_release, memory_order_relaxed);
}

/* Of the activity, or of the nearest one above it, *p then. */
static struct found find_above(const struct request_table *t, struct activity_path *p)
{
	struct found at = {NULL, NULL};

	if (is_usable(*p))
		do
			at = find_place(t, *p);
		while (!at.place && activity_path_parent(p));
	return at;
}

uint32_t request_table_end(struct request_table *t, struct activity_path p, uint16_t status, uint8_t stream)
{
	struct place *at = find_above(t, &p).place;

	if (!at)
		return 0;
	uint32_t known = atomic_load_explicit(&at->end, LOAD) >> 16;
	atomic_store_explicit(&at->end, status | (known ? known : stream) << 16, STORE);
	return atomic_load_explicit(&at->shape, LOAD);
}

bool request_table_peek(struct request_table *t, struct activity_path p, struct request *out)
{
	struct found at = find_above(t, &p);

	if (at.place)
		*out = read_place(at.place);
	return at.place && atomic_load_explicit(at.high, memory_order_acquire) == p.high;
}

uint32_t request_table_find(struct request_table *t, struct activity_path p)
{
	struct found at = find_above(t, &p);
	uint32_t number = at.place ? atomic_load_explicit(&at.place->number, LOAD) : 0;

	return at.place && atomic_load_explicit(at.high, memory_order_acquire) == p.high ? number : 0;
}

void request_table_each(struct request_table *t, request_table_fn *fn, void *ctx)
{
	for (size_t i = 0; i < (size_t)t->count * REQUEST_BUCKET; i++) {
		struct bucket *b = &t->buckets[i / REQUEST_BUCKET];
		_Atomic uint64_t *at = &b->high[i % REQUEST_BUCKET];
		uint64_t high = atomic_load_explicit(at, memory_order_acquire);
		if (!high || high == TAKEN)
			continue;
		struct request r = read_place(&b->places[i % REQUEST_BUCKET]);
		if (atomic_load_explicit(at, memory_order_acquire) == high)
			fn(ctx, &r);
	}
}

void request_table_drop(struct request_table *t, uint8_t stream)
{
	for (size_t i = 0; i < (size_t)t->count * REQUEST_BUCKET; i++) {
		struct bucket *b = &t->buckets[i / REQUEST_BUCKET];
		_Atomic uint64_t *at = &b->high[i % REQUEST_BUCKET];
		uint64_t high = atomic_load_explicit(at, memory_order_acquire);
		if (high && high != TAKEN && atomic_load_explicit(&b->places[i % REQUEST_BUCKET].end, LOAD) >> 16 == stream)
			atomic_compare_exchange_strong_explicit(at, &high, 0, memory_order_release, memory_order_relaxed);
	}
}

void request_table_reset(struct request_table *t)
{
	for (size_t i = 0; i < (size_t)t->count * REQUEST_BUCKET; i++) {
		_Atomic uint64_t *at = &t->buckets[i / REQUEST_BUCKET].high[i % REQUEST_BUCKET];
		if (atomic_load_explicit(at, memory_order_relaxed)) /* memory that was never written to takes none */
			atomic_store_explicit(at, 0, memory_order_relaxed);
	}
}
