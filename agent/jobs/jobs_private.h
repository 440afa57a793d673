/* Private to jobs.c (orders, life), job_worker.c (a job's thread) and job_delivery.c (uploads). */
#ifndef DRDOTNET_JOBS_PRIVATE_H
#define DRDOTNET_JOBS_PRIVATE_H

#include "agent/jobs/job_table.h"
#include "agent/jobs/jobs.h"

#include <pthread.h>

struct jobs {
	struct jobs_config config;
	pthread_mutex_t lock;
	pthread_cond_t changed;   /* monotonic: slots, answers, cancels, the leader */
	struct job_table table;
	size_t threads;
	uint64_t leader_changes;  /* counts; wakes deliveries out of their back-off */
	bool stopping;
};

/* With the lock held: notes a change, wakes waiters; the caller calls jobs_tell after unlocking. */
void jobs_touch(struct jobs *j, struct job *job);
void jobs_tell(struct jobs *j);

/* Replaces reason and message. With the lock held. `reason` may be NULL. */
void jobs_say(struct job *job, const char *reason, const char *message);

/* The time for a job's next time stamp: never before one that it has, though the node's clock may have been set back. With the lock held. */
int64_t jobs_wall_ms(const struct job *job);

/* Waits on `changed` until the monotonic time. With the lock held. */
void jobs_wait(struct jobs *j, int64_t until_ms);

/* The job's thread. */
int job_worker_start(struct jobs *j, struct job *job);

/* Takes the capture of the job's container: it has been sampled since it began, by this agent, or not at all. One whose process ended a while ago can be
 * asked for no name any more. NULL: job->start has it; else why it was missed. job_start.c */
const char *job_start_claim(struct jobs *j, struct job *job);

/* Waits until the runtime of the process that a capture is of answers: *out is what discovery says of it, 1. 0: it has ended, or does not answer; *out is
 * what the kernel said. -1: it cannot be profiled, or the job is to end. In the job's thread. job_start.c */
int job_start_await(struct jobs *j, struct job *job, struct start_capture *c, struct target *out, struct err *e);

/* Processes of a container that was started again since the order, which names the container before it: those of the pod that are of none of the order's
 * containers. Where it is known which of these it is, the order names the new one from now on. -1: as discovery. In the job's thread. job_restarted.c */
int job_find_restarted(struct jobs *j, struct job *job, const struct discover_options *first, struct target_list *out, struct err *e);

/* From written reports to the final phase, or to the agent's end. In the job's thread. */
void job_delivery_run(struct jobs *j, struct job *job);

/* Keeps order and state in the spool; a failure is logged. */
void job_save(struct jobs *j, struct job *job);

#endif
