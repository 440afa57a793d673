/* Context: CLR callback (on_alloc_event and what it calls) and own thread. */
#include "profiler/allocs/allocs.h"

#include "common/proto/channel_allocs.h"
#include "profiler/allocs/alloc_round.h"
#include "profiler/allocs/allocation_event.h"
#include "profiler/allocs/event_rounds.h"
#include "profiler/allocs/site_hash.h"
#include "profiler/allocs/site_store.h"
#include "profiler/allocs/told_set.h"
#include "profiler/clr/event_pipe.h"
#include "profiler/stacks/own_stack.h"
#include "profiler/base/text.h"
#include "profiler/stacks/thread_id.h"
#include "profiler/names/type_name.h"
#include "profiler/names/value_type.h"

#include <errno.h>
#include <string.h>

#define SAMPLED_KEYWORD 0x80000000000u
#define GC_KEYWORD 1u
#define LEVEL_INFORMATIONAL 4
#define LEVEL_VERBOSE 5
#define FIRST_SAMPLED 10 /* the runtime's major version */

#define NAME_BYTES 1024 /* of a type's name; longer ones are cut */
#define MOST_PER_CPU_SECOND 5000u /* samples: each costs the runtime and us some 2.8 us at 40 frames, so this is 1.4% of the process's CPU time */
#define ALWAYS_PER_SECOND 2000u    /* so many are taken whatever they are of its CPU time */
#define LONGEST_REST_NS 2000000000u

/* A type on its way: 0, type, length, UTF-8. */
enum { TYPE_HEAD_WORDS = 3 };
_Static_assert(TYPE_HEAD_WORDS + NAME_BYTES / 8 <= SITE_RECORD_WORDS, "a type fits where a site fits");

static void *the_info;
static uint32_t event;
static _Atomic uint64_t dropped, dropped_size, dropped_amount, malformed;
static struct told_set types;

static const wchar16 runtime_provider[] = u"Microsoft-Windows-DotNETRuntime";
static const struct cor_event_provider sampled_provider = {runtime_provider, SAMPLED_KEYWORD, LEVEL_INFORMATIONAL, NULL};
static const struct cor_event_provider tick_provider = {runtime_provider, GC_KEYWORD, LEVEL_VERBOSE, NULL};

/* CLR callback ---------------------------------------------------------------------------------------------------------------- */

/* The id alone does not do: it may mean another type when its own was unloaded. */
static uint64_t alloc_type_key(const struct allocation_event *a)
{
	uint64_t hash = site_hash_bytes(site_hash_word(0, a->type_id), a->name, a->name_units * 2);

	return hash ? hash : 1;
}

/* Objects of about one size, to a 16th: what they stand for can then be told from the sum of their sizes. */
static uint64_t size_class(uint64_t size)
{
	unsigned shift = size < 32 ? 0 : (unsigned)(59 - __builtin_clzll(size));

	return (uint64_t)shift << 32 | size >> shift;
}

static uint64_t site_of(uint64_t type, uint64_t who, uint64_t size, const uint64_t *ips, size_t depth)
{
	uint64_t hash = site_hash_word(site_hash_word(site_hash_word(depth, type), who), size_class(size));

	return site_hash_end(site_hash_bytes(hash, ips, depth * sizeof *ips));
}

/* By the metadata: the event's own name lacks outer types and their namespace. Now, while the object is being made: as long as it lives,
 * so do its type and the types of its arguments, and no assembly of theirs is unloaded. */
static void name_alloc_type(const struct allocation_event *a, struct text *out)
{
	wchar16 units[NAME_BYTES / 3];
	size_t n = a->name_units < NAME_BYTES / 3 ? a->name_units : NAME_BYTES / 3;

	type_name_of_class(the_info, (cor_id)a->type_id, out);
	if (out->len > 1 || (out->len == 1 && out->data[0] != '?'))
		return;
	memcpy(units, a->name, n * sizeof *units);
	out->len = 0;
	text_put_utf16(out, units, n);
}

/* Two threads may send the same name: no harm. One that does not fit the ring is sent with the next event of the type. */
static void tell_type(uint64_t type, const struct allocation_event *a)
{
	uint64_t packed[NAME_BYTES / 8] = {0};
	struct text name = {.data = (char *)packed, .cap = NAME_BYTES};

	if (told_set_has(&types, type))
		return;
	name_alloc_type(a, &name);
	uint64_t head[TYPE_HEAD_WORDS] = {RECORD_OTHER, type, name.len};
	if (sample_ring_put(&site_store.ring, head, TYPE_HEAD_WORDS, packed, (name.len + 7) / 8))
		told_set_add(&types, type);
}

static void count_dropped(const struct allocation_event *a)
{
	atomic_fetch_add_explicit(&dropped, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&dropped_size, a->size, memory_order_relaxed);
	atomic_fetch_add_explicit(&dropped_amount, a->amount, memory_order_relaxed);
}

static void take_alloc_sample(const struct allocation_event *a, uint64_t now)
{
	uint64_t ips[CHANNEL_MAX_DEPTH], type = alloc_type_key(a);
	struct own_stack stack = own_stack_take(ips, CHANNEL_MAX_DEPTH);
	size_t depth = stack.depth;
	uint64_t who = (uint64_t)thread_id_now(now) << 32 | (stack.more ? CHANNEL_ALLOC_TRUNCATED : 0) |
		       (stack.incomplete ? CHANNEL_ALLOC_INCOMPLETE : 0) |
		       (a->kind == ALLOCATION_LARGE ? CHANNEL_ALLOC_LARGE : 0) | (a->kind == ALLOCATION_PINNED ? CHANNEL_ALLOC_PINNED : 0);
	uint64_t site = site_of(type, who, a->size, ips, depth);
	struct site_slot *slot = site_table_find(&site_store.sites, site);
	if (!slot) {
		who |= value_type_is(the_info, (cor_id)a->type_id) ? CHANNEL_ALLOC_BOXED : 0; /* follows from the type: no part of the site's hash */
		tell_type(type, a);
		slot = site_store_enter(site, type, who, ips, depth);
	}
	if (slot)
		site_slot_add(slot, a->size, a->amount);
	else
		count_dropped(a);
}

static struct event_rounds rounds;

static void on_alloc_event(const struct event_pipe_event *e)
{
	struct allocation_event a;

	if (e->id != event || !event_rounds_counting(&rounds))
		return; /* AllocationTick's keyword brings others */
	if (allocation_event_read(e->id, e->version, e->data, e->len, &a))
		take_alloc_sample(&a, e->time_ns);
	else
		atomic_fetch_add_explicit(&malformed, 1, memory_order_relaxed);
}

/* Own thread ------------------------------------------------------------------------------------------------------------------ */

static hresult listen_to_allocs(void *info, const char **message)
{
	return event_pipe_start(info, event == ALLOCATION_SAMPLED ? &sampled_provider : &tick_provider, 1, on_alloc_event, message);
}

static void put_alloc_type(struct channel_io *io, const uint64_t *record)
{
	struct channel_alloc_type type = {.type = record[1], .name = {(const char *)(record + TYPE_HEAD_WORDS), record[2]}};

	channel_put_alloc_type(channel_io_begin(io, CHANNEL_ALLOCS_TYPES), &type);
	channel_io_end(io);
}

static void send_alloc_records(struct channel_io *io)
{
	site_store_send_new(io, CHANNEL_ALLOCS_SITES, put_alloc_type);
}

/* As long as it takes for no more samples than there should be. */
static uint64_t rest_from_allocs(uint64_t samples, uint64_t allowed, uint64_t round_ns)
{
	uint64_t sixteenths = samples * 16 / (allowed + 1);

	(void)round_ns;
	if (sixteenths <= 16 + 4)
		return 0;
	uint64_t ns = event_rounds_about(ALLOC_ROUND_NS / 16 * (sixteenths - 16));
	return ns < LONGEST_REST_NS ? ns : LONGEST_REST_NS;
}

static struct event_rounds rounds = {
	.listen = listen_to_allocs,
	.send_new = send_alloc_records,
	.counts = CHANNEL_ALLOCS_COUNTS,
	.rest_ns = rest_from_allocs,
	.most_per_cpu_second = MOST_PER_CPU_SECOND,
	.always_per_second = ALWAYS_PER_SECOND,
};

void allocs_reset(void)
{
	site_store_reset();
	thread_id_reset();
	event_rounds_reset(&rounds);
	atomic_store(&dropped, 0);
	atomic_store(&dropped_size, 0);
	atomic_store(&dropped_amount, 0);
	atomic_store(&malformed, 0);
	told_set_reset(&types);
	event = 0;
}

bool allocs_running(void)
{
	return event_rounds_running(&rounds);
}

static hresult allocs_begin(void *info, uint32_t wanted, const char **message)
{
	uint16_t major = 0, minor, build;

	*message = "allocations are sampled already";
	if (allocs_running())
		return COR_HR(0x80070000u | EALREADY);
	allocs_reset();
	info_get_runtime_information(info, &major, &minor, &build);
	event = wanted ? wanted : major >= FIRST_SAMPLED ? ALLOCATION_SAMPLED : ALLOCATION_TICK;
	*message = "no event of that number tells of allocations here";
	if (event != ALLOCATION_TICK && (event != ALLOCATION_SAMPLED || major < FIRST_SAMPLED))
		return COR_E_INVALIDARG;
	the_info = info;
	return event_rounds_begin(&rounds, info, message);
}

void allocs_tick(struct channel_io *io)
{
	event_rounds_tick(&rounds, io);
}

void allocs_hold(void)
{
	event_rounds_hold(&rounds);
}

void allocs_stop(void *info, struct channel_io *io)
{
	event_rounds_stop(&rounds, info, io);
}

static void send_state(struct channel_io *io)
{
	struct channel_allocs_state s = {
		.event = event,
		.running = allocs_running(),
		.taken = site_store.taken,
		.dropped = atomic_load(&dropped),
		.dropped_size = atomic_load(&dropped_size),
		.dropped_amount = atomic_load(&dropped_amount),
		.malformed = atomic_load(&malformed),
		.covered_ns = rounds.covered_sum_ns,
		.sampled_ns = rounds.sampled_sum_ns,
	};

	channel_put_allocs_state(channel_io_begin(io, CHANNEL_ALLOCS_STATE), &s);
	channel_io_end(io);
}

bool allocs_answer(void *info, const struct channel_frame *request, struct channel_io *io)
{
	struct wire_reader r;
	const char *message = NULL;

	if (request->type == CHANNEL_ALLOCS_STOP) {
		allocs_stop(info, io);
		send_state(io);
		return true;
	}
	wire_reader_init(&r, request->payload, request->len);
	uint32_t wanted = wire_u32(&r);
	if (r.bad)
		return false;
	hresult hr = allocs_begin(info, wanted, &message);
	if (hr >= 0) {
		send_state(io);
		return true;
	}
	channel_io_refuse(io, request->type, (uint32_t)hr, message);
	return true;
}
