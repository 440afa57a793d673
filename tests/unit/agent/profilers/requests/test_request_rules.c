#include "agent/profilers/requests/request_numbers.h"

#include <criterion/criterion.h>
#include <string.h>

#define MESSAGE_CHARS 80 /* of a headline */

/* A session in which nothing is wrong and all was measured. */
static struct request_numbers healthy(void)
{
	struct request_numbers n;
	rules_clear(&request_numbers_fields, &n);
	n.seconds = 30;
	n.requests = 1000;
	n.in_flight = n.open_count = n.open_oldest_s = n.open_done = 0;
	n.lost_percent = n.error_percent = n.error_endpoint_percent = n.error_count = 0;
	n.status_percent = n.window_percent = n.told_percent = 100;
	n.calls_each = n.calls_percent = n.call_percent = n.blocked_percent = 0;
	n.lock_percent = n.task_percent = n.io_percent = n.gc_percent = n.no_cpu_percent = n.gc_cpu_percent = n.first_ms = 0;
	n.pool_percent = n.anew_percent = n.await_percent = n.unanswered_count = n.unanswered_oldest_s = n.queue_mean = 0;
	n.queue_looks = 50;
	n.gate_percent = n.gate_waits = 0;
	n.client_percent = n.one_percent = n.one_others = 0;
	n.one_told = 900;
	n.peer_percent = 0;
	return n;
}

static enum finding_state state_of(const struct request_numbers *n, const char *id, bool *leads)
{
	struct findings f;
	rules_run(request_rules, request_rule_count, &request_numbers_fields, n, &f);
	const struct finding *x = findings_find(&f, id), *lead = findings_lead(&f);
	enum finding_state state = x ? x->state : FINDING_EXCLUDED;
	*leads = x && x == lead;
	if (x)
		cr_expect_leq(strlen(x->message), MESSAGE_CHARS, "%s", x->message);
	findings_fini(&f);
	return state;
}

#define PART(n, name)                                                                  \
	do {                                                                           \
		(n).name##_percent = 80;                                               \
		(n).name##_share = 50;                                                 \
		(n).name##_requests = 32;                                              \
		(n).name##_ms = 12345;                                                 \
		rules_set_text(&(n).name##_endpoint, "GET /a-name/that-is-long/{id}/and-more/{id}"); \
	} while (0)

/* One witness: Possible; two: Found; a part that is small, of few requests, or of fast ones: neither. */
Test(request_rules, what_threads_did)
{
	static const char *const ids[] = {"RequestWaitsForLock", "RequestBlocksOnTasks", "RequestsPausedByGC", "RequestsWithoutCPU"};
	bool leads;
	for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
		for (unsigned how = 0; how < 3; how++) {
			struct request_numbers n = healthy();
			PART(n, lock);
			PART(n, task);
			PART(n, gc);
			PART(n, no_cpu);
			rules_set_text(&n.lock_place, "Shop.Warehouse.Stock.ReserveAllOfThemAtOnceOrNone(int, int)");
			rules_set_text(&n.task_place, "Shop.Prices.Get");
			n.lock_looks = n.task_call_percent = n.gc_cpu_percent = n.throttled_percent = how ? 60 : 0;
			if (how == 2)
				n.lock_percent = n.task_percent = n.gc_percent = n.no_cpu_percent = 29;
			enum finding_state due = how == 2 ? FINDING_EXCLUDED : how ? FINDING_FOUND : FINDING_POSSIBLE;
			cr_expect_eq(state_of(&n, ids[i], &leads), due, "%s %u", ids[i], how);
		}
}

Test(request_rules, synchronous_io_has_one_witness)
{
	bool leads;
	struct request_numbers n = healthy();
	PART(n, io);
	cr_expect_eq(state_of(&n, "RequestBlocksOnIO", &leads), FINDING_POSSIBLE);
	cr_expect(leads);
	n.io_ms = 19;
	cr_expect_eq(state_of(&n, "RequestBlocksOnIO", &leads), FINDING_EXCLUDED);
}

Test(request_rules, a_first_request_is_slow_because_it_is_compiled)
{
	bool leads;
	struct request_numbers n = healthy();
	n.first_ms = 800;
	n.first_p50_ms = 3;
	n.first_samples = 60;
	n.first_jit_percent = 70;
	cr_expect_eq(state_of(&n, "FirstRequestCompiles", &leads), FINDING_FOUND);
	n.first_jit_percent = 5; /* a cache that is filled */
	cr_expect_eq(state_of(&n, "FirstRequestCompiles", &leads), FINDING_EXCLUDED);
	n.first_jit_percent = 70;
	n.first_p50_ms = 300; /* all are slow */
	cr_expect_eq(state_of(&n, "FirstRequestCompiles", &leads), FINDING_EXCLUDED);
}

/* That a thread stays in the request during a call is said only where stacks do not say what it does. */
Test(request_rules, stacks_say_more_than_calls)
{
	bool leads;
	struct request_numbers n = healthy();
	PART(n, blocked);
	cr_expect_eq(state_of(&n, "RequestBlocksThread", &leads), FINDING_EXCLUDED);
	n.told_percent = NAN;
	cr_expect_eq(state_of(&n, "RequestBlocksThread", &leads), FINDING_POSSIBLE);
}

/* Calls that wait for connections of a pool that grows no more; where it grows, or calls fail, it is not certain. */
Test(request_rules, a_pool_of_connections_is_used_up)
{
	bool leads;
	struct request_numbers n = healthy();
	PART(n, pool);
	n.pool_waits = 200;
	n.pool_opened_percent = n.pool_failed_percent = 1;
	cr_expect_eq(state_of(&n, "ConnectionPoolExhausted", &leads), FINDING_FOUND);
	cr_expect(leads);
	n.pool_failed_percent = 20;
	cr_expect_eq(state_of(&n, "ConnectionPoolExhausted", &leads), FINDING_POSSIBLE);
	n.pool_failed_percent = 1;
	n.pool_opened_percent = 30;
	cr_expect_eq(state_of(&n, "ConnectionPoolExhausted", &leads), FINDING_POSSIBLE);
	n.pool_opened_percent = 100;
	cr_expect_eq(state_of(&n, "ConnectionPoolExhausted", &leads), FINDING_EXCLUDED);
	n.pool_opened_percent = 1;
	n.pool_percent = 29;
	cr_expect_eq(state_of(&n, "ConnectionPoolExhausted", &leads), FINDING_EXCLUDED);
}

/* It is concluded from what commands tell, so it is never certain. */
Test(request_rules, a_pool_of_database_connections_may_be_used_up)
{
	bool leads;
	struct request_numbers n = healthy();
	PART(n, gate);
	n.gate_waits = 32;
	n.gate_width = 2;
	rules_set_text(&n.gate_what, "sql SELECT ?");
	cr_expect_eq(state_of(&n, "DatabaseConnectionsExhausted", &leads), FINDING_POSSIBLE);
	cr_expect(leads);
	n.gate_waits = 9;
	cr_expect_eq(state_of(&n, "DatabaseConnectionsExhausted", &leads), FINDING_EXCLUDED);
	n.gate_waits = 32;
	n.gate_percent = 29;
	cr_expect_eq(state_of(&n, "DatabaseConnectionsExhausted", &leads), FINDING_EXCLUDED);
}

Test(request_rules, connections_are_made_for_each_call)
{
	bool leads;
	struct request_numbers n = healthy();
	PART(n, anew);
	n.anew_calls = n.anew_opened = 100;
	cr_expect_eq(state_of(&n, "ConnectionsMadeAnew", &leads), FINDING_FOUND);
	n.anew_calls = n.anew_opened = 19; /* a client that has just begun */
	cr_expect_eq(state_of(&n, "ConnectionsMadeAnew", &leads), FINDING_EXCLUDED);
}

/* A timer and a burst look alike in the bill: the queue and the workers tell them apart. */
Test(request_rules, requests_wait_for_a_thread_of_the_pool)
{
	bool leads;
	struct request_numbers n = healthy();
	PART(n, await);
	n.queue_mean = 18;
	n.queue_met = 30;
	n.workers_blocked_percent = 60;
	cr_expect_eq(state_of(&n, "RequestsWaitForPool", &leads), FINDING_FOUND);
	n.blocker_percent = 90;
	rules_set_text(&n.blocker_place, "Shop.Front.AuctionEndpoint.Bid(System.Collections.Generic.List<int>)");
	cr_expect_eq(state_of(&n, "RequestsWaitForPool", &leads), FINDING_FOUND);
	n.workers_blocked_percent = 10; /* they compute */
	cr_expect_eq(state_of(&n, "RequestsWaitForPool", &leads), FINDING_EXCLUDED);
	n.workers_blocked_percent = 60;
	n.queue_mean = 0.1;
	cr_expect_eq(state_of(&n, "RequestsWaitForPool", &leads), FINDING_EXCLUDED);
	n.queue_mean = NAN;
	cr_expect_eq(state_of(&n, "RequestsWaitForPool", &leads), FINDING_EXCLUDED);
	n.queue_mean = 18;
	n.queue_looks = n.queue_met = 3; /* few, but all while they await */
	cr_expect_eq(state_of(&n, "RequestsWaitForPool", &leads), FINDING_FOUND);
	n.queue_met = 2;
	cr_expect_eq(state_of(&n, "RequestsWaitForPool", &leads), FINDING_EXCLUDED);
	n.queue_looks = 10;
	cr_expect_eq(state_of(&n, "RequestsWaitForPool", &leads), FINDING_EXCLUDED, "a queue of the session that is not theirs");
}

/* 7 requests a second and 2 items in the queue: each may have waited there for 286 ms. */
Test(request_rules, a_share_of_the_pools_queue_is_bounded_by_its_length)
{
	bool leads;
	struct request_numbers n = healthy();
	PART(n, await);
	n.await_ms = 416;
	n.await_percent = 100;
	n.await_per_second = 7;
	n.queue_looks = n.queue_met = 10;
	n.queue_mean = 2;
	n.workers_blocked_percent = 37;
	cr_expect_eq(state_of(&n, "RequestsWaitForPool", &leads), FINDING_FOUND);
	struct findings f;
	rules_run(request_rules, request_rule_count, &request_numbers_fields, &n, &f);
	cr_expect(strstr(findings_find(&f, "RequestsWaitForPool")->message, ": 69% of 416 ms queued"), "%s", findings_find(&f, "RequestsWaitForPool")->message);
	findings_fini(&f);
	n.await_per_second = 50; /* 40 ms each */
	cr_expect_eq(state_of(&n, "RequestsWaitForPool", &leads), FINDING_EXCLUDED);
}

Test(request_rules, requests_from_before_the_session_have_one_witness)
{
	bool leads;
	struct request_numbers n = healthy();
	n.unanswered_count = 12;
	n.unanswered_oldest_s = 340;
	cr_expect_eq(state_of(&n, "RequestsHangSinceBefore", &leads), FINDING_POSSIBLE);
	n.unanswered_oldest_s = 4;
	cr_expect_eq(state_of(&n, "RequestsHangSinceBefore", &leads), FINDING_EXCLUDED);
}

/* The words depend on whose fault it is: the client's, or the network's. */
Test(request_rules, responses_wait_for_their_clients)
{
	bool leads;
	struct request_numbers n = healthy();
	PART(n, client);
	n.client_bytes = 48 << 20;
	n.client_window_percent = 97;
	cr_expect_eq(state_of(&n, "ResponsesWaitForClient", &leads), FINDING_FOUND);
	cr_expect(leads);
	n.client_window_percent = 3;
	cr_expect_eq(state_of(&n, "ResponsesWaitForClient", &leads), FINDING_FOUND);
	n.client_ms = 19;
	cr_expect_eq(state_of(&n, "ResponsesWaitForClient", &leads), FINDING_EXCLUDED);
	n.client_ms = 2000;
	n.client_percent = 29;
	cr_expect_eq(state_of(&n, "ResponsesWaitForClient", &leads), FINDING_EXCLUDED);
}

/* What may be a proxy, or two of them and a check of health, is not called a client. */
Test(request_rules, one_client_among_several_asks_most)
{
	bool leads;
	struct request_numbers n = healthy();
	n.one_percent = 92;
	n.one_share = 60;
	n.one_requests = 828;
	n.one_others = 12;
	n.one_p95_ms = 140;
	rules_set_text(&n.one_endpoint, "GET /a-name/that-is-long/{id}/and-more/{id}");
	cr_expect_eq(state_of(&n, "OneClientAsksMost", &leads), FINDING_POSSIBLE);
	cr_expect(leads);
	n.one_others = 3;
	cr_expect_eq(state_of(&n, "OneClientAsksMost", &leads), FINDING_EXCLUDED);
	n.one_others = 12;
	n.one_percent = 55;
	cr_expect_eq(state_of(&n, "OneClientAsksMost", &leads), FINDING_EXCLUDED);
	n.one_percent = 92;
	n.one_p95_ms = 2; /* they are fast */
	cr_expect_eq(state_of(&n, "OneClientAsksMost", &leads), FINDING_EXCLUDED);
	n.one_told = NAN;
	cr_expect_eq(state_of(&n, "OneClientAsksMost", &leads), FINDING_EXCLUDED);
}

/* A server at a port that tells what it is, whose answers requests wait for. */
static struct request_numbers waits_for_server(void)
{
	struct request_numbers n = healthy();
	PART(n, peer);
	n.peer_ms = 123;
	n.peer_looks = 200;
	n.peer_owes_percent = 90;
	n.peer_blocked_percent = 0;
	n.peer_alone_percent = n.peer_answered_percent = 100;
	n.peer_waits_each = n.peer_asked_each = 1;
	n.peer_idle_percent = 2;
	rules_set_text(&n.peer_name, "[fe80:1234:5678:9abc:def0]:6379");
	return n;
}

/* That it owes an answer is one witness; that it hardly ever does while there is no request, or its client's code on the requests' threads, is another. */
Test(request_rules, requests_wait_for_a_server)
{
	bool leads;
	struct request_numbers n = waits_for_server();
	cr_expect_eq(state_of(&n, "WaitsForServer", &leads), FINDING_FOUND);
	cr_expect(leads);
	n.peer_idle_percent = 50;
	cr_expect_eq(state_of(&n, "WaitsForServer", &leads), FINDING_POSSIBLE, "it owes answers to others, too");
	n.peer_idle_percent = 61;
	cr_expect_eq(state_of(&n, "WaitsForServer", &leads), FINDING_EXCLUDED, "others ask it all the time");
	n.peer_idle_percent = NAN;
	cr_expect_eq(state_of(&n, "WaitsForServer", &leads), FINDING_POSSIBLE);
	rules_set_text(&n.peer_client, "Redis");
	cr_expect_eq(state_of(&n, "WaitsForServer", &leads), FINDING_POSSIBLE, "it may be another server than that client's");
	rules_set_text(&n.peer_port_of, "Redis");
	cr_expect_eq(state_of(&n, "WaitsForServer", &leads), FINDING_FOUND);
	n.peer_alone_percent = 40;
	cr_expect_eq(state_of(&n, "WaitsForServer", &leads), FINDING_POSSIBLE, "another one owes answers, too");
	n.peer_looks = 9;
	cr_expect_eq(state_of(&n, "WaitsForServer", &leads), FINDING_EXCLUDED);
	n = waits_for_server();
	n.peer_answered_percent = 10;
	cr_expect_eq(state_of(&n, "WaitsForServer", &leads), FINDING_POSSIBLE, "it does not answer");
	n = waits_for_server();
	n.peer_percent = 39;
	cr_expect_eq(state_of(&n, "WaitsForServer", &leads), FINDING_EXCLUDED);
}

/* The requests go on as it answers, or they do not. */
Test(request_rules, requests_go_on_as_a_server_answers)
{
	bool leads;
	struct request_numbers n = waits_for_server();
	n.peer_idle_percent = NAN; /* there are always requests */
	n.peer_ended_percent = 95;
	n.peer_came_percent = 10;
	cr_expect_eq(state_of(&n, "WaitsForServer", &leads), FINDING_FOUND);
	n.peer_came_percent = 60;
	cr_expect_eq(state_of(&n, "WaitsForServer", &leads), FINDING_POSSIBLE, "much comes from it");
	n.peer_ended_percent = 70;
	cr_expect_eq(state_of(&n, "WaitsForServer", &leads), FINDING_EXCLUDED, "hardly more often as they go on");
	n.peer_ended_percent = n.peer_came_percent = 90;
	cr_expect_eq(state_of(&n, "WaitsForServer", &leads), FINDING_POSSIBLE, "something comes all the time");
	n.peer_asked_each = 5;
	cr_expect_eq(state_of(&n, "WaitsForServer", &leads), FINDING_EXCLUDED, "others ask it more than they do");
	n.peer_asked_each = 1;
	rules_set_text(&n.peer_client, "Redis");
	rules_set_text(&n.peer_port_of, "Redis");
	cr_expect_eq(state_of(&n, "WaitsForServer", &leads), FINDING_FOUND);
	n.peer_asked_each = 5;
	cr_expect_eq(state_of(&n, "WaitsForServer", &leads), FINDING_POSSIBLE, "others ask as well");
	n.peer_asked_each = 1;
	n.peer_idle_percent = 85;
	cr_expect_eq(state_of(&n, "WaitsForServer", &leads), FINDING_EXCLUDED, "others ask it all the time");
	n = waits_for_server();
	n.peer_ended_percent = 40;
	cr_expect_eq(state_of(&n, "WaitsForServer", &leads), FINDING_EXCLUDED, "what they wait for comes from elsewhere");
}

Test(request_rules, round_trips_are_counted_twice)
{
	bool leads;
	struct request_numbers n = waits_for_server();
	n.peer_percent = 30;
	n.peer_waits_each = 200;
	cr_expect_eq(state_of(&n, "RoundTripsInALoop", &leads), FINDING_FOUND);
	cr_expect_eq(state_of(&n, "WaitsForServer", &leads), FINDING_EXCLUDED);
	n.peer_asked_each = 2.5;
	cr_expect_eq(state_of(&n, "RoundTripsInALoop", &leads), FINDING_POSSIBLE, "others ask as well");
	n.peer_asked_each = 0.05;
	cr_expect_eq(state_of(&n, "RoundTripsInALoop", &leads), FINDING_EXCLUDED, "ten awaits, for whatever");
	n.peer_asked_each = NAN;
	cr_expect_eq(state_of(&n, "RoundTripsInALoop", &leads), FINDING_POSSIBLE);
	n.peer_ms = 19;
	cr_expect_eq(state_of(&n, "RoundTripsInALoop", &leads), FINDING_EXCLUDED);
}
