#include "agent/profilers/waits/wait_numbers.h"

#include "tests/unit/catalogue_capture.h"

/* Ten seconds of a process in which nothing waits. */
static struct wait_numbers at_rest(void)
{
	struct wait_numbers n;
	rules_clear(&wait_numbers_fields, &n);
	n.seconds = 10;
	n.waiting_threads = n.unseen_percent = n.lock_threads = n.lock_percent = n.lock_waiters = n.lock_per_second = n.sightings = 0;
	n.task_pool = n.io_pool = n.sleep_pool = n.event_pool = n.console_threads = 0;
	n.workers = 2;
	n.workers_begin = n.workers_end = 2;
	n.workers_new = n.workers_blocked = n.workers_still = n.pool_blocked_percent = 0;
	n.pool_idle_percent = 99;
	n.cpus_allowed = 2;
	n.cpu_wait_percent = n.run_delay_threads = n.preempted_threads = n.throttled_seconds = 0;
	return n;
}

static const struct finding *lead_of(const struct wait_numbers *n, struct findings *f)
{
	catalogue_judge("Waits", &wait_numbers_fields, n, f);
	return findings_lead(f);
}

Test(wait_rules, nothing_is_found_where_nothing_waits)
{
	struct findings f;
	struct wait_numbers n = at_rest();
	cr_assert_null(lead_of(&n, &f));
	for (size_t i = 0; i < f.count; i++)
		cr_assert_eq(f.list[i].state, FINDING_EXCLUDED, "%s", f.list[i].id);
	findings_fini(&f);
}

/* 61 of 64 workers block, and the runtime adds some. */
static struct wait_numbers starved(void)
{
	struct wait_numbers n = at_rest();
	n.workers = 64;
	n.workers_begin = 50;
	n.workers_end = 64;
	n.workers_new = 14;
	n.workers_blocked = 61;
	n.pool_blocked_percent = 97;
	n.pool_idle_percent = 0.2;
	n.pool_place_percent = 90;
	n.task_pool = n.waiting_threads = 58;
	rules_set_text(&n.pool_place, "Shop.Orders.Get");
	rules_set_text(&n.pool_what, "Task");
	rules_set_text(&n.task_place, "Shop.Orders.Get");
	return n;
}

Test(wait_rules, a_pool_that_grows_while_all_of_it_blocks_is_starved)
{
	struct findings f;
	struct wait_numbers n = starved();
	const struct finding *lead = lead_of(&n, &f);
	cr_assert_str_eq(lead->message, "Thread pool starved: 61 of 64 workers block in Shop.Orders.Get");
	cr_assert_eq(lead->state, FINDING_FOUND);
	cr_assert_not_null(findings_find(&f, "SyncOverAsync"));
	findings_fini(&f);
}

Test(wait_rules, a_pool_that_does_not_grow_may_have_nothing_to_do)
{
	struct findings f;
	struct wait_numbers n = starved();
	n.workers_new = 0;
	cr_assert_str_eq(lead_of(&n, &f)->id, "SyncOverAsync");
	cr_assert_eq(findings_find(&f, "ThreadPoolStarvation")->state, FINDING_POSSIBLE);
	findings_fini(&f);
	n = starved();
	n.pool_idle_percent = 10;
	cr_assert_str_eq(lead_of(&n, &f)->id, "SyncOverAsync");
	cr_assert_null(findings_find(&f, "ThreadPoolStarvation"), "somebody is free");
	findings_fini(&f);
}

/* The pool keeps two of six workers idle, beside a queue that never gets empty. */
Test(wait_rules, a_pool_that_holds_workers_back_is_not_free)
{
	struct findings f;
	struct wait_numbers n = at_rest();
	n.workers = n.workers_begin = n.workers_end = 6;
	n.pool_blocked_percent = 43;
	n.pool_idle_percent = 57;
	n.io_pool = n.waiting_threads = 2.6;
	rules_set_text(&n.io_place, "Shop.Stocks.Poll");
	n.queue_looks = 30;
	n.queue_least = 60;
	n.queue_mean = 118;
	n.queue_most = 160;
	cr_expect_str_eq(lead_of(&n, &f)->id, "SynchronousIO");
	const struct finding *starved = findings_find(&f, "ThreadPoolStarvation");
	cr_assert_not_null(starved);
	cr_expect_eq(starved->state, FINDING_POSSIBLE);
	cr_expect_str_eq(starved->message, "The thread pool may be starved: 118 items are queued while it keeps workers idle");
	findings_fini(&f);
	n.queue_least = 2;
	lead_of(&n, &f);
	cr_expect_null(findings_find(&f, "ThreadPoolStarvation"), "fewer than it has workers: they are about to be taken");
	findings_fini(&f);
	n.queue_least = 60;
	n.pool_blocked_percent = 20;
	lead_of(&n, &f);
	cr_expect_null(findings_find(&f, "ThreadPoolStarvation"), "its workers work");
	findings_fini(&f);
}

Test(wait_rules, one_worker_is_no_workers)
{
	struct findings f;
	struct wait_numbers n = at_rest();
	n.sleep_pool = n.waiting_threads = 1.02;
	rules_set_text(&n.sleep_place, "Shop.Stocks.Poll");
	cr_expect_str_eq(lead_of(&n, &f)->message, "Thread.Sleep: 1.0 pool worker at a time, in Shop.Stocks.Poll");
	findings_fini(&f);
}

Test(wait_rules, items_in_the_queue_are_a_second_witness)
{
	struct findings f;
	struct wait_numbers n = starved();
	n.workers = 64;
	n.workers_blocked = 61;
	n.workers_new = 0;
	n.queue_looks = 25;
	n.queue_least = 1904;
	n.queue_mean = 2310;
	n.queue_most = 2402;
	rules_set_text(&n.pool_place, "Shop.Orders.Get");
	const struct finding *lead = lead_of(&n, &f);
	cr_assert_str_eq(lead->message, "Thread pool starved: 61 of 64 workers block in Shop.Orders.Get; 2,310 items wait");
	cr_assert_eq(lead->state, FINDING_FOUND);
	cr_assert_not_null(strstr(lead->evidence, "1904 to 2402 items queued at 25 samples"));
	findings_fini(&f);
	n.queue_least = 0;
	lead_of(&n, &f);
	cr_assert_eq(findings_find(&f, "ThreadPoolStarvation")->state, FINDING_POSSIBLE, "it was empty at one look");
	findings_fini(&f);
	n.queue_least = 5;
	n.queue_looks = 2;
	lead_of(&n, &f);
	cr_assert_eq(findings_find(&f, "ThreadPoolStarvation")->state, FINDING_POSSIBLE, "two looks are few");
	findings_fini(&f);
}

Test(wait_rules, a_lock_needs_a_holder_or_threads_that_take_turns)
{
	struct findings f;
	struct wait_numbers n = at_rest();
	n.lock_threads = n.lock_place_threads = n.waiting_threads = 5;
	n.lock_percent = 100;
	n.lock_waiters = 6;
	n.lock_per_second = 300;
	n.lock_longest_ms = 20;
	rules_set_text(&n.lock_place, "Shop.Cache.Get");
	rules_set_text(&n.lock_what, "Lock");
	cr_assert_str_eq(lead_of(&n, &f)->message, "Lock contention: 5.0 threads at a time, in Shop.Cache.Get");
	cr_assert_eq(findings_lead(&f)->state, FINDING_FOUND);
	findings_fini(&f);
	n.lock_per_second = 0.1;
	cr_assert_eq(lead_of(&n, &f)->state, FINDING_POSSIBLE);
	findings_fini(&f);
	n.sightings = 20;
	cr_assert_eq(lead_of(&n, &f)->state, FINDING_FOUND);
	findings_fini(&f);
	n.lock_threads = 0.2;
	cr_assert_null(lead_of(&n, &f), "a fifth of a thread is everyday");
	findings_fini(&f);
}

Test(wait_rules, no_verdict_where_much_was_not_seen)
{
	struct findings f;
	struct wait_numbers n = starved();
	n.unseen_percent = 50;
	cr_assert_null(lead_of(&n, &f));
	findings_fini(&f);
	n = starved();
	n.seconds = 0.5;
	cr_assert_null(lead_of(&n, &f));
	findings_fini(&f);
}

Test(wait_rules, waiting_for_a_cpu_counts_beside_all_other_waiting)
{
	struct findings f;
	struct wait_numbers n = starved();
	n.cpu_wait_percent = 80;
	n.run_delay_threads = 1;
	n.preempted_threads = 0.5;
	cr_assert_str_eq(lead_of(&n, &f)->id, "ThreadPoolStarvation");
	cr_assert_leq(findings_find(&f, "CPUQueue")->score, 2);
	findings_fini(&f);
	n = at_rest();
	n.cpu_wait_percent = 60;
	n.run_delay_threads = 3;
	n.throttled_seconds = 9;
	n.cpus_used = 1;
	cr_assert_str_eq(lead_of(&n, &f)->message, "Threads wait for a CPU 60% of the time they could run: the CPU limit");
	findings_fini(&f);
}

Test(wait_rules, long_names_leave_a_headline)
{
	struct findings f;
	struct wait_numbers n = starved();
	rules_set_text(&n.pool_place, "Company.Product.Area.Warehouse.StockReservationService.ReserveAll<Company.Product.Order>(int, string)");
	cr_assert_leq(strlen(lead_of(&n, &f)->message), 80 + 2, "the ellipsis has three bytes");
	findings_fini(&f);
	n.workers = n.workers_blocked = 1000;
	n.queue_looks = 25;
	n.queue_least = n.queue_mean = n.queue_most = 123456;
	cr_assert_leq(strlen(lead_of(&n, &f)->message), 80 + 2, "%s", findings_lead(&f)->message);
	findings_fini(&f);
}

static void judge_waits(const struct rule_fields *fields, const void *numbers, struct findings *out)
{
	catalogue_judge("Waits", fields, numbers, out);
}

Test(wait_rules, recorded_sessions_are_judged_as_they_were)
{
	struct wait_numbers n;
	const struct capture_judge by = {.fields = &wait_numbers_fields, .judge = judge_waits};
	check_group("Waits", &wait_numbers_fields);
	check_captures_by("waits", &by, &n);
}

Test(wait_rules, what_the_runtime_waits_for_may_be_an_event)
{
	struct findings f;
	struct wait_numbers n = at_rest();
	n.runtime_pool = n.waiting_threads = 7;
	rules_set_text(&n.runtime_place, "Shop.Poster.Render");
	lead_of(&n, &f);
	const struct finding *event = NULL;
	for (size_t i = 0; i < f.count; i++)
		if (strcmp(f.list[i].id, "EventWaitInPool") == 0)
			event = &f.list[i];
	cr_assert(event && event->state == FINDING_POSSIBLE, "whether workers wait for events is not known");
	cr_assert_str_eq(event->message, "7.0 pool workers wait for an event or the runtime in Shop.Poster.Render");
	findings_fini(&f);
	n.waiting_threads = 100;
	lead_of(&n, &f);
	for (size_t i = 0; i < f.count; i++)
		if (strcmp(f.list[i].id, "EventWaitInPool") == 0)
			event = &f.list[i];
	cr_assert_eq(event->state, FINDING_NOT_MEASURED, "it is little, and not known");
	findings_fini(&f);
}

Test(wait_rules, what_blocks_workers_is_said_first)
{
	struct findings f;
	struct wait_numbers n = at_rest();
	n.event_pool = n.waiting_threads = 6;
	rules_set_text(&n.event_place, "Shop.Labels.LabelQueue.Enqueue");
	rules_set_text(&n.event_what, "BlockingCollection.Add");
	lead_of(&n, &f);
	cr_assert_str_eq(findings_lead(&f)->message, "BlockingCollection.Add blocks 6.0 pool workers in Shop.Labels.LabelQueue.Enqueue");
	findings_fini(&f);
	n.event_pool = 0;
	n.io_pool = 6;
	rules_set_text(&n.io_place, "Shop.Poster.Render");
	rules_set_text(&n.io_what, "another process");
	lead_of(&n, &f);
	cr_assert_str_eq(findings_lead(&f)->message, "Another process blocks 6.0 pool workers in Shop.Poster.Render");
	findings_fini(&f);
}
