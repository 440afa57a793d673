#include "agent/profilers/pauses/pause_analysis.h"
#include "agent/profilers/pauses/pause_collect.h"
#include "agent/profilers/pauses/pause_diagnosis.h"
#include "agent/profilers/pauses/pause_report.h"
#include "agent/report/report.h"
#include "common/base/buf.h"
#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000
#define START_NS (100LL * 1000 * MS)

/* building -------------------------------------------------------------------------------------------------------------------- */

static const struct resolved_function functions[] = {
	{.module = "System.Private.CoreLib.dll", .type = "System.GC", .method = "Collect"},
	{.module = "Shop.dll", .type = "Shop.Cache", .method = "Trim"},
	{.module = "Shop.dll", .type = "Shop.Native", .method = "Sit"},
};
static struct pause_frames *more_frames; /* come while names are asked for */

/* An address is the function's number + 1; 0 and others have no name. */
static int resolve(void *ctx, const uint64_t *ips, size_t count, const struct resolved_function **out)
{
	(void)ctx;
	for (size_t i = 0; i < count; i++)
		out[i] = ips[i] >= 1 && ips[i] <= 3 ? &functions[ips[i] - 1] : NULL;
	if (more_frames) {
		GROW(more_frames->stops, more_frames->stop_count, more_frames->stop_cap);
		more_frames->stops[more_frames->stop_count++] = (struct channel_stop){.number = 99, .start_ns = START_NS + 900 * MS,
			.stopped_ns = START_NS + 900 * MS, .resume_ns = START_NS + 901 * MS, .end_ns = START_NS + 901 * MS};
		more_frames = NULL;
	}
	return 0;
}

static void thread_name(void *ctx, uint32_t tid, char *out, size_t size)
{
	(void)ctx;
	snprintf(out, size, tid == 7 ? "stubborn" : "");
}

static struct channel_stop stop(uint64_t number, int64_t at_ms, int64_t suspend_ns, int64_t stopped_ns)
{
	uint64_t start_ns = (uint64_t)(START_NS + at_ms * MS);
	return (struct channel_stop){
		.number = number,
		.start_ns = start_ns,
		.stopped_ns = start_ns + (uint64_t)suspend_ns,
		.resume_ns = start_ns + (uint64_t)(suspend_ns + stopped_ns),
		.end_ns = start_ns + (uint64_t)(suspend_ns + stopped_ns) + 5000,
		.tid = 1,
		.reason = 1,
	};
}

static void collect_in(struct channel_stop *s, uint8_t generation, uint8_t flags, uint8_t reason, uint8_t type)
{
	s->collections[s->collection_count++] = (struct channel_stop_collection){
		.start_ns = s->stopped_ns, .end_ns = flags & CHANNEL_GC_FINISHED ? s->resume_ns : 0, .generation = generation, .flags = flags,
		.reason = reason, .type = type};
}

static void put_stop(struct pause_frames *f, struct channel_stop s)
{
	GROW(f->stops, f->stop_count, f->stop_cap);
	f->stops[f->stop_count++] = s;
}

static void put_stack(struct pause_frames *f, uint64_t number, uint16_t kind, uint32_t tid, uint64_t a, uint64_t b)
{
	GROW(f->stacks, f->stack_count, f->stack_cap);
	f->stacks[f->stack_count++] = (struct channel_stop_stack){.number = number, .kind = kind, .tid = tid, .depth = 3, .ips = {a, 0, b}};
}

struct made {
	struct pause_capture capture;
	struct pause_frames frames;
	struct pause_collect *collect;
};

static void begin(struct made *m)
{
	*m = (struct made){.capture.throttled_periods = -1, .capture.periods = -1, .capture.throttled_ns = -1};
	m->capture.facts.duration_ns = 10LL * 1000 * MS;
	struct pause_collect_options o = {.capture = &m->capture, .started_ns = START_NS, .resolve = resolve, .thread_name = thread_name};
	m->collect = pause_collect_new(&o);
}

static void finish(struct made *m)
{
	pause_collect_take(m->collect, &m->frames);
	pause_collect_finish(m->collect, &m->frames);
	pause_collect_free(m->collect);
	pause_frames_fini(&m->frames);
}

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

static void put_collection(struct made *m, uint64_t number, uint8_t generation, int64_t ns, uint8_t flags, uint8_t reason, bool brief)
{
	struct channel_stop s = stop(number, (int64_t)number, 0, ns);
	collect_in(&s, generation, (uint8_t)(flags | CHANNEL_GC_FINISHED), reason, 0);
	s.flags = brief ? CHANNEL_STOP_BRIEF : 0;
	put_stop(&m->frames, s);
}

/* 40 collections of generation 0, one in four looked at, half of those for large objects; 3 of generation 1, none looked at; 10 asked for, 5 of
 * them looked at, one of these without a stack. */
static void make_sample(struct made *m)
{
	const uint8_t detailed = CHANNEL_GC_DETAILED, induced = CHANNEL_GC_INDUCED;
	uint64_t number = 0;

	begin(m);
	m->frames.state.flags = CHANNEL_STOPS_EVENTS;
	for (unsigned i = 0; i < 40; i++)
		put_collection(m, ++number, 0, i % 4 ? 2 * MS : MS, i % 4 ? 0 : detailed, i % 8 ? 0 : 4, i % 4);
	for (unsigned i = 0; i < 3; i++)
		put_collection(m, ++number, 1, MS, i ? 0 : detailed, 0, true); /* one was told by chance */
	for (unsigned i = 0; i < 10; i++) {
		if (i % 2 == 0 && i)
			put_stack(&m->frames, number + 1, CHANNEL_STACK_INDUCER, 1, 1, 2);
		put_collection(m, ++number, 2, MS, (uint8_t)(i % 2 ? induced : detailed | induced), 1, i % 2);
	}
	finish(m);
}

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

/* the diagnosis ------------------------------------------------------------------------------------------------------------------- */

struct scene {
	const char *name;
	int count;
	int64_t suspend_ns, stopped_ns;
	uint16_t reason;
	int generation; /* -1: no collection */
	bool induced, late;
	uint8_t cause;
	enum pause_finding finding;
	const char *headline, *says; /* NULL: not looked at */
};

static const struct scene scenes[] = {
	{"nothing", 0, 0, 0, 1, -1, false, false, 0, PAUSES_NONE, "No pause in 10 s: the runtime never stopped the application", "not why"},
	{"little", 3, 10000, 200000, 1, 0, false, false, 0, PAUSES_FEW, "0.0", "not why"},
	{"induced", 20, 10000, 5 * MS, 1, 2, true, false, 1, PAUSES_INDUCED,
	 "1.0% of the time paused, longest 5.01 ms: GCs induced by Shop.Cache.Trim", "Shop.Cache.Trim 20 times"},
	{"late", 5, 40 * MS, MS, 1, 0, false, true, 0, PAUSES_SUSPENSION,
	 "2.0% of the time paused, longest 41.0 ms: threads that do not stop", "last came thread 'stubborn' in Shop.Native.Sit (5 times)"},
	{"gen 2", 4, 10000, 80 * MS, 1, 2, false, false, 0, PAUSES_GENERATION2, "3.2% of the time paused, longest 80.0 ms: gen 2 collections that block",
	 "GCSurvivors"},
	{"large", 4, 10000, 80 * MS, 1, 2, false, false, 4, PAUSES_GENERATION2, NULL, "ArrayPool"},
	{"limit", 4, 10000, 80 * MS, 1, 2, false, false, 2, PAUSES_GENERATION2, NULL, "raise the limit"},
	{"young", 100, 10000, 4 * MS, 1, 0, false, false, 0, PAUSES_ALLOCATION, "4.0% of the time paused, longest 4.01 ms: collections, by allocation",
	 "the Allocations profiler shows where"},
	{"stacks", 300, 10000, MS, 0, -1, false, false, 0, PAUSES_OTHER, "3.0% of the time paused, longest 1.01 ms", NULL},
	{"ReJIT", 300, 10000, MS, 8, -1, false, false, 0, PAUSES_OTHER, "3.0% of the time paused, longest 1.01 ms: change of code (ReJIT)", NULL},
};

static void make_scene(const struct scene *x, struct made *m)
{
	begin(m);
	for (int i = 1; i <= x->count; i++) {
		struct channel_stop s = stop((uint64_t)i, i, x->suspend_ns, x->stopped_ns);
		s.reason = x->reason;
		if (x->generation >= 0)
			collect_in(&s, (uint8_t)x->generation,
				   (uint8_t)(CHANNEL_GC_FINISHED | CHANNEL_GC_DETAILED | (x->induced ? CHANNEL_GC_INDUCED : 0)), x->cause, 0);
		if (x->induced)
			put_stack(&m->frames, s.number, CHANNEL_STACK_INDUCER, 1, 1, 2);
		if (x->late) {
			s.last_tid = 7;
			s.last_ns = s.stopped_ns;
			put_stack(&m->frames, s.number, CHANNEL_STACK_LATE, 7, 3, 2);
		}
		put_stop(&m->frames, s);
	}
	finish(m);
}

Test(pauses, the_diagnosis_names_what_takes_the_time)
{
	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
		const struct scene *x = &scenes[i];
		struct made m;
		struct pause_analysis a;
		struct pause_diagnosis d;
		make_scene(x, &m);
		pause_analysis_run(&m.capture, &a);
		pause_diagnosis_make(&a, &d);
		cr_expect_eq(d.finding, x->finding, "%s: %s\n%s", x->name, pause_finding_name(d.finding), d.text);
		cr_expect_leq(strlen(d.headline), HEADLINE_MAX_CHARS + 4, "%s", d.headline);
		cr_expect_leq(strlen(d.text), DIAGNOSIS_MAX_BYTES);
		cr_expect(strncmp(d.text, d.headline, strlen(d.headline)) == 0);
		if (x->headline)
			cr_expect(strncmp(d.headline, x->headline, strlen(x->headline)) == 0, "%s: %s", x->name, d.headline);
		if (x->says)
			cr_expect(strstr(d.text, x->says) != NULL, "%s: %s", x->name, d.text);
		pause_diagnosis_fini(&d);
		pause_analysis_fini(&a);
		pause_capture_fini(&m.capture);
	}
}

/* The scenes "gen 2" and "young", by their names. */
static void expect_advice(const char *name, bool server_gc, uint32_t in_background, const char *says, const char *absent)
{
	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
		struct made m;
		struct pause_analysis a;
		struct pause_diagnosis d;
		if (strcmp(scenes[i].name, name) != 0)
			continue;
		make_scene(&scenes[i], &m);
		m.capture.server_gc = server_gc;
		m.capture.collections[2][1].count = in_background;
		pause_analysis_run(&m.capture, &a);
		pause_diagnosis_make(&a, &d);
		cr_expect(strstr(d.text, says) != NULL, "%s", d.text);
		cr_expect(strstr(d.text, absent) == NULL, "%s", d.text);
		pause_diagnosis_fini(&d);
		pause_analysis_fini(&a);
		pause_capture_fini(&m.capture);
	}
}

Test(pauses, no_advice_for_what_is_so_already)
{
	expect_advice("young", false, 0, "or take Server GC", "in use already");
	expect_advice("young", true, 0, "Server GC is in use already", "or take Server GC");
	expect_advice("gen 2", false, 0, "see that concurrent collection is on", "could not keep up");
	expect_advice("gen 2", false, 3, "collections in the background could not keep up", "concurrent collection is on");
}

Test(pauses, an_estimate_is_called_one)
{
	struct made m;
	struct pause_analysis a;
	struct pause_diagnosis d;

	make_sample(&m);
	m.capture.facts.duration_ns = 1000LL * MS;
	pause_analysis_run(&m.capture, &a);
	pause_diagnosis_make(&a, &d);
	cr_expect(strstr(d.text, "Shop.Cache.Trim about 8 times") != NULL, "%s", d.text);
	cr_expect(strstr(d.text, "is estimated from 15 of 53.") != NULL, "%s", d.text);
	cr_assert_not_null(pause_limit(&a, 0));
	cr_expect(strstr(pause_limit(&a, 0), "more often than 100 times a second") != NULL, "%s", pause_limit(&a, 0));
	cr_expect_null(pause_limit(&a, 1));
	pause_diagnosis_fini(&d);
	pause_analysis_fini(&a);
	pause_capture_fini(&m.capture);
	make_scene(&scenes[2], &m);
	m.capture.causes_known = true;
	pause_analysis_run(&m.capture, &a);
	cr_expect(!pause_analysis_sampled(&a) && a.by_cause[0].looked == 20 && a.by_cause[0].count == 20 && !pause_limit(&a, 0));
	pause_analysis_fini(&a);
	pause_capture_fini(&m.capture);
}

Test(pauses, a_container_without_cpu_is_said)
{
	struct made m;
	struct pause_analysis a;
	struct pause_diagnosis d;

	make_scene(&scenes[3], &m);
	m.capture.periods = 100;
	m.capture.throttled_periods = 40;
	pause_analysis_run(&m.capture, &a);
	pause_diagnosis_make(&a, &d);
	cr_expect(strstr(d.text, "CPU quota in 40% of the periods") != NULL, "%s", d.text);
	pause_diagnosis_fini(&d);
	pause_analysis_fini(&a);
	pause_capture_fini(&m.capture);
}

Test(pauses, lengths_for_people)
{
	static const struct {
		int64_t ns;
		const char *text;
	} rows[] = {{0, "0 us"}, {999, "1 us"}, {310000, "310 us"}, {999499, "999 us"}, {999500, "1.00 ms"}, {1240000, "1.24 ms"},
		    {9994999, "9.99 ms"}, {9995000, "10.0 ms"}, {84000000, "84.0 ms"}, {99950000, "100 ms"}, {9999499999, "9999 ms"},
		    {9999500000, "10.0 s"}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		AUTO_BUF struct buf b;
		buf_init(&b, 64);
		pause_phrase_ns(&b, rows[i].ns);
		cr_expect_str_eq(buf_str(&b), rows[i].text);
	}
}
