/* What the rules of StuckTasks judge. Pure; any thread. */
#ifndef DRDOTNET_STUCK_NUMBERS_H
#define DRDOTNET_STUCK_NUMBERS_H

#include "agent/profilers/stucktasks/task_groups.h"
#include "agent/report/rules.h"

struct stuck_result {
	struct task_groups groups;
	int64_t between_ns;          /* the looks */
	bool holders_known;
	struct heap_facts first, second; /* the walks */
};

/* seconds_between: the looks. tasks: that were seen, completed ones among them. operations: that wait; lasting: of those, that were at the same await at
 * both looks. never: for a completion that nothing else refers to, at never_places; never_place: where most are, never_most; never_kept: of never, whose
 * callers something refers to; never_behind: operations that wait for one of those at never_place to end, beside their callers. queue: behind a semaphore
 * without a place whose first waiter is the same at both looks, queue_before: of those, that were there at the first; queue_most: its places; queue_past:
 * operations that stand behind a later await of the same method, or of a caller; queue_past_place, queue_past_wait: of most. reply: for completions that
 * others refer to, where none went; reply_came: of those at reply_place, that came between the looks. response: the same of requests that were sent and
 * have no response. writers: for room in a channel; writers_before: at the first look; writers_lasting: at both. http_waiting: for a connection; http_open:
 * with one; database_*: the same; served: of those that waited at the first look, that do not any more; pool_used, pool_most: of the pool where most wait;
 * holding: of those with a connection, at the place of most. blocked: threads that block on one of these operations. faults: failed tasks whose exception
 * nobody looked at, through both looks; fault_most: of those, of the method fault_place. */
#define STUCK_NUMBERS(NUMBER, TEXT)                                                                                                                \
	NUMBER(seconds_between) NUMBER(tasks) NUMBER(operations) NUMBER(lasting) NUMBER(holders_known)                                             \
	NUMBER(never) NUMBER(never_most) NUMBER(never_places) NUMBER(never_kept)                                                                   \
	NUMBER(queue) NUMBER(queue_before) NUMBER(queue_most) NUMBER(reply) NUMBER(http_waiting) NUMBER(http_open) NUMBER(blocked) NUMBER(faults)  \
	NUMBER(database_waiting) NUMBER(database_open) NUMBER(served) NUMBER(pool_used) NUMBER(pool_most) NUMBER(holding)                          \
	TEXT(never_place) TEXT(queue_place) TEXT(reply_place) TEXT(http_place) TEXT(blocked_place)                                       \
	NUMBER(writers) NUMBER(writers_before) NUMBER(writers_lasting)                                                                             \
	TEXT(database_place) TEXT(holding_place) TEXT(writers_place)                                                                               \
	NUMBER(reply_came) NUMBER(response) NUMBER(response_came) NUMBER(fault_most) TEXT(response_place) TEXT(fault_place)                         \
	NUMBER(never_behind) NUMBER(queue_past) TEXT(queue_past_place) TEXT(queue_past_wait)
RULE_STRUCT(stuck_numbers, STUCK_NUMBERS);

void stuck_numbers_of(const struct stuck_result *r, struct stuck_numbers *out);

/* The method of the application where the group stands; NULL: there is none. */
const struct task_call *stuck_place(const struct task_group *g);

extern const struct rule stuck_rules[];
extern const struct rule_engines stuck_engines[];
extern const size_t stuck_rule_count;

#endif
