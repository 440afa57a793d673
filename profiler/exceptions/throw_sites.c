/* Context: CLR callback (thrown, caught, malformed) and own thread (the others). */
#include "profiler/exceptions/throw_sites.h"

#include "profiler/allocs/site_store.h"
#include "profiler/base/now.h"
#include "profiler/base/text.h"
#include "profiler/exceptions/message_shape.h"
#include "profiler/exceptions/throw_slots.h"
#include "profiler/stacks/frame_walk.h"
#include "profiler/stacks/own_stack.h"
#include "profiler/stacks/thread_id.h"

#include <stdatomic.h>
#include <string.h>

#define TYPE_BYTES 600 /* of a type's name; longer ones are cut */
#define MESSAGE_BYTES 200
#define TYPE_UNITS 200
#define KINDS_BITS 12
#define KINDS_SIZE (1u << KINDS_BITS)
#define KINDS_MAX (KINDS_SIZE / 4 * 3)
#define SHAPES_MAX 1024 /* kinds; from then on exceptions are told by their type alone */
#define TIMED_EACH 8    /* of so many exceptions one is timed: each asks the kernel twice */
#define COUNTS_OF_FRAME ((CHANNEL_MAX_PAYLOAD - 24) / CHANNEL_ALLOC_COUNT_SIZE / 2)

/* Records of the ring. A site: 1, site, kind, tid << 32 | flags, addresses. A kind: 0, kind, HRESULT << 32 | bytes of the message, bytes of the
 * type << 32 | bytes of the shape, the three texts. */
enum { RECORD_KIND, RECORD_SITE };
enum { HEAD_WORDS = 4, RECORD_WORDS = HEAD_WORDS + CHANNEL_MAX_DEPTH, TEXT_WORDS = (TYPE_BYTES + MESSAGE_SHAPE_BYTES + MESSAGE_BYTES) / 8 };
_Static_assert(TEXT_WORDS <= CHANNEL_MAX_DEPTH, "a kind fits where a site fits");

static uint32_t wanted;
static uint64_t taken; /* own thread */
static _Atomic uint64_t dropped, malformed, shapeless, again, timed, timed_ns, timing;
static _Atomic uint64_t kinds[KINDS_SIZE]; /* that are on their way; 0: free */
static _Atomic uint32_t kind_count;

/* CLR callback ---------------------------------------------------------------------------------------------------------------- */

static uint64_t mix_number(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

static uint64_t mix_bytes(uint64_t hash, const void *data, size_t bytes)
{
	const uint8_t *at = data;
	uint64_t word;

	hash = mix_number(hash, bytes);
	for (; bytes >= sizeof word; bytes -= sizeof word, at += sizeof word) {
		memcpy(&word, at, sizeof word);
		hash = mix_number(hash, word);
	}
	for (; bytes; bytes--)
		hash = mix_number(hash, *at++);
	return hash;
}

/* Tables take the upper bits. */
static uint64_t end_hash(uint64_t hash)
{
	hash *= 0xd6e8feb86659fd93u;
	return hash ? hash : 1;
}

/* The slot that holds the kind or, free, could; NULL: the table is full. */
static _Atomic uint64_t *kind_slot(uint64_t kind)
{
	for (uint32_t i = 0; i < KINDS_SIZE; i++) {
		_Atomic uint64_t *slot = &kinds[(kind + i) & (KINDS_SIZE - 1)];
		uint64_t there = atomic_load_explicit(slot, memory_order_relaxed);
		if (there == kind || there == 0)
			return slot;
	}
	return NULL;
}

static bool is_told(const _Atomic uint64_t *slot, uint64_t kind)
{
	return slot && atomic_load_explicit(slot, memory_order_relaxed) == kind;
}

static size_t put_units(const struct utf16_text *from, size_t max_units, char *out, size_t cap)
{
	struct text text = {.data = out, .cap = cap};
	uint16_t units[TYPE_UNITS];
	size_t n = from->units < max_units ? from->units : max_units;

	memcpy(units, from->data, n * sizeof *units);
	text_put_utf16(&text, units, n);
	return text.len;
}

struct kind_key {
	uint64_t kind;
	size_t shape_bytes;
	char shape[MESSAGE_SHAPE_BYTES];
};

/* Two threads may send the same kind: no harm. One that does not fit the ring is sent with the next exception of the kind. */
static void tell_kind(const struct kind_key *k, const struct exception_thrown *e)
{
	_Atomic uint64_t *slot = kind_slot(k->kind);
	uint64_t packed[TEXT_WORDS] = {0}, none = 0;
	char *at = (char *)packed;

	if (is_told(slot, k->kind))
		return;
	size_t type = put_units(&e->type, TYPE_UNITS, at, TYPE_BYTES);
	memcpy(at + type, k->shape, k->shape_bytes);
	size_t message = wanted & CHANNEL_EXCEPTIONS_REVEAL ? put_units(&e->message, MESSAGE_BYTES / 3, at + type + k->shape_bytes, MESSAGE_BYTES) : 0;
	uint64_t head[HEAD_WORDS] = {RECORD_KIND, k->kind, (uint64_t)e->hresult << 32 | message, (uint64_t)type << 32 | k->shape_bytes};
	if (!sample_ring_put(&site_store.ring, head, HEAD_WORDS, packed, (type + k->shape_bytes + message + 7) / 8))
		return;
	if (slot && atomic_load(&kind_count) < KINDS_MAX && atomic_compare_exchange_strong(slot, &none, k->kind))
		atomic_fetch_add(&kind_count, 1);
}

static void find_kind(const struct exception_thrown *e, struct kind_key *out)
{
	uint64_t type = mix_bytes(1, e->type.data, e->type.units * 2);

	out->shape_bytes = message_shape_make(e->message.data, e->message.units, out->shape);
	out->kind = end_hash(mix_bytes(type, out->shape, out->shape_bytes));
	if (atomic_load_explicit(&kind_count, memory_order_relaxed) < SHAPES_MAX || is_told(kind_slot(out->kind), out->kind))
		return;
	out->shape_bytes = 0;
	out->kind = end_hash(mix_number(type, 1));
	atomic_fetch_add_explicit(&shapeless, 1, memory_order_relaxed);
}

static uint64_t flags_of(const struct exception_thrown *e, const struct own_stack *stack)
{
	return (stack->more ? CHANNEL_ALLOC_TRUNCATED : 0u) | (stack->incomplete ? CHANNEL_ALLOC_INCOMPLETE : 0u) |
	       (e->flags & EXCEPTION_HAS_INNER ? CHANNEL_EXCEPTION_INNER : 0u) | (e->flags & EXCEPTION_NESTED ? CHANNEL_EXCEPTION_NESTED : 0u) |
	       (e->flags & EXCEPTION_RETHROWN ? CHANNEL_EXCEPTION_RETHROWN : 0u) | (e->flags & EXCEPTION_CORRUPTED ? CHANNEL_EXCEPTION_CORRUPTED : 0u);
}

/* Counts one of the site; one that is new is told of first. 0: there was no room. */
static struct site_slot *count_site(uint64_t site, uint64_t type, uint64_t who, const uint64_t *ips, size_t depth)
{
	struct site_slot *slot = site_table_find(&site_store.sites, site);
	uint64_t head[HEAD_WORDS] = {RECORD_SITE, site, type, who};

	if (!slot && sample_ring_put(&site_store.ring, head, HEAD_WORDS, ips, depth))
		slot = site_table_enter(&site_store.sites, site);
	if (slot)
		site_slot_add(slot, 0, 0);
	return slot;
}

void throw_sites_thrown(const struct exception_thrown *e, uint64_t now_ns)
{
	uint64_t ips[CHANNEL_MAX_DEPTH];
	struct own_stack stack = own_stack_take(ips, CHANNEL_MAX_DEPTH);
	uint64_t who = (uint64_t)thread_id_now(now_ns) << 32 | flags_of(e, &stack);
	struct kind_key key;

	find_kind(e, &key);
	uint64_t site = end_hash(mix_bytes(mix_number(key.kind, who), ips, stack.depth * sizeof *ips));
	if (!site_table_find(&site_store.sites, site))
		tell_kind(&key, e);
	if (!count_site(site, key.kind, who, ips, stack.depth))
		atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed);
	if (!(wanted & CHANNEL_EXCEPTIONS_CATCHERS))
		return;
	bool time_it = atomic_fetch_add_explicit(&timing, 1, memory_order_relaxed) % TIMED_EACH == 0;
	throw_slots_push(frame_walk_thread_pointer(), (struct throw_slot){site, time_it ? now_of(CLOCK_THREAD_CPUTIME_ID) : 0});
}

void throw_sites_caught(uint64_t address, uint64_t now_ns)
{
	struct throw_slot thrown;
	uint64_t ip = address + 1, who = (uint64_t)thread_id_now(now_ns) << 32 | CHANNEL_EXCEPTION_CAUGHT;

	if (!throw_slots_pop(frame_walk_thread_pointer(), &thrown)) {
		if (throw_slots_threw(frame_walk_thread_pointer()))
			atomic_fetch_add_explicit(&again, 1, memory_order_relaxed);
		return;
	}
	if (thrown.cpu_ns) {
		atomic_fetch_add_explicit(&timed, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&timed_ns, now_of(CLOCK_THREAD_CPUTIME_ID) - thrown.cpu_ns, memory_order_relaxed);
	}
	count_site(end_hash(mix_number(mix_number(thrown.site, ip), who)), thrown.site, who, &ip, 1);
}

void throw_sites_malformed(void)
{
	atomic_fetch_add_explicit(&malformed, 1, memory_order_relaxed);
}

/* Own thread ------------------------------------------------------------------------------------------------------------------ */

void throw_sites_reset(uint32_t what)
{
	site_store_reset();
	thread_id_reset();
	message_shape_prepare();
	wanted = what;
	taken = 0;
	atomic_store(&dropped, 0);
	atomic_store(&malformed, 0);
	atomic_store(&shapeless, 0);
	atomic_store(&again, 0);
	atomic_store(&timed, 0);
	atomic_store(&timed_ns, 0);
	atomic_store(&timing, 0);
	for (uint32_t i = 0; i < KINDS_SIZE; i++)
		if (atomic_load_explicit(&kinds[i], memory_order_relaxed))
			atomic_store_explicit(&kinds[i], 0, memory_order_relaxed);
	atomic_store(&kind_count, 0);
}

static void put_throw_site(struct wire_writer *w, const uint64_t *record, size_t len)
{
	struct channel_alloc_site s = {
		.site = record[1],
		.type = record[2],
		.tid = (uint32_t)(record[3] >> 32),
		.flags = (uint16_t)record[3],
		.depth = (uint16_t)(len - HEAD_WORDS),
	};

	memcpy(s.ips, record + HEAD_WORDS, s.depth * sizeof *s.ips);
	channel_put_alloc_site(w, &s);
}

static void put_throw_kind(struct channel_io *io, const uint64_t *record)
{
	const char *text = (const char *)(record + HEAD_WORDS);
	size_t type = record[3] >> 32, shape = (uint32_t)record[3], message = (uint32_t)record[2];
	struct channel_exception_kind kind = {
		.kind = record[1],
		.hresult = (uint32_t)(record[2] >> 32),
		.type = {text, type},
		.shape = {text + type, shape},
		.message = {message ? text + type + shape : NULL, message},
	};

	channel_put_exception_kind(channel_io_begin(io, CHANNEL_EXCEPTIONS_KINDS), &kind);
	channel_io_end(io);
}

/* A frame of sites is open while `w` is there; kinds go between frames. */
void throw_sites_send_new(struct channel_io *io)
{
	uint64_t record[RECORD_WORDS];
	struct wire_writer *w = NULL;
	size_t len;

	while ((len = sample_ring_take(&site_store.ring, record, RECORD_WORDS))) {
		bool is_kind = record[0] == RECORD_KIND;
		if (w && (is_kind || w->cap - w->pos < CHANNEL_ALLOC_SITE_MAX)) {
			if (!channel_io_end(io))
				return; /* the channel is lost */
			w = NULL;
		}
		if (is_kind) {
			put_throw_kind(io, record);
			continue;
		}
		if (!w)
			w = channel_io_begin(io, CHANNEL_EXCEPTIONS_SITES);
		put_throw_site(w, record, len);
	}
	if (w)
		channel_io_end(io);
}

uint64_t throw_sites_send_counts(struct channel_io *io, const struct channel_alloc_round *round)
{
	static struct site_sums sums[COUNTS_OF_FRAME];
	uint64_t before = taken;
	uint32_t at = 0;
	size_t count;

	while ((count = site_table_take(&site_store.sites, &at, sums, COUNTS_OF_FRAME))) {
		struct wire_writer *w = channel_io_begin(io, CHANNEL_EXCEPTIONS_COUNTS);
		channel_put_alloc_round(w, round);
		for (size_t i = 0; i < count; i++) {
			struct channel_alloc_count c = {.site = sums[i].site, .samples = sums[i].samples};
			channel_put_alloc_count(w, &c);
			taken += c.samples;
		}
		channel_io_end(io);
	}
	return taken - before;
}

void throw_sites_state(struct channel_exceptions_state *out)
{
	out->wanted = wanted;
	out->taken = taken;
	out->dropped = atomic_load(&dropped);
	out->malformed = atomic_load(&malformed);
	out->shapeless = atomic_load(&shapeless);
	out->again = atomic_load(&again);
	out->timed = atomic_load(&timed);
	out->timed_ns = atomic_load(&timed_ns);
}
