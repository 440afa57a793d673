/* Runs one profiling session on one process, from preflight to the written reports. It has a thread of its own (agent/target/apart.h),
 * which the caller waits for: when a call into the pod hangs, the session ends for the caller (ProcessUnresponsive) and that
 * thread cleans up whenever the call returns. The one way for both the agent's jobs and the local command. Whatever happens, on
 * return the library is out of the process and nothing of ours is left in its file system (or the failure to do so is said in the
 * log, and a later sweep cleans up). */
#ifndef DRDOTNET_SESSION_H
#define DRDOTNET_SESSION_H

#include "agent/report/report.h"
#include "agent/target/target.h"
#include "common/api/session_spec.h"

struct profiler_channel;
struct start_capture;

struct session_progress {
	enum job_phase phase;
	int64_t elapsed_ms, duration_ms;
	int64_t samples;
	int64_t first_sample_wall_ms; /* 0: none yet */
	const char *live;             /* what is seen so far, in a line; "": nothing yet. Valid in the call */
};
typedef void session_progress_fn(void *ctx, const struct session_progress *p);

struct session_request {
	const struct session_spec *spec;
	const struct target *target;     /* chosen and profilable */
	const struct report_context *context;
	struct start_capture *start;     /* what was sampled since its container began, taken over; NULL: it begins now */
	bool launched;                   /* the process was started for this session, and is held at its start until on_prepared() */
	bool unattached;                 /* with `start`: the process has ended, or its runtime does not answer: what was sampled is all */
	const char *library_path;        /* libdrdotnet.so of the agent's own file system */
	int out_dirfd;                   /* the reports' folder; only report_write()'s files appear there */
	int64_t files_max;               /* bytes of files without a name that it may have there meanwhile; 0: what the disk has */
	int cancel_fd;                   /* becomes readable: end early, keep what there is; -1: none */
	int64_t deadline_ms;             /* monotonic: profiling must have ended by then; 0: none */
	session_progress_fn *on_progress; /* at each phase change and about each second; while the caller waits */
	void (*on_prepared)(void *ctx);  /* what watches the process from outside does; the attach follows. In the session's own thread; NULL: nobody */
	void *prepared_ctx;
	void (*on_wait)(void *ctx, int64_t most_ms); /* before what may take longer than the next progress should */
	void (*on_channel)(void *ctx, struct profiler_channel *ch); /* to be kept (profiler_channel_keep()); NULL: no more */
	void *progress_ctx;              /* of these */
};

struct session_outcome {
	enum job_phase phase;            /* JOB_SUCCEEDED, JOB_CANCELED (reports may exist) or JOB_FAILED */
	const char *reason;              /* common/api/reason.h */
	char *message;
	struct report_result report;
	struct session_cost cost;
	int64_t started_wall_ms, first_sample_wall_ms;
	bool process_ended;              /* the process ended during the session, or while that began */
	bool left_behind;                /* the library or a file of ours was still there at the end: sweep later */
};
void session_outcome_fini(struct session_outcome *o);

/* Never fails as a call: failures are outcomes. Several may run at once for different processes. */
struct session_profiler;
void session_run(const struct session_profiler *p, const struct session_request *q, struct session_outcome *out);

#endif
