/* What the rules of Waits judge. Pure; any thread. */
#ifndef DRDOTNET_WAIT_NUMBERS_H
#define DRDOTNET_WAIT_NUMBERS_H

#include "agent/waits/wait_analysis.h"
#include "agent/report/rules.h"

/* *_threads: how many wait so at a time, on average; *_pool: of the pool's workers alone. *_percent: of all waiting that does not idle, but pool_*: of the
 * workers' time, cpu_wait_percent: of the time in which threads could run. Places are methods, *_what what they call. sightings: looks at which a monitor of
 * lock_place was held. workers_new: came during the session; workers_still: blocked in it without one switch. */
/* clang-format off */
#define WAIT_NUMBERS(NUMBER, TEXT)                                                                                                       \
	NUMBER(seconds) NUMBER(threads) NUMBER(switches_per_second) NUMBER(period) NUMBER(waits)                                         \
	NUMBER(waiting_threads) NUMBER(idle_threads) NUMBER(unseen_percent) NUMBER(cut_percent)                                          \
	TEXT(top_place) TEXT(top_what) NUMBER(top_threads) NUMBER(top_percent)                                                           \
	NUMBER(lock_threads) NUMBER(lock_percent) TEXT(lock_place) TEXT(lock_what) NUMBER(lock_place_threads) NUMBER(lock_waiters)       \
	NUMBER(lock_per_second) NUMBER(lock_longest_ms) NUMBER(lock_whole) NUMBER(sightings) TEXT(lock_holder) TEXT(lock_holder_what)    \
	NUMBER(task_pool) TEXT(task_place) NUMBER(io_pool) TEXT(io_place) TEXT(io_what) NUMBER(sleep_pool) TEXT(sleep_place)             \
	NUMBER(event_pool) TEXT(event_place) TEXT(event_what) NUMBER(console_threads) TEXT(console_place) NUMBER(runtime_threads)        \
	NUMBER(runtime_pool) TEXT(runtime_place)                                                                                         \
	NUMBER(workers) NUMBER(workers_begin) NUMBER(workers_end) NUMBER(workers_new) NUMBER(workers_blocked) NUMBER(workers_still)      \
	NUMBER(pool_blocked_percent) NUMBER(pool_idle_percent) TEXT(pool_place) TEXT(pool_what) NUMBER(pool_place_percent)               \
	NUMBER(queue_looks) NUMBER(queue_least) NUMBER(queue_mean) NUMBER(queue_most)                                                    \
	NUMBER(cpus_allowed) NUMBER(cpus_used) NUMBER(run_delay_threads) NUMBER(cpu_wait_percent) NUMBER(preempted_threads)              \
	NUMBER(throttled_seconds) NUMBER(node_pressure_percent)
/* clang-format on */
RULE_STRUCT(wait_numbers, WAIT_NUMBERS);

void wait_numbers_of(const struct wait_analysis *a, struct wait_numbers *out);

extern const struct rule_engines wait_engines[]; /* of the catalogue's rules */

#endif
