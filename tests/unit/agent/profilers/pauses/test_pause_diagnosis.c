#include "agent/profilers/pauses/pause_diagnosis.h"
#include "agent/profilers/pauses/pause_report.h"
#include "agent/report/report.h"
#include "common/base/buf.h"
#include "tests/unit/agent/profilers/pauses/make_pauses.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

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
	 "2.0% of the time paused, longest 41.0 ms: threads that stop late", "last came thread 'stubborn' in Shop.Native.Sit (5 times)"},
	{"gen 2", 4, 10000, 80 * MS, 1, 2, false, false, 0, PAUSES_GENERATION2, "3.2% of the time paused, longest 80.0 ms: blocking gen 2 GCs",
	 "GCSurvivors"},
	{"large", 4, 10000, 80 * MS, 1, 2, false, false, 4, PAUSES_LARGE,
	 "3.2% of the time paused, longest 80.0 ms: gen 2 GCs for large objects", "ArrayPool"},
	{"young", 100, 10000, 4 * MS, 1, 0, false, false, 0, PAUSES_ALLOCATION, "4.0% of the time paused, longest 4.01 ms: GCs caused by allocation",
	 "Allocate less: the Allocations profiler shows where"},
	{"stacks", 300, 10000, MS, 0, -1, false, false, 0, PAUSES_OTHER, "3.0% of the time paused, longest 1.01 ms: the runtime's own work", NULL},
	{"ReJIT", 300, 10000, MS, 8, -1, false, false, 0, PAUSES_OTHER, "3.0% of the time paused, longest 1.01 ms: change of code (ReJIT)", NULL},
};

static void make_scene(const struct scene *x, struct made *m)
{
	begin(m);
	m->frames.state.flags = CHANNEL_STOPS_EVENTS;
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

Test(pause_diagnosis, the_diagnosis_names_what_takes_the_time)
{
	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
		const struct scene *x = &scenes[i];
		struct made m;
		struct pause_analysis a;
		struct pause_diagnosis d;
		make_scene(x, &m);
		pause_analysis_run(&m.capture, &a);
		pause_diagnosis_make(&a, &d);
		cr_expect_eq(d.finding, x->finding, "%s: %d\n%s", x->name, d.finding, d.text);
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

/* What is advised on a scene, by its name, after `change` has been made to the capture. */
static void expect_advice(const char *name, void (*change)(struct pause_capture *c), const char *says, const char *absent)
{
	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
		struct made m;
		struct pause_analysis a;
		struct pause_diagnosis d;
		if (strcmp(scenes[i].name, name) != 0)
			continue;
		make_scene(&scenes[i], &m);
		change(&m.capture);
		pause_analysis_run(&m.capture, &a);
		pause_diagnosis_make(&a, &d);
		cr_expect(strstr(d.text, says) != NULL, "%s: no \"%s\"", d.text, says);
		cr_expect(strstr(d.text, absent) == NULL, "%s: \"%s\"", d.text, absent);
		pause_diagnosis_fini(&d);
		pause_analysis_fini(&a);
		pause_capture_fini(&m.capture);
	}
}

static void set_variable(struct pause_capture *c, const char *variable)
{
	char block[100];
	snprintf(block, sizeof block, "%s", variable);
	gc_settings_environment(&c->gc, block, strlen(block) + 1);
}

static void of_workstation(struct pause_capture *c)
{
	c->gc.server_heaps = 0;
	c->cpu_limit_millicores = 1500;
	c->node_cpus = 8;
	c->memory_bytes = 100 << 20;
	c->memory_limit_bytes = 512 << 20;
}

static void of_one_cpu(struct pause_capture *c)
{
	of_workstation(c);
	c->cpu_limit_millicores = 1000;
}

static void of_server(struct pause_capture *c)
{
	of_workstation(c);
	c->gc.server_heaps = 8; /* each of which would get a generation 0 of 64 MiB */
}

static void of_little_room(struct pause_capture *c)
{
	of_workstation(c);
	c->memory_bytes = (512 - 127) << 20;
}

static void of_large_gen0(struct pause_capture *c)
{
	of_workstation(c);
	set_variable(c, "DOTNET_GCgen0size=0x8000000");
}

static void of_unknown_settings(struct pause_capture *c)
{
	(void)c;
}

static void in_background(struct pause_capture *c)
{
	c->collections[2][1].count = 3;
}

static void of_defaults(struct pause_capture *c)
{
	static const char file[] = "{\"runtimeOptions\":{}}";
	set_variable(c, "DOTNET_x=1");
	gc_settings_file(&c->gc, file, strlen(file));
}

static void without_background(struct pause_capture *c)
{
	set_variable(c, "DOTNET_gcConcurrent=0");
}

static void conserving(struct pause_capture *c)
{
	of_defaults(c);
	set_variable(c, "DOTNET_GCConserveMemory=5");
}

static void near_limit(struct pause_capture *c)
{
	c->memory_bytes = 400 << 20;
	c->memory_limit_bytes = 512 << 20;
}

static void of_hard_limit_percent(struct pause_capture *c)
{
	c->process_bytes = 290 << 20;
	c->memory_bytes = 260 << 20;
	c->memory_limit_bytes = 512 << 20;
	set_variable(c, "DOTNET_GCHeapHardLimitPercent=32"); /* hexadecimal: 50 */
}

static void of_many_heaps(struct pause_capture *c)
{
	c->node_cpus = 2;
	c->gc.server_heaps = 12;
	set_variable(c, "DOTNET_GCHeapCount=c");
}

static void of_heaps_by_node(struct pause_capture *c)
{
	c->cpu_limit_millicores = 500;
	c->gc.server_heaps = 8;
}

static void of_hard_limit(struct pause_capture *c)
{
	c->process_bytes = 240 << 20;
	set_variable(c, "DOTNET_GCHeapHardLimit=0xC800000");
}

Test(pause_diagnosis, no_advice_for_what_is_so_already)
{
	expect_advice("young", of_workstation, "set System.GC.Server to true (DOTNET_gcServer=1): up to 2 threads", "in use already");
	expect_advice("young", of_workstation, "DOTNET_GCgen0size=0x4000000", "in one of its heaps");
	expect_advice("young", of_server, "Server GC is in use already", "System.GC.Server");
	expect_advice("young", of_server, "Allocate less", "GCgen0size"); /* there is no room for 8 of these */
	expect_advice("young", of_one_cpu, "Server GC is no remedy: with one CPU the runtime does not use it.", "System.GC.Server");
	expect_advice("young", of_little_room, "Allocate less", "GCgen0size");
	expect_advice("young", of_large_gen0, "has 134 MB already (DOTNET_GCgen0size in its environment)", "0x4000000");
	expect_advice("young", of_unknown_settings, "where the container has that", "Server GC");
	expect_advice("gen 2", of_unknown_settings, "see that concurrent collection is on", "could not keep up");
	expect_advice("gen 2", in_background, "collections in the background could not keep up", "concurrent collection is on");
	expect_advice("gen 2", of_defaults, "Collections in the background are on", "see that");
	expect_advice("gen 2", without_background, "switched off (DOTNET_gcConcurrent in its environment): switch them on", "GCSurvivors");
	expect_advice("gen 2", conserving, "DOTNET_GCConserveMemory in its environment is 5", "GCSurvivors");
	expect_advice("gen 2", of_hard_limit, "its own limit of 210 MB (DOTNET_GCHeapHardLimit in its environment)", "the memory limit");
	expect_advice("gen 2", of_hard_limit_percent, "its own limit of 268 MB (DOTNET_GCHeapHardLimitPercent in its environment)", "the memory limit");
	expect_advice("induced", without_background, "blocking: false), and collections in the background switched on (they are off: DOTNET_gcConcurrent",
		      "GCSurvivors");
	expect_advice("induced", of_defaults, "blocking: false).", "they are off");
	expect_advice("gen 2", near_limit, "near the memory limit of 537 MB: raise the limit", "DOTNET_");
	expect_advice("little", of_many_heaps, "The number of heaps is set to 12 (DOTNET_GCHeapCount in its environment): take the setting away", "not why");
	expect_advice("little", of_heaps_by_node, "Set System.GC.HeapCount to 1 (DOTNET_GCHeapCount=1)", "is set to");
}

static void of_full_node(struct pause_capture *c)
{
	c->facts.run_delay_ns = 4100LL * MS;
	c->process_cpu_ns = 2000LL * MS;
	c->periods = c->throttled_periods = 0;
}

static void of_free_node(struct pause_capture *c)
{
	of_full_node(c);
	c->facts.run_delay_ns = 90LL * MS;
}

Test(pause_diagnosis, a_node_without_a_free_cpu_is_said)
{
	expect_advice("late", of_full_node, "waited 4.10 s for a CPU and ran for 2.00 s; its quota was not used up: the node is full", "Raise the CPU limit");
	expect_advice("young", of_full_node, "the node is full", "Raise the CPU limit");
	expect_advice("late", of_free_node, "one long copy) or waits for a page of memory.", "gets no CPU");
	expect_advice("late", of_unknown_settings, "or gets no CPU", "the node is full");
}

/* A quarter each: suspension, asked for, of the young generations, of generation 2. */
Test(pause_diagnosis, no_one_reason_is_said)
{
	struct made m;
	struct pause_analysis a;
	struct pause_diagnosis d;
	begin(&m);
	for (uint64_t i = 1; i <= 9; i++) {
		struct channel_stop s = stop(i, (int64_t)i, 7 * MS, 20 * MS);
		collect_in(&s, i % 3 == 1 ? 0 : 2, (uint8_t)(CHANNEL_GC_FINISHED | (i % 3 == 0 ? CHANNEL_GC_INDUCED : 0)), 0, 0);
		put_stop(&m.frames, s);
	}
	finish(&m);
	pause_analysis_run(&m.capture, &a);
	pause_diagnosis_make(&a, &d);
	cr_expect_eq(d.finding, PAUSES_OTHER);
	cr_expect_str_eq(d.headline, "2.4% of the time paused, longest 27.0 ms: for several reasons");
	cr_expect_null(findings_lead(&d.findings));
	pause_diagnosis_fini(&d);
	pause_analysis_fini(&a);
	pause_capture_fini(&m.capture);
}

Test(pause_diagnosis, one_is_not_many)
{
	struct scene one = scenes[2];
	struct made m;
	struct pause_analysis a;
	struct pause_diagnosis d;
	one.count = 1;
	one.stopped_ns = 80 * MS;
	make_scene(&one, &m);
	m.capture.dropped = 1;
	pause_analysis_run(&m.capture, &a);
	pause_diagnosis_make(&a, &d);
	cr_expect(strstr(d.text, "1 of the pauses is for a collection that was asked for (") != NULL, "%s", d.text);
	cr_expect(strstr(d.text, "1 pause or stack was not kept") != NULL, "%s", d.text);
	cr_expect(strstr(d.text, "1 pause in 10 s") != NULL, "%s", d.text);
	pause_diagnosis_fini(&d);
	pause_analysis_fini(&a);
	pause_capture_fini(&m.capture);
}

Test(pause_diagnosis, an_estimate_is_called_one)
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

Test(pause_diagnosis, a_container_without_cpu_is_said)
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
