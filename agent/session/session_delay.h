/* What kept the process from running while the session lasted: its threads' waits for a CPU, and the quota of its container. The session's thread. */
#ifndef DRDOTNET_SESSION_DELAY_H
#define DRDOTNET_SESSION_DELAY_H

#include "agent/host/cgroup.h"
#include "agent/host/run_delay.h"
#include "agent/report/session_facts.h"

struct session_delay { /* zeroed: nothing known */
	struct run_delay threads;
	struct cgroup_cpu group;
	int64_t node_ns;
	bool begun;
};

/* proc_fd: /proc/PID, -1: not to be had. */
void session_delay_begin(struct session_delay *d, const struct target *t, int proc_fd);

/* Fills run_delay_ns, node_pressure_ns and throttled_ns; -1 where one is not known. Frees what begin has taken. */
void session_delay_end(struct session_delay *d, const struct target *t, int proc_fd, struct session_facts *out);

#endif
