#include "agent/profilers/stucktasks/stuck_numbers.h"

#include "agent/symbols/method_name.h"
#include "common/base/size_text.h"

#include <math.h>
#include <string.h>

#define LOOK_SECONDS 0.9 /* what stands for less is everyday */
#define TASKS ENGINE_BIT(ENGINE_ASYNC)
#define QUEUE_LEAST 2
#define REPLY_LEAST 10
#define PLACES_LIMIT 4096 /* who gives a semaphore so many places at most guards something; one that only signals has no limit */
#define BLOCKED_LEAST 2
#define HEADLINE_CHARS 80
#define GIVEN_UP_MOST 30 /* score of operations that nobody waits for */

static const char *needs_time(const void *numbers)
{
	const struct stuck_numbers *n = numbers;
	if (n->tasks == 0)
		return "no task was seen, though each process has some";
	return n->seconds_between >= LOOK_SECONDS ? NULL : "the two looks were less than a second apart";
}

static const char *needs_holders(const void *numbers)
{
	const struct stuck_numbers *n = numbers;
	return n->holders_known == 1 ? needs_time(numbers) : "not all roots of the heap were read: who else can complete what is waited for is not known";
}

/* What a headline of so many other characters has room for. */
static const char *place_name(const struct rule_text *name, size_t others, struct buf *out)
{
	buf_reset(out);
	method_name_shorten(name->text[0] ? name->text : "code without a name", HEADLINE_CHARS - others, out);
	return buf_str(out);
}

static const char *count_text(double count, struct buf *out)
{
	buf_reset(out);
	size_text_count(out, (uint64_t)count);
	return buf_str(out);
}

/* The same operation at the same await at both looks is one witness; that nothing else on the heap, no static, handle or stack, refers to what it
 * waits for is the other: nobody can complete it. Where nothing refers to the operation either, it may have been given up on purpose, and be garbage that
 * is not collected yet. */
static struct rule_score never_completed(const void *numbers)
{
	const struct stuck_numbers *n = numbers;
	bool missed = n->never_kept * 2 >= n->never;
	double score = missed ? 60 + n->never : fmin(GIVEN_UP_MOST, 10 + n->never / 10);
	return (struct rule_score){n->never > 0 ? rules_score(score) : 0, missed ? 2 : 1};
}

/* Captures of before have not all numbers. */
static double known_or_none(double number)
{
	return rules_known(number) ? number : 0;
}

static void says_never(const void *numbers, struct finding *out)
{
	const struct stuck_numbers *n = numbers;
	AUTO_BUF struct buf name, count;
	buf_init(&name, RULE_TEXT_BYTES * 2);
	buf_init(&count, 64);
	if (finding_excluded(out, "operations whose TaskCompletionSource is lost",
			     "of %s operations that stood at one await through both looks, none waits for one that nothing else refers to",
			     count_text(n->lasting, &count)))
		return;
	double stuck = n->never_most + known_or_none(n->never_behind);
	bool one = stuck == 1;
	count_text(stuck, &count);
	const char *verb = out->state == FINDING_POSSIBLE ? "may be" : one ? "is" : "are";
	finding_message(out, "%s %s %s stuck in %s: nobody can complete %s", buf_str(&count), one ? "operation" : "operations", verb,
			place_name(&n->never_place, 56 + count.len, &name), one ? "it" : "them");
	finding_evidence(out, "they wait for a TaskCompletionSource that nothing else holds: no object, static, handle or stack refers to it but "
			 "themselves; at the same await at both looks, %.1f s apart; operations: %.0f, places: %.0f%s", n->seconds_between, n->never,
			 n->never_places, out->state == FINDING_POSSIBLE ? "; nothing refers to most of the operations either: they may have been given up "
									   "on purpose, as by Task.WhenAny, and not be collected yet" : "");
	if (n->never_behind > 0)
		finding_evidence_also(out, "%.0f of them wait for others of them to end", n->never_behind);
	finding_place(out, n->never_place.text);
}

/* That nobody was released is one witness: who waits first is still the same, and there is no place. That more came to one with a limit is the
 * other: it guards something that is in use, and is not the bell of a queue's idle workers. */
static struct rule_score not_released(const void *numbers)
{
	const struct stuck_numbers *n = numbers;
	bool grew = n->queue > n->queue_before, mutex = n->queue_most == 1;
	bool found = n->queue >= QUEUE_LEAST && (grew || mutex);
	return (struct rule_score){found ? rules_score(40 + n->queue) : 0, grew && n->queue_most <= PLACES_LIMIT ? 2 : 1};
}

static void says_not_released(const void *numbers, struct finding *out)
{
	const struct stuck_numbers *n = numbers;
	AUTO_BUF struct buf name, count;
	buf_init(&name, RULE_TEXT_BYTES * 2);
	buf_init(&count, 64);
	if (finding_excluded(out, "a SemaphoreSlim that is not released",
			     "operations behind one whose first waiter was the same at both looks: %.0f", n->queue))
		return;
	count_text(n->queue, &count);
	if (out->state == FINDING_FOUND)
		finding_message(out, "%s operations wait in %s: a SemaphoreSlim is not released", buf_str(&count),
				place_name(&n->queue_place, 53 + count.len, &name));
	else
		finding_message(out, "%s operations may be stuck behind a SemaphoreSlim in %s", buf_str(&count),
				place_name(&n->queue_place, 52 + count.len, &name));
	finding_evidence(out, "count 0, and the first waiter is the same at both looks, %.1f s apart; %.0f waited at the first, %.0f at the second; its limit "
			 "is %.0f; a SemaphoreSlim does not record its owners", n->seconds_between, n->queue_before, n->queue, n->queue_most);
	if (n->queue_past > 0)
		finding_evidence_also(out, "past that await are %.0f, most in %s, for %s", n->queue_past,
				 place_name(&n->queue_past_place, 20, &name), n->queue_past_wait.text);
	else if (rules_known(n->queue_past))
		finding_evidence_also(out, "no async operation is past that await: who had it ended without Release, waits here itself, or is in other code");
	finding_place(out, n->queue_place.text);
}

static bool of_database(const struct stuck_numbers *n)
{
	return n->database_waiting > n->http_waiting;
}

static double waits_for_connection(const struct stuck_numbers *n)
{
	return of_database(n) ? n->database_waiting : n->http_waiting;
}

/* As the pool counts them itself. */
static bool pool_is_full(const struct stuck_numbers *n)
{
	return n->pool_used >= n->pool_most;
}

/* That the same requests wait is one witness. The other: that those with a connection do not move either, or that the pool itself counts all of its
 * connections as in use and nobody that waited got one. */
static struct rule_score connection_missing(const void *numbers)
{
	const struct stuck_numbers *n = numbers;
	double waiting = waits_for_connection(n), open = of_database(n) ? n->database_open : n->http_open;
	bool second = open > 0 || (pool_is_full(n) && n->served <= 0);
	return (struct rule_score){waiting >= QUEUE_LEAST ? rules_score(40 + waiting) : 0, second ? 2 : 1};
}

static void says_connection(const void *numbers, struct finding *out)
{
	const struct stuck_numbers *n = numbers;
	const char *what = of_database(n) ? "a database connection" : "an HTTP connection";
	AUTO_BUF struct buf name, count, pool;
	buf_init(&name, RULE_TEXT_BYTES * 2);
	buf_init(&count, 64);
	buf_init(&pool, 128);
	if (finding_excluded(out, "requests that wait for a connection",
			     "through both looks: %.0f for HTTP, %.0f for a database", n->http_waiting, of_database(n) ? n->database_waiting : 0))
		return;
	if (pool_is_full(n))
		buf_printf(&pool, ": all %.0f in use", n->pool_most);
	count_text(waits_for_connection(n), &count);
	const struct rule_text *place = of_database(n) ? &n->database_place : &n->http_place;
	finding_message(out, "%s requests wait for %s in %s%s", buf_str(&count), what, place_name(place, 23 + count.len + strlen(what) + pool.len, &name),
			buf_str(&pool));
	finding_evidence(out, "the same requests wait at both looks, %.1f s apart; %.0f that have a connection did not move either", n->seconds_between,
			 of_database(n) ? n->database_open : n->http_open);
	if (n->holding > 0)
		finding_evidence_also(out, "of those with a connection %.0f are in %s", n->holding, n->holding_place.text);
	if (pool_is_full(n) && n->holding == 0)
		finding_evidence_also(out, "no async operation uses the connections: threads do that block, or they were not given back");
	finding_place(out, place->text);
}

/* Who else holds it may complete it yet: one witness. */
static struct rule_score reply_missing(const void *numbers)
{
	const struct stuck_numbers *n = numbers;
	return (struct rule_score){n->reply - known_or_none(n->reply_came) >= REPLY_LEAST ? rules_score(20 + n->reply / 10) : 0, 1};
}

/* "..., none went and 89 more came": or none came either. */
static void none_went_evidence(struct finding *out, double seconds, double came, const char *end)
{
	AUTO_BUF struct buf more;
	buf_init(&more, 64);
	if (came > 0) {
		buf_puts(&more, "none of them went, and ");
		size_text_count(&more, (uint64_t)came);
		buf_puts(&more, " more came");
	} else {
		buf_puts(&more, "none came and none went");
	}
	finding_evidence(out, "the same operations at both looks, %.1f s apart, %s; %s", seconds, buf_str(&more), end);
}

static void says_reply(const void *numbers, struct finding *out)
{
	const struct stuck_numbers *n = numbers;
	AUTO_BUF struct buf name, count;
	buf_init(&name, RULE_TEXT_BYTES * 2);
	buf_init(&count, 64);
	if (finding_excluded(out, "replies that do not come", "operations behind a TaskCompletionSource that others hold, where none went: %.0f", n->reply))
		return;
	count_text(n->reply, &count);
	finding_message(out, "%s operations may be stuck in %s: no reply in %.0f s", buf_str(&count),
			place_name(&n->reply_place, 54 + count.len, &name), floor(n->seconds_between));
	none_went_evidence(out, n->seconds_between, known_or_none(n->reply_came), "others hold their TaskCompletionSources and may complete them");
	finding_place(out, n->reply_place.text);
}

/* A service may take its time: one witness. */
static struct rule_score response_missing(const void *numbers)
{
	const struct stuck_numbers *n = numbers;
	bool found = rules_known(n->response) && n->response - known_or_none(n->response_came) >= REPLY_LEAST;
	return (struct rule_score){found ? rules_score(20 + n->response / 10) : 0, 1};
}

static void says_response(const void *numbers, struct finding *out)
{
	const struct stuck_numbers *n = numbers;
	AUTO_BUF struct buf name, count;
	buf_init(&name, RULE_TEXT_BYTES * 2);
	buf_init(&count, 64);
	if (finding_excluded(out, "HTTP requests that get no response",
			     "requests whose response has not begun, where none went: %.0f", known_or_none(n->response)))
		return;
	count_text(n->response, &count);
	finding_message(out, "%s HTTP requests may be stuck in %s: no response in %.0f s", buf_str(&count),
			place_name(&n->response_place, 54 + count.len, &name), floor(n->seconds_between));
	none_went_evidence(out, n->seconds_between, known_or_none(n->response_came), "each has its connection, and the service has not begun to respond");
	finding_place(out, n->response_place.text);
}

/* Where as many wait as before, they may take turns: only that it grows, with the same ones in it, is a sign. */
static struct rule_score no_room(const void *numbers)
{
	const struct stuck_numbers *n = numbers;
	bool found = n->writers_lasting >= REPLY_LEAST && n->writers > n->writers_before;
	return (struct rule_score){found ? rules_score(20 + n->writers / 10) : 0, 1};
}

static void says_no_room(const void *numbers, struct finding *out)
{
	const struct stuck_numbers *n = numbers;
	AUTO_BUF struct buf name, count;
	buf_init(&name, RULE_TEXT_BYTES * 2);
	buf_init(&count, 64);
	if (finding_excluded(out, "more and more operations that wait for room in a channel",
			     "%.0f at the first look, %.0f at the second", n->writers_before, n->writers))
		return;
	count_text(n->writers, &count);
	finding_message(out, "%s operations may be stuck before a full channel in %s", buf_str(&count), place_name(&n->writers_place, 50 + count.len, &name));
	finding_evidence(out, "they wait for room in a bounded channel: %.0f at the first look, %.0f at the second, %.1f s later; the same ones at both: %.0f",
			 n->writers_before, n->writers, n->seconds_between, n->writers_lasting);
	finding_place(out, n->writers_place.text);
}

static struct rule_score blocks_threads(const void *numbers)
{
	const struct stuck_numbers *n = numbers;
	return (struct rule_score){n->blocked >= BLOCKED_LEAST ? rules_score(30 + n->blocked) : 0, 1};
}

static void says_blocked(const void *numbers, struct finding *out)
{
	const struct stuck_numbers *n = numbers;
	AUTO_BUF struct buf name;
	buf_init(&name, RULE_TEXT_BYTES * 2);
	if (finding_excluded(out, "threads that block on async operations", "through both looks: %.0f", n->blocked))
		return;
	finding_message(out, "%.0f threads may block on async operations in %s", n->blocked, place_name(&n->blocked_place, 48, &name));
	finding_evidence(out, "tasks with a waiting thread (Task.Wait, Task.Result, GetAwaiter().GetResult()) that did not move between the looks");
	finding_place(out, n->blocked_place.text);
}

static struct rule_score faults_unseen(const void *numbers)
{
	const struct stuck_numbers *n = numbers;
	return (struct rule_score){n->faults > 0 ? rules_score(10 + n->faults / 10) : 0, 1};
}

static void says_faults(const void *numbers, struct finding *out)
{
	const struct stuck_numbers *n = numbers;
	AUTO_BUF struct buf name, count;
	buf_init(&name, RULE_TEXT_BYTES * 2);
	buf_init(&count, 64);
	if (finding_excluded(out, "failed tasks that nobody awaits", "exceptions of tasks that nobody looked at through both looks: %.0f", n->faults))
		return;
	const char *tasks = size_text_plural(n->faults, "task", "tasks");
	const char *unseen = size_text_plural(n->faults, "failed; its exception may be unobserved", "failed; their exceptions may be unobserved");
	count_text(n->faults, &count);
	if (n->fault_place.text[0] && n->fault_most >= n->faults)
		finding_message(out, "%s %s of %s %s", buf_str(&count), tasks, place_name(&n->fault_place, 53 + count.len, &name), unseen);
	else
		finding_message(out, "%s %s %s", buf_str(&count), tasks, unseen);
	finding_evidence(out, "exceptions of failed tasks on the heap that were not observed at either look, %.1f s apart", n->seconds_between);
	if (n->fault_place.text[0] && n->fault_most < n->faults)
		finding_evidence_also(out, "%.0f of them are of %s", n->fault_most, n->fault_place.text);
	finding_place(out, n->fault_place.text);
}

const struct rule stuck_rules[] = {
	{"TaskNeverCompleted", needs_holders, never_completed, says_never},
	{"SemaphoreNotReleased", needs_time, not_released, says_not_released},
	{"ConnectionNotFree", needs_time, connection_missing, says_connection},
	{"ReplyMissing", needs_time, reply_missing, says_reply},
	{"ResponseMissing", needs_time, response_missing, says_response},
	{"ChannelFull", needs_time, no_room, says_no_room},
	{"ThreadsBlockOnTasks", needs_time, blocks_threads, says_blocked},
	{"TaskFaultUnseen", needs_time, faults_unseen, says_faults},
};
const size_t stuck_rule_count = sizeof stuck_rules / sizeof *stuck_rules;

const struct rule_engines stuck_engines[] = {
	{"TaskNeverCompleted", TASKS | ENGINE_ROOTS},
	{"SemaphoreNotReleased", TASKS},
	{"ConnectionNotFree", TASKS},
	{"ReplyMissing", TASKS},
	{"ResponseMissing", TASKS},
	{"ChannelFull", TASKS},
	{"ThreadsBlockOnTasks", TASKS},
	{"TaskFaultUnseen", TASKS},
	{NULL, 0},
};
