#include "agent/profilers/requests/request_numbers.h"

#include "agent/profilers/requests/request_client_rules.h"
#include "agent/profilers/requests/request_peer_rules.h"
#include "agent/profilers/requests/request_pool_rules.h"
#include "agent/profilers/requests/request_text.h"
#include "agent/profilers/requests/request_work_rules.h"
#include "common/base/size_text.h"

#define LEAST_REQUESTS 20
#define TOLD_PERCENT 50.0
#define LOST_PERCENT 20.0
#define OLD_SECONDS 5.0
#define OLD_TIMES 10    /* of the p99 */
#define ERROR_PERCENT 5.0
#define STATUS_PERCENT 5.0 /* of the requests: with fewer statuses a share says little */
#define WINDOW_PERCENT 5.0
#define MANY_CALLS 15
#define CALLS_PERCENT 30.0
#define DEPENDENCY_PERCENT 50.0
#define DEPENDENCY_MS 50.0 /* several quick calls in a row are no slow dependency */
#define SLOW_MS 20.0     /* a request that takes less is not slow */
#define LEAST_SLOW 5     /* requests of the endpoint */
#define LEAST_SHARE 5.0  /* percent of all waiting: what is less concerns few */
#define CALL_CHARS 22
#define NAME_CHARS 30   /* so that a headline holds it */

static const struct request_numbers *request_numbers_in(const void *numbers)
{
	return numbers;
}

static const char *needs_requests(const void *numbers)
{
	const struct request_numbers *n = request_numbers_in(numbers);
	if (n->lost_percent > LOST_PERCENT)
		return "too many requests could not be followed";
	return n->requests + n->in_flight > 0 ? NULL : "there was no request";
}

static const char *needs_status(const void *numbers)
{
	const struct request_numbers *n = request_numbers_in(numbers);
	if (n->requests < LEAST_REQUESTS)
		return "there were too few requests";
	return n->status_percent >= STATUS_PERCENT ? NULL : "the status of too few responses was told";
}

static const char *short_endpoint(const struct rule_text *name, struct buf *out)
{
	buf_reset(out);
	request_text_endpoint(out, name->text, NAME_CHARS);
	return buf_str(out);
}

/* That it is still there is all that is known: a stream that nothing tells of looks alike. */
static struct rule_score never_ends(const void *numbers)
{
	const struct request_numbers *n = request_numbers_in(numbers);
	bool old = n->open_oldest_s >= OLD_SECONDS && (!rules_known(n->open_p99_s) || n->open_oldest_s >= OLD_TIMES * n->open_p99_s);
	bool unlike = rules_known(n->open_p99_s) && n->open_done >= LEAST_REQUESTS;
	return (struct rule_score){old ? unlike ? 60 : 30 : 0, unlike ? 2 : 1};
}

static void says_never_ends(const void *numbers, struct finding *out)
{
	const struct request_numbers *n = request_numbers_in(numbers);
	AUTO_BUF struct buf name;
	buf_init(&name, 2 * RULE_TEXT_BYTES);
	if (out->state == FINDING_EXCLUDED) {
		finding_message(out, "requests that do not end");
		finding_evidence(out, "the oldest of %.0f in flight is %.1f s old", n->in_flight, n->open_oldest_s);
		return;
	}
	finding_message(out, "%s: %.0f in flight, the oldest for %.0f s", short_endpoint(&n->open_endpoint, &name), n->open_count, n->open_oldest_s);
	if (rules_known(n->open_p99_s))
		finding_evidence(out, "99%% of the %.0f requests of it that ended took less than %.3f s", n->open_done, n->open_p99_s);
	else
		finding_evidence(out, "none of its requests ended in %.0f s; it may be a stream or a long poll: nothing tells before its end", n->seconds);
	finding_place(out, n->open_endpoint.text);
}

/* The status comes from the response, and how many requests there are from the hosting's events. */
static struct rule_score fails(const void *numbers)
{
	const struct request_numbers *n = request_numbers_in(numbers);
	bool found = n->error_endpoint_percent >= ERROR_PERCENT && n->error_count >= 10;
	return (struct rule_score){found ? rules_score(n->error_percent) : 0, 2};
}

static void says_fails(const void *numbers, struct finding *out)
{
	const struct request_numbers *n = request_numbers_in(numbers);
	AUTO_BUF struct buf name;
	buf_init(&name, 2 * RULE_TEXT_BYTES);
	if (out->state == FINDING_EXCLUDED) {
		finding_message(out, "requests that fail");
		finding_evidence(out, "%.1f%% of the responses have a status of 500 or above", n->error_percent);
		return;
	}
	finding_message(out, "%s: %.0f%% fail", short_endpoint(&n->error_endpoint, &name), n->error_endpoint_percent);
	finding_evidence(out, "%.0f of its responses have a status of 500 or above; of all responses it is %.1f%%", n->error_count, n->error_percent);
	finding_place(out, n->error_endpoint.text);
}

static const char *needs_calls(const void *numbers)
{
	const struct request_numbers *n = request_numbers_in(numbers);
	if (n->requests < LEAST_REQUESTS)
		return "there were too few requests";
	return n->lost_percent > LOST_PERCENT ? "too many requests could not be followed" : NULL;
}

static const char *needs_windows(const void *numbers)
{
	const struct request_numbers *n = request_numbers_in(numbers);
	return n->window_percent >= WINDOW_PERCENT ? needs_calls(numbers) : "it was told for too little of the time which thread works for which request";
}

/* How many calls there are, and how much of the requests' time they are. */
static struct rule_score asks_often(const void *numbers)
{
	const struct request_numbers *n = request_numbers_in(numbers);
	bool found = n->calls_each >= MANY_CALLS && n->calls_percent >= CALLS_PERCENT && n->calls_requests >= LEAST_SLOW && n->calls_share >= LEAST_SHARE;
	return (struct rule_score){found ? rules_score(fmax(20, n->calls_percent * n->calls_share / 100)) : 0, 2};
}

static void says_asks_often(const void *numbers, struct finding *out)
{
	const struct request_numbers *n = request_numbers_in(numbers);
	AUTO_BUF struct buf name;
	buf_init(&name, 2 * RULE_TEXT_BYTES);
	if (out->state == FINDING_EXCLUDED) {
		finding_message(out, "many calls of one kind in a request");
		finding_evidence(out, "at most %.0f in one of the slowest requests, %.0f%% of its time", n->calls_each, n->calls_percent);
		return;
	}
	finding_message(out, "%s: %.0f calls a request, %.0f%% of %.0f ms", short_endpoint(&n->calls_endpoint, &name), n->calls_each,
			n->calls_percent, n->calls_ms);
	finding_evidence(out, "of the %.0f slowest requests, %.0f calls each: %s", n->calls_requests, n->calls_each, n->calls_what.text);
	finding_place(out, n->calls_endpoint.text);
}

/* The call itself says how long it took; that no thread worked for the request meanwhile is told by the tasks. */
static struct rule_score depends(const void *numbers)
{
	const struct request_numbers *n = request_numbers_in(numbers);
	bool found = n->call_percent >= DEPENDENCY_PERCENT && n->call_ms >= DEPENDENCY_MS && n->call_requests >= LEAST_SLOW && n->call_share >= LEAST_SHARE;
	return (struct rule_score){found ? rules_score(n->call_percent * n->call_share / 100) : 0, n->window_percent >= WINDOW_PERCENT ? 2 : 1};
}

static void says_depends(const void *numbers, struct finding *out)
{
	const struct request_numbers *n = request_numbers_in(numbers);
	AUTO_BUF struct buf name;
	buf_init(&name, 2 * RULE_TEXT_BYTES);
	if (out->state == FINDING_EXCLUDED) {
		finding_message(out, "a slow dependency");
		finding_evidence(out, "calls of one kind are at most %.0f%% of the time of an endpoint's slowest requests", n->call_percent);
		return;
	}
	short_endpoint(&n->call_endpoint, &name);
	buf_printf(&name, ": %.0f%% of %.0f ms awaiting ", n->call_percent, n->call_ms);
	request_text_endpoint(&name, n->call_what.text, CALL_CHARS);
	finding_message(out, "%s", buf_str(&name));
	finding_evidence(out, "of the %.0f slowest requests, %.1f %s each: %s", n->call_requests, n->call_each, size_text_plural(n->call_each, "call", "calls"),
			 n->call_what.text);
	finding_place(out, n->call_what.text);
}

/* Work of the request's own beside the call looks alike. */
static struct rule_score blocks(const void *numbers)
{
	const struct request_numbers *n = request_numbers_in(numbers);
	bool many = n->blocked_requests >= LEAST_SLOW && n->blocked_share >= LEAST_SHARE;
	bool found = many && n->blocked_percent >= DEPENDENCY_PERCENT && n->blocked_ms >= SLOW_MS;
	/* Stacks tell what the thread does there: that is said instead. */
	if (found && rules_known(n->told_percent) && n->told_percent >= TOLD_PERCENT)
		found = false;
	return (struct rule_score){found ? rules_score(n->blocked_percent * n->blocked_share / 100) : 0, 1};
}

static void says_blocks(const void *numbers, struct finding *out)
{
	const struct request_numbers *n = request_numbers_in(numbers);
	AUTO_BUF struct buf name;
	buf_init(&name, 2 * RULE_TEXT_BYTES);
	if (out->state == FINDING_EXCLUDED) {
		finding_message(out, "threads that block in requests until a call ends");
		finding_evidence(out, "a thread stays in the request during a call for at most %.0f%% of its time", n->blocked_percent);
		return;
	}
	finding_message(out, "%s blocks a thread: %.0f%% of %.0f ms", short_endpoint(&n->blocked_endpoint, &name), n->blocked_percent, n->blocked_ms);
	finding_evidence(out, "a thread stays in the request while it calls %s: sync over async, synchronous I/O, or work beside the call",
			 n->blocked_what.text);
	finding_place(out, n->blocked_endpoint.text);
}

const struct rule request_rules[] = {
	{"CallsInALoop", needs_calls, asks_often, says_asks_often},
	{"SlowDependency", needs_calls, depends, says_depends},
	{"RoundTripsInALoop", request_peer_needs, request_peer_trips, request_peer_says_trips},
	{"WaitsForServer", request_peer_needs, request_peer_waits, request_peer_says_waits},
	{"ConnectionPoolExhausted", needs_calls, request_pool_exhausted, request_pool_says_exhausted},
	{"DatabaseConnectionsExhausted", request_work_needs_windows, request_pool_gate, request_pool_says_gate},
	{"ConnectionsMadeAnew", needs_calls, request_pool_anew, request_pool_says_anew},
	{"ResponsesWaitForClient", request_work_needs_windows, request_client_reads, request_client_says_reads},
	{"OneClientAsksMost", request_client_needs_addresses, request_client_one, request_client_says_one},
	{"RequestsWaitForPool", request_pool_needs_queue, request_pool_workers, request_pool_says_workers},
	{"RequestBlocksThread", needs_windows, blocks, says_blocks},
	{"RequestWaitsForLock", request_work_needs_waits, request_work_locks, request_work_says_locks},
	{"RequestBlocksOnTasks", request_work_needs_waits, request_work_tasks, request_work_says_tasks},
	{"RequestBlocksOnIO", request_work_needs_waits, request_work_io, request_work_says_io},
	{"RequestsPausedByGC", request_work_needs_windows, request_work_gc, request_work_says_gc},
	{"RequestsWithoutCPU", request_work_needs_waits, request_work_no_cpu, request_work_says_no_cpu},
	{"FirstRequestCompiles", request_work_needs_samples, request_work_first, request_work_says_first},
	{"RequestsNeverEnd", needs_requests, never_ends, says_never_ends},
	{"RequestsHangSinceBefore", NULL, request_pool_unanswered, request_pool_says_unanswered},
	{"RequestsFail", needs_status, fails, says_fails},
};
const size_t request_rule_count = sizeof request_rules / sizeof *request_rules;
