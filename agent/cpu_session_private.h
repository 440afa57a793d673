/* Private to cpu_session.c (a session's steps, its ways in and out) and cpu_sampling.c (its time between). */
#ifndef DRDOTNET_CPU_SESSION_PRIVATE_H
#define DRDOTNET_CPU_SESSION_PRIVATE_H

#include "agent/cpu_account.h"
#include "agent/cpu_collect.h"
#include "agent/cpu_ending.h"
#include "agent/perf_sampler.h"
#include "agent/session.h"
#include "agent/session_attach.h"
#include "common/proto/channel.h"

#define CPU_EXIT_GRACE_MS 1000 /* a process that ends closes its descriptors some moments before it is gone */

struct cpu_session {
	const struct session_request *q;
	struct session_outcome *out;
	struct session_progress progress;
	struct cpu_capture capture;
	struct cpu_account account;
	struct session_attach attach;
	struct perf_sampler *perf; /* NULL: the library's timers sample */
	struct cpu_collect *collect;
	struct channel_stats stats;
	int proc_fd, pid_fd;       /* -1 in shared tmp mode */
	int64_t started_ns, ended_ns;
	enum cpu_ending ending;
	struct channel_pause pause; /* that ended it */
	bool attached;
	bool broken;               /* the channel: nothing can be asked any more */
	bool stopped, was_stopped; /* the process could not run: at the last look, at any */
};

void cpu_session_progress(struct cpu_session *s, enum job_phase phase);

/* Waits up to `grace_ms` for it. */
bool cpu_session_process_exited(const struct cpu_session *s, int64_t grace_ms);

/* From the first sample to the session's end, whatever ends it. */
int cpu_sampling_run(struct cpu_session *s, struct err *e);

/* Stops the sampling and names what was sampled last. */
int cpu_sampling_stop(struct cpu_session *s, struct err *e);

#endif
