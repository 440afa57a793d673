#include "agent/profilers/pauses/pause_analysis.h"
#include "agent/profilers/pauses/pause_collect.h"
#include "agent/profilers/pauses/pause_report.h"
#include "tests/unit/agent/profilers/pauses/make_pauses.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static void check_kind(const struct pause_capture *c, size_t pause, enum pause_reason reason, int generation, bool induced, enum pause_cause cause)
{
	const struct pause_kind *k = &c->kinds[c->pauses[pause].kind];
	cr_expect_eq(k->reason, reason, "pause %zu: %s", pause, pause_reason_name(k->reason));
	cr_expect_eq(k->generation, generation, "pause %zu: generation %d", pause, k->generation);
	cr_expect_eq(k->induced, induced, "pause %zu", pause);
	cr_expect_eq(k->cause, cause, "pause %zu: cause %d", pause, k->cause);
}

/* collecting -------------------------------------------------------------------------------------------------------------------- */

Test(pauses, stacks_that_may_lack_callers_are_counted)
{
	struct made m;
	begin(&m);
	put_stack(&m.frames, 1, CHANNEL_STACK_LATE, 5, 10, 20);
	put_stack(&m.frames, 1, CHANNEL_STACK_LATE, 6, 10, 20);
	m.frames.stacks[1].incomplete = true;
	finish(&m);
	cr_expect_eq(m.capture.taken_stacks, 2);
	cr_expect_eq(m.capture.incomplete_stacks, 1);
	pause_capture_fini(&m.capture);
}

Test(pauses, a_stop_becomes_a_pause_of_its_kind)
{
	static const struct {
		uint16_t reason;
		enum pause_reason is;
	} reasons[] = {{0, PAUSE_OTHER}, {2, PAUSE_SHUTDOWN}, {4, PAUSE_SHUTDOWN}, {6, PAUSE_DEBUGGER}, {7, PAUSE_BACKGROUND}, {8, PAUSE_CODE},
		       {9, PAUSE_PROFILER}, {99, PAUSE_OTHER}};
	struct made m;
	struct channel_stop s;

	begin(&m);
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
		s = stop(i + 1, (int64_t)i, 1000, 2000);
		s.reason = reasons[i].reason;
		put_stop(&m.frames, s);
	}
	finish(&m);
	for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
		check_kind(&m.capture, i, reasons[i].is, -1, false, CAUSE_COUNT);
	cr_expect(m.capture.pauses[1].start_ns == MS && m.capture.pauses[1].suspend_ns == 1000 && m.capture.pauses[1].stopped_ns == 2000);
	pause_capture_fini(&m.capture);
}

Test(pauses, collections_say_what_a_pause_was_for)
{
	const uint8_t done = CHANNEL_GC_FINISHED, detailed = CHANNEL_GC_DETAILED, induced = CHANNEL_GC_INDUCED;
	struct made m;
	struct channel_stop s[6];

	begin(&m);
	for (size_t i = 0; i < 6; i++)
		s[i] = stop(i + 1, (int64_t)i, 1000, 2000);
	collect_in(&s[0], 0, done, 0, 0);                       /* by callbacks alone */
	collect_in(&s[1], 2, 0, 0, 0);                          /* goes on in the background */
	collect_in(&s[2], 2, induced | done, 0, 0);
	collect_in(&s[3], 2, detailed, 4, 1);                   /* in the background, and a young one before it */
	collect_in(&s[3], 0, detailed | done, 0, 0);
	collect_in(&s[4], 1, detailed | done, 4, 0);
	collect_in(&s[4], 2, detailed | done | induced, 10, 0); /* both block */
	s[5].flags = CHANNEL_STOP_ABORTED;
	for (size_t i = 6; i--;)
		put_stop(&m.frames, s[i]); /* in any order */
	finish(&m);
	cr_assert(m.capture.pause_count == 5 && m.capture.abandoned == 1);
	check_kind(&m.capture, 0, PAUSE_COLLECTION, 0, false, CAUSE_UNKNOWN);
	check_kind(&m.capture, 1, PAUSE_BACKGROUND, 2, false, CAUSE_UNKNOWN);
	check_kind(&m.capture, 2, PAUSE_COLLECTION, 2, true, CAUSE_INDUCED);
	check_kind(&m.capture, 3, PAUSE_COLLECTION, 0, false, CAUSE_ALLOCATION);
	check_kind(&m.capture, 4, PAUSE_COLLECTION, 2, true, CAUSE_INDUCED);
	cr_expect(m.capture.collections[0][0].count == 2 && m.capture.collections[1][0].count == 1 && m.capture.collections[2][0].count == 2);
	cr_expect(m.capture.collections[2][0].induced == 2 && m.capture.collections[2][1].count == 2);
	pause_capture_fini(&m.capture);
}

Test(pauses, stacks_find_their_stops)
{
	struct made m;
	struct channel_stop s[5];

	begin(&m);
	for (size_t i = 0; i < 5; i++)
		s[i] = stop(i + 1, (int64_t)i, 3 * MS, 2000);
	put_stack(&m.frames, 1, CHANNEL_STACK_INDUCER, 1, 1, 2);
	collect_in(&s[0], 2, CHANNEL_GC_INDUCED | CHANNEL_GC_FINISHED, 0, 0);
	put_stack(&m.frames, 2, CHANNEL_STACK_INDUCER, 1, 1, 2); /* asked before stop 2, which was for something else */
	s[1].reason = 0;
	collect_in(&s[2], 0, CHANNEL_GC_INDUCED | CHANNEL_GC_FINISHED, 0, 0);
	collect_in(&s[3], 0, CHANNEL_GC_INDUCED | CHANNEL_GC_FINISHED, 0, 0); /* by somebody without a stack */
	put_stack(&m.frames, 4, CHANNEL_STACK_LATE, 7, 3, 9);
	put_stack(&m.frames, 4, CHANNEL_STACK_LATE, 8, 2, 9);
	s[3].last_tid = 7;
	s[3].last_ns = s[3].stopped_ns - 10;
	s[4].next_tid = 7; /* says so when all had stopped */
	s[4].next_ns = s[4].stopped_ns + 10;
	for (size_t i = 0; i < 5; i++) {
		put_stop(&m.frames, s[i]);
		if (i == 2)
			pause_collect_take(m.collect, &m.frames);
	}
	finish(&m);
	const struct pause *p = m.capture.pauses;
	cr_assert_eq(m.capture.pause_count, 5);
	cr_assert(p[0].inducer == 0 && m.capture.inducer_count == 1, "equal stacks are one");
	cr_expect(p[1].inducer == PAUSE_NONE && p[2].inducer == 0);
	cr_expect_eq(p[3].inducer, PAUSE_NONE);
	uint32_t method = pause_stack_method(&m.capture.stacks, m.capture.inducers[0]);
	cr_assert_neq(method, PAUSE_NONE);
	cr_expect_str_eq(m.capture.stacks.frames[method].method, "Trim", "the application's own");
	cr_expect(p[0].late == PAUSE_NONE && p[3].late == 0 && p[4].late == 1, "%u %u", p[3].late, p[4].late);
	cr_expect_str_eq(m.capture.late[0].thread, "stubborn");
	cr_expect(m.capture.late[0].stack != PAUSE_NONE && m.capture.late[1].stack == PAUSE_NONE);
	pause_capture_fini(&m.capture);
}

Test(pauses, what_comes_while_names_are_asked_for_is_kept)
{
	struct made m;

	begin(&m);
	put_stack(&m.frames, 1, CHANNEL_STACK_INDUCER, 1, 1, 2);
	struct channel_stop s = stop(1, 0, 1000, 2000);
	collect_in(&s, 2, CHANNEL_GC_INDUCED | CHANNEL_GC_FINISHED, 0, 0);
	put_stop(&m.frames, s);
	more_frames = &m.frames;
	pause_collect_take(m.collect, &m.frames);
	cr_expect(m.capture.pause_count == 1 && m.capture.pauses[0].inducer == 0);
	finish(&m);
	cr_expect_eq(m.capture.pause_count, 2);
	pause_capture_fini(&m.capture);
}

/* figures ------------------------------------------------------------------------------------------------------------------------- */

Test(pauses, percentiles_shares_and_steps)
{
	struct made m;
	struct pause_analysis a;

	begin(&m);
	for (uint64_t i = 1; i <= 100; i++)
		put_stop(&m.frames, stop(i, (int64_t)i * 20, (int64_t)i * 1000, (int64_t)i * 9000)); /* i times 10 us */
	finish(&m);
	pause_analysis_run(&m.capture, &a);
	cr_expect(a.length.p50_ns == 500000 && a.length.p95_ns == 950000 && a.length.p99_ns == 990000 && a.length.max_ns == MS);
	cr_expect(a.suspending.p50_ns == 50000 && a.stopped.max_ns == 900000 && a.length.total_ns == 50500000);
	cr_expect_float_eq(a.share_percent, 0.505, 1e-9);
	cr_expect_float_eq(a.per_minute, 600, 1e-9);
	uint32_t sum = 0;
	for (size_t i = 0; i < PAUSE_HISTOGRAM_STEPS; i++)
		sum += a.histogram[i];
	cr_expect_eq(sum, 100);
	cr_expect(a.histogram[4] == 1 && a.histogram[5] == 3 && a.histogram[10] == 1, "10 us; 20, 30, 40; 1,000");
	cr_expect(pause_histogram_from_us(0) == 0 && pause_histogram_from_us(1) == 1 && pause_histogram_from_us(4) == 10 &&
		  pause_histogram_from_us(24) == 50000000);
	cr_assert_eq(a.slowest_count, PAUSE_SLOWEST_MAX);
	for (size_t i = 0; i < a.slowest_count; i++)
		cr_expect_eq(a.slowest[i], 99 - i);
	size_t omitted;
	cr_expect(pause_listed_from_ns(&m.capture, 100, &omitted) == 0 && omitted == 0);
	int64_t from_ns = pause_listed_from_ns(&m.capture, 10, &omitted);
	cr_expect(from_ns > 900000 && from_ns <= 910000 && omitted == 90, "the 10 longest");
	pause_analysis_fini(&a);
	pause_capture_fini(&m.capture);
}

/* what was not looked at ---------------------------------------------------------------------------------------------------------- */

static void check_sum(const struct pause_sum *s, uint32_t index, uint32_t count, int64_t total_ns, int64_t longest_ns, uint32_t looked)
{
	cr_expect(s->index == index && s->count == count && s->total_ns == total_ns && s->longest_ns == longest_ns && s->looked == looked,
		  "%u: %u, %ld ns, longest %ld, looked at %u", s->index, s->count, (long)s->total_ns, (long)s->longest_ns, s->looked);
}

Test(pauses, those_that_were_looked_at_stand_for_others_of_their_like)
{
	struct made m;
	struct pause_analysis a;

	make_sample(&m);
	pause_analysis_run(&m.capture, &a);
	cr_expect(pause_analysis_sampled(&a) && a.sample.collections == 53 && a.sample.looked == 15);
	cr_assert_eq(a.cause_count, 4);
	check_sum(&a.by_cause[0], CAUSE_ALLOCATION, 20, 35 * MS, MS, 5); /* 70 ms of 40 in all */
	check_sum(&a.by_cause[1], CAUSE_ALLOCATION_LARGE, 20, 35 * MS, MS, 5);
	check_sum(&a.by_cause[2], CAUSE_INDUCED, 10, 10 * MS, MS, 5);
	check_sum(&a.by_cause[3], CAUSE_NOT_LOOKED, 3, 3 * MS, MS, 0);
	cr_assert_eq(a.inducer_count, 1);
	check_sum(&a.by_inducer[0], 0, 8, 8 * MS, MS, 4);
	cr_expect(a.by_inducer[0].by_generation[2] == 8 && a.by_generation[2][0].count == 10 && a.induced.count == 10);
	cr_expect(a.by_generation[0][0].count == 40 && a.by_generation[0][0].total_ns == 70 * MS);
	pause_analysis_fini(&a);
	pause_capture_fini(&m.capture);
}
