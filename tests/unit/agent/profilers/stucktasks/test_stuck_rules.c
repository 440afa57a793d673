#include "agent/profilers/stucktasks/stuck_numbers.h"

#include "tests/unit/rules_capture.h"

static struct stuck_numbers at_rest(void)
{
	struct stuck_numbers n;
	rules_clear(&stuck_numbers_fields, &n);
	n.seconds_between = 10;
	n.operations = n.lasting = 5000;
	n.holders_known = 1;
	n.never = n.never_most = n.never_places = n.never_kept = n.queue = n.queue_before = n.queue_most = 0;
	n.reply = n.http_waiting = n.http_open = n.blocked = n.faults = n.writers = n.writers_before = n.writers_lasting = 0;
	return n;
}

static void judge_tasks(const struct stuck_numbers *n, struct findings *f)
{
	rules_run(stuck_rules, stuck_rule_count, &stuck_numbers_fields, n, f);
}

/* The finding that leads, as "Id state: message"; "" none does. */
static void expect_lead(const struct stuck_numbers *n, const char *id, enum finding_state state, const char *message)
{
	struct findings f;
	judge_tasks(n, &f);
	const struct finding *lead = findings_lead(&f);
	cr_assert_eq(lead != NULL, id != NULL);
	if (lead) {
		cr_expect_str_eq(lead->id, id);
		cr_expect_eq(lead->state, state);
		cr_expect_str_eq(lead->message, message, "%s", lead->message);
	}
	findings_fini(&f);
}

Test(stuck_rules, healthy_ones_are_excluded)
{
	struct stuck_numbers n = at_rest();
	expect_lead(&n, NULL, FINDING_FOUND, "");
	n.queue = n.queue_before = 16; /* workers that wait for the bell */
	n.queue_most = 2147483647;
	n.reply = 9;
	n.blocked = 1;
	n.http_waiting = 1;
	expect_lead(&n, NULL, FINDING_FOUND, "");
}

Test(stuck_rules, what_nobody_can_complete_is_found)
{
	struct stuck_numbers n = at_rest();
	n.never = n.never_kept = 667;
	n.never_most = 666;
	n.never_places = 2;
	rules_set_text(&n.never_place, "Shop.Orders.LoadAsync");
	expect_lead(&n, "TaskNeverCompleted", FINDING_FOUND, "666 operations are stuck in Shop.Orders.LoadAsync: nobody can complete them");
	n.never = n.never_most = n.never_kept = 1;
	expect_lead(&n, "TaskNeverCompleted", FINDING_FOUND, "1 operation is stuck in Shop.Orders.LoadAsync: nobody can complete it");
	n.never_behind = 89;
	expect_lead(&n, "TaskNeverCompleted", FINDING_FOUND, "90 operations are stuck in Shop.Orders.LoadAsync: nobody can complete them");
}

Test(stuck_rules, what_nobody_waits_for_may_have_been_given_up)
{
	struct stuck_numbers n = at_rest();
	n.never = n.never_most = 20;
	n.never_kept = 9;
	n.never_places = 1;
	rules_set_text(&n.never_place, "Shop.Orders.LoadAsync");
	expect_lead(&n, "TaskNeverCompleted", FINDING_POSSIBLE, "20 operations may be stuck in Shop.Orders.LoadAsync: nobody can complete them");
}

Test(stuck_rules, a_process_without_any_task_was_not_read)
{
	struct stuck_numbers n = at_rest();
	struct findings f;
	n.tasks = 0;
	n.never = n.never_most = n.never_kept = 10;
	judge_tasks(&n, &f);
	cr_expect_null(findings_lead(&f));
	for (size_t i = 0; i < f.count; i++)
		cr_expect_eq(f.list[i].state, FINDING_NOT_MEASURED, "%s", f.list[i].id);
	findings_fini(&f);
}

Test(stuck_rules, without_all_roots_nobody_knows_who_completes)
{
	struct stuck_numbers n = at_rest();
	struct findings f;
	n.holders_known = 0;
	n.never = 10;
	judge_tasks(&n, &f);
	cr_expect_null(findings_lead(&f));
	cr_expect_null(findings_find(&f, "TaskNeverCompleted"));
	findings_fini(&f);
}

Test(stuck_rules, a_semaphore_needs_a_limit_and_arrivals)
{
	struct stuck_numbers n = at_rest();
	n.queue = 96;
	n.queue_before = 50;
	n.queue_most = 1;
	rules_set_text(&n.queue_place, "Shop.Cache.GetAsync");
	expect_lead(&n, "SemaphoreNotReleased", FINDING_FOUND, "96 operations wait in Shop.Cache.GetAsync: a SemaphoreSlim is not released");
	n.queue_before = 96;
	expect_lead(&n, "SemaphoreNotReleased", FINDING_POSSIBLE, "96 operations may be stuck behind a SemaphoreSlim in Shop.Cache.GetAsync");
	n.queue_before = 50;
	n.queue_most = 2147483647;
	expect_lead(&n, "SemaphoreNotReleased", FINDING_POSSIBLE, "96 operations may be stuck behind a SemaphoreSlim in Shop.Cache.GetAsync");
}

/* A semaphore does not say who holds it: who is past the await may. */
Test(stuck_rules, operations_that_are_past_the_await_of_a_queue)
{
	char none[] = "";
	struct task_call waits[] = {{(char[]){"Shop.Gate.EnterAsync"}, 0, false}, {(char[]){"Shop.Upload.RunAsync"}, 1, false}};
	struct task_call past[] = {{(char[]){"System.Net.Http.HttpConnection.SendAsync"}, 4, true}, {(char[]){"Shop.Upload.SendAsync"}, 0, false},
				   {(char[]){"Shop.Upload.RunAsync"}, 2, false}};
	struct task_call before[] = {{(char[]){"Shop.Upload.RunAsync"}, 0, false}};
	struct task_group groups[] = {
		{.wait = TASK_WAIT_SEMAPHORE, .awaited = none, .calls = waits, .call_count = 2, .count = 40, .before = 30, .frozen = 30, .most = 4},
		{.wait = TASK_WAIT_HTTP, .awaited = none, .calls = past, .call_count = 3, .place = 1, .count = 3},
		{.wait = TASK_WAIT_TIMER, .awaited = none, .calls = before, .call_count = 1, .count = 9},
	};
	struct stuck_result r = {.groups = {.items = groups, .count = 3, .completed = 1}, .between_ns = 10000000000, .holders_known = true};
	struct stuck_numbers n;
	struct findings f;
	for (size_t i = 1; i <= 3; i += 2) {
		r.groups.count = i;
		stuck_numbers_of(&r, &n);
		judge_tasks(&n, &f);
		const struct finding *lead = findings_lead(&f);
		cr_assert_str_eq(lead->id, "SemaphoreNotReleased");
		cr_expect(strstr(lead->evidence, i == 3 ? "; past that await are 3, most in Shop.Upload.SendAsync, for an HTTP response or connection" :
							 "; no async operation is past that await"), "%s", lead->evidence);
		findings_fini(&f);
	}
}

Test(stuck_rules, one_witness_is_only_possible)
{
	struct stuck_numbers n = at_rest();
	n.reply = 100;
	rules_set_text(&n.reply_place, "Shop.Rpc.CallAsync");
	expect_lead(&n, "ReplyMissing", FINDING_POSSIBLE, "100 operations may be stuck in Shop.Rpc.CallAsync: no reply in 10 s");
	n.reply_came = 90;
	expect_lead(&n, "ReplyMissing", FINDING_POSSIBLE, "100 operations may be stuck in Shop.Rpc.CallAsync: no reply in 10 s");
	n.reply_came = 91; /* those that were there before are too few */
	expect_lead(&n, NULL, FINDING_FOUND, "");
	n.reply = n.reply_came = 0;
	n.response = 61;
	n.response_came = 34;
	rules_set_text(&n.response_place, "Shop.Similar.AskAsync");
	expect_lead(&n, "ResponseMissing", FINDING_POSSIBLE, "61 HTTP requests may be stuck in Shop.Similar.AskAsync: no response in 10 s");
	n.response = 9;
	n.response_came = 0;
	expect_lead(&n, NULL, FINDING_FOUND, "");
	n.response = 0;
	n.blocked = 8;
	rules_set_text(&n.blocked_place, "Shop.Orders.LoadAsync");
	expect_lead(&n, "ThreadsBlockOnTasks", FINDING_POSSIBLE, "8 threads may block on async operations in Shop.Orders.LoadAsync");
	n.blocked = 0;
	n.faults = 1;
	expect_lead(&n, "TaskFaultUnseen", FINDING_POSSIBLE, "1 task failed; its exception may be unobserved");
	n.fault_most = 1;
	rules_set_text(&n.fault_place, "Shop.Orders.ConsumeAsync");
	expect_lead(&n, "TaskFaultUnseen", FINDING_POSSIBLE, "1 task of Shop.Orders.ConsumeAsync failed; its exception may be unobserved");
	n.faults = 3; /* of several methods */
	expect_lead(&n, "TaskFaultUnseen", FINDING_POSSIBLE, "3 tasks failed; their exceptions may be unobserved");
}

Test(stuck_rules, a_channel_before_which_more_and_more_wait)
{
	struct stuck_numbers n = at_rest();
	n.writers = n.writers_before = n.writers_lasting = 20; /* each gets its turn */
	rules_set_text(&n.writers_place, "Shop.Receipts.PrintLater");
	expect_lead(&n, NULL, FINDING_FOUND, "");
	n.writers = 249;
	expect_lead(&n, "ChannelFull", FINDING_POSSIBLE, "249 operations may be stuck before a full channel in Shop.Receipts.PrintLater");
	n.faults = 1; /* the reader's */
	expect_lead(&n, "ChannelFull", FINDING_POSSIBLE, "249 operations may be stuck before a full channel in Shop.Receipts.PrintLater");
	n.writers_lasting = 9;
	expect_lead(&n, "TaskFaultUnseen", FINDING_POSSIBLE, "1 task failed; its exception may be unobserved");
}

Test(stuck_rules, requests_without_a_connection)
{
	struct stuck_numbers n = at_rest();
	n.http_waiting = 36;
	n.http_open = 4;
	rules_set_text(&n.http_place, "Shop.Prices.GetAsync");
	expect_lead(&n, "ConnectionNotFree", FINDING_FOUND, "36 requests wait for an HTTP connection in Shop.Prices.GetAsync");
	n.http_open = 0; /* those that have one move */
	expect_lead(&n, "ConnectionNotFree", FINDING_POSSIBLE, "36 requests wait for an HTTP connection in Shop.Prices.GetAsync");
}

Test(stuck_rules, a_pool_that_counts_its_connections_as_in_use)
{
	struct stuck_numbers n = at_rest();
	n.database_waiting = 96;
	n.database_open = 41;
	n.holding = 41;
	n.pool_used = n.pool_most = 100;
	n.served = 0;
	rules_set_text(&n.database_place, "Shop.Orders.LoadAsync");
	rules_set_text(&n.holding_place, "Shop.Report.RunAsync");
	expect_lead(&n, "ConnectionNotFree", FINDING_FOUND, "96 requests wait for a database connection in …Orders.LoadAsync: all 100 in use");
	n.database_open = n.holding = 0; /* nobody is seen with one */
	expect_lead(&n, "ConnectionNotFree", FINDING_FOUND, "96 requests wait for a database connection in …Orders.LoadAsync: all 100 in use");
	n.served = 3; /* who waited longest got one */
	expect_lead(&n, "ConnectionNotFree", FINDING_POSSIBLE, "96 requests wait for a database connection in …Orders.LoadAsync: all 100 in use");
	n.served = 0;
	n.pool_used = 99;
	expect_lead(&n, "ConnectionNotFree", FINDING_POSSIBLE, "96 requests wait for a database connection in Shop.Orders.LoadAsync");
	n.http_waiting = 97;
	n.http_open = 1;
	rules_set_text(&n.http_place, "Shop.Prices.GetAsync");
	expect_lead(&n, "ConnectionNotFree", FINDING_FOUND, "97 requests wait for an HTTP connection in Shop.Prices.GetAsync");
}

Test(stuck_rules, looks_at_once_say_nothing)
{
	struct stuck_numbers n = at_rest();
	n.seconds_between = 0.5;
	n.never = n.never_most = n.never_kept = n.queue = n.reply = n.faults = 100;
	expect_lead(&n, NULL, FINDING_FOUND, "");
}

Test(stuck_rules, long_names_leave_a_headline)
{
	static const char *const name = "Company.Product.Area.Warehouse.StockReservationService.ReserveAllOfThemAsync<Company.Product.Order>(int, string)";
	struct stuck_numbers n = at_rest();
	struct findings f;
	n.never = n.never_most = n.never_kept = n.queue = n.reply = n.http_waiting = n.blocked = n.faults = n.writers = n.writers_lasting = 1234567;
	n.writers_before = 0;
	rules_set_text(&n.writers_place, name);
	rules_set_text(&n.never_place, name);
	rules_set_text(&n.queue_place, name);
	rules_set_text(&n.reply_place, name);
	rules_set_text(&n.http_place, name);
	rules_set_text(&n.blocked_place, name);
	rules_set_text(&n.response_place, name);
	rules_set_text(&n.fault_place, name);
	n.response = n.fault_most = 1234567;
	n.queue_most = 1;
	for (int i = 0; i < 2; i++) {
		n.queue_before = i ? n.queue : 0;
		judge_tasks(&n, &f);
		for (size_t k = 0; k < f.count; k++)
			if (f.list[k].state == FINDING_FOUND || f.list[k].state == FINDING_POSSIBLE)
				cr_expect_leq(strlen(f.list[k].message), 84, "%s", f.list[k].message);
		findings_fini(&f);
	}
}

Test(stuck_rules, recorded_captures)
{
	struct stuck_numbers n;
	check_captures("stucktasks", stuck_rules, stuck_rule_count, &stuck_numbers_fields, &n);
}
