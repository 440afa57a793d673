/* The agent's jobs: each order of the controller becomes a job with a thread of its own that waits for its turn, finds the
 * process, runs the session, delivers the reports and ends; the job's state stays until the controller says "forget".
 * Orders are recognised by their job id, so the same order twice is one job. Jobs live in the spool, so a restarted agent goes
 * on delivering, and starts sessions again that its death has cut short.
 *
 * jobs_order ... jobs_next are called by the link thread and do not block; `changed` and `send` may be called from any thread. */
#ifndef DRDOTNET_JOBS_H
#define DRDOTNET_JOBS_H

#include "agent/link/link_ca.h"
#include "agent/session/session.h"
#include "agent/jobs/spool.h"
#include "agent/starts/start_watch.h"
#include "agent/target/target.h"
#include "agent/jobs/upload.h"
#include "common/link/link_msg.h"

#define JOBS_DELIVERY_BOUND_MS (24 * 3600 * 1000LL)

/* What a job does to the world; tests put their own in. */
struct jobs_operations {
	int (*discover)(const struct discover_options *o, struct target_list *out, struct err *e);
	void (*run)(const struct session_request *q, struct session_outcome *out);
	int (*upload)(const char *url, int fd, const struct link_report *r, const struct upload_options *o, struct err *e);
};
extern const struct jobs_operations jobs_real_operations;

struct jobs_config {
	enum agent_mode mode;
	const char *proc_root, *shared_parent, *library_path;
	const char *node_name;         /* for the reports; "" unknown */
	const char *upload_ca_file;    /* of object storage; NULL: the system's */
	const char *own_store_url;     /* URLs that begin so are the controller's own store, ... */
	const struct link_ca *own_store_ca; /* ... which has the link's CA; borrowed */
	struct spool *spool;           /* borrowed */
	size_t max_running;            /* sessions at once on this node; 0: 2 */
	int64_t delivery_bound_ms;     /* 0: JOBS_DELIVERY_BOUND_MS */
	const struct jobs_operations *operations; /* NULL: the real ones */
	void *ctx;
	void (*changed)(void *ctx);    /* jobs_next has something new */
	int (*send)(void *ctx, const struct link_msg *m, struct err *e); /* to the leader */
	struct start_watch *starts;    /* borrowed; NULL: containers are not sampled from their start */
	void (*left_behind)(void *ctx); /* something of a session is still in its process or folder; from any thread; NULL: nobody sweeps */
};

struct jobs;

/* Strings are borrowed. Takes up what is in the spool. */
struct jobs *jobs_new(const struct jobs_config *c);

/* Ends running sessions early (their reports are kept for the next agent) and waits for all threads. The states can still
 * be read; orders are no longer taken. */
void jobs_stop(struct jobs *j);

/* Stops, then frees: nobody may call any more. */
void jobs_free(struct jobs *j);

void jobs_order(struct jobs *j, const struct link_order *o);
void jobs_cancel(struct jobs *j, const char *job_id);
void jobs_forget(struct jobs *j, const char *job_id);
void jobs_upload_answer(struct jobs *j, const struct link_msg *m); /* LINK_MSG_UPLOAD_GRANT or _DENIED */
void jobs_leader_linked(struct jobs *j);                           /* deliveries that wait try again at once */

/* The job with the smallest version > *version. */
bool jobs_next(struct jobs *j, uint64_t *version, struct link_job *out);

size_t jobs_count(struct jobs *j);

#endif
