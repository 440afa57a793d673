#include "agent/profilers/threads/threads_numbers.h"

#include "agent/report/report.h"
#include "tests/unit/rules_capture.h"

static struct threads_numbers at_rest(void)
{
	struct threads_numbers n;
	rules_clear(&threads_numbers_fields, &n);
	n.seconds_between = 5;
	n.threads = n.threads_first = 20;
	n.threads_still = 12;
	n.threads_application = 2;
	n.threads_workers = 4;
	n.zombies = n.zombie_groups = n.grown_begun = n.grown_ended = n.grown_now = n.grown_recent = n.grown_workers = 0;
	n.grown_windows = 0;
	n.grown_parts = 6;
	n.grown_part_seconds = 10;
	n.alike = n.alike_spread = n.alike_last = n.alike_seconds = 0;
	n.finalizer_seen = 1;
	n.finalizer_managed = n.finalizer_waiters = n.workers_at_place = 0;
	n.finalizer_still = 1;
	n.pids_current = 30;
	n.pids_max = 0;
	return n;
}

static void judge_threads(const struct threads_numbers *n, struct findings *f)
{
	rules_run(threads_rules, threads_rule_count, &threads_numbers_fields, n, f);
}

/* The one that leads: "" where none does. */
static void expect_lead(const struct threads_numbers *n, const char *id, enum finding_state state)
{
	struct findings f;
	judge_threads(n, &f);
	const struct finding *lead = findings_lead(&f);
	cr_assert_str_eq(lead ? lead->id : "", id);
	cr_assert(!lead || lead->state == state, "%s", id);
	cr_assert(!lead || strlen(lead->message) <= HEADLINE_MAX_CHARS + 4, "%s", lead->message);
	findings_fini(&f);
}

static void set_zombie(struct threads_numbers *n, double threads, double class, double spread_seconds, double burst)
{
	n->zombies = threads;
	n->zombie_groups = 1;
	n->zombie_class = class;
	n->zombie_spread_seconds = spread_seconds;
	n->zombie_burst = burst;
	rules_set_text(&n->zombie_wait, "wait for a thread to end");
	rules_set_text(&n->zombie_place, "Company.Product.Area.Warehouse.StockReservationService.ReserveAll<Company.Product.Order>(int, string)");
}

Test(threads_rules, a_process_at_rest_has_nothing)
{
	struct threads_numbers n = at_rest();
	expect_lead(&n, "", FINDING_FOUND);
	n.seconds_between = 0.2;
	struct findings f;
	judge_threads(&n, &f);
	for (size_t i = 0; i < f.count; i++)
		cr_assert_eq(f.list[i].state, FINDING_NOT_MEASURED, "%s", f.list[i].id);
	findings_fini(&f);
}

Test(threads_rules, zombies)
{
	static const struct {
		double threads, class, spread_seconds, burst;
		const char *id;
		enum finding_state state;
	} table[] = {
		{3, ZOMBIE_LOCK, 0, 3, "ZombieThreads", FINDING_FOUND},         {10, ZOMBIE_OTHER, 9, 3, "ZombieThreads", FINDING_POSSIBLE},
		{10, ZOMBIE_OTHER, 9, 6, "", FINDING_POSSIBLE},                 {99, ZOMBIE_OTHER, 1, 99, "", FINDING_POSSIBLE},
		{100, ZOMBIE_OTHER, 1, 100, "ZombieThreads", FINDING_POSSIBLE}, {5, ZOMBIE_WORKER, 1, 5, "ZombieThreads", FINDING_POSSIBLE},
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct threads_numbers n = at_rest();
		set_zombie(&n, table[i].threads, table[i].class, table[i].spread_seconds, table[i].burst);
		n.threads_workers = 20;
		n.workers_at_place = 5;
		expect_lead(&n, table[i].id, table[i].state);
	}
}

Test(threads_rules, growth_needs_two_witnesses)
{
	struct threads_numbers n = at_rest();
	n.grown_begun = 10;
	expect_lead(&n, "", FINDING_FOUND);
	n.grown_windows = 4;
	n.grown_recent = 20;
	expect_lead(&n, "ThreadsMultiply", FINDING_FOUND);
	rules_set_text(&n.grown_name, ".NET File Watcher");
	struct findings f;
	rules_run(threads_rules, threads_rule_count, &threads_numbers_fields, &n, &f);
	cr_assert_str_eq(findings_lead(&f)->message, "Threads multiply: 10 more in 5.0 s, most named .NET File Watcher");
	findings_fini(&f);
	n.grown_ended = 9;
	expect_lead(&n, "", FINDING_FOUND); /* they end */
	n.grown_begun = n.grown_ended = 0;
	n.alike = 50;
	n.alike_spread = 10;
	n.alike_seconds = 3600;
	expect_lead(&n, "", FINDING_FOUND); /* none lately */
	n.alike_last = 1;
	expect_lead(&n, "ThreadsMultiply", FINDING_POSSIBLE);
}

Test(threads_rules, the_finalizer)
{
	struct threads_numbers n = at_rest();
	n.finalizer_managed = 1;
	rules_set_text(&n.finalizer_wait, "waits for a lock");
	rules_set_text(&n.finalizer_place, "Shop.File.Close");
	expect_lead(&n, "FinalizerBlocked", FINDING_FOUND);
	struct findings f;
	judge_threads(&n, &f);
	cr_assert_str_eq(findings_lead(&f)->message, "Finalizer blocked: it waits for a lock in Shop.File.Close");
	findings_fini(&f);
	n.finalizer_still = 0;
	expect_lead(&n, "", FINDING_FOUND);
	n.finalizer_seen = 0;
	judge_threads(&n, &f);
	cr_assert_null(findings_find(&f, "FinalizerBlocked"));
	findings_fini(&f);
}

Test(threads_rules, a_pool_that_stands_is_said_once)
{
	struct threads_numbers n = at_rest();
	set_zombie(&n, 12, ZOMBIE_WORKER, 0, 12);
	n.threads_workers = n.workers_at_place = 12;
	rules_set_text(&n.workers_wait, "wait for a task");
	rules_set_text(&n.workers_place, "Shop.Orders.Get");
	expect_lead(&n, "ThreadPoolStarvation", FINDING_POSSIBLE);
	struct findings f;
	judge_threads(&n, &f);
	cr_assert_null(findings_find(&f, "ZombieThreads"));
	findings_fini(&f);
	n.queue_first = 0;
	n.queue_second = 28;
	expect_lead(&n, "ThreadPoolStarvation", FINDING_POSSIBLE);
	n.queue_first = 28;
	expect_lead(&n, "ThreadPoolStarvation", FINDING_FOUND);
	n.workers_at_place = 11;
	judge_threads(&n, &f);
	cr_assert_null(findings_find(&f, "ThreadPoolStarvation"), "one is free, or runs");
	findings_fini(&f);
}

Test(threads_rules, the_limit_of_the_container)
{
	struct threads_numbers n = at_rest();
	n.threads = 85;
	n.pids_current = 90;
	n.pids_max = 100;
	n.limit_percent = 90;
	expect_lead(&n, "TooManyThreads", FINDING_FOUND);
	n.threads = 10; /* of another process's */
	expect_lead(&n, "TooManyThreads", FINDING_POSSIBLE);
	n.pids_current = 79;
	n.limit_percent = 79;
	expect_lead(&n, "", FINDING_FOUND);
}

Test(threads_rules, recorded_captures)
{
	struct threads_numbers n;
	check_captures("threads", threads_rules, threads_rule_count, &threads_numbers_fields, &n);
}
