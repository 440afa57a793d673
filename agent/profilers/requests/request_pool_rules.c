#include "agent/profilers/requests/request_pool_rules.h"

#include "agent/profilers/requests/request_pool_numbers.h"
#include "agent/profilers/requests/request_text.h"
#include "agent/profilers/requests/request_work_rules.h"
#include "common/base/size_text.h"

#include <string.h>

#define LEAST_SLOW 5
#define LEAST_SHARE 5.0
#define PART_PERCENT 30.0
#define SLOW_MS 20.0
#define LEAST_WAITS 20
#define FEW_OPENED 10.0   /* percent of the waits: what waits gets a connection that there is */
#define GROWING_OPENED 50.0 /* percent of the waits: the pool grows */
#define FAILED_PERCENT 10.0
#define BLOCKED_PERCENT 20.0 /* of what was told: workers that compute are near 0 */
#define LEAST_LOOKS 5     /* of the session, where hardly one met requests that await */
#define OLD_SECONDS 5.0
#define LEAST_GATED 10    /* waits */
#define NAME_CHARS 30
#define BLOCKER_PERCENT 20.0 /* of the time that workers block */
#define HEADLINE_CHARS 80
#define BLOCKED_IN ", blocked in "

static const struct request_numbers *pool_numbers_in(const void *numbers)
{
	return numbers;
}

static bool is_much(double percent, double share, double requests, double ms)
{
	return percent >= PART_PERCENT && share >= LEAST_SHARE && requests >= LEAST_SLOW && ms >= SLOW_MS;
}

static void say_pool_part(struct finding *out, const struct rule_text *endpoint, double percent, double ms, const char *what)
{
	AUTO_BUF struct buf text;
	buf_init(&text, 4 * RULE_TEXT_BYTES);
	request_text_endpoint(&text, endpoint->text, NAME_CHARS);
	buf_printf(&text, ": %.0f%% of %.0f ms %s", percent, ms, what);
	finding_message(out, "%s", buf_str(&text));
	finding_place(out, endpoint->text);
}

/* The client tells for how long its calls waited for a connection; and, apart from that, of each connection that it made: none, or hardly any. */
struct rule_score request_pool_exhausted(const void *numbers)
{
	const struct request_numbers *n = pool_numbers_in(numbers);
	bool found = is_much(n->pool_percent, n->pool_share, n->pool_requests, n->pool_ms) && n->pool_opened_percent < GROWING_OPENED;
	bool second = n->pool_opened_percent <= FEW_OPENED && n->pool_failed_percent <= FAILED_PERCENT && n->pool_waits >= LEAST_WAITS;
	return (struct rule_score){found ? rules_score(n->pool_percent * n->pool_share / 100) : 0, second ? 2 : 1};
}

void request_pool_says_exhausted(const void *numbers, struct finding *out)
{
	const struct request_numbers *n = pool_numbers_in(numbers);
	if (out->state == FINDING_EXCLUDED) {
		finding_message(out, "a pool of HTTP connections that is used up");
		finding_evidence(out, "calls wait for a connection for at most %.0f%% of the time of an endpoint's slowest requests", n->pool_percent);
		return;
	}
	say_pool_part(out, &n->pool_endpoint, n->pool_percent, n->pool_ms, "waiting for an HTTP connection");
	finding_evidence(out, "%.0f calls waited for a connection to %s, and %.0f were opened meanwhile: the others got one that a call before them had",
			 n->pool_waits, n->pool_what.text, n->pool_waits * n->pool_opened_percent / 100);
}

/* The calls' own time for it, and the connections that were opened. */
struct rule_score request_pool_anew(const void *numbers)
{
	const struct request_numbers *n = pool_numbers_in(numbers);
	bool found = is_much(n->anew_percent, n->anew_share, n->anew_requests, n->anew_ms) && n->anew_calls >= LEAST_WAITS;
	return (struct rule_score){found ? rules_score(n->anew_percent * n->anew_share / 100) : 0, 2};
}

void request_pool_says_anew(const void *numbers, struct finding *out)
{
	const struct request_numbers *n = pool_numbers_in(numbers);
	if (out->state == FINDING_EXCLUDED) {
		finding_message(out, "HTTP connections that are made for each call");
		finding_evidence(out, "%.0f were opened to the host that requests wait for most, for %.0f calls; at most %.0f%% of the time", n->anew_opened,
				 n->anew_calls, n->anew_percent);
		return;
	}
	say_pool_part(out, &n->anew_endpoint, n->anew_percent, n->anew_ms, "making HTTP connections");
	finding_evidence(out, "%.0f connections were opened to %s for %.0f calls", n->anew_opened, n->anew_what.text, n->anew_calls);
}

/* A gate of the application's own before its commands looks alike. */
struct rule_score request_pool_gate(const void *numbers)
{
	const struct request_numbers *n = pool_numbers_in(numbers);
	bool found = is_much(n->gate_percent, n->gate_share, n->gate_requests, n->gate_ms) && n->gate_waits >= LEAST_GATED;
	return (struct rule_score){found ? rules_score(n->gate_percent * n->gate_share / 100) : 0, 1};
}

void request_pool_says_gate(const void *numbers, struct finding *out)
{
	const struct request_numbers *n = pool_numbers_in(numbers);
	if (out->state == FINDING_EXCLUDED) {
		finding_message(out, "a pool of database connections that is used up");
		finding_evidence(out, "requests wait just before a command, while as many commands run as ever do, for at most %.0f%% of the time of an "
				      "endpoint's slowest requests", n->gate_percent);
		return;
	}
	say_pool_part(out, &n->gate_endpoint, n->gate_percent, n->gate_ms, "perhaps for a DB connection");
	finding_evidence(out, "no thread works for its %.0f slowest requests just before they begin %s, and meanwhile %.0f %s, as many as ever at once: a "
			      "pool of that size is in use, or another limit lets no more in",
			 n->gate_requests, n->gate_what.text, n->gate_width, size_text_plural(n->gate_width, "command runs", "commands run"));
}

/* How much of the requests' time they await: for the queue at most what its length allows, which by Little's law is each item's time in it times their
 * rate. The endpoint's requests are some of the items, so that the bound is never too low. */
static double queued_percent(const struct request_numbers *n)
{
	double most_ms = n->await_per_second > 0 ? 1000 * n->queue_mean / n->await_per_second : INFINITY;
	return n->await_ms > 0 ? fmin(n->await_percent, 100 * most_ms / n->await_ms) : 0;
}

static bool is_queue(const struct request_numbers *n)
{
	return is_much(queued_percent(n), n->await_share, n->await_requests, n->await_ms) && n->queue_mean >= POOL_QUEUED;
}

const char *request_pool_needs_queue(const void *numbers)
{
	const struct request_numbers *n = pool_numbers_in(numbers);
	if (!rules_known(n->queue_mean) || n->queue_looks < (n->queue_met >= POOL_LEAST_MET ? POOL_LEAST_MET : LEAST_LOOKS))
		return "the length of the pool's queue could not be read";
	if (is_queue(n) && !(n->queue_met >= POOL_LEAST_MET))
		return "the queue was looked at too few times while a request waited";
	return request_work_needs_waits(numbers);
}

/* The pool's own queue says that work waits for a worker; their stacks, that they block. */
struct rule_score request_pool_workers(const void *numbers)
{
	const struct request_numbers *n = pool_numbers_in(numbers);
	bool found = is_queue(n) && rules_known(n->workers_blocked_percent) && n->workers_blocked_percent >= BLOCKED_PERCENT;
	return (struct rule_score){found ? rules_score(queued_percent(n) * n->await_share / 100) : 0, 2};
}

/* What is to be changed. */
static void say_blocker(struct finding *out, const struct rule_text *method)
{
	AUTO_BUF struct buf text;
	size_t len = strlen(out->message) + strlen(BLOCKED_IN);
	buf_init(&text, 4 * RULE_TEXT_BYTES);
	buf_puts(&text, out->message);
	if (len < HEADLINE_CHARS)
		request_text_method(&text, BLOCKED_IN, method->text, HEADLINE_CHARS - len);
	finding_message(out, "%s", buf_str(&text));
	finding_place(out, method->text);
}

void request_pool_says_workers(const void *numbers, struct finding *out)
{
	const struct request_numbers *n = pool_numbers_in(numbers);
	if (out->state == FINDING_EXCLUDED) {
		finding_message(out, "requests that wait for a thread of the pool");
		finding_evidence(out, "%.1f items waited in its queue on average at %.0f looks, and its busy workers were blocked for %.0f%% of the time",
				 n->queue_mean, n->queue_looks, rules_known(n->workers_blocked_percent) ? n->workers_blocked_percent : 0);
		return;
	}
	AUTO_BUF struct buf where;
	buf_init(&where, 4 * RULE_TEXT_BYTES);
	say_pool_part(out, &n->await_endpoint, queued_percent(n), n->await_ms, "queued for the thread pool");
	bool known = n->blocker_place.text[0] && rules_known(n->blocker_percent) && n->blocker_percent >= BLOCKER_PERCENT;
	if (known) {
		say_blocker(out, &n->blocker_place);
		buf_printf(&where, ", %.0f%% of that in %s (%s)", n->blocker_percent, n->blocker_place.text, n->blocker_what.text);
	}
	finding_evidence(out, "no thread works for them, and no call is known; %.0f items waited in the pool's queue on average, %.0f at most, and its busy "
			      "workers were blocked for %.0f%% of the time%s",
			 n->queue_mean, n->queue_most, n->workers_blocked_percent, buf_str(&where));
}

/* What the kernel knows of connections is one witness only. */
struct rule_score request_pool_unanswered(const void *numbers)
{
	const struct request_numbers *n = pool_numbers_in(numbers);
	bool found = n->unanswered_count > 0 && n->unanswered_oldest_s >= OLD_SECONDS;
	return (struct rule_score){found ? 30 : 0, 1};
}

void request_pool_says_unanswered(const void *numbers, struct finding *out)
{
	const struct request_numbers *n = pool_numbers_in(numbers);
	if (out->state == FINDING_EXCLUDED) {
		finding_message(out, "requests that hang since before the session");
		finding_evidence(out, "no client waits for an answer for so long");
		return;
	}
	finding_message(out, "%.0f %s may hang since before the session, the oldest for %.0f s", n->unanswered_count,
			size_text_plural(n->unanswered_count, "request", "requests"), n->unanswered_oldest_s);
	finding_evidence(out, "on so many connections to its ports the client has spoken last, and nothing was answered; StuckTasks names the awaits at which "
			      "requests wait, Threads the calls");
}
