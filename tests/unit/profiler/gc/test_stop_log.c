#include "common/proto/channel_stops.h"
#include "profiler/clr/cor_abi.h"
#include "profiler/base/detail_budget.h"
#include "profiler/clr/event_pipe.h"
#include "profiler/gc/stop_log.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct channel_io io;
static int other_end;
static struct channel_stop stops[512];
static struct channel_stop_stack stacks[64];
static size_t stop_count, stack_count;
static struct channel_stops_state state;

static hresult mask_answer; /* of SetEventMask2: without it there are no events */
static unsigned sessions, asked;
static bool refuse; /* to start events */

static hresult set_mask(void *self, uint32_t low, uint32_t high)
{
	(void)self, (void)low, (void)high;
	return mask_answer;
}

static hresult start_session(void *self, uint32_t count, const struct cor_event_provider *providers, int32_t rundown, uint64_t *session)
{
	(void)self;
	cr_expect(count == 1 && providers->keywords == 1 && providers->level == 4 && !rundown);
	asked++;
	if (refuse)
		return COR_E_FAIL;
	*session = 9;
	sessions++;
	return COR_S_OK;
}

static hresult stop_session(void *self, uint64_t session)
{
	(void)self;
	cr_expect_eq(session, 9);
	sessions--;
	return COR_S_OK;
}

static hresult provider_info(void *self, cor_id provider, uint32_t cap, uint32_t *len, wchar16 *name)
{
	static const wchar16 ours[] = u"Microsoft-Windows-DotNETRuntime", others[] = u"Somebody-Else";
	const wchar16 *from = provider == 1 ? ours : others;

	(void)self;
	for (*len = 0; *len < cap && from[*len]; ++*len)
		name[*len] = from[*len];
	name[*len] = 0;
	return COR_S_OK;
}

/* The runtime's own walk, for threads whose stack is not known yet. */
static bool walk_refused;

static hresult walk(void *self, cor_id thread, cor_frame_fn *fn, uint32_t flags, void *data, uint8_t *context, uint32_t len)
{
	(void)self, (void)thread, (void)flags, (void)context, (void)len;
	return walk_refused ? COR_E_FAIL : fn(1, 0x1000, 0, 0, NULL, data);
}

static void *slots[128] = {
	[INFO_DO_STACK_SNAPSHOT] = walk,
	[INFO_SET_EVENT_MASK2] = set_mask,
	[INFO_EVENT_PIPE_START_SESSION] = start_session,
	[INFO_EVENT_PIPE_STOP_SESSION] = stop_session,
	[INFO_EVENT_PIPE_GET_PROVIDER_INFO] = provider_info,
};
static void **info = slots;

static void read_frame(const struct channel_frame *f)
{
	struct wire_reader r;

	wire_reader_init(&r, f->payload, f->len);
	while (f->type == CHANNEL_STOPS && wire_left(&r))
		cr_assert(channel_get_stop(&r, &stops[stop_count++]));
	while (f->type == CHANNEL_STOP_STACKS && wire_left(&r))
		cr_assert(channel_get_stop_stack(&r, &stacks[stack_count++]));
	if (f->type == CHANNEL_STOPS_STATE)
		cr_assert(channel_get_stops_state(f, &state));
}

static void ask(uint16_t type)
{
	static uint8_t in[4 * CHANNEL_MAX_FRAME];
	struct channel_frame request = {.type = type}, f;
	size_t len = 0, used;

	stop_count = stack_count = 0;
	cr_assert(stop_log_answer(&request, &io));
	cr_assert(channel_io_flush(&io));
	for (ssize_t n; (n = recv(other_end, in + len, sizeof in - len, MSG_DONTWAIT)) > 0;)
		len += (size_t)n;
	for (size_t at = 0; at < len; at += used) {
		cr_assert_eq(channel_next(in + at, len - at, &f, &used), CHANNEL_FRAME);
		read_frame(&f);
	}
}

static void begin_as(hresult mask)
{
	int pair[2];

	mask_answer = mask;

	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	io.fd = pair[0];
	io.give_up_fd = -1;
	other_end = pair[1];
	int big = 1 << 20;
	setsockopt(io.fd, SOL_SOCKET, SO_SNDBUF, &big, sizeof big);
	stop_log_reset(&info);
	ask(CHANNEL_STOPS_BEGIN);
}

static void begin(void)
{
	begin_as(COR_E_FAIL);
	cr_expect_eq(state.flags, 0);
}

static void stop_at(uint64_t ns)
{
	stop_log_suspending(1, ns);
	stop_log_suspended(ns + 10);
	stop_log_collection_started(0, false, ns + 12);
	stop_log_collection_finished(ns + 18);
	stop_log_resuming(ns + 20);
	stop_log_resumed(ns + 25);
}

static uint32_t own_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

Test(stop_log, a_stop_is_told_with_its_moments_and_collections)
{
	begin();
	stop_log_suspending(1, 1000);
	stop_log_suspended(1100);
	stop_log_collection_started(1, false, 1110);
	stop_log_collection_finished(1150);
	stop_log_collection_started(2, true, 1160);
	stop_log_resuming(1200);
	stop_log_resumed(1210);
	ask(CHANNEL_STOPS_END);
	cr_assert(stop_count == 1 && state.seen == 1 && state.dropped == 0);
	const struct channel_stop *s = &stops[0];
	cr_expect(s->number == 1 && s->start_ns == 1000 && s->stopped_ns == 1100 && s->resume_ns == 1200 && s->end_ns == 1210);
	cr_expect(s->tid == own_tid() && s->reason == 1 && s->flags == 0 && s->collection_count == 2);
	cr_expect(s->collections[0].flags == CHANNEL_GC_FINISHED && s->collections[0].end_ns == 1150 && s->collections[0].generation == 1);
	cr_expect(s->collections[1].flags == CHANNEL_GC_INDUCED && s->collections[1].end_ns == 0 && s->collections[1].generation == 2);
	cr_assert(stack_count == 1 && stacks[0].number == 1 && stacks[0].kind == CHANNEL_STACK_INDUCER && stacks[0].time_ns == 1160);
	cr_expect_geq(stacks[0].depth, 1);
	cr_expect(!stacks[0].incomplete, "the runtime has told");
}

#if defined(__x86_64__)
static void collection_started(void)
{
	stop_log_collection_started(2, true, 1160);
}

/* Nothing is known of the code that the caller lies in, and the runtime tells nothing: what was found is told for what it is. */
Test(stop_log, a_stack_that_may_lack_callers_says_so)
{
	static const uint8_t call[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3}; /* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
	void *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	void (*run)(void (*what)(void));

	memcpy(made, call, sizeof call);
	memcpy(&run, &made, sizeof run);
	walk_refused = true;
	begin();
	stop_log_suspending(1, 1000);
	stop_log_suspended(1100);
	run(collection_started);
	stop_log_resuming(1200);
	stop_log_resumed(1210);
	ask(CHANNEL_STOPS_END);
	cr_assert_eq(stack_count, 1);
	cr_expect(stacks[0].kind == CHANNEL_STACK_INDUCER && stacks[0].depth >= 1 && stacks[0].incomplete);
	munmap(made, 4096);
}
#endif

Test(stop_log, outside_of_begin_and_end_nothing_is_told)
{
	begin();
	ask(CHANNEL_STOPS_END);
	stop_at(100);
	ask(CHANNEL_STOPS_BEGIN);
	cr_expect(stop_count == 0 && state.seen == 0);
	/* the rest of a stop that began before */
	stop_log_suspended(200);
	stop_log_collection_started(2, true, 210);
	stop_log_thread_halted(220);
	stop_log_resuming(230);
	stop_log_resumed(240);
	stop_log_aborted(250);
	ask(CHANNEL_STOPS_END);
	cr_expect(stop_count == 0 && stack_count == 0 && state.seen == 0);
	struct channel_frame other = {.type = CHANNEL_STATS_REQUEST};
	cr_expect(!stop_log_answer(&other, &io));
}

Test(stop_log, a_suspension_that_is_given_up_says_so)
{
	begin();
	stop_log_suspending(0, 100);
	stop_log_aborted(150);
	stop_at(200);
	ask(CHANNEL_STOPS_END);
	cr_assert_eq(stop_count, 2);
	cr_expect(stops[0].flags == CHANNEL_STOP_ABORTED && stops[0].stopped_ns == 0 && stops[0].end_ns == 150);
	cr_expect(stops[1].flags == 0 && stops[1].number == 2);
}

static void *end_late(void *unused)
{
	(void)unused;
	stop_log_suspending(1, 1000);
	stop_log_suspended(1010);
	stop_log_resuming(1020);
	return NULL;
}

/* Between its resume and its end the next stop, on another thread, may begin. */
Test(stop_log, the_next_stop_may_begin_before_one_has_ended)
{
	pthread_t other;

	begin();
	stop_log_suspending(1, 500);
	stop_log_suspended(510);
	stop_log_resuming(520);
	pthread_create(&other, NULL, end_late, NULL);
	pthread_join(other, NULL);
	stop_log_resumed(1100);
	ask(CHANNEL_STOPS_END);
	cr_assert_eq(stop_count, 1);
	cr_expect(stops[0].number == 1 && stops[0].resume_ns == 520 && stops[0].end_ns == 1100);
	cr_expect_eq(state.seen, 2);
}

static void *halt(void *at)
{
	stop_log_thread_halted(*(uint64_t *)at);
	return (void *)(uintptr_t)own_tid();
}

static uint32_t halt_on_another(uint64_t at_ns)
{
	pthread_t other;
	void *tid;

	pthread_create(&other, NULL, halt, &at_ns);
	pthread_join(other, &tid);
	return (uint32_t)(uintptr_t)tid;
}

Test(stop_log, who_came_to_a_halt_last_is_told_with_a_stack_when_it_was_late)
{
	begin();
	stop_log_suspending(1, 1000000);
	stop_log_thread_halted(1000100); /* who makes the stop is none of them */
	halt_on_another(1000200);
	uint32_t last = halt_on_another(5000000);
	stop_log_suspended(5000010);
	uint32_t next = halt_on_another(5000020);
	halt_on_another(9000000); /* came back from native code, long after */
	stop_log_resuming(9000010);
	stop_log_resumed(9000020);
	ask(CHANNEL_STOPS_END);
	cr_assert_eq(stop_count, 1);
	const struct channel_stop *s = &stops[0];
	cr_expect(s->threads == 4 && s->last_tid == last && s->last_ns == 5000000, "%u threads, last %u", s->threads, s->last_tid);
	cr_expect(s->next_tid == next && s->next_ns == 5000020);
	cr_assert_eq(stack_count, 2, "of both that were late: %zu", stack_count);
	cr_expect(stacks[0].kind == CHANNEL_STACK_LATE && stacks[0].tid == last && stacks[0].depth >= 1);
}

static void event(cor_id provider, uint32_t id, uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
	const uint32_t words[] = {a, b, c, d, 0};

	struct event_pipe_event e = {.id = id, .version = 2, .time_ns = 1, .data = (const uint8_t *)words, .len = sizeof words};
	event_pipe_delivered(provider, &e);
}

Test(stop_log, events_tell_reasons_and_who_asked)
{
	begin_as(COR_S_OK);
	cr_expect(state.flags == CHANNEL_STOPS_EVENTS && sessions == 1);
	event(1, 35, 1, 0, 0, 0);  /* somebody calls GC.Collect */
	event(1, 35, 0, 0, 0, 0);  /* a budget is used up: nobody asks who */
	event(2, 35, 1, 0, 0, 0);  /* another provider's */
	event(1, 1, 1, 2, 1, 0);   /* outside of a stop */
	stop_log_suspending(1, 100);
	stop_log_suspended(110);
	event(1, 1, 7, 2, 1, 1);   /* count, generation, reason, type: in the background */
	stop_log_collection_started(2, true, 120);
	event(1, 1, 8, 0, 0, 0);   /* a young one before it */
	stop_log_collection_finished(130);
	stop_log_resuming(140);
	stop_log_resumed(150);
	stop_log_suspending(1, 200);
	event(1, 35, 10, 0, 0, 0); /* by who makes the stop */
	stop_log_suspended(210);
	stop_log_collection_started(1, false, 220); /* the callback comes first */
	event(1, 1, 9, 1, 4, 0);
	stop_log_collection_finished(230);
	event(1, 1, 10, 3, 4, 0);  /* no such generation */
	struct event_pipe_event cut = {.id = 1, .version = 2, .time_ns = 1, .data = (const uint8_t *)"cut", .len = 3};
	event_pipe_delivered(1, &cut);
	stop_log_resuming(240);
	stop_log_resumed(250);
	ask(CHANNEL_STOPS_END);
	cr_assert(stop_count == 2 && sessions == 0 && state.flags == CHANNEL_STOPS_EVENTS);
	const struct channel_stop_collection *c = stops[0].collections;
	cr_assert_eq(stops[0].collection_count, 2);
	cr_expect(c[0].generation == 2 && c[0].flags == (CHANNEL_GC_INDUCED | CHANNEL_GC_DETAILED) && c[0].type == 1 && c[0].reason == 1);
	cr_expect(c[1].generation == 0 && c[1].flags == (CHANNEL_GC_FINISHED | CHANNEL_GC_DETAILED) && c[1].end_ns == 130);
	cr_assert_eq(stops[1].collection_count, 1);
	c = stops[1].collections;
	cr_expect(c[0].generation == 1 && c[0].flags == (CHANNEL_GC_FINISHED | CHANNEL_GC_DETAILED) && c[0].reason == 4 && c[0].end_ns == 230);
	cr_assert_eq(stack_count, 2);
	cr_expect_eq(stacks[1].number, 2);
	cr_expect(stacks[0].number == 1 && stacks[0].kind == CHANNEL_STACK_INDUCER && stacks[0].tid == own_tid());
}

/* A collection that somebody asked for, as the runtime tells of it while events are on, and while they are off. */
static void collect(uint64_t ns)
{
	if (sessions)
		event(1, 35, 1, 0, 0, 0);
	stop_log_suspending(1, ns);
	stop_log_suspended(ns + 10);
	stop_log_collection_started(0, true, ns + 11);
	if (sessions)
		event(1, 1, 7, 0, 1, 0);
	stop_log_collection_finished(ns + 15);
	stop_log_resuming(ns + 20);
	stop_log_resumed(ns + 25);
}

static void collect_and_ask(size_t count, uint16_t type, uint16_t flags)
{
	bool brief = flags & CHANNEL_STOP_BRIEF;

	for (size_t i = 0; i < count; i++)
		collect(1000 + 100 * i);
	ask(type);
	cr_assert(stop_count == count && stack_count == (brief ? 0 : count), "%zu stops, %zu stacks", stop_count, stack_count);
	for (size_t i = 0; i < count; i++) {
		const struct channel_stop_collection *c = stops[i].collections;
		cr_assert_eq(stops[i].collection_count, 1);
		cr_expect_eq(stops[i].flags, flags, "stop %zu", i);
		cr_expect_eq(c->flags, CHANNEL_GC_INDUCED | CHANNEL_GC_FINISHED | (brief ? 0 : CHANNEL_GC_DETAILED), "stop %zu", i);
	}
}

Test(stop_log, what_costs_more_is_left_out_when_there_is_too_much)
{
	begin_as(COR_S_OK);
	for (size_t i = 0; i < DETAIL_BUDGET_MOST / 50 + 2; i++)
		collect_and_ask(50, CHANNEL_STOPS_BEGIN, 0);
	cr_expect_eq(sessions, 1, "not before the next turn");
	stop_log_suspending(1, 1); /* it ends without what it might have had */
	stop_log_tick(&io);
	cr_expect_eq(sessions, 0);
	stop_log_resuming(2);
	stop_log_resumed(3);
	ask(CHANNEL_STOPS_BEGIN);
	cr_expect(stop_count == 1 && stops[0].flags == CHANNEL_STOP_BRIEF);
	collect_and_ask(7, CHANNEL_STOPS_END, CHANNEL_STOP_BRIEF);
	cr_expect(state.seen == DETAIL_BUDGET_MOST + 100 + 8 && state.dropped == 0 && state.flags == CHANNEL_STOPS_EVENTS);
	ask(CHANNEL_STOPS_BEGIN);
	cr_expect_eq(sessions, 1, "the next session begins with all of it");
	ask(CHANNEL_STOPS_END);
	cr_expect_eq(sessions, 0);
}

/* Two hundred turns take no second, but where the machine is busy: the first tries are a second and more apart. */
Test(stop_log, events_that_are_refused_are_asked_for_less_and_less)
{
	begin_as(COR_S_OK);
	for (size_t i = 0; i < DETAIL_BUDGET_MOST / 50 + 2; i++)
		collect_and_ask(50, CHANNEL_STOPS_BEGIN, 0);
	stop_log_tick(&io);
	cr_expect_eq(sessions, 0);
	refuse = true;
	for (asked = 0; !asked; stop_log_tick(&io)) {
		collect(1); /* missed */
		ask(CHANNEL_STOPS_BEGIN);
		usleep(10000);
	}
	for (int i = 0; i < 200; i++)
		stop_log_tick(&io);
	cr_expect_lt(asked, 10, "%u times", asked);
	ask(CHANNEL_STOPS_END);
	refuse = false;
}

/* Without events only the stacks of who asks are left out. */
Test(stop_log, without_events_stacks_are_left_out)
{
	begin();
	for (size_t i = 0; i < DETAIL_BUDGET_MOST / 50; i++) {
		for (size_t k = 0; k < 50; k++)
			collect(1000 + 100 * k);
		ask(CHANNEL_STOPS_BEGIN);
		cr_expect(stop_count == 50 && stack_count == 50 && stops[49].flags == 0);
	}
	collect(1);
	stop_log_tick(&io);
	collect(2);
	ask(CHANNEL_STOPS_END);
	cr_assert_eq(stop_count, 2);
	cr_expect(stack_count == 1 && stops[0].flags == 0 && stops[1].flags == CHANNEL_STOP_BRIEF);
}

Test(stop_log, what_does_not_fit_is_counted)
{
	begin();
	for (uint64_t i = 0; i < 3000; i++)
		stop_at(1000 + 100 * i);
	static uint8_t discard[8 * CHANNEL_MAX_FRAME];
	struct channel_frame end = {.type = CHANNEL_STOPS_END};
	cr_assert(stop_log_answer(&end, &io));
	channel_io_flush(&io);
	while (recv(other_end, discard, sizeof discard, MSG_DONTWAIT) > 0)
		;
	ask(CHANNEL_STOPS_END);
	cr_expect_eq(state.seen, 3000);
	cr_expect_gt(state.dropped, 500);
	cr_expect_lt(state.dropped, 3000);
}
