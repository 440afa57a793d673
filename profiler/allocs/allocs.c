/* Context: CLR callback (on_alloc_event and what it calls) and own thread. */
#include "profiler/allocs/allocs.h"

#include "common/proto/channel_allocs.h"
#include "profiler/allocs/alloc_round.h"
#include "profiler/allocs/allocation_event.h"
#include "profiler/clr/event_mask.h"
#include "profiler/clr/event_pipe.h"
#include "profiler/base/now.h"
#include "profiler/stacks/own_stack.h"
#include "profiler/allocs/site_store.h"
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
#define TYPES_BITS 12
#define TYPES_SIZE (1u << TYPES_BITS)
#define TYPES_MAX (TYPES_SIZE / 4 * 3) /* past it a name is sent with each new site: costs time, not truth */
#define MOST_PER_CPU_SECOND 5000u /* samples: each costs the runtime and us some 2.8 us at 40 frames, so this is 1.4% of the process's CPU time */
#define ALWAYS_PER_SECOND 2000u    /* so many are taken whatever they are of its CPU time */
#define LONGEST_REST_NS 2000000000u
#define COUNTS_OF_FRAME ((CHANNEL_MAX_PAYLOAD - 24) / CHANNEL_ALLOC_COUNT_SIZE / 2)

/* Records of the ring. A site: 1, site, type, tid << 32 | flags, addresses. A type: 0, type, length, UTF-8. */
enum { RECORD_TYPE, RECORD_SITE };
enum { SITE_HEAD_WORDS = 4, TYPE_HEAD_WORDS = 3, RECORD_WORDS = TYPE_HEAD_WORDS + CHANNEL_MAX_DEPTH + SITE_HEAD_WORDS };
_Static_assert(TYPE_HEAD_WORDS + NAME_BYTES / 8 <= RECORD_WORDS, "a type fits where a site fits");

static void *the_info;
static _Atomic bool on;
static _Atomic bool counting; /* what comes while an EventPipe session starts and stops is of no known time */
static uint32_t event;
static bool resting;          /* no EventPipe session: enough was sampled for the moment */
static uint64_t counted_ns;   /* when counts were sent last */
static uint64_t sampling_ns;  /* since when it samples */
static uint64_t round_cpu_ns; /* CPU time of the process when this round of sampling began */
static uint64_t rest_until_ns;
static uint64_t covered_sum_ns, sampled_sum_ns;
static _Atomic uint64_t dropped, dropped_size, dropped_amount, malformed;
static uint64_t taken;
static _Atomic uint64_t types[TYPES_SIZE]; /* whose names are on their way; 0: free */
static _Atomic uint32_t type_count;

static const wchar16 runtime_provider[] = u"Microsoft-Windows-DotNETRuntime";
static const struct cor_event_provider sampled_provider = {runtime_provider, SAMPLED_KEYWORD, LEVEL_INFORMATIONAL, NULL};
static const struct cor_event_provider tick_provider = {runtime_provider, GC_KEYWORD, LEVEL_VERBOSE, NULL};

/* CLR callback ---------------------------------------------------------------------------------------------------------------- */

static uint64_t mix_word(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 29;
}

/* The id alone does not do: it may mean another type when its own was unloaded. */
static uint64_t alloc_type_key(const struct allocation_event *a)
{
	size_t bytes = a->name_units * 2, i = 0;
	uint64_t hash = mix_word(bytes, a->type_id), word;

	for (; i + sizeof word <= bytes; i += sizeof word) {
		memcpy(&word, a->name + i, sizeof word);
		hash = mix_word(hash, word);
	}
	for (; i < bytes; i++)
		hash = mix_word(hash, a->name[i]);
	return hash ? hash : 1;
}

/* Objects of about one size, to a 16th: what they stand for can then be told from the sum of their sizes. */
static uint64_t size_class(uint64_t size)
{
	unsigned shift = size < 32 ? 0 : 59u - (unsigned)__builtin_clzll(size);

	return (uint64_t)shift << 32 | size >> shift;
}

static uint64_t site_of(uint64_t type, uint64_t who, uint64_t size, const uint64_t *ips, size_t depth)
{
	uint64_t hash = mix_word(mix_word(mix_word(depth, type), who), size_class(size));

	for (size_t i = 0; i < depth; i++)
		hash = mix_word(hash, ips[i]);
	hash *= 0xd6e8feb86659fd93u; /* the table takes the upper bits */
	return hash ? hash : 1;
}

/* The slot that holds the type or, free, could; NULL: the table is full. */
static _Atomic uint64_t *type_slot(uint64_t type)
{
	for (uint32_t i = 0; i < TYPES_SIZE; i++) {
		_Atomic uint64_t *slot = &types[(type + i) & (TYPES_SIZE - 1)];
		uint64_t there = atomic_load_explicit(slot, memory_order_relaxed);
		if (there == type || there == 0)
			return slot;
	}
	return NULL;
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
	_Atomic uint64_t *slot = type_slot(type);
	uint64_t packed[NAME_BYTES / 8] = {0}, none = 0;
	struct text name = {.data = (char *)packed, .cap = NAME_BYTES};

	if (slot && atomic_load_explicit(slot, memory_order_relaxed) == type)
		return;
	name_alloc_type(a, &name);
	uint64_t head[TYPE_HEAD_WORDS] = {RECORD_TYPE, type, name.len};
	if (!sample_ring_put(&site_store.ring, head, TYPE_HEAD_WORDS, packed, (name.len + 7) / 8))
		return;
	if (slot && atomic_load(&type_count) < TYPES_MAX && atomic_compare_exchange_strong(slot, &none, type))
		atomic_fetch_add(&type_count, 1);
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
		uint64_t head[SITE_HEAD_WORDS] = {RECORD_SITE, site, type, who};
		tell_type(type, a);
		if (sample_ring_put(&site_store.ring, head, SITE_HEAD_WORDS, ips, depth))
			slot = site_table_enter(&site_store.sites, site);
	}
	if (slot)
		site_slot_add(slot, a->size, a->amount);
	else
		count_dropped(a);
}

static void on_alloc_event(const struct event_pipe_event *e)
{
	struct allocation_event a;

	if (e->id != event || !atomic_load_explicit(&counting, memory_order_relaxed))
		return; /* AllocationTick's keyword brings others */
	if (allocation_event_read(e->id, e->version, e->data, e->len, &a))
		take_alloc_sample(&a, e->time_ns);
	else
		atomic_fetch_add_explicit(&malformed, 1, memory_order_relaxed);
}

/* Own thread ------------------------------------------------------------------------------------------------------------------ */
void allocs_reset(void)
{
	site_store_reset();
	thread_id_reset();
	taken = counted_ns = covered_sum_ns = sampled_sum_ns = 0;
	resting = false;
	atomic_store(&dropped, 0);
	atomic_store(&dropped_size, 0);
	atomic_store(&dropped_amount, 0);
	atomic_store(&malformed, 0);
	for (uint32_t i = 0; i < TYPES_SIZE; i++)
		if (atomic_load_explicit(&types[i], memory_order_relaxed))
			atomic_store_explicit(&types[i], 0, memory_order_relaxed);
	atomic_store(&type_count, 0);
	event = 0;
}

bool allocs_running(void)
{
	return atomic_load(&on);
}

static hresult begin_sampling(void *info, const char **message)
{
	hresult hr = event_pipe_start(info, event == ALLOCATION_SAMPLED ? &sampled_provider : &tick_provider, 1, on_alloc_event, message);

	sampling_ns = now_ns();
	round_cpu_ns = now_of(CLOCK_PROCESS_CPUTIME_ID);
	resting = hr < 0;
	atomic_store(&counting, hr >= 0);
	return hr;
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
	*message = "SetEventMask2 refused to allow stack snapshots";
	hresult hr = event_mask_add(info, COR_ENABLE_STACK_SNAPSHOT, 0);
	if (hr < 0)
		return hr;
	the_info = info;
	own_stack_prepare(info);
	atomic_store(&on, true);
	hr = begin_sampling(info, message);
	counted_ns = sampling_ns;
	if (hr < 0) {
		atomic_store(&on, false);
		event_mask_remove(info, COR_ENABLE_STACK_SNAPSHOT, 0);
	}
	return hr;
}

static void put_site(struct wire_writer *w, const uint64_t *record, size_t len)
{
	struct channel_alloc_site s = {
		.site = record[1],
		.type = record[2],
		.tid = (uint32_t)(record[3] >> 32),
		.flags = (uint16_t)record[3],
		.depth = (uint16_t)(len - SITE_HEAD_WORDS),
	};

	memcpy(s.ips, record + SITE_HEAD_WORDS, s.depth * sizeof *s.ips);
	channel_put_alloc_site(w, &s);
}

static void put_alloc_type(struct channel_io *io, const uint64_t *record)
{
	struct channel_alloc_type type = {.type = record[1], .name = {(const char *)(record + TYPE_HEAD_WORDS), record[2]}};

	channel_put_alloc_type(channel_io_begin(io, CHANNEL_ALLOCS_TYPES), &type);
	channel_io_end(io);
}

/* A frame of sites is open while `w` is there; types go between frames. */
static void send_alloc_records(struct channel_io *io)
{
	uint64_t record[RECORD_WORDS];
	struct wire_writer *w = NULL;
	size_t len;

	while ((len = sample_ring_take(&site_store.ring, record, RECORD_WORDS))) {
		bool is_type = record[0] == RECORD_TYPE;
		if (w && (is_type || w->cap - w->pos < CHANNEL_ALLOC_SITE_MAX)) {
			if (!channel_io_end(io))
				return; /* the channel is lost */
			w = NULL;
		}
		if (is_type) {
			put_alloc_type(io, record);
			continue;
		}
		if (!w)
			w = channel_io_begin(io, CHANNEL_ALLOCS_SITES);
		put_site(w, record, len);
	}
	if (w)
		channel_io_end(io);
}

/* What was sampled in this round stands for all of the time since the last one. Returns the samples. */
static uint64_t send_counts(struct channel_io *io, const struct channel_alloc_round *round)
{
	static struct site_sums sums[COUNTS_OF_FRAME];
	uint64_t before = taken;
	uint32_t at = 0;
	size_t count;

	while ((count = site_table_take(&site_store.sites, &at, sums, COUNTS_OF_FRAME))) {
		struct wire_writer *w = channel_io_begin(io, CHANNEL_ALLOCS_COUNTS);
		channel_put_alloc_round(w, round);
		for (size_t i = 0; i < count; i++) {
			struct channel_alloc_count c = {sums[i].site, sums[i].samples, sums[i].size, sums[i].amount};
			channel_put_alloc_count(w, &c);
			taken += c.samples;
		}
		channel_io_end(io);
	}
	return taken - before;
}

/* Ends a round of sampling; returns how many times more samples it had than it should, in 1/16. */
static uint64_t end_alloc_round(struct channel_io *io, uint64_t now)
{
	uint64_t cpu = now_of(CLOCK_PROCESS_CPUTIME_ID);
	struct channel_alloc_round r = alloc_round_of(counted_ns, sampling_ns, now);

	if (!r.sampled_ns)
		return 0;
	send_alloc_records(io);
	uint64_t samples = send_counts(io, &r);
	uint64_t of_cpu = MOST_PER_CPU_SECOND * (cpu - round_cpu_ns) / 1000000000u, always = ALWAYS_PER_SECOND * r.sampled_ns / 1000000000u;
	covered_sum_ns += r.covered_ns;
	sampled_sum_ns += r.sampled_ns;
	counted_ns = now;
	round_cpu_ns = cpu;
	return samples * 16 / ((of_cpu > always ? of_cpu : always) + 1);
}

/* Nothing is counted any more, and what was is told. */
static void end_sampling(void *info, struct channel_io *io)
{
	atomic_store(&counting, false);
	uint64_t now = now_ns();
	event_pipe_stop(info);
	end_alloc_round(io, now);
}

/* As long as it takes for no more samples than there should be; not the same each time, so that nothing keeps step with it. */
static void rest(struct channel_io *io, uint64_t sixteenths)
{
	end_sampling(the_info, io);
	uint64_t wanted = ALLOC_ROUND_NS / 16 * (sixteenths - 16), now = now_ns();
	uint64_t ns = wanted / 4 * 3 + (now * 0x9e3779b97f4a7c15u >> 32) % (wanted / 2 + 1);

	resting = true;
	rest_until_ns = now + (ns < LONGEST_REST_NS ? ns : LONGEST_REST_NS);
}

void allocs_tick(struct channel_io *io)
{
	const char *message;
	uint64_t now = now_ns();

	own_stack_tick();
	if (resting) {
		if (now >= rest_until_ns && begin_sampling(the_info, &message) < 0)
			rest_until_ns = now + LONGEST_REST_NS;
		return;
	}
	send_alloc_records(io);
	if (now - counted_ns < ALLOC_ROUND_NS || now - sampling_ns < ALLOC_ROUND_NS)
		return;
	uint64_t sixteenths = end_alloc_round(io, now);
	if (sixteenths > 16 + 4)
		rest(io, sixteenths);
}

void allocs_stop(void *info, struct channel_io *io)
{
	if (!allocs_running())
		return;
	if (!resting)
		end_sampling(info, io);
	atomic_store(&on, false);
	event_mask_remove(info, COR_ENABLE_STACK_SNAPSHOT, 0);
}

static void send_state(struct channel_io *io)
{
	struct channel_allocs_state s = {
		.event = event,
		.running = allocs_running(),
		.taken = taken,
		.dropped = atomic_load(&dropped),
		.dropped_size = atomic_load(&dropped_size),
		.dropped_amount = atomic_load(&dropped_amount),
		.malformed = atomic_load(&malformed),
		.covered_ns = covered_sum_ns,
		.sampled_ns = sampled_sum_ns,
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
	struct channel_error e = {.request = request->type, .code = (uint32_t)hr, .message = {message, strlen(message)}};
	channel_put_error(channel_io_begin(io, CHANNEL_ERROR), &e);
	channel_io_end(io);
	return true;
}
