/* Context: CLR callback, and own thread (answer, running, drain). */
#include "profiler/stop_log.h"

#include "common/proto/channel_stops.h"
#include "profiler/cor_abi.h"
#include "profiler/frame_walk.h"
#include "profiler/now.h"
#include "profiler/sample_ring.h"
#include "profiler/stack_map.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LATE_NS 1000000u       /* who comes to a halt later than this is asked for the stack */
#define LATE_AFTER_NS 1000000u /* so long after all have, it still counts: the thread says so only when it is let run again */
#define MAX_LATE_STACKS 2      /* of one stop */
#define TID_BITS 22            /* the kernel's limit of thread ids */
#define MAX_RESUMING 4
#define MAP_PERIOD_NS 1000000000u /* reading the maps costs up to a millisecond of our thread */

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
static _Atomic bool stack_missing; /* a late thread's stack was not among those that are known */
static uint64_t map_read_ns;
static _Atomic uint64_t seen, lost;
static void *info;

static uint32_t own_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/* CLR callbacks -------------------------------------------------------------------------------------------------------------- */
struct walked {
	uint64_t ips[CHANNEL_MAX_DEPTH];
	size_t depth;
};

static hresult on_frame(cor_id function, uintptr_t ip, cor_id frame, uint32_t context_len, uint8_t *context, void *data)
{
	struct walked *w = data;

	(void)frame;
	(void)context_len;
	(void)context;
	if (w->depth == CHANNEL_MAX_DEPTH)
		return COR_S_FALSE;
	if (function)
		w->ips[w->depth++] = ip;
	return COR_S_OK;
}

static void put_stack(enum channel_stop_stack_kind kind, uint32_t tid, uint64_t at_ns, const struct walked *w)
{
	uint64_t head[STACK_HEAD_WORDS] = {RECORD_STACK, atomic_load(&current.number), at_ns, (uint64_t)tid << 32 | kind};
	sample_ring_put(&ring, head, STACK_HEAD_WORDS, w->ips, w->depth);
}

/* Of the calling thread, by the runtime's own walk. */
static void take_inducer(uint32_t tid, uint64_t at_ns)
{
	struct walked w = {.depth = 0};

	info_do_stack_snapshot(info, 0, on_frame, &w);
	if (w.depth)
		put_stack(CHANNEL_STACK_INDUCER, tid, at_ns, &w);
}

/* Of the calling thread, which the runtime has just stopped: there its own walk is refused (0x80131360). The chain of frame pointers may
 * lack the innermost managed frame, whose place the runtime's own code has taken. */
static void take_late(uint32_t tid, uint64_t at_ns)
{
	struct walked w;
	uintptr_t fp = (uintptr_t)__builtin_frame_address(0), end = stack_map_end(fp), tp = frame_walk_thread_pointer();
	struct frame_registers r = {.ip = (uintptr_t)__builtin_return_address(0), .sp = fp, .fp = fp};
	bool more;

	if (!end)
		atomic_store(&stack_missing, true);
	w.depth = frame_walk(&r, tp > fp && tp < end ? tp : end, w.ips, CHANNEL_MAX_DEPTH, &more);
	put_stack(CHANNEL_STACK_LATE, tid, at_ns, &w);
}

static bool under_way(void)
{
	return atomic_load(&current.start_ns) != 0;
}

void stop_log_suspending(uint32_t reason, uint64_t at_ns)
{
	if (!atomic_load(&on))
		return;
	uint64_t number = atomic_fetch_add(&seen, 1) + 1;
	current.stop = (struct channel_stop){.number = number, .start_ns = at_ns, .tid = own_tid(), .reason = (uint16_t)reason};
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

static void gather(void)
{
	unpack(&current.last, &current.stop.last_tid, &current.stop.last_ns);
	unpack(&current.next, &current.stop.next_tid, &current.stop.next_ns);
	current.stop.threads = atomic_load(&current.threads);
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
	gather();
	current.stop.flags |= CHANNEL_STOP_ABORTED;
	current.stop.end_ns = at_ns;
	put_stop(&current.stop);
}

void stop_log_resuming(uint64_t at_ns)
{
	uint32_t tid = own_tid();

	if (!under_way())
		return;
	gather();
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
	uint64_t packed = (at_ns - start_ns) << TID_BITS | (tid & ((1u << TID_BITS) - 1));
	atomic_fetch_add(&current.threads, 1);
	if (!stopped_ns)
		keep_later(&current.last, packed);
	else
		atomic_compare_exchange_strong(&current.next.packed, &none, packed);
	if (at_ns - start_ns >= LATE_NS && (!stopped_ns || at_ns - stopped_ns < LATE_AFTER_NS) &&
	    atomic_fetch_add(&current.late_stacks, 1) < MAX_LATE_STACKS)
		take_late(tid, at_ns);
}

void stop_log_collection_started(uint32_t generation, bool induced, uint64_t at_ns)
{
	if (!under_way())
		return;
	if (current.stop.collection_count < CHANNEL_STOP_COLLECTIONS)
		current.stop.collections[current.stop.collection_count] = (struct channel_stop_collection){
			.start_ns = at_ns, .generation = (uint8_t)generation, .flags = induced ? CHANNEL_GC_INDUCED : 0};
	current.stop.collection_count++;
	if (induced)
		take_inducer(own_tid(), at_ns);
}

void stop_log_collection_finished(uint64_t at_ns)
{
	if (!under_way() || !current.stop.collection_count || current.stop.collection_count > CHANNEL_STOP_COLLECTIONS)
		return;
	struct channel_stop_collection *c = &current.stop.collections[current.stop.collection_count - 1];
	c->end_ns = at_ns;
	c->flags |= CHANNEL_GC_FINISHED;
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

static void read_map(void)
{
	atomic_store(&stack_missing, false);
	stack_map_refresh();
	map_read_ns = now_ns();
}

void stop_log_tick(void)
{
	if (atomic_load(&stack_missing) && now_ns() - map_read_ns > MAP_PERIOD_NS)
		read_map();
}

static void put_record(struct wire_writer *w, const uint64_t *words, size_t len)
{
	struct channel_stop stop;
	struct channel_stop_stack stack;

	if (words[0] == RECORD_STOP) {
		memcpy(&stop, words + 1, sizeof stop);
		channel_put_stop(w, &stop);
		return;
	}
	stack.number = words[1];
	stack.time_ns = words[2];
	stack.tid = (uint32_t)(words[3] >> 32);
	stack.kind = (uint16_t)words[3];
	stack.depth = (uint16_t)(len - STACK_HEAD_WORDS);
	memcpy(stack.ips, words + STACK_HEAD_WORDS, stack.depth * sizeof *stack.ips);
	channel_put_stop_stack(w, &stack);
}

/* Frames of one kind of record each, as full as they get. */
void stop_log_drain(struct channel_io *io)
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
		put_record(w, words, len);
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
}

bool stop_log_answer(const struct channel_frame *f, struct channel_io *io)
{
	if (f->type != CHANNEL_STOPS_BEGIN && f->type != CHANNEL_STOPS_END)
		return false;
	if (f->type == CHANNEL_STOPS_BEGIN && !stop_log_running()) {
		forget_all();
		read_map();
	}
	atomic_store(&on, f->type == CHANNEL_STOPS_BEGIN);
	stop_log_drain(io);
	struct channel_stops_state s = {
		.seen = atomic_load(&seen),
		.dropped = atomic_load(&ring.dropped) + atomic_load(&lost),
		.time_ns = now_ns(),
	};
	channel_put_stops_state(channel_io_begin(io, CHANNEL_STOPS_STATE), &s);
	channel_io_end(io);
	return true;
}
