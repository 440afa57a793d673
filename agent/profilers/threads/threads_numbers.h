/* What the rules of Threads judge. Pure; any thread. */
#ifndef DRDOTNET_THREADS_NUMBERS_H
#define DRDOTNET_THREADS_NUMBERS_H

#include "agent/profilers/threads/threads_analysis.h"
#include "agent/report/rules.h"

/* seconds_between: the looks. threads_*: of the process. stack_unknown: threads whose stack was not read. zombies: threads of the largest suspect group
 * that have not run since the first look and wait without a time limit; zombie_groups: how many such groups; zombie_class: 1 a lock, 2 pool workers, 3
 * others; zombie_wait: what they do; zombie_spread_seconds: between the beginnings of the first and the last of them; zombie_burst: most of them that began
 * within two seconds. grown_*: of the kind that grew most (grown_workers 1: pool workers; grown_name: of libraries, and most have that name): those that
 * began between the looks, those that ended, parts of the time before in which one began that is still there (of grown_parts, each grown_part_seconds).
 * alike: threads of the application with one first function, or at one place, alike_spread: of the twentieths of their time those in which one began;
 * alike_last 1: also in the last two. finalizer_*: 1 or 0; finalizer_waiters: threads. workers_at_place: pool workers that stand at the place where most of
 * them do. queue_*: items in the pool's queue at the looks. pids: of the container's control group, pids_max 0: no limit. */
#define THREADS_NUMBERS(NUMBER, TEXT)                                                                                                                  \
	NUMBER(seconds_between) NUMBER(threads) NUMBER(threads_first) NUMBER(threads_still) NUMBER(threads_application) NUMBER(threads_workers)        \
	NUMBER(stack_unknown) NUMBER(zombies) NUMBER(zombie_groups) NUMBER(zombie_class) NUMBER(zombie_spread_seconds) NUMBER(zombie_burst)            \
	NUMBER(grown_workers) NUMBER(grown_begun) NUMBER(grown_ended) NUMBER(grown_now) NUMBER(grown_windows) NUMBER(grown_parts)                      \
	NUMBER(grown_part_seconds) NUMBER(grown_recent) NUMBER(alike) NUMBER(alike_spread) NUMBER(alike_last) NUMBER(alike_seconds)                    \
	NUMBER(finalizer_seen) NUMBER(finalizer_managed) NUMBER(finalizer_still) NUMBER(finalizer_waiters) NUMBER(workers_at_place)                    \
	NUMBER(queue_first) NUMBER(queue_second) NUMBER(pids_current) NUMBER(pids_max) NUMBER(limit_percent)                                           \
	TEXT(unread) TEXT(zombie_wait) TEXT(zombie_place) TEXT(grown_place) TEXT(alike_place) TEXT(finalizer_wait) TEXT(finalizer_place)               \
	TEXT(workers_wait) TEXT(workers_place) TEXT(grown_name)
RULE_STRUCT(threads_numbers, THREADS_NUMBERS);

void threads_numbers_of(const struct threads_analysis *a, struct threads_numbers *out);

/* Whether a group's threads stand where none has to: the class, 0: no. */
enum zombie_class { ZOMBIE_NOT, ZOMBIE_LOCK, ZOMBIE_WORKER, ZOMBIE_OTHER };
enum zombie_class threads_zombie_class(const struct threads_group *g);

extern const struct rule threads_rules[];
extern const struct rule_engines threads_engines[];
extern const size_t threads_rule_count;

#endif
