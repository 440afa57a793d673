/* The jobs and the rules of their queue: who may start, who waits at which place, which change is reported next. No lock,
 * no I/O, no thread: jobs.c guards it. */
#ifndef DRDOTNET_JOB_TABLE_H
#define DRDOTNET_JOB_TABLE_H

#include "common/link/link_msg.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOB_TABLE_FORGOTTEN 64
#define JOB_TABLE_LONG_SECONDS 120 /* a job of more is long */
#define JOB_PROCESS_KEY_SIZE 320

struct job_answer { /* to an upload request */
	bool come, granted, retry;
	char report_name[64];
	char *url;
	enum link_place place;
	char *message;
	const char *reason;
};

struct start_capture;

struct job {
	struct link_order order;
	struct link_job state;
	uint64_t seq;                  /* order of arrival */
	uint64_t version;              /* of the last change, over all jobs */
	bool waiting;                  /* for its turn */
	bool has_slot;                 /* counts as running */
	bool active;                   /* its thread lives */
	bool canceled, stopped;        /* by the user; because the agent ends */
	bool resumed;                  /* an agent before this one had it: the node may have booted just now */
	bool forget;                   /* drop it when its thread ends */
	char process[JOB_PROCESS_KEY_SIZE];    /* the process that it profiles; "" none */
	char blocked_by[JOB_PROCESS_KEY_SIZE]; /* it waits for this process to be free */
	int cancel_fd;                 /* eventfd: end the session, keep what there is; -1: none */
	int abort_fd;                  /* eventfd: the thread must end, whatever it does; -1: none */
	struct start_capture *start;   /* of spec.start NextContainerStart; the job's thread's; NULL: none */
	int64_t deadline_mono_ms;      /* of queue and profiling, by the clock that nobody sets */
	struct job_answer answer;
};

struct job_table {
	struct job *jobs[LINK_MAX_JOBS];
	size_t count, running, max_running;
	uint64_t next_seq, next_version;
	char forgotten[JOB_TABLE_FORGOTTEN][LINK_ID_SIZE]; /* ring of the last ones: a late copy of an order starts nothing */
	size_t forgotten_next;
};

struct job *job_table_find(const struct job_table *t, const char *job_id);
bool job_table_was_forgotten(const struct job_table *t, const char *job_id);

/* A new job in phase Queued; NULL when the table is full. The order is copied. */
struct job *job_table_add(struct job_table *t, const struct link_order *o);

/* Frees it. */
void job_table_remove(struct job_table *t, struct job *j, bool remember);

void job_table_changed(struct job_table *t, struct job *j);

/* Its container has started: what is sampled of it cannot wait for a turn. */
bool job_table_is_start(const struct job *j);

/* May this waiting job start now? One whose container has started may while fewer than twice as many run as there are slots: it waits for nobody.
 * The oldest waiting one whose process is not in use may, while slots are free. Where long ones hold all slots, one that is not
 * long may besides: nobody waits an hour for a moment. */
bool job_table_may_start(const struct job_table *t, const struct job *j);

/* The job that holds the process; NULL: none. */
const struct job *job_table_holder(const struct job_table *t, const char *process);

/* False: another job holds the process. */
bool job_table_claim_process(struct job_table *t, struct job *j, const char *process);

/* Gives the waiting jobs their places in the queue; true when one has changed. */
bool job_table_renumber(struct job_table *t);

/* The job with the smallest version > version, or NULL. */
const struct job *job_table_next(const struct job_table *t, uint64_t version);

#endif
