/* Context: CLR callback (thrown, caught, malformed) and own thread (the others). */
#include "profiler/exceptions/throw_sites.h"

#include "common/proto/difference.h"
#include "profiler/allocs/site_hash.h"
#include "profiler/allocs/site_store.h"
#include "profiler/allocs/told_set.h"
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
#define SHAPES_MAX 1024 /* kinds; from then on exceptions are told by their type alone */
#define TIMED_EACH 8    /* of so many exceptions one is timed: each asks the kernel twice */

/* A kind on its way: 0, kind, HRESULT << 32 | bytes of the message, bytes of the type << 32 | bytes of the shape, the three texts. */
enum { KIND_HEAD_WORDS = 4, TEXT_WORDS = (TYPE_BYTES + MESSAGE_SHAPE_BYTES + MESSAGE_BYTES) / 8 };
_Static_assert(KIND_HEAD_WORDS + TEXT_WORDS <= SITE_RECORD_WORDS, "a kind fits where a site fits");

static uint32_t wanted;
static _Atomic uint64_t dropped, malformed, shapeless, again, timed, timed_ns, timing;
static struct told_set kinds;

/* CLR callback ---------------------------------------------------------------------------------------------------------------- */

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
	uint64_t packed[TEXT_WORDS] = {0};
	char *at = (char *)packed;

	if (told_set_has(&kinds, k->kind))
		return;
	size_t type = put_units(&e->type, TYPE_UNITS, at, TYPE_BYTES);
	memcpy(at + type, k->shape, k->shape_bytes);
	size_t message = wanted & CHANNEL_EXCEPTIONS_REVEAL ? put_units(&e->message, MESSAGE_BYTES / 3, at + type + k->shape_bytes, MESSAGE_BYTES) : 0;
	uint64_t head[KIND_HEAD_WORDS] = {RECORD_OTHER, k->kind, (uint64_t)e->hresult << 32 | message, (uint64_t)type << 32 | k->shape_bytes};
	if (sample_ring_put(&site_store.ring, head, KIND_HEAD_WORDS, packed, (type + k->shape_bytes + message + 7) / 8))
		told_set_add(&kinds, k->kind);
}

static void find_kind(const struct exception_thrown *e, struct kind_key *out)
{
	uint64_t type = site_hash_bytes(1, e->type.data, e->type.units * 2);

	out->shape_bytes = message_shape_make(e->message.data, e->message.units, out->shape);
	out->kind = site_hash_end(site_hash_bytes(type, out->shape, out->shape_bytes));
	if (told_set_count(&kinds) < SHAPES_MAX || told_set_has(&kinds, out->kind))
		return;
	out->shape_bytes = 0;
	out->kind = site_hash_end(site_hash_word(type, 1));
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

	if (!slot)
		slot = site_store_enter(site, type, who, ips, depth);
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
	uint64_t site = site_hash_end(site_hash_bytes(site_hash_word(key.kind, who), ips, stack.depth * sizeof *ips));
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
		atomic_fetch_add_explicit(&timed_ns, difference(now_of(CLOCK_THREAD_CPUTIME_ID), thrown.cpu_ns), memory_order_relaxed);
	}
	count_site(site_hash_end(site_hash_word(site_hash_word(thrown.site, ip), who)), thrown.site, who, &ip, 1);
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
	atomic_store(&dropped, 0);
	atomic_store(&malformed, 0);
	atomic_store(&shapeless, 0);
	atomic_store(&again, 0);
	atomic_store(&timed, 0);
	atomic_store(&timed_ns, 0);
	atomic_store(&timing, 0);
	told_set_reset(&kinds);
}

static void put_throw_kind(struct channel_io *io, const uint64_t *record)
{
	const char *text = (const char *)(record + KIND_HEAD_WORDS);
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

void throw_sites_send_new(struct channel_io *io)
{
	site_store_send_new(io, CHANNEL_EXCEPTIONS_SITES, put_throw_kind);
}

void throw_sites_state(struct channel_exceptions_state *out)
{
	out->wanted = wanted;
	out->taken = site_store.taken;
	out->dropped = atomic_load(&dropped);
	out->malformed = atomic_load(&malformed);
	out->shapeless = atomic_load(&shapeless);
	out->again = atomic_load(&again);
	out->timed = atomic_load(&timed);
	out->timed_ns = atomic_load(&timed_ns);
}
