#include "agent/profilers/requests/request_numbers.h"

#include "agent/profilers/requests/request_text.h"

#define LEAST_REQUESTS 20
#define LOST_PERCENT 20.0
#define OLD_SECONDS 5.0
#define OLD_TIMES 10    /* of the p99 */
#define ERROR_PERCENT 5.0
#define STATUS_PERCENT 5.0 /* of the requests: with fewer statuses a share says little */
#define NAME_CHARS 34   /* so that a headline holds it */

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

const struct rule request_rules[] = {
	{"RequestsNeverEnd", needs_requests, never_ends, says_never_ends},
	{"RequestsFail", needs_status, fails, says_fails},
};
const size_t request_rule_count = sizeof request_rules / sizeof *request_rules;
