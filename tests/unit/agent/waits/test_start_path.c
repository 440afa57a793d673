#include "agent/waits/start_path.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define MS 1000000ll
#define BEGAN (500 * MS)  /* the process, half a second before it was looked at */
#define START (1000 * MS)
#define MAIN 11
#define WORKER 12

struct made {
	struct wait_capture capture;
	struct capture_builder *builder;
	uint32_t query, sleep, await, host, threads[2];
	struct capture_start start;
};

static uint32_t add_frame(struct capture_builder *b, const char *module, const char *type, const char *method)
{
	const struct frame f = {.kind = FRAME_MANAGED, .module = (char *)module, .type = (char *)type, .method = (char *)method};
	return capture_add_frame(b, &f);
}

static void setup(struct made *m)
{
	static const char core[] = "System.Private.CoreLib.dll", sockets[] = "System.Net.Sockets.dll";
	*m = (struct made){.capture = {.period = 1, .looks = 1, .started_ns = START, .ended_ns = START + 10000 * MS, .log = wait_log_new()}};
	struct cpu_capture *c = &m->capture.stacks;
	c->process_cpu_ns = c->facts.run_delay_ns = c->facts.throttled_ns = c->facts.node_pressure_ns = -1;
	m->builder = capture_builder_new(c);
	uint32_t main = add_frame(m->builder, "Shop.dll", "Shop.Program", "Main"), run = add_frame(m->builder, "Shop.dll", "Shop.Migrations", "Run"),
		 receive = add_frame(m->builder, sockets, "System.Net.Sockets.Socket", "Receive"),
		 sleep = add_frame(m->builder, core, "System.Threading.Thread", "Sleep"),
		 wait = add_frame(m->builder, core, "System.Threading.Tasks.Task", "InternalWait"),
		 host = add_frame(m->builder, "Microsoft.AspNetCore.dll", "Microsoft.AspNetCore.Builder.WebApplication", "Run");
	m->query = capture_add_stack(m->builder, (uint32_t[]){receive, run, main}, 3, false);
	m->sleep = capture_add_stack(m->builder, (uint32_t[]){sleep, main}, 2, false);
	m->await = capture_add_stack(m->builder, (uint32_t[]){wait, main}, 2, false);
	m->host = capture_add_stack(m->builder, (uint32_t[]){wait, host, main}, 3, false);
	m->threads[0] = capture_add_thread(m->builder, MAIN, "shop");
	m->threads[1] = capture_add_thread(m->builder, WORKER, ".NET TP Worker");
}

static void add_wait(struct made *m, uint32_t tid, int64_t out_ms, int64_t in_ms, uint32_t stack)
{
	int64_t out_ns = START + out_ms * MS;
	capture_add_sample(m->builder, out_ms * MS + 1, m->threads[tid - MAIN], stack);
	wait_log_looked(m->capture.log, tid, &(struct wait){.out_ns = out_ns, .in_ns = START + in_ms * MS, .stack_ns = out_ns + 1, .least_ns = MS});
}

static void make_path(struct made *m, const struct start_peer *peers, size_t count)
{
	struct wait_analysis a;
	for (size_t i = 0; i < m->capture.log->thread_count; i++)
		m->capture.log->threads[i].index = m->threads[m->capture.log->threads[i].tid - MAIN];
	wait_analysis_run(&m->capture, &a);
	start_path_make(&a, MAIN, BEGAN, peers, count, &m->start);
	wait_analysis_fini(&a);
}

static void teardown(struct made *m)
{
	m->capture.stacks.start = m->start; /* freed with it */
	capture_builder_free(m->builder);
	wait_capture_fini(&m->capture);
}

static void expect_wait(const struct capture_start_wait *w, const char *kind, const char *method, int64_t ms)
{
	cr_expect_str_eq(w->kind, kind);
	cr_expect_str_eq(w->method, method);
	cr_expect(llabs(w->ns - ms * MS) <= 10 * MS, "%s: %lld ms", kind, (long long)(w->ns / MS));
}

Test(start_path, the_main_threads_waits_with_their_places_and_peers)
{
	struct made m;
	setup(&m);
	add_wait(&m, MAIN, 0, 3000, m.query);
	add_wait(&m, MAIN, 3000, 4000, m.query);
	add_wait(&m, MAIN, 5000, 7000, m.sleep);
	m.start.listens_ns = 10500 * MS;
	const struct start_peer peers[] = {
		{START + 1, WORKER, "10.0.3.8:80"}, {START + 1, MAIN, "10.0.3.7:5432"}, {START + 3000 * MS + 1, MAIN, "10.0.3.7:5432"}};
	make_path(&m, peers, 3);
	cr_expect(m.start.looked.from_ns == START - BEGAN && m.start.looked.to_ns == START - BEGAN + 10000 * MS);
	cr_assert_eq(m.start.wait_count, 2);
	expect_wait(&m.start.waits[0], "socket", "Shop.Migrations.Run", 4000);
	cr_expect_str_eq(m.start.waits[0].peer, "10.0.3.7:5432");
	expect_wait(&m.start.waits[1], "sleep", "Shop.Program.Main", 2000);
	cr_expect(!m.start.waits[1].peer[0] && !m.start.waits[1].other && m.start.idle_ns == 0);
	teardown(&m);
}

/* A worker's wait is the start's while the main thread waits for a task; no longer. */
Test(start_path, what_a_worker_waits_for_that_the_main_thread_waits_for)
{
	struct made m;
	setup(&m);
	add_wait(&m, MAIN, 0, 6000, m.await);
	add_wait(&m, WORKER, 1000, 5000, m.query);
	add_wait(&m, WORKER, 7000, 9000, m.query);
	m.start.listens_ns = 10500 * MS;
	make_path(&m, NULL, 0);
	cr_assert_eq(m.start.wait_count, 2);
	expect_wait(&m.start.waits[0], "socket", "Shop.Migrations.Run", 4000);
	cr_expect(m.start.waits[0].other);
	expect_wait(&m.start.waits[1], "task", "Shop.Program.Main", 2000);
	cr_assert_eq(m.start.await_count, 1);
	cr_expect(m.start.awaits[0].from_ns == START - BEGAN && m.start.awaits[0].to_ns == START - BEGAN + 6000 * MS);
	teardown(&m);
}

/* A host's main thread that waits for the end: its services may be starting, unless no port will ever say that they have. */
Test(start_path, a_host_idles_only_where_no_port_is_waited_for)
{
	for (int listens = 0; listens < 2; listens++) {
		struct made m;
		setup(&m);
		add_wait(&m, MAIN, 1000, 10000, m.host);
		m.start.listens_ns = listens ? 10500 * MS : 0;
		make_path(&m, NULL, 0);
		cr_expect_eq(m.start.wait_count, (size_t)listens);
		cr_expect_eq(m.start.idle_ns > 8900 * MS, !listens);
		teardown(&m);
	}
}

Test(start_path, a_main_thread_that_never_slept_or_was_not_looked_at)
{
	struct made m;
	setup(&m);
	make_path(&m, NULL, 0);
	cr_expect(m.start.looked.to_ns > 0 && m.start.wait_count == 0);
	teardown(&m);
	setup(&m);
	m.capture.looks = 0;
	make_path(&m, NULL, 0);
	cr_expect_eq(m.start.looked.to_ns, 0);
	teardown(&m);
}
