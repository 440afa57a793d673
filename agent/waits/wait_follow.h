/* Follows the waits of one process during an attached session: context switches with stacks, looks at the threads and at the runtime's monitors, all from
 * outside; names come from the library. For the profilers that need to know what threads wait for. The session's thread. */
#ifndef DRDOTNET_WAIT_FOLLOW_H
#define DRDOTNET_WAIT_FOLLOW_H

#include "agent/session/attached_session.h"
#include "agent/stacks/cpu_account.h"
#include "agent/stacks/cpu_collect.h"
#include "agent/waits/database_watch.h"
#include "agent/waits/managed_watch.h"
#include "agent/waits/pool_watch.h"
#include "agent/waits/syscall_sites.h"
#include "agent/waits/wait_capture.h"
#include "agent/waits/wait_looks.h"
#include "agent/waits/wait_record.h"
#include "agent/waits/wait_sleepers.h"

struct wait_follow { /* zeroed */
	bool single_waits; /* set by the caller: each wait matters, and on a full node, too, records are to tell them */
	bool looks_only; /* set by the caller before prepare: looks at the threads alone, no perf events */
	struct attached_session *session;
	struct wait_capture capture; /* whole after wait_follow_take() */
	struct cpu_account account;
	struct process_memory memory;
	bool memory_open;
	struct work_budget budget; /* of one look at locks and queues, by `memory` */
	struct lock_watch locks;
	struct managed_watch managed;
	struct database_watch database;
	struct pool_watch pool;
	struct syscall_sites sites;
	struct wait_record record;
	struct wait_sleepers sleepers;
	struct wait_looks looks;
	struct cpu_collect *collect;
	struct thread_wait *begin; /* threads at the beginning, by id */
	size_t begin_count;
	int64_t started_ns;        /* CLOCK_MONOTONIC; 0: not yet */
	int64_t next_drain_ns;
	int timer_fd, events_fd;   /* events_fd: to be watched, for wait_follow_readable() */
	bool fds_open, full;
	uint64_t switches;         /* recorded in windows that are over */
	uint64_t counted;          /* switches before the session, where they are not recorded */
};

/* The steps of struct session_profiler. -1: waits cannot be followed, by `e`; only wait_follow_fini() may follow. */
int wait_follow_prepare(struct wait_follow *o, struct attached_session *s, struct err *e);
void wait_follow_start(struct wait_follow *o, int64_t started_ns); /* started_ns: where it was not known before the attach */
void wait_follow_readable(struct wait_follow *o);
void wait_follow_look(struct wait_follow *o, int64_t now_ns); /* in its place where the caller has a clock of its own: looks if it is time for it */
void wait_follow_tick(struct wait_follow *o, bool last);
void wait_follow_stop(struct wait_follow *o);
void wait_follow_take(struct wait_follow *o);
void wait_follow_fini(struct wait_follow *o); /* takes zeroed structs */

#endif
