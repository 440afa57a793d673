#include "agent/catalogue/catalogue.h"
#include "agent/waits/wait_analysis.h"
#include "agent/profilers/waits/wait_text.h"
#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <string.h>

#define MS 1000000ll
#define START (1000 * MS)

/* Ten seconds: two workers that wait in Task.Result, a thread that sleeps. Times are milliseconds of the session. */
struct made {
	struct wait_capture capture;
	struct capture_builder *builder;
	uint32_t blocked, asleep, threads[3];
};

static uint32_t add_frame(struct capture_builder *b, const char *module, const char *type, const char *method)
{
	const struct frame f = {.kind = FRAME_MANAGED, .module = (char *)module, .type = (char *)type, .method = (char *)method};
	return capture_add_frame(b, &f);
}

static void setup(struct made *m)
{
	static const char core[] = "System.Private.CoreLib.dll";
	*m = (struct made){.capture = {.period = 1, .started_ns = START, .ended_ns = START + 10000 * MS, .log = wait_log_new()}};
	struct cpu_capture *c = &m->capture.stacks;
	c->process_cpu_ns = c->facts.run_delay_ns = c->facts.throttled_ns = c->facts.node_pressure_ns = -1;
	m->builder = capture_builder_new(c);
	uint32_t wait = add_frame(m->builder, core, "System.Threading.Tasks.Task", "InternalWait"),
		 get = add_frame(m->builder, "Shop.dll", "Shop.Orders", "Get"),
		 loop = add_frame(m->builder, core, "System.Threading.PortableThreadPool+WorkerThread", "WorkerThreadStart"),
		 sleep = add_frame(m->builder, core, "System.Threading.Thread", "Sleep"), pace = add_frame(m->builder, "Shop.dll", "Shop.Clock", "Tick");
	m->blocked = capture_add_stack(m->builder, (uint32_t[]){wait, get, loop}, 3, false);
	m->asleep = capture_add_stack(m->builder, (uint32_t[]){sleep, pace}, 2, false);
	m->threads[0] = capture_add_thread(m->builder, 11, ".NET TP Worker");
	m->threads[1] = capture_add_thread(m->builder, 12, "shop");
	m->threads[2] = capture_add_thread(m->builder, 13, "clock");
}

static void add_wait(struct made *m, uint32_t thread, int64_t out_ms, int64_t in_ms, uint32_t stack)
{
	uint32_t tid = 11 + thread;
	if (stack != UINT32_MAX) {
		wait_log_add(m->capture.log, &(struct wait_event){.kind = WAIT_EVENT_STACK, .tid = tid, .time_ns = START + out_ms * MS});
		capture_add_sample(m->builder, out_ms * MS, m->threads[thread], stack);
	}
	wait_log_add(m->capture.log, &(struct wait_event){.kind = WAIT_EVENT_OUT, .tid = tid, .time_ns = START + out_ms * MS});
	wait_log_add(m->capture.log, &(struct wait_event){.kind = WAIT_EVENT_IN, .tid = tid, .time_ns = START + in_ms * MS});
}

static void add_sighting(struct made *m, uint32_t look, int64_t at_ms, uint32_t owner, uint32_t waiter, enum lock_kind kind)
{
	struct wait_capture *c = &m->capture;
	c->sightings = mem_realloc(c->sightings, c->sighting_count + 1, sizeof *c->sightings);
	c->sightings[c->sighting_count++] = (struct lock_sighting){
		.at_ns = START + at_ms * MS, .lock = 0x7000, .owner = owner, .waiters = 2, .waiter = waiter, .look = look, .kind = kind};
}

static void analyse(struct made *m, struct wait_analysis *a)
{
	wait_log_finish(m->capture.log, m->capture.ended_ns);
	for (size_t i = 0; i < m->capture.log->thread_count; i++)
		m->capture.log->threads[i].index = m->threads[m->capture.log->threads[i].tid - 11];
	wait_analysis_run(&m->capture, a);
}

static void teardown(struct made *m, struct wait_analysis *a)
{
	wait_analysis_fini(a);
	capture_builder_free(m->builder);
	wait_capture_fini(&m->capture);
}

Test(wait_analysis, sums_by_kind_and_place_and_leaves_idle_threads_apart)
{
	struct made m;
	struct wait_analysis a;
	setup(&m);
	add_wait(&m, 0, 1000, 4000, m.blocked);
	add_wait(&m, 1, 1000, 2000, m.blocked);
	add_wait(&m, 1, 3000, 6000, m.blocked);
	add_wait(&m, 2, 0, 9000, m.asleep);
	analyse(&m, &a);
	cr_assert_eq(a.blocking_count, 1);
	cr_assert_eq(a.place_count, 2);
	cr_assert_float_eq(a.by_kind[WAIT_KIND_TASK], 7000e6, 1);
	cr_assert_float_eq(a.waiting_ns, 7000e6, 1);
	cr_assert_float_eq(a.idle_ns, 9000e6, 1);
	cr_assert_str_eq(wait_analysis_place(&a, &a.places[0]), "Shop.Orders.Get");
	cr_assert_eq(a.places[0].threads, 2);
	cr_assert_eq(a.places[0].p50_ns, 3000 * MS);
	cr_assert_eq(a.places[0].longest_ns, 3000 * MS);
	cr_assert_float_eq(a.places[0].count, 3, 1e-9);
	cr_assert_float_eq(a.places[0].pool_ns, 7000e6, 1, "the other worker is told by its stack");
	cr_assert_float_eq(wait_analysis_threads(&a, a.waiting_ns), 0.7, 1e-9);
	cr_assert(a.places[1].meaning.idle);
	cr_assert_eq(a.base.tree.nodes[STACK_TREE_ROOT].total, UINT64_C(7000000000));
	cr_assert_eq(a.pool.workers, 2);
	teardown(&m, &a);
}

/* The runtime inlines what is small into .NET's own code: what is left to say is where that is. */
Test(wait_analysis, stacks_without_the_application_name_what_is_nearest)
{
	struct made m;
	struct wait_analysis a;
	struct buf text;
	setup(&m);
	uint32_t blocked = m.capture.stacks.stacks[m.blocked].first, wait = m.capture.stacks.stack_frames[blocked],
		 loop = m.capture.stacks.stack_frames[blocked + 2],
		 parallel = add_frame(m.builder, "System.Threading.Tasks.Parallel.dll", "System.Threading.Tasks.Parallel", "ForWorker");
	uint32_t inlined = capture_add_stack(m.builder, (uint32_t[]){wait, parallel, loop}, 3, false);
	add_wait(&m, 0, 0, 9000, inlined);
	add_wait(&m, 1, 0, 900, m.blocked);
	analyse(&m, &a);
	cr_assert_eq(a.blocking_count, 2);
	cr_expect_str_eq(wait_analysis_place(&a, &a.places[0]), "code of .NET");
	cr_assert_neq(a.places[0].nearest, CPU_NO_METHOD);
	cr_expect_str_eq(a.base.methods[a.places[0].nearest].name, "System.Threading.Tasks.Parallel.ForWorker");
	buf_init(&text, 65536);
	wait_text_put(&a, &(struct wait_numbers){0}, &(struct findings){0}, &text);
	cr_expect(strstr(buf_str(&text), "No method of the application is on these stacks (the nearest is System.Threading.Tasks.Parallel.ForWorker)"), "%s",
		  buf_str(&text));
	cr_expect_not(strstr(strstr(buf_str(&text), "Shop.Orders.Get"), "No method"), "%s", buf_str(&text));
	buf_fini(&text);
	teardown(&m, &a);
}

/* So many that the tree of stacks grows while waits are added to it. */
Test(wait_analysis, each_stack_has_its_own_time_in_the_tree)
{
	enum { STACKS = 300 };
	struct made m;
	struct wait_analysis a;
	setup(&m);
	for (uint32_t i = 0; i < STACKS; i++) {
		char name[32];
		snprintf(name, sizeof name, "Step%u", i);
		uint32_t step = add_frame(m.builder, "Shop.dll", "Shop.Orders", name), blocked = m.capture.stacks.stacks[m.blocked].first;
		uint32_t wait = m.capture.stacks.stack_frames[blocked], loop = m.capture.stacks.stack_frames[blocked + 2];
		add_wait(&m, 0, 30 * i, 30 * i + 20, capture_add_stack(m.builder, (uint32_t[]){wait, step, loop}, 3, false));
	}
	analyse(&m, &a);
	for (size_t i = 0; i < a.base.tree.count; i++)
		cr_expect(a.base.tree.nodes[i].self == 0 || a.base.tree.nodes[i].self == 20 * MS, "node %zu", i);
	cr_assert_eq(a.base.tree.nodes[STACK_TREE_ROOT].total, (uint64_t)(STACKS * 20 * MS));
	teardown(&m, &a);
}

Test(wait_analysis, a_wait_with_a_stack_stands_for_those_that_lasted_about_as_long)
{
	struct made m;
	struct wait_analysis a;
	setup(&m);
	add_wait(&m, 0, 0, 100, m.blocked);
	add_wait(&m, 0, 200, 300, UINT32_MAX);
	add_wait(&m, 0, 400, 500, UINT32_MAX);
	add_wait(&m, 0, 600, 850, UINT32_MAX); /* of the next length */
	add_wait(&m, 0, 1000, 6000, UINT32_MAX); /* far longer */
	analyse(&m, &a);
	cr_assert_float_eq(a.by_kind[WAIT_KIND_TASK], 550e6, 1);
	cr_assert_float_eq(a.places[0].count, 4, 1e-9);
	cr_assert_float_eq(a.unseen_ns, 5000e6, 1);
	teardown(&m, &a);
}

Test(wait_analysis, the_text_says_what_waits_and_what_idles)
{
	struct made m;
	struct wait_analysis a;
	struct wait_numbers n;
	struct findings f;
	AUTO_BUF struct buf text;
	buf_init(&text, 4096);
	setup(&m);
	add_wait(&m, 0, 0, 9000, m.blocked);
	add_wait(&m, 2, 0, 9000, m.asleep);
	analyse(&m, &a);
	wait_numbers_of(&a, &n);
	catalogue_judge("Waits", &wait_numbers_fields, &n, &f);
	wait_text_put(&a, &n, &f, &text);
	cr_assert(strncmp(buf_str(&text), "Sync over async: 0.9 pool workers at a time, in Shop.Orders.Get\n", 64) == 0, "%s", buf_str(&text));
	cr_assert_not_null(strstr(buf_str(&text), "0.9 threads at a time wait in Shop.Orders.Get (a task): 100% of the waiting"), "%s", buf_str(&text));
	cr_assert_not_null(strstr(buf_str(&text), "Idle: 0.9 threads at a time: threads of the application that sleep between rounds 0.9."), "%s",
			   buf_str(&text));
	findings_fini(&f);
	teardown(&m, &a);
}

Test(wait_analysis, a_stack_that_broke_off_in_the_c_library_tells_nothing)
{
	struct made m;
	struct wait_analysis a;
	setup(&m);
	const struct frame libc = {.kind = FRAME_NATIVE, .module = (char[]){"libc.so"}, .type = (char[]){""}, .method = (char[]){"memset"}};
	uint32_t alone = capture_add_frame(m.builder, &libc), broken = capture_add_stack(m.builder, &alone, 1, false);
	add_wait(&m, 1, 0, 4000, broken);
	add_wait(&m, 0, 0, 1000, m.blocked);
	analyse(&m, &a);
	cr_expect_float_eq(a.waiting_ns, 1e9, 1e6);
	cr_expect_float_eq(a.unseen_ns, 4e9, 1e6);
	cr_expect_eq(a.place_count, 1);
	teardown(&m, &a);
}

Test(wait_analysis, an_empty_capture_is_idle)
{
	struct made m;
	struct wait_analysis a;
	struct wait_numbers n;
	struct findings f;
	AUTO_BUF struct buf text;
	buf_init(&text, 4096);
	setup(&m);
	analyse(&m, &a);
	wait_numbers_of(&a, &n);
	catalogue_judge("Waits", &wait_numbers_fields, &n, &f);
	wait_text_put(&a, &n, &f, &text);
	cr_assert(strncmp(buf_str(&text), "Nothing waits\n", 14) == 0);
	findings_fini(&f);
	teardown(&m, &a);
}

/* Four seconds of the ten were recorded: one wait of 100 ms with a stack, one without, and one that the window cut off. */
Test(wait_analysis, looks_tell_the_time_and_records_how_often)
{
	struct made m;
	struct wait_analysis a;
	setup(&m);
	m.capture.looks = 400;
	m.capture.log->looks = true;
	m.capture.recorded_ns = 4000 * MS;
	m.capture.unseen_ns = 7 * MS;
	add_wait(&m, 0, 1000, 1100, m.blocked);
	add_wait(&m, 0, 1200, 1300, UINT32_MAX);
	wait_log_add(m.capture.log, &(struct wait_event){.kind = WAIT_EVENT_STACK, .tid = 11, .time_ns = START + 3990 * MS});
	capture_add_sample(m.builder, 3990 * MS, m.threads[0], m.blocked);
	wait_log_add(m.capture.log, &(struct wait_event){.kind = WAIT_EVENT_OUT, .tid = 11, .time_ns = START + 3990 * MS});
	wait_log_add(m.capture.log, &(struct wait_event){.kind = WAIT_EVENT_PAUSE, .time_ns = START + 4000 * MS});
	wait_log_settle(m.capture.log, INT64_MAX);
	wait_log_looked(m.capture.log, 11,
			&(struct wait){.out_ns = START + 3985 * MS, .in_ns = START + 7985 * MS, .stack_ns = START + 3995 * MS, .least_ns = 3980 * MS});
	capture_add_sample(m.builder, 3995 * MS, m.threads[0], m.blocked);
	analyse(&m, &a);
	cr_assert_float_eq(a.by_kind[WAIT_KIND_TASK], 4000e6, 1, "of the look alone: %f", a.by_kind[WAIT_KIND_TASK]);
	cr_assert_float_eq(a.places[0].count, 7.5, 1e-6, "three in four seconds of ten: %f", a.places[0].count);
	cr_assert_eq(a.places[0].longest_ns, 3995 * MS, "the look saw how the one that was cut off went on");
	cr_assert_eq(a.places[0].p50_ns, 100 * MS);
	cr_assert_float_eq(a.unseen_ns, 7e6, 1);
	cr_assert_float_eq(wait_analysis_recorded_percent(&a), 40, 1e-9);
	cr_assert_eq(a.switches, 7);
	teardown(&m, &a);
}

/* Two seconds in which all was recorded, with ten waits; then looks, and one of the other eight seconds was recorded. */
Test(wait_analysis, what_was_recorded_before_looks_tells_the_time_too)
{
	struct made m;
	struct wait_analysis a;
	setup(&m);
	for (int i = 0; i < 10; i++)
		add_wait(&m, 0, 100 * i, 100 * i + 60, m.blocked);
	wait_log_settle(m.capture.log, INT64_MAX);
	m.capture.looks = 400;
	m.capture.looked_from_ns = START + 2000 * MS;
	m.capture.switches_before_looks = 10;
	m.capture.recorded_ns = 3000 * MS;
	m.capture.log->looks = true;
	add_wait(&m, 0, 5000, 5100, m.blocked);
	wait_log_settle(m.capture.log, INT64_MAX);
	wait_log_looked(m.capture.log, 11, &(struct wait){.out_ns = START + 4000 * MS, .in_ns = START + 4500 * MS, .stack_ns = START + 4001 * MS});
	capture_add_sample(m.builder, 4001 * MS, m.threads[0], m.blocked);
	analyse(&m, &a);
	cr_assert_float_eq(a.by_kind[WAIT_KIND_TASK], 1100e6, 1, "600 ms of the records, 500 of the look: %f", a.by_kind[WAIT_KIND_TASK]);
	cr_assert_float_eq(a.places[0].count, 18, 1e-6, "ten, and one in a second of eight: %f", a.places[0].count);
	cr_assert_eq(a.switches, 18);
	cr_assert_float_eq(wait_analysis_recorded_percent(&a), 30, 1e-9);
	teardown(&m, &a);
}

Test(wait_analysis, looks_alone_count_at_least_what_they_saw)
{
	struct made m;
	struct wait_analysis a;
	setup(&m);
	m.capture.looks = 400;
	m.capture.log->looks = true;
	m.capture.counted_switches = 12345;
	for (int i = 0; i < 3; i++) {
		wait_log_looked(m.capture.log, 11,
				&(struct wait){.out_ns = START + (1000 + 100 * i) * MS, .in_ns = START + (1050 + 100 * i) * MS,
					       .stack_ns = START + (1010 + 100 * i) * MS, .least_ns = (10 + i) * MS});
		capture_add_sample(m.builder, (1010 + 100 * i) * MS, m.threads[0], m.blocked);
	}
	analyse(&m, &a);
	cr_assert_float_eq(a.by_kind[WAIT_KIND_TASK], 150e6, 1);
	cr_assert_float_eq(a.places[0].count, 3, 1e-9);
	cr_assert_eq(a.places[0].p50_ns, 50 * MS, "to the distance of looks");
	cr_assert_eq(a.places[0].longest_ns, 50 * MS);
	cr_assert_eq(a.switches, 12345);
	teardown(&m, &a);
}

Test(wait_analysis, spinning_before_a_wait_is_no_wait_of_its_own)
{
	struct made m;
	struct wait_analysis a;
	setup(&m);
	for (int i = 0; i < 20; i++) {
		const struct wait_event stack = {.kind = WAIT_EVENT_STACK, .tid = 11, .time_ns = START + (1000 + 2 * i) * MS};
		wait_log_add(m.capture.log, &stack);
		capture_add_sample(m.builder, (1000 + 2 * i) * MS, m.threads[0], m.blocked);
		wait_log_add(m.capture.log, &(struct wait_event){.kind = WAIT_EVENT_OUT, .tid = 11, .time_ns = stack.time_ns, .runnable = true});
		wait_log_add(m.capture.log, &(struct wait_event){.kind = WAIT_EVENT_IN, .tid = 11, .time_ns = stack.time_ns + MS});
	}
	add_wait(&m, 0, 1100, 1400, m.blocked);
	analyse(&m, &a);
	cr_assert_float_eq(a.by_kind[WAIT_KIND_TASK], 320e6, 1, "its time counts");
	cr_assert_float_eq(a.places[0].count, 1, 1e-9);
	cr_assert_eq(a.places[0].p50_ns, 300 * MS);
	teardown(&m, &a);
}

/* Two threads wait for a Lock that the third one holds, and later one of the two: an object that is moved has no address that would stay. */
Test(wait_analysis, a_lock_that_is_an_object_is_told_by_who_waits_for_it)
{
	struct made m;
	struct wait_analysis a;
	setup(&m);
	uint32_t enter = add_frame(m.builder, "System.Private.CoreLib.dll", "System.Threading.Lock", "EnterAndGetCurrentThreadId"),
		 get = add_frame(m.builder, "Shop.dll", "Shop.Cache", "Get"), stack = capture_add_stack(m.builder, (uint32_t[]){enter, get}, 2, false);
	add_wait(&m, 0, 1000, 3000, stack);
	add_wait(&m, 1, 1000, 3000, stack);
	add_wait(&m, 2, 500, 3500, m.asleep);
	add_wait(&m, 1, 4000, 5000, m.blocked);
	add_wait(&m, 0, 4000, 5000, stack);
	add_sighting(&m, 1, 2000, 13, 11, LOCK_KIND_LOCK);
	add_sighting(&m, 1, 2000, 13, 12, LOCK_KIND_LOCK);
	add_sighting(&m, 2, 2200, 13, 12, LOCK_KIND_LOCK);
	add_sighting(&m, 2, 2201, 13, 12, LOCK_KIND_READER_WRITER); /* its stack names no such lock */
	add_sighting(&m, 3, 2400, 12, 11, LOCK_KIND_LOCK);          /* has just lost it */
	add_sighting(&m, 4, 2600, 11, 11, LOCK_KIND_LOCK);          /* it holds it: it waits for something else */
	add_sighting(&m, 5, 3200, 13, 12, LOCK_KIND_LOCK);          /* no longer waits */
	add_sighting(&m, 6, 4500, 12, 11, LOCK_KIND_LOCK);
	add_sighting(&m, 7, 4600, 0, 11, LOCK_KIND_LOCK);           /* nobody holds it */
	add_sighting(&m, 8, 4700, 13, 11, LOCK_KIND_LOCK);          /* runs */
	analyse(&m, &a);
	const struct wait_place *p = NULL;
	for (size_t i = 0; i < a.blocking_count; i++)
		p = a.places[i].meaning.kind == WAIT_KIND_LOCK ? &a.places[i] : p;
	cr_assert_not_null(p);
	cr_assert_eq(p->sightings, 5, "%u", p->sightings);
	cr_assert_eq(p->held_known, 2);
	cr_assert_eq(p->held_running, 1);
	cr_assert_str_eq(a.base.methods[p->holder].name, "Shop.Clock.Tick");
	cr_assert_str_eq(p->holder_what, "Thread.Sleep");
	teardown(&m, &a);
}

/* Nobody among the threads has it: that somebody waits for one while the process has one locked is what a look tells. */
Test(wait_analysis, a_database_is_told_by_looks_during_waits_for_it)
{
	struct made m;
	struct wait_analysis a;
	setup(&m);
	uint32_t sleep = add_frame(m.builder, "System.Private.CoreLib.dll", "System.Threading.Thread", "Sleep"),
		 next = add_frame(m.builder, "Microsoft.Data.Sqlite.dll", "Microsoft.Data.Sqlite.SqliteDataReader", "NextResult"),
		 sell = add_frame(m.builder, "Shop.dll", "Shop.Sales", "Sell"), stack = capture_add_stack(m.builder, (uint32_t[]){sleep, next, sell}, 3, false);
	add_wait(&m, 0, 1000, 3000, stack);
	add_wait(&m, 1, 1000, 3000, stack);
	add_wait(&m, 2, 500, 3500, m.asleep);
	add_sighting(&m, 0, 2000, 0, 0, LOCK_KIND_DATABASE);
	add_sighting(&m, 0, 2100, 0, 0, LOCK_KIND_DATABASE);
	add_sighting(&m, 0, 3200, 0, 0, LOCK_KIND_DATABASE); /* nobody waits */
	analyse(&m, &a);
	cr_assert_eq(a.places[0].meaning.kind, WAIT_KIND_LOCK);
	cr_assert_str_eq(a.places[0].meaning.what, WAIT_WHAT_DATABASE);
	cr_assert_eq(a.places[0].sightings, 2, "%u", a.places[0].sightings);
	cr_assert_eq(a.places[0].holder, CPU_NO_METHOD);
	teardown(&m, &a);
}

Test(wait_analysis, who_was_not_seen_to_wait_need_not_have_run)
{
	struct made m;
	struct wait_analysis a;
	setup(&m);
	uint32_t enter = add_frame(m.builder, "System.Private.CoreLib.dll", "System.Threading.Lock", "EnterAndGetCurrentThreadId"),
		 stack = capture_add_stack(m.builder, (uint32_t[]){enter}, 1, false);
	add_wait(&m, 0, 1000, 3000, stack);
	add_sighting(&m, 1, 2000, 13, 11, LOCK_KIND_LOCK);
	m.capture.lost = 1;
	analyse(&m, &a);
	cr_assert_eq(a.places[0].sightings, 1);
	cr_assert_eq(a.places[0].held_running, 0);
	teardown(&m, &a);
}

Test(wait_analysis, what_is_neither_waiting_nor_cpu_time_was_not_seen)
{
	struct made m;
	struct wait_analysis a;
	setup(&m);
	m.capture.stacks.threads[0].cpu_ns = 500 * MS;
	add_wait(&m, 0, 1000, 2000, m.blocked);
	add_wait(&m, 0, 6000, 9000, m.blocked);
	analyse(&m, &a);
	cr_assert_float_eq(a.unseen_ns, 3500e6, 1, "%f", a.unseen_ns);
	cr_assert_eq(a.states.lines[0][60], '?', "%s", a.states.lines[0]);
	teardown(&m, &a);
}
