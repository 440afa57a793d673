#include "agent/profilers/deadlocks/deadlock_numbers.h"

#include "tests/unit/rules_capture.h"

#include <math.h>

static struct deadlock_numbers at_rest(void)
{
	struct deadlock_numbers n;
	rules_clear(&deadlock_numbers_fields, &n);
	n.seconds_between = 5;
	n.threads = 20;
	n.monitors = 3;
	n.waiting = n.lasting = n.circles = n.queue = 0;
	return n;
}

static void judge_locks(const struct deadlock_numbers *n, struct findings *f)
{
	rules_run(deadlock_rules, deadlock_rule_count, &deadlock_numbers_fields, n, f);
}

Test(deadlock_rules, a_circle_of_which_both_witnesses_know_is_found)
{
	struct findings f;
	struct deadlock_numbers n = at_rest();
	n.circles = 1;
	n.circle_threads = 2;
	n.circle_behind = 0;
	n.circle_agreed = 1;
	rules_set_text(&n.circle_first, "Shop.Stock.Take");
	rules_set_text(&n.circle_second, "Shop.Cart.Pay");
	judge_locks(&n, &f);
	cr_assert_str_eq(findings_lead(&f)->message, "Deadlock: Shop.Stock.Take and Shop.Cart.Pay wait for each other");
	cr_assert_eq(findings_lead(&f)->state, FINDING_FOUND);
	findings_fini(&f);
	n.circle_agreed = 0;
	judge_locks(&n, &f);
	cr_assert_eq(findings_lead(&f)->state, FINDING_POSSIBLE);
	cr_assert(strncmp(findings_lead(&f)->message, "Possible deadlock: ", 19) == 0);
	findings_fini(&f);
	n.circle_agreed = 1;
	n.circle_timed = 1;
	judge_locks(&n, &f);
	cr_assert_eq(findings_lead(&f)->state, FINDING_POSSIBLE, "one gives up");
	findings_fini(&f);
}

Test(deadlock_rules, a_circle_over_a_task)
{
	struct findings f;
	struct deadlock_numbers n = at_rest();
	n.circles = n.circle_agreed = n.circle_tasks = 1;
	n.circle_threads = 2;
	n.circle_timed = n.circle_cancelable = n.circle_behind = 0;
	rules_set_text(&n.circle_first, "Shop.Books.Settle");
	rules_set_text(&n.circle_second, "Shop.Books.Post");
	judge_locks(&n, &f);
	cr_assert_str_eq(findings_lead(&f)->message, "Deadlock: Shop.Books.Settle waits for a task that needs its lock");
	cr_assert_eq(findings_lead(&f)->state, FINDING_FOUND);
	findings_fini(&f);
	n.circle_cancelable = 1;
	judge_locks(&n, &f);
	cr_assert_eq(findings_lead(&f)->state, FINDING_POSSIBLE, "somebody may cancel");
	cr_assert_not_null(strstr(findings_lead(&f)->evidence, "CancellationToken"));
	findings_fini(&f);
	n.circle_cancelable = 0;
	n.circle_threads = 3;
	judge_locks(&n, &f);
	cr_assert_str_eq(findings_lead(&f)->message, "Deadlock: 3 threads and a task wait for each other, in Shop.Books.Settle");
	findings_fini(&f);
	n.circle_tasks = 3;
	judge_locks(&n, &f);
	cr_assert_str_eq(findings_lead(&f)->message, "Deadlock: 3 threads wait for each other's tasks, in Shop.Books.Settle");
	findings_fini(&f);
}

Test(deadlock_rules, long_names_leave_a_headline)
{
	struct findings f;
	struct deadlock_numbers n = at_rest();
	n.circles = n.circle_agreed = 1;
	n.circle_threads = 2;
	n.circle_behind = 0;
	rules_set_text(&n.circle_first, "Company.Product.Area.Warehouse.StockReservationService.ReserveAll<Company.Product.Order>(int, string)");
	rules_set_text(&n.circle_second, "Company.Product.Area.Warehouse.StockReservationService.ReleaseAllOfThem");
	judge_locks(&n, &f);
	cr_assert_leq(strlen(findings_lead(&f)->message), 80 + 2 * (strlen("\u2026") - 1), "%s", findings_lead(&f)->message);
	findings_fini(&f);
	n.circle_agreed = 0;
	for (n.circle_tasks = 0; n.circle_tasks < 3; n.circle_tasks++) {
		judge_locks(&n, &f);
		cr_assert(strncmp(findings_lead(&f)->message, "Possible deadlock: ", 19) == 0);
		cr_assert_leq(strlen(findings_lead(&f)->message), 80 + 2 * (strlen("\u2026") - 1), "%s", findings_lead(&f)->message);
		findings_fini(&f);
	}
}

Test(deadlock_rules, one_that_waits_is_no_queue_and_two_are)
{
	struct findings f;
	struct deadlock_numbers n = at_rest();
	n.queue = 1;
	n.queue_agreed = 1;
	judge_locks(&n, &f);
	cr_assert_null(findings_lead(&f));
	findings_fini(&f);
	n.queue = 2;
	rules_set_text(&n.queue_place, "Shop.Cache.Refresh");
	judge_locks(&n, &f);
	cr_assert_str_eq(findings_lead(&f)->message, "2 threads wait for a lock held in Shop.Cache.Refresh");
	findings_fini(&f);
}

/* Idle consumers of one queue that take in turn are healthy; where others wait for the one that waits for work, that may be so or not. */
Test(deadlock_rules, a_lock_that_is_busy_is_no_queue)
{
	struct findings f;
	struct deadlock_numbers n = at_rest();
	n.queue = 2;
	n.queue_head_runs = 1;
	n.queue_agreed = 0;
	rules_set_text(&n.queue_head, "thread 7");
	judge_locks(&n, &f);
	cr_assert_null(findings_lead(&f), "the runtime counts other waiters, and the holder runs");
	findings_fini(&f);
	n.queue_agreed = 1;
	judge_locks(&n, &f);
	cr_assert_not_null(findings_lead(&f));
	findings_fini(&f);
	n.queue_agreed = n.queue_head_runs = 0;
	judge_locks(&n, &f);
	cr_assert_eq(findings_lead(&f)->state, FINDING_POSSIBLE);
	findings_fini(&f);
}

Test(deadlock_rules, consumers_that_wait_for_work_in_turn)
{
	struct findings f;
	struct deadlock_numbers n = at_rest();
	n.queue = n.queue_peers = 7;
	n.queue_agreed = n.queue_head_takes = 1;
	rules_set_text(&n.queue_head, "thread 12 \"consumer-0\"");
	rules_set_text(&n.queue_place, "Shop.Orders.Next");
	judge_locks(&n, &f);
	cr_assert_null(findings_lead(&f));
	findings_fini(&f);
	n.queue_peers = 6;
	judge_locks(&n, &f);
	cr_assert_eq(findings_lead(&f)->state, FINDING_POSSIBLE);
	cr_assert_str_eq(findings_lead(&f)->message, "7 threads may wait for a lock held in Shop.Orders.Next");
	findings_fini(&f);
	n.queue_peers = 7;
	n.queue_head_takes = 0; /* it waits for a database */
	judge_locks(&n, &f);
	cr_assert_eq(findings_lead(&f)->state, FINDING_FOUND);
	findings_fini(&f);
}

Test(deadlock_rules, what_could_not_be_read_or_was_too_short_is_not_measured)
{
	struct findings f;
	struct deadlock_numbers n = at_rest();
	n.circles = 1;
	n.seconds_between = 0.4;
	judge_locks(&n, &f);
	cr_assert_null(findings_lead(&f));
	findings_fini(&f);
	n = at_rest();
	rules_set_text(&n.unread, "the runtime's library was not found in the process");
	judge_locks(&n, &f);
	for (size_t i = 0; i < f.count; i++)
		cr_assert_eq(f.list[i].state, FINDING_NOT_MEASURED);
	findings_fini(&f);
}

Test(deadlock_rules, a_circle_that_is_certain_needs_no_long_look)
{
	struct findings f;
	struct deadlock_numbers n = at_rest();
	n.circles = n.circle_agreed = n.early = n.other_locks = 1;
	n.circle_threads = 2;
	n.circle_behind = 0;
	n.queue = 3;
	n.seconds_between = 0.02;
	judge_locks(&n, &f);
	cr_assert_eq(findings_lead(&f)->state, FINDING_FOUND);
	cr_assert_str_eq(findings_lead(&f)->id, "Deadlock");
	for (size_t i = 0; i < f.count; i++)
		if (strcmp(f.list[i].id, "Deadlock") != 0)
			cr_assert_eq(f.list[i].state, FINDING_NOT_MEASURED, "%s", f.list[i].id);
	findings_fini(&f);
}

Test(deadlock_rules, recorded_captures)
{
	struct deadlock_numbers n;
	check_captures("deadlocks", deadlock_rules, deadlock_rule_count, &deadlock_numbers_fields, &n);
}

static int state_of(const struct findings *f, const char *id)
{
	for (size_t i = 0; i < f->count; i++)
		if (strcmp(f->list[i].id, id) == 0)
			return (int)f->list[i].state;
	return -1;
}

/* All of a pool's eight workers block, and 32 items wait. */
static struct deadlock_numbers standing_pool(void)
{
	struct deadlock_numbers n = at_rest();
	n.workers = n.workers_blocked = 8;
	n.items_first = n.items_second = 32;
	rules_set_text(&n.workers_place, "Shop.Orders.Get");
	return n;
}

Test(deadlock_rules, a_pool_of_which_all_block_while_work_waits_is_starved)
{
	struct findings f;
	struct deadlock_numbers n = standing_pool();
	judge_locks(&n, &f);
	cr_assert_str_eq(findings_lead(&f)->message, "Thread pool starved: 8 of 8 workers block in Shop.Orders.Get; 32 items wait");
	cr_assert_eq(findings_lead(&f)->state, FINDING_FOUND);
	findings_fini(&f);
	for (int change = 0; change < 3; change++) {
		n = standing_pool();
		if (change == 0)
			n.workers_blocked = 7; /* one takes what waits */
		else if (change == 1)
			n.items_first = 0;
		else
			n.workers = n.workers_blocked = 1;
		judge_locks(&n, &f);
		cr_assert_eq(state_of(&f, "ThreadPoolStarvation"), FINDING_EXCLUDED, "change %d", change);
		findings_fini(&f);
	}
	n = standing_pool();
	n.workers = n.workers_blocked = 1000;
	n.items_second = 1234567;
	rules_set_text(&n.workers_place, "Company.Product.Area.Warehouse.StockReservationService.ReserveAll<Company.Product.Order>(int, string)");
	judge_locks(&n, &f);
	cr_assert_leq(strlen(findings_lead(&f)->message), 80 + 2, "%s", findings_lead(&f)->message);
	findings_fini(&f);
}

Test(deadlock_rules, what_cannot_be_read_or_named_is_not_measured)
{
	struct findings f;
	struct deadlock_numbers n = standing_pool();
	n.items_first = n.items_second = (double)NAN;
	judge_locks(&n, &f);
	cr_assert_eq(state_of(&f, "ThreadPoolStarvation"), FINDING_NOT_MEASURED);
	findings_fini(&f);
	n = standing_pool();
	n.named = 0;
	n.queue = 10;
	n.queue_agreed = 1;
	judge_locks(&n, &f);
	cr_assert_eq(state_of(&f, "ThreadPoolStarvation"), FINDING_NOT_MEASURED);
	cr_assert_eq(state_of(&f, "LockHeldLong"), FINDING_NOT_MEASURED, "they may be consumers that take turns");
	findings_fini(&f);
}
