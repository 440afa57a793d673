/* What the rules of Deadlocks judge. Pure; any thread. */
#ifndef DRDOTNET_DEADLOCK_NUMBERS_H
#define DRDOTNET_DEADLOCK_NUMBERS_H

#include "agent/profilers/deadlocks/deadlock_analysis.h"
#include "agent/report/rules.h"

/* seconds_between: the looks. monitors: in the runtime's table. waiting, lasting: threads. circle_*: of the largest circle. circle_timed: of its threads, those
 * that wait for a bounded time; circle_cancelable: until somebody cancels, too; circle_tasks: for a task that the next one runs. tasks: 1 where tasks that
 * threads block on were looked for. *_agreed: 1 where the runtime
 * counts as many waiters as were found, else 0. queue: threads that wait behind queue_head; queue_head_runs: 1 where that thread ran between the looks.
 * other_locks: 1 where System.Threading.Lock and ReaderWriterLockSlim were read. early: 1 where the session ended as soon as a circle was certain.
 * queue_head_takes: 1 where it waits for work (BlockingCollection.Take, Monitor.Wait); queue_peers: of its waiters, those in the same method, which want to
 * take, too. named: 0 where methods have no names: the library could not be attached, and the process's memory did not tell them. workers: of the thread pool,
 * at both looks; workers_blocked: that did not run and block, mostly in workers_place; items_*: in the pool's queue at the looks. */
#define DEADLOCK_NUMBERS(NUMBER, TEXT)                                                                                                             \
	NUMBER(seconds_between) NUMBER(threads) NUMBER(monitors) NUMBER(waiting) NUMBER(lasting) NUMBER(circles) NUMBER(circle_threads)            \
	NUMBER(circle_behind) NUMBER(circle_timed) NUMBER(circle_cancelable) NUMBER(circle_tasks) NUMBER(circle_agreed) NUMBER(tasks)              \
	NUMBER(queue) NUMBER(queue_agreed) NUMBER(queue_head_runs) NUMBER(queue_head_takes) NUMBER(queue_peers) NUMBER(other_locks)                      \
	NUMBER(early) NUMBER(named)                                                                                                                \
	NUMBER(workers) NUMBER(workers_blocked) NUMBER(items_first) NUMBER(items_second)                                                          \
	TEXT(unread) TEXT(circle_first) TEXT(circle_second) TEXT(queue_place) TEXT(queue_head) TEXT(queue_waiter) TEXT(queue_peer)                \
	TEXT(workers_place)
RULE_STRUCT(deadlock_numbers, DEADLOCK_NUMBERS);

void deadlock_numbers_of(const struct deadlock_analysis *a, struct deadlock_numbers *out);

extern const struct rule deadlock_rules[];
extern const struct rule_engines deadlock_engines[];
extern const size_t deadlock_rule_count;

#endif
