/* The kernel's records of a process's context switches: all the time, or in windows, between which nothing is open and the process pays nothing. One thread
 * owns it. */
#ifndef DRDOTNET_WAIT_RECORD_H
#define DRDOTNET_WAIT_RECORD_H

#include "agent/perf/perf_pump.h"
#include "agent/waits/wait_log.h"
#include "agent/waits/wait_plan.h"

struct wait_record {
	struct wait_plan plan;     /* these are the caller's to set */
	pid_t pid;
	int proc_fd;
	int64_t duration_ns;       /* of the session */
	int epoll_fd;              /* learns of the records that come; -1: none */
	uint64_t random;
	/* what is below is zeroed by the caller */
	struct perf_sampler *perf; /* NULL: no window is open */
	struct perf_pump *pump;
	bool closed;               /* the window's last records may be taken */
	int64_t opened_ns, next_ns, cycle_ns;
	int64_t covered_ns;        /* of windows that are over */
	int64_t stalled_ns;        /* of those without looks: the pump did not run for so long */
	uint64_t period;           /* of the window that is open: at random about the plan's */
	uint64_t taken;            /* switches since `rated_ns`, with those that are missing */
	int64_t rated_ns, rated_cpu_ns, closed_ns, closed_cpu_ns;
	int64_t debt_ns;           /* see wait_record_outgrown() */
	uint64_t lost, dropped;    /* as in wait_capture.h */
	uint64_t missing;          /* of the window that is open, as told by the last wait_record_take() */
	bool was_missing;          /* some were then */
	int64_t helper_cpu_ns;
	size_t windows;
	unsigned max_depth;
	bool left_group;
};

int wait_record_open(struct wait_record *r, struct err *e);

/* No further records; the pump holds the last ones until wait_record_drop(). The next window is planned by what was in this one. */
void wait_record_close(struct wait_record *r);
void wait_record_drop(struct wait_record *r);

/* What has come of the window that is open, or closed: samples and names to the functions, switches to the log, of which all that is settled can be. */
void wait_record_take(struct wait_record *r, struct wait_log *log, perf_sample_fn *on_sample, perf_comm_fn *on_comm, void *ctx);

/* While all switches are recorded: whether the process does so many more than the plan is for that they cost too much. Then *out is the plan for it, which the
 * caller follows after it has closed the window. */
bool wait_record_outgrown(struct wait_record *r, int64_t now_ns, struct wait_plan *out);

/* Opens the window when its time has come. True: the window that is open is to be closed. */
bool wait_record_step(struct wait_record *r, int64_t now_ns);

#endif
