#include "agent/profilers/requests/request_work_rules.h"

#include "agent/profilers/requests/request_numbers.h"
#include "agent/profilers/requests/request_text.h"
#include "agent/waits/wait_kind.h"
#include "common/base/size_text.h"

#include <string.h>

#define LEAST_REQUESTS 20
#define LEAST_SLOW 5
#define LEAST_SHARE 5.0
#define LOST_PERCENT 20.0
#define WINDOW_PERCENT 5.0
#define PART_PERCENT 30.0 /* of the requests' time */
#define SLOW_MS 20.0
#define LEAST_LOOKS 2
#define CALL_PERCENT 50.0
#define GC_CPU_PERCENT 5.0
#define THROTTLED_PERCENT 5.0
#define FIRST_MS 200.0
#define FIRST_TIMES 10
#define FIRST_SAMPLES 10
#define FIRST_JIT_PERCENT 30.0
#define NAME_CHARS 30 /* so that a headline holds it */
#define HEADLINE_CHARS 80
#define IN_CHARS 4

static const struct request_numbers *work_numbers_in(const void *numbers)
{
	return numbers;
}

const char *request_work_needs_windows(const void *numbers)
{
	const struct request_numbers *n = work_numbers_in(numbers);
	if (n->requests < LEAST_REQUESTS)
		return "there were too few requests";
	if (n->lost_percent > LOST_PERCENT)
		return "too many requests could not be followed";
	return n->window_percent >= WINDOW_PERCENT ? NULL : "it was told for too little of the time which thread works for which request";
}

const char *request_work_needs_waits(const void *numbers)
{
	return rules_known(work_numbers_in(numbers)->no_cpu_percent) ? request_work_needs_windows(numbers) : "what threads wait for could not be followed";
}

const char *request_work_needs_samples(const void *numbers)
{
	return rules_known(work_numbers_in(numbers)->first_ms) ? request_work_needs_windows(numbers) : "CPU time could not be sampled";
}

static struct rule_score score_of_part(double percent, double share, double requests, double ms, bool second)
{
	bool found = percent >= PART_PERCENT && share >= LEAST_SHARE && requests >= LEAST_SLOW && ms >= SLOW_MS;
	return (struct rule_score){found ? rules_score(percent * share / 100) : 0, second ? 2 : 1};
}

/* "GET /orders/{id}: 80% of 240 ms waiting for a lock in Stock.Reserve" */
static void say_part(struct finding *out, const struct rule_text *endpoint, double percent, double ms, const char *what, const char *place)
{
	AUTO_BUF struct buf text;
	buf_init(&text, 4 * RULE_TEXT_BYTES);
	request_text_endpoint(&text, endpoint->text, NAME_CHARS);
	buf_printf(&text, ": %.0f%% of %.0f ms %s", percent, ms, what);
	if (place && place[0] && text.len + IN_CHARS < HEADLINE_CHARS)
		request_text_method(&text, " in ", place, HEADLINE_CHARS - IN_CHARS - text.len);
	finding_message(out, "%s", buf_str(&text));
	finding_place(out, place && place[0] ? place : endpoint->text);
}

static void say_no_part(struct finding *out, const char *what, double percent)
{
	finding_message(out, "%s", what);
	finding_evidence(out, "at most %.0f%% of the time of an endpoint's slowest requests", rules_known(percent) ? percent : 0);
}

/* The kernel says that the thread slept, its stack where; the runtime's own table of monitors, or the kernel's of file locks, read apart from both, that
 * somebody had it meanwhile. */
struct rule_score request_work_locks(const void *numbers)
{
	const struct request_numbers *n = work_numbers_in(numbers);
	return score_of_part(n->lock_percent, n->lock_share, n->lock_requests, n->lock_ms, n->lock_looks >= LEAST_LOOKS);
}

void request_work_says_locks(const void *numbers, struct finding *out)
{
	const struct request_numbers *n = work_numbers_in(numbers);
	if (out->state == FINDING_EXCLUDED) {
		say_no_part(out, "requests that wait for locks", n->lock_percent);
		return;
	}
	bool database = strcmp(n->lock_what.text, WAIT_WHAT_DATABASE) == 0;
	say_part(out, &n->lock_endpoint, n->lock_percent, n->lock_ms, database ? "waiting for SQLite's lock" : "waiting for a lock",
		 n->lock_place.text);
	if (database)
		finding_evidence(out, "threads of its %.0f slowest requests sleep and try again in %s; at %.0f %s at the kernel's file locks this "
				      "process had a SQLite database locked for writing meanwhile", n->lock_requests, n->lock_place.text, n->lock_looks,
				 size_text_plural(n->lock_looks, "look", "looks"));
	else if (n->lock_holder.text[0])
		finding_evidence(out, "threads of its %.0f slowest requests wait for %s in %s; %.0f %s found it held, mostly in %s", n->lock_requests,
				 n->lock_what.text, n->lock_place.text, n->lock_looks, size_text_plural(n->lock_looks, "look", "looks"), n->lock_holder.text);
	else
		finding_evidence(out, "threads of its %.0f slowest requests wait for %s in %s; %.0f %s at the runtime's monitors found it held",
				 n->lock_requests, n->lock_what.text, n->lock_place.text, n->lock_looks, size_text_plural(n->lock_looks, "look", "looks"));
}

/* The stacks say that a task is waited for; the call's own events, that it was under way meanwhile. */
struct rule_score request_work_tasks(const void *numbers)
{
	const struct request_numbers *n = work_numbers_in(numbers);
	return score_of_part(n->task_percent, n->task_share, n->task_requests, n->task_ms, n->task_call_percent >= CALL_PERCENT);
}

void request_work_says_tasks(const void *numbers, struct finding *out)
{
	const struct request_numbers *n = work_numbers_in(numbers);
	if (out->state == FINDING_EXCLUDED) {
		say_no_part(out, "requests that block a thread on a task", n->task_percent);
		return;
	}
	say_part(out, &n->task_endpoint, n->task_percent, n->task_ms, "blocked on a task", n->task_place.text);
	finding_evidence(out, "stacks of threads that sleep in its %.0f slowest requests: sync over async in %s; a call was under way for %.0f%% of that time",
			 n->task_requests, n->task_place.text, n->task_call_percent);
}

/* Nothing else tells of synchronous I/O but the stacks. */
struct rule_score request_work_io(const void *numbers)
{
	const struct request_numbers *n = work_numbers_in(numbers);
	return score_of_part(n->io_percent, n->io_share, n->io_requests, n->io_ms, false);
}

void request_work_says_io(const void *numbers, struct finding *out)
{
	const struct request_numbers *n = work_numbers_in(numbers);
	if (out->state == FINDING_EXCLUDED) {
		say_no_part(out, "requests in synchronous I/O", n->io_percent);
		return;
	}
	say_part(out, &n->io_endpoint, n->io_percent, n->io_ms, "in synchronous I/O", n->io_place.text);
	finding_evidence(out, "stacks of threads that sleep in its %.0f slowest requests: %s in %s", n->io_requests,
			 n->io_what.text[0] ? n->io_what.text : "I/O", n->io_place.text);
}

/* The runtime tells when it stops all threads for a collection; samples of CPU time, that the process collects. */
struct rule_score request_work_gc(const void *numbers)
{
	const struct request_numbers *n = work_numbers_in(numbers);
	bool collects = rules_known(n->gc_cpu_percent) && n->gc_cpu_percent >= GC_CPU_PERCENT;
	return score_of_part(n->gc_percent, n->gc_share, n->gc_requests, n->gc_ms, collects);
}

void request_work_says_gc(const void *numbers, struct finding *out)
{
	const struct request_numbers *n = work_numbers_in(numbers);
	if (out->state == FINDING_EXCLUDED) {
		say_no_part(out, "requests that collections stop", n->gc_percent);
		return;
	}
	say_part(out, &n->gc_endpoint, n->gc_percent, n->gc_ms, "in GC pauses", NULL);
	finding_evidence(out, "while threads work for its %.0f slowest requests; collections are %.0f%% of the process's CPU time", n->gc_requests,
			 rules_known(n->gc_cpu_percent) ? n->gc_cpu_percent : 0);
}

/* The kernel says that threads could run and did not; the container's own account, that its quota was used up. */
struct rule_score request_work_no_cpu(const void *numbers)
{
	const struct request_numbers *n = work_numbers_in(numbers);
	bool throttled = rules_known(n->throttled_percent) && n->throttled_percent >= THROTTLED_PERCENT;
	return score_of_part(n->no_cpu_percent, n->no_cpu_share, n->no_cpu_requests, n->no_cpu_ms, throttled);
}

void request_work_says_no_cpu(const void *numbers, struct finding *out)
{
	const struct request_numbers *n = work_numbers_in(numbers);
	if (out->state == FINDING_EXCLUDED) {
		say_no_part(out, "requests that wait for a CPU", n->no_cpu_percent);
		return;
	}
	say_part(out, &n->no_cpu_endpoint, n->no_cpu_percent, n->no_cpu_ms, "waiting for a CPU", NULL);
	if (rules_known(n->throttled_percent) && n->throttled_percent >= THROTTLED_PERCENT)
		finding_evidence(out, "the container's CPU limit throttled it in %.0f%% of the periods", n->throttled_percent);
	else
		finding_evidence(out, "threads that could run had none; no throttling by the container's limit is known: the node is busy, or more threads "
				      "run than there are CPUs");
}

/* How long it took is the hosting's word; that it was compiled, that of samples. Without those it may be one slow request among others. */
struct rule_score request_work_first(const void *numbers)
{
	const struct request_numbers *n = work_numbers_in(numbers);
	bool found = n->first_ms >= FIRST_MS && n->first_ms >= FIRST_TIMES * n->first_p50_ms && n->first_samples >= FIRST_SAMPLES &&
		     n->first_jit_percent >= FIRST_JIT_PERCENT;
	return (struct rule_score){found ? 20 : 0, 2};
}

void request_work_says_first(const void *numbers, struct finding *out)
{
	const struct request_numbers *n = work_numbers_in(numbers);
	AUTO_BUF struct buf name;
	buf_init(&name, 2 * RULE_TEXT_BYTES);
	if (out->state == FINDING_EXCLUDED) {
		finding_message(out, "a first request that waits for its code to be compiled");
		finding_evidence(out, "the first request of an endpoint took at most %.0f ms longer than half of them, or was not compiling", n->first_ms);
		return;
	}
	request_text_endpoint(&name, n->first_endpoint.text, NAME_CHARS);
	finding_message(out, "%s: its first request took %.0f ms", buf_str(&name), n->first_ms);
	finding_evidence(out, "half of its requests take %.1f ms; the first one spent %.0f%% of %.0f samples of its CPU time in the JIT compiler",
			 n->first_p50_ms, n->first_jit_percent, n->first_samples);
	finding_place(out, n->first_endpoint.text);
}
