/* What a Waits session collected: the waits of each thread, the stacks of those that were sampled, and the monitors that were waited for. Plain data; one
 * thread. */
#ifndef DRDOTNET_WAIT_CAPTURE_H
#define DRDOTNET_WAIT_CAPTURE_H

#include "agent/waits/lock_watch.h"
#include "agent/waits/pool_watch.h"
#include "agent/waits/wait_log.h"
#include "agent/stacks/capture.h"
#include "common/base/err.h"

struct wait_window { /* in which each switch was recorded; CLOCK_MONOTONIC */
	int64_t from_ns, to_ns;
};

struct wait_capture {
	struct cpu_capture stacks; /* frames, stacks and threads; its samples are stacks of waits, by thread and time */
	struct wait_log *log;      /* wait_log_thread.index: in stacks.threads; times are CLOCK_MONOTONIC */
	struct lock_sighting *sightings; /* by time */
	size_t sighting_count, lock_looks;
	bool locks_read;           /* the runtime's table of monitors could be looked for */
	uint64_t period;           /* one of so many recorded switches has a stack */
	size_t looks;              /* at the threads; 0: all waits are in the records, and tell the times, too */
	int64_t looked_from_ns;    /* where there are looks: since then, CLOCK_MONOTONIC, they tell the times; until then each switch was recorded */
	int64_t unseen_ns;         /* waiting that looks found, without a stack */
	int64_t recorded_ns;       /* for so long switches were recorded */
	int64_t stalled_before_looks_ns, stalled_ns; /* so long nobody was there to look: before looked_from_ns, or without looks; later */
	struct wait_window *windows; /* in which hardly a record is missing, by time */
	size_t window_count, window_cap;
	struct err refused;        /* perf events were, by this; else zeroed */
	bool left_group, more_threads; /* the process was moved to another control group; it has more threads than are looked at */
	uint64_t switches_before_looks; /* recorded until looked_from_ns */
	uint64_t counted_switches; /* by the threads' own counters, where none were recorded */
	int64_t started_ns, ended_ns;
	size_t threads_begin, threads_end;
	size_t workers_begin, workers_end, workers_new; /* of the pool; new: were not there at the beginning */
	struct pool_sights queue;  /* of the pool: items that wait for a worker */
	size_t stacks_unread;      /* threads that slept through all of it, whose stacks could not be read */
	uint64_t lost;             /* records of switches, and stacks that shared a ring with them, which found no room: waits next to them are missing */
	uint64_t dropped;          /* stacks that found no room: all is known of those waits but what they were for */
};

/* How many switches one stands for that was recorded beside looks: windows of records are of a part of the session. */
double wait_capture_scale(const struct wait_capture *c);

/* Switches of the process in all of the session, as far as records tell. */
double wait_capture_switches(const struct wait_capture *c);

void wait_capture_fini(struct wait_capture *c);

#endif
