/* Context: own thread, and signal handler (on_signal and what it calls). */
#include "profiler/stacks/sampler.h"

#include "common/proto/difference.h"
#include "profiler/stacks/code_learn.h"
#include "profiler/stacks/code_walk.h"
#include "profiler/stacks/frame_walk.h"
#include "profiler/stacks/hijacks.h"
#include "profiler/base/now.h"
#include "profiler/base/own_statics.h"
#include "profiler/base/pause_watch.h"
#include "profiler/clr/runtime_signal.h"
#include "profiler/stacks/sample_ring.h"
#include "profiler/stacks/stack_copy.h"
#include "profiler/stacks/stack_map.h"
#include "profiler/stacks/thread_timers.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#define HEAD_WORDS 2
#define COPIED 0x8000u /* flag of a record: a stack_copy.h instead of addresses */
#define RECORD_WORDS (HEAD_WORDS + STACK_COPY_HEAD_WORDS + STACK_COPY_WORDS)
#define RECORD_BYTES (16 + CHANNEL_MAX_DEPTH * 8)
#define MAP_PERIOD_NS 200000000u /* reading the maps costs up to a millisecond of our thread */

static struct sample_ring ring;
static _Atomic bool on;
static _Atomic bool stack_missing; /* a handler met a stack that the map does not have */
static _Atomic uint64_t taken;
/* The runtime's. Not among what a session gives back: a handler of others, put before ours, may go on to call ours. */
static struct sigaction before OWN_KEPT = {0};
static bool chained OWN_KEPT = false; /* there is such a one */
static int signo;
static uint32_t hertz;
static uint64_t map_read_ns;
static uint64_t record[RECORD_WORDS]; /* the latest from the ring */
static uint64_t begin_cpu_ns, end_cpu_ns; /* CPU time of the process */
static bool settled = true; /* no thread can be in our handler */

/* Signal handler ------------------------------------------------------------------------------------------------------- */
static uintptr_t stack_end(uintptr_t sp)
{
	uintptr_t end = stack_map_end(sp), tp = frame_walk_thread_pointer();

	if (!end)
		atomic_store_explicit(&stack_missing, true, memory_order_relaxed);
	/* A mapping may go on behind the stack with something that another thread unmaps meanwhile. */
	return tp > sp && tp < end ? tp : end;
}

static uint64_t gap_flag(enum code_gap gap)
{
	return gap == CODE_GAP_CODE ? CHANNEL_GAP_CODE : gap == CODE_GAP_BROKEN ? CHANNEL_GAP_BROKEN : 0;
}

/* The first walk through code that is not known yet: our thread learns of it and walks once more, in a copy of the stack. */
static bool put_copy(const uint64_t *head, const struct stack_copy_source *s)
{
	uint64_t words[HEAD_WORDS + STACK_COPY_HEAD_WORDS] = {head[0], head[1] | COPIED};

	if (sample_ring_used(&ring) > SAMPLE_RING_WORDS / 2) /* no sample is lost for one that is better */
		return false;
	size_t len = stack_copy_head(s, words + HEAD_WORDS);
	return len && sample_ring_put(&ring, words, HEAD_WORDS + len, (const uint64_t *)s->registers.sp, stack_copy_words(s));
}

static void take_sample(uint32_t tid, const void *ucontext)
{
	struct frame_registers r = frame_walk_registers(ucontext);
	uint64_t ips[CHANNEL_MAX_DEPTH];
	uint32_t heights[CHANNEL_MAX_DEPTH];
	struct code_walked walked;

	uintptr_t end = stack_end(r.sp);
	const struct code_index *index = code_rules_enter();
	frame_walk(&r, true, end, index, ips, heights, CHANNEL_MAX_DEPTH, &walked);
	code_rules_leave(index);
	uint64_t flags = walked.more || !end ? CHANNEL_TRUNCATED : 0;
	uint64_t head[HEAD_WORDS] = {now_ns(), (uint64_t)tid << 32 | flags};
	const struct stack_copy_source source = {r, end, ips, heights, walked.depth};
	if (walked.unknown && end && put_copy(head, &source)) {
		atomic_fetch_add_explicit(&taken, 1, memory_order_relaxed);
		return;
	}
	head[1] |= !end ? 0 : walked.unknown ? CHANNEL_GAP_ROOM : gap_flag(walked.gap);
	if (sample_ring_put(&ring, head, HEAD_WORDS, ips, walked.depth))
		atomic_fetch_add_explicit(&taken, 1, memory_order_relaxed);
}

static __attribute__((noinline)) void on_sample_timer(const siginfo_t *info, const void *ucontext)
{
	uint64_t begin_ns = pause_watch_begin(CHANNEL_PAUSE_SIGNAL);
	int error = errno;

	if (atomic_load_explicit(&on, memory_order_relaxed)) {
		take_sample((uint32_t)info->si_value.sival_int, ucontext);
		if (info->si_overrun > 0)
			atomic_fetch_add_explicit(&ring.dropped, (uint64_t)info->si_overrun, memory_order_relaxed);
	}
	pause_watch_end(CHANNEL_PAUSE_SIGNAL, begin_ns);
	errno = error;
}

/* What does the method return to that the thread is in? */
static void note_caller(const void *ucontext)
{
	struct frame_registers r = frame_walk_registers(ucontext);
	uint64_t ips[2];
	uint32_t heights[2];
	struct code_walked walked;

	uintptr_t end = stack_end(r.sp);
	const struct code_index *index = code_rules_enter();
	const struct code_rule *leaf = code_rules_find(index, r.ip);
	if (leaf && leaf->kind == CODE_MANAGED) {
		frame_walk(&r, true, end, index, ips, heights, 2, &walked);
		const struct code_rule *caller = walked.depth == 2 ? code_rules_find(index, difference(ips[1], 1)) : NULL;
		if (caller && caller->kind == CODE_MANAGED)
			hijacks_note(difference(r.sp + heights[1], sizeof *ips), ips[1]);
	}
	code_rules_leave(index);
}

/* The runtime is about to stop this thread, perhaps by putting its own address where the method returns to. */
static __attribute__((noinline)) void on_other(const void *ucontext)
{
	if (!atomic_load_explicit(&on, memory_order_relaxed))
		return;
	uint64_t begin_ns = pause_watch_begin(CHANNEL_PAUSE_SIGNAL);
	note_caller(ucontext);
	pause_watch_end(CHANNEL_PAUSE_SIGNAL, begin_ns);
}

/* The runtime's handler may hold a thread for as long as a collection lasts, and our code may be gone before: it is jumped to, not
 * called, so that it returns past us (profiler/check-library looks, also at a sanitized build, whose own calls would be taken for it). */
__attribute__((no_sanitize("address", "undefined"))) static void on_signal(int number, siginfo_t *info, void *ucontext)
{
	if (info->si_code == SI_TIMER) {
		on_sample_timer(info, ucontext);
	} else {
		on_other(ucontext);
		before.sa_sigaction(number, info, ucontext);
	}
}

/* Own thread ------------------------------------------------------------------------------------------------------------ */
/* It has held parts of stacks, which are the application's secrets. */
static void wipe(void)
{
	memset(record, 0, sizeof record);
	__asm__ volatile("" : : "r"(record) : "memory");
}

void sampler_reset(void)
{
	while (sample_ring_take(&ring, record, RECORD_WORDS))
		;
	wipe();
	atomic_store(&ring.dropped, 0);
	atomic_store(&taken, 0);
	thread_timers_reset();
	begin_cpu_ns = end_cpu_ns = 0;
	hertz = 0;
}

bool sampler_running(void)
{
	return atomic_load(&on);
}

static void read_sampler_map(void)
{
	atomic_store(&stack_missing, false);
	if (stack_map_refresh())
		map_read_ns = now_ns();
}

/* With the runtime's own flags and mask: for its signals nothing changes. */
static bool install(const char **message)
{
	struct sigaction runtimes;

	signo = chained ? 0 : runtime_signal_find(&runtimes);
	if (!signo) {
		*message = "no signal is safe to sample this process with: something else than the runtime handles its memory faults";
		return false;
	}
	struct sigaction ours = before = runtimes;
	ours.sa_sigaction = on_signal;
	return sigaction(signo, &ours, NULL) == 0;
}

int sampler_start(void *info, uint32_t wanted_hertz, const char **message)
{
	*message = "sampling runs already";
	if (sampler_running())
		return EALREADY;
	*message = "the frequency is out of range";
	if (wanted_hertz < 1 || wanted_hertz > SAMPLER_MAX_HERTZ)
		return EINVAL;
	sampler_settle();
	sampler_reset();
	read_sampler_map();
	code_learn_begin(info);
	if (!install(message))
		return EBUSY;
	settled = false;
	begin_cpu_ns = now_of(CLOCK_PROCESS_CPUTIME_ID);
	hertz = wanted_hertz;
	atomic_store(&on, true);
	if (thread_timers_update(signo, 1000000000u / hertz) > 0)
		return 0;
	*message = "the kernel gives no timer for a thread's CPU clock";
	sampler_stop();
	return EAGAIN;
}

/* A signal of a timer that is still pending then meets the runtime's handler, which passes over what it has not sent itself. */
void sampler_stop(void)
{
	struct sigaction current;

	if (!sampler_running())
		return;
	thread_timers_delete_all();
	end_cpu_ns = now_of(CLOCK_PROCESS_CPUTIME_ID);
	atomic_store(&on, false);
	hertz = 0;
	chained = sigaction(signo, NULL, &current) != 0 || current.sa_sigaction != on_signal; /* somebody's own: it stays, and so do we */
	if (!chained)
		sigaction(signo, &before, NULL);
	thread_timers_mark();
}

bool sampler_settle(void)
{
	if (!settled)
		settled = thread_timers_settle();
	return settled && !chained;
}

void sampler_tick(void)
{
	int added = thread_timers_update(signo, 1000000000u / hertz);

	code_learn_tick();
	if ((added > 0 || atomic_load(&stack_missing)) && difference(now_ns(), map_read_ns) > MAP_PERIOD_NS)
		read_sampler_map();
	else if (added > 0)
		atomic_store(&stack_missing, true);
}

static void put_sample_record(struct wire_writer *w, size_t len)
{
	struct channel_sample_record s = {
		.time_ns = (int64_t)record[0],
		.tid = (uint32_t)(record[1] >> 32),
		.flags = (uint16_t)(record[1] & ~COPIED),
		.depth = (uint16_t)difference(len, HEAD_WORDS),
	};
	struct code_walked walked;

	if (record[1] & COPIED) {
		bool deep = stack_copy_walk(record + HEAD_WORDS, difference(len, HEAD_WORDS), s.ips, CHANNEL_MAX_DEPTH, &walked);
		s.depth = (uint16_t)walked.depth;
		s.flags |= (uint16_t)((walked.more ? CHANNEL_TRUNCATED : 0) | (deep ? CHANNEL_GAP_DEEP : gap_flag(walked.gap)));
	} else {
		memcpy(s.ips, record + HEAD_WORDS, s.depth * sizeof *s.ips);
	}
	channel_put_sample(w, &s);
}

void sampler_drain(struct channel_io *io)
{
	size_t len = sample_ring_take(&ring, record, RECORD_WORDS);

	while (len) {
		struct wire_writer *w = channel_io_begin(io, CHANNEL_SAMPLES);
		for (; len && !w->bad && difference(w->cap, w->pos) >= RECORD_BYTES; len = sample_ring_take(&ring, record, RECORD_WORDS))
			put_sample_record(w, len);
		if (!channel_io_end(io))
			break; /* the channel is lost */
	}
	wipe();
}

struct channel_sampling sampler_counts(void)
{
	struct thread_timers_missed missed = thread_timers_missed();

	return (struct channel_sampling){
		.hertz = hertz,
		.threads = sampler_running() ? thread_timers_count() : 0,
		.taken = atomic_load(&taken),
		.dropped = atomic_load(&ring.dropped),
		.cpu_ns = difference(sampler_running() ? now_of(CLOCK_PROCESS_CPUTIME_ID) : end_cpu_ns, begin_cpu_ns),
		.untimed = missed.threads,
		.untimed_cpu_ns = missed.cpu_ns,
		.flags = missed.unknown ? CHANNEL_SAMPLING_THREADS_UNKNOWN : 0,
	};
}
