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

/* From written reports to the final phase, or to the agent's end. In the job's thread. */
void job_delivery_run(struct jobs *j, struct job *job);

/* Keeps order and state in the spool; a failure is logged. */
void job_save(struct jobs *j, struct job *job);

#endif
