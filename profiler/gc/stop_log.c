/* Context: CLR callback, and own thread (answer, running, drain). */
#include "profiler/gc/stop_log.h"

#include "common/proto/channel_stops.h"
#include "common/proto/difference.h"
#include "profiler/clr/cor_abi.h"
#include "profiler/base/detail_budget.h"
#include "profiler/clr/event_pipe.h"
#include "profiler/base/now.h"
#include "profiler/stacks/own_stack.h"
#include "profiler/stacks/sample_ring.h"

#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LATE_NS 1000000u       /* who comes to a halt later than this is asked for the stack */
#define LATE_AFTER_NS 1000000u /* so long after all have, it still counts: the thread says so only when it is let run again */
#define MAX_LATE_STACKS 2      /* of one stop */
#define TID_BITS 22            /* the kernel's limit of thread ids */
#define MAX_RESUMING 4
#define LAST_TURNS 500
#define FIRST_RETRY_NS 1000000000u
#define LONGEST_RETRY_NS (60 * (uint64_t)FIRST_RETRY_NS)
#define LAST_TURN_MS 2

/* Microsoft-Windows-DotNETRuntime, keyword GC, level Informational */
#define EVENT_GC_START 1
#define EVENT_GC_TRIGGERED 35
#define GC_TYPE_BACKGROUND 1
/* gc_reason: induced, induced_noforce, lowmemory_blocking... as the runtime's own is_induced() has them */
#define GC_REASONS_INDUCED (1u << 1 | 1u << 7 | 1u << 9 | 1u << 10 | 1u << 17)
#define TOLD_BY_CALLBACK 0x80 /* beside channel_gc_flag */

#define STOP_WORDS ((sizeof(struct channel_stop) + 7) / 8)
#define STACK_HEAD_WORDS 4 /* kind of record; number; time; tid, kind */
enum record { RECORD_STOP = 1, RECORD_STACK = 2 };

struct moment { /* time since the stop's start and thread in one word, so that many threads can tell theirs without a lock */
	_Atomic uint64_t packed;
};

/* The stop under way. Its plain members belong to the thread that makes it. */
static struct {
	struct channel_stop stop;
	_Atomic uint64_t number, start_ns, stopped_ns; /* start 0: none */
	_Atomic uint32_t threads, late_stacks;
	struct moment last, next;
} current;

static struct { /* ends when all threads run: another stop may begin before */
	_Atomic uint32_t tid; /* 0: free */
	struct channel_stop stop;
} resuming[MAX_RESUMING];

static struct sample_ring ring;
static _Atomic bool on;
static bool events; /* the runtime tells of collections by events, too, while details are taken */
static _Atomic bool detailing;
static _Atomic bool missed; /* a collection that people ask about, while none are */
static struct detail_budget budget;
static uint64_t retry_ns, retry_at_ns; /* of events that the runtime did not start */
static _Atomic uint64_t seen, lost, detailed; /* stops; of them; collections */
static void *info;

static uint32_t own_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/* CLR callbacks -------------------------------------------------------------------------------------------------------------- */
/* Of the calling thread. One that the runtime has just stopped knows its frames by their pointers only: there the runtime's own walk
 * is refused (0x80131360). */
static void take_stack(enum channel_stop_stack_kind kind, uint64_t number, uint32_t tid, uint64_t at_ns)
{
	uint64_t ips[CHANNEL_MAX_DEPTH];
	struct own_stack stack = own_stack_take(ips, CHANNEL_MAX_DEPTH);

	if (!stack.depth)
		return;
	uint64_t what = (uint64_t)kind | (stack.incomplete ? CHANNEL_STACK_INCOMPLETE : 0);
	uint64_t head[STACK_HEAD_WORDS] = {RECORD_STACK, number, at_ns, (uint64_t)tid << 32 | what};
	sample_ring_put(&ring, head, STACK_HEAD_WORDS, ips, stack.depth);
}

static bool under_way(void)
{
	return atomic_load(&current.start_ns) != 0;
}

/* A stop has its details only when they are taken from its beginning to its end. */
static void note_detail(void)
{
	if (!atomic_load(&detailing))
		current.stop.flags |= CHANNEL_STOP_BRIEF;
}

void stop_log_suspending(uint32_t reason, uint64_t at_ns)
{
	if (!atomic_load(&on))
		return;
	uint64_t number = atomic_fetch_add(&seen, 1) + 1;
	current.stop = (struct channel_stop){.number = number, .start_ns = at_ns, .tid = own_tid(), .reason = (uint16_t)reason};
	note_detail();
	atomic_store(&current.number, number);
	atomic_store(&current.stopped_ns, 0);
	atomic_store(&current.threads, 0);
	atomic_store(&current.late_stacks, 0);
	atomic_store(&current.last.packed, 0);
	atomic_store(&current.next.packed, 0);
	atomic_store(&current.start_ns, at_ns);
}

void stop_log_suspended(uint64_t at_ns)
{
	if (!under_way())
		return;
	current.stop.stopped_ns = at_ns;
	atomic_store(&current.stopped_ns, at_ns);
}

static void unpack(const struct moment *m, uint32_t *tid, uint64_t *ns)
{
	uint64_t packed = atomic_load(&m->packed);

	*tid = (uint32_t)(packed & ((1u << TID_BITS) - 1));
	*ns = packed ? current.stop.start_ns + (packed >> TID_BITS) : 0;
}

static void gather_stop(void)
{
	unpack(&current.last, &current.stop.last_tid, &current.stop.last_ns);
	unpack(&current.next, &current.stop.next_tid, &current.stop.next_ns);
	current.stop.threads = atomic_load(&current.threads);
	note_detail();
	atomic_store(&current.start_ns, 0);
}

static void put_stop(const struct channel_stop *stop)
{
	uint64_t kind = RECORD_STOP, words[STOP_WORDS] = {0};

	memcpy(words, stop, sizeof *stop);
	sample_ring_put(&ring, &kind, 1, words, STOP_WORDS);
}

void stop_log_aborted(uint64_t at_ns)
{
	if (!under_way())
		return;
	gather_stop();
	current.stop.flags |= CHANNEL_STOP_ABORTED;
	current.stop.end_ns = at_ns;
	put_stop(&current.stop);
}

void stop_log_resuming(uint64_t at_ns)
{
	uint32_t tid = own_tid();

	if (!under_way())
		return;
	gather_stop();
	current.stop.resume_ns = at_ns;
	for (int i = 0; i < MAX_RESUMING; i++) {
		if (atomic_load(&resuming[i].tid))
			continue;
		resuming[i].stop = current.stop;
		atomic_store(&resuming[i].tid, tid);
		return;
	}
	atomic_fetch_add(&lost, 1);
}

void stop_log_resumed(uint64_t at_ns)
{
	uint32_t tid = own_tid();

	for (int i = 0; i < MAX_RESUMING; i++) {
		if (atomic_load(&resuming[i].tid) != tid)
			continue;
		resuming[i].stop.end_ns = at_ns;
		put_stop(&resuming[i].stop);
		atomic_store(&resuming[i].tid, 0);
		return;
	}
}

static void keep_later(struct moment *m, uint64_t packed)
{
	uint64_t before = atomic_load(&m->packed);

	while (packed > before && !atomic_compare_exchange_weak(&m->packed, &before, packed))
		;
}

void stop_log_thread_halted(uint64_t at_ns)
{
	uint64_t start_ns = atomic_load(&current.start_ns), stopped_ns = atomic_load(&current.stopped_ns), none = 0;
	uint32_t tid = own_tid();

	if (!start_ns || at_ns < start_ns || tid == current.stop.tid)
		return;
	uint64_t late_ns = difference(at_ns, start_ns), packed = late_ns << TID_BITS | (tid & ((1u << TID_BITS) - 1));
	atomic_fetch_add(&current.threads, 1);
	if (!stopped_ns)
		keep_later(&current.last, packed);
	else
		atomic_compare_exchange_strong(&current.next.packed, &none, packed);
	if (late_ns >= LATE_NS && (!stopped_ns || is_within(at_ns, stopped_ns, LATE_AFTER_NS)) &&
	    atomic_fetch_add(&current.late_stacks, 1) < MAX_LATE_STACKS)
		take_stack(CHANNEL_STACK_LATE, atomic_load(&current.number), tid, at_ns);
}

/* A collection is told of by a callback, by an event with the runtime's reasons, or by both, in either order. The count is read once: should
 * another thread tell of one at the same time, an entry may be wrong, but nothing beside them. */
static struct channel_stop_collection *collection_of(uint32_t generation, uint8_t told, uint64_t at_ns)
{
	struct channel_stop *s = &current.stop;
	struct channel_stop_collection *last;
	uint16_t at = s->collection_count;

	if (at && at <= CHANNEL_STOP_COLLECTIONS) {
		last = &s->collections[at - 1];
		if (!(last->flags & told) && last->generation == generation) {
			last->flags |= told;
			return last;
		}
	}
	if (at < UINT16_MAX)
		s->collection_count = (uint16_t)(at + 1);
	if (at >= CHANNEL_STOP_COLLECTIONS)
		return NULL;
	last = &s->collections[at];
	*last = (struct channel_stop_collection){.start_ns = at_ns, .generation = (uint8_t)generation, .flags = told};
	return last;
}

void stop_log_collection_started(uint32_t generation, bool induced, uint64_t at_ns)
{
	if (!under_way())
		return;
	struct channel_stop_collection *c = collection_of(generation, TOLD_BY_CALLBACK, at_ns);
	if (c && induced)
		c->flags |= CHANNEL_GC_INDUCED;
	if ((induced || generation == 2) && !atomic_load(&detailing))
		atomic_store(&missed, true);
	if (!induced || events || !atomic_load(&detailing))
		return;
	atomic_fetch_add(&detailed, 1);
	take_stack(CHANNEL_STACK_INDUCER, atomic_load(&current.number), own_tid(), at_ns);
}

/* The last that can have ended: a background collection tells nothing of its end. */
void stop_log_collection_finished(uint64_t at_ns)
{
	struct channel_stop *s = &current.stop;
	size_t count = s->collection_count;

	if (!under_way() || count > CHANNEL_STOP_COLLECTIONS)
		return;
	for (size_t i = count; i > 0; i--) {
		struct channel_stop_collection *c = &s->collections[i - 1];
		if (c->flags & CHANNEL_GC_FINISHED || (c->flags & CHANNEL_GC_DETAILED && c->type == GC_TYPE_BACKGROUND))
			continue;
		c->end_ns = at_ns;
		c->flags |= CHANNEL_GC_FINISHED;
		return;
	}
}

static bool is_induced(uint32_t reason)
{
	return reason < 32 && GC_REASONS_INDUCED >> reason & 1;
}

/* On the thread that asks: it has made the stop itself, or with Server GC a thread of the collector will make the next. */
static void on_triggered(const struct event_pipe_event *e)
{
	uint32_t tid = own_tid();
	struct wire_reader r;

	wire_reader_init(&r, e->data, e->len);
	uint32_t reason = wire_u32(&r);
	bool made = under_way() && current.stop.tid == tid;
	if (!r.bad && is_induced(reason))
		take_stack(CHANNEL_STACK_INDUCER, made ? atomic_load(&current.number) : atomic_load(&seen) + 1, tid, e->time_ns);
}

/* Version 1 and later: u32 count, generation, reason, type. */
static void on_started(const struct event_pipe_event *e)
{
	struct wire_reader r;

	wire_reader_init(&r, e->data, e->len);
	(void)wire_u32(&r);
	uint32_t generation = wire_u32(&r), reason = wire_u32(&r), type = wire_u32(&r);
	atomic_fetch_add(&detailed, 1);
	if (r.bad || generation > 2 || !under_way())
		return;
	struct channel_stop_collection *c = collection_of(generation, CHANNEL_GC_DETAILED, e->time_ns);
	if (!c)
		return;
	c->reason = (uint8_t)(reason < UINT8_MAX ? reason : UINT8_MAX);
	c->type = (uint8_t)(type < UINT8_MAX ? type : UINT8_MAX);
	if (is_induced(reason))
		c->flags |= CHANNEL_GC_INDUCED;
}

static void on_gc_event(const struct event_pipe_event *e)
{
	if (e->id == EVENT_GC_TRIGGERED && atomic_load(&on) && atomic_load(&detailing))
		on_triggered(e);
	else if (e->id == EVENT_GC_START)
		on_started(e);
}

/* Own thread ------------------------------------------------------------------------------------------------------------------ */
void stop_log_reset(void *i)
{
	info = i;
	atomic_store(&on, false);
	atomic_store(&current.start_ns, 0);
	for (int k = 0; k < MAX_RESUMING; k++)
		atomic_store(&resuming[k].tid, 0);
}

bool stop_log_running(void)
{
	return atomic_load(&on);
}

static void put_stop_record(struct wire_writer *w, const uint64_t *words, size_t len)
{
	struct channel_stop stop;
	struct channel_stop_stack stack;

	if (words[0] == RECORD_STOP) {
		memcpy(&stop, words + 1, sizeof stop);
		for (size_t i = 0; i < CHANNEL_STOP_COLLECTIONS; i++)
			stop.collections[i].flags &= (uint8_t)~TOLD_BY_CALLBACK;
		channel_put_stop(w, &stop);
		return;
	}
	stack.number = words[1];
	stack.time_ns = words[2];
	stack.tid = (uint32_t)(words[3] >> 32);
	stack.kind = (uint16_t)words[3] & (uint16_t)~CHANNEL_STACK_INCOMPLETE;
	stack.incomplete = words[3] & CHANNEL_STACK_INCOMPLETE;
	stack.depth = (uint16_t)difference(len, STACK_HEAD_WORDS);
	memcpy(stack.ips, words + STACK_HEAD_WORDS, stack.depth * sizeof *stack.ips);
	channel_put_stop_stack(w, &stack);
}

/* Frames of one kind of record each, as full as they get. */
static void send_stop_records(struct channel_io *io)
{
	uint64_t words[STACK_HEAD_WORDS + CHANNEL_MAX_DEPTH], open = 0;
	struct wire_writer *w = NULL;
	size_t len;

	while ((len = sample_ring_take(&ring, words, sizeof words / sizeof *words))) {
		if (w && (words[0] != open || w->pos + sizeof words > CHANNEL_MAX_PAYLOAD)) {
			channel_io_end(io);
			w = NULL;
		}
		if (!w)
			w = channel_io_begin(io, words[0] == RECORD_STOP ? CHANNEL_STOPS : CHANNEL_STOP_STACKS);
		open = words[0];
		put_stop_record(w, words, len);
	}
	if (w)
		channel_io_end(io);
}

static void forget_all(void)
{
	uint64_t words[STACK_HEAD_WORDS + CHANNEL_MAX_DEPTH];

	while (sample_ring_take(&ring, words, sizeof words / sizeof *words))
		;
	atomic_store(&ring.dropped, 0);
	atomic_store(&seen, 0);
	atomic_store(&lost, 0);
	atomic_store(&detailed, 0);
}

/* Each event costs the runtime several times what a callback does, for some of them it walks the stack, and it makes a dozen of them for each
 * collection: two are wanted, but all have the same keyword and level. */
static bool start_events(void)
{
	static const wchar16 name[] = {'M', 'i', 'c', 'r', 'o', 's', 'o', 'f', 't', '-', 'W', 'i', 'n', 'd', 'o', 'w',
				       's', '-', 'D', 'o', 't', 'N', 'E', 'T', 'R', 'u', 'n', 't', 'i', 'm', 'e', 0};
	static const struct cor_event_provider collections = {.name = name, .keywords = 1, .level = 4};
	const char *message;

	return event_pipe_start(info, &collections, 1, on_gc_event, &message) >= 0;
}

/* Without events only what made the runtime collect is not known, and with Server GC who asked for it. */
static void begin_stop_log(void)
{
	forget_all();
	own_stack_prepare(info);
	events = start_events();
	retry_ns = FIRST_RETRY_NS;
	retry_at_ns = 0;
	detail_budget_init(&budget, now_ns(), now_ns());
	atomic_store(&detailing, true);
	atomic_store(&on, true);
}

/* What the runtime refuses is asked for again after a while, each time after a longer one. */
static bool start_events_again(uint64_t at_ns)
{
	if (at_ns < retry_at_ns)
		return false;
	bool started = start_events();
	retry_at_ns = started ? 0 : at_ns + retry_ns;
	retry_ns = started ? FIRST_RETRY_NS : retry_ns * 2 < LONGEST_RETRY_NS ? retry_ns * 2 : LONGEST_RETRY_NS;
	return started;
}

/* Takes details, or takes none any more. */
static void detail(bool wanted, uint64_t at_ns)
{
	if (wanted == atomic_load(&detailing) || (wanted && events && !start_events_again(at_ns)))
		return;
	atomic_store(&detailing, wanted);
	atomic_store(&missed, false);
	if (!wanted && events)
		event_pipe_stop(info);
}

void stop_log_hold(void)
{
	if (stop_log_running())
		detail(false, now_ns());
}

void stop_log_tick(struct channel_io *io)
{
	uint64_t now = now_ns();

	own_stack_tick();
	detail(detail_budget_step(&budget, now, atomic_load(&detailed), atomic_load(&missed)), now);
	send_stop_records(io);
}

static bool ending(void)
{
	for (int i = 0; i < MAX_RESUMING; i++)
		if (atomic_load(&resuming[i].tid))
			return true;
	return false;
}

/* Begins no further stop. */
void stop_log_end(void)
{
	if (!stop_log_running())
		return;
	atomic_store(&on, false);
	for (int i = 0; i < LAST_TURNS && (under_way() || ending()); i++)
		poll(NULL, 0, LAST_TURN_MS); /* it is told of to its end */
	if (events)
		event_pipe_stop(info);
	events = false;
}

bool stop_log_answer(const struct channel_frame *f, struct channel_io *io)
{
	bool told;

	if (f->type != CHANNEL_STOPS_BEGIN && f->type != CHANNEL_STOPS_END)
		return false;
	if (f->type == CHANNEL_STOPS_BEGIN && !stop_log_running())
		begin_stop_log();
	told = events;
	if (f->type == CHANNEL_STOPS_END)
		stop_log_end();
	send_stop_records(io);
	struct channel_stops_state s = {
		.seen = atomic_load(&seen),
		.dropped = atomic_load(&ring.dropped) + atomic_load(&lost),
		.time_ns = now_ns(),
		.flags = told ? CHANNEL_STOPS_EVENTS : 0,
	};
	channel_put_stops_state(channel_io_begin(io, CHANNEL_STOPS_STATE), &s);
	channel_io_end(io);
	return true;
}
