/* What the controller remembers of the sessions: filled by the list-watch thread, read by the reconcilers, told of jobs by the
 * link thread. Any thread; no callback runs with the lock held.
 *
 * A session that is over (Completed, and our finalizer gone) is kept as a few hundred bytes: key, uid and when to delete it. */
#ifndef DRDOTNET_SESSION_CACHE_H
#define DRDOTNET_SESSION_CACHE_H

#include "controller/sessions/plan.h"
#include "controller/kube/pods.h"
#include "controller/sessions/session_object.h"

/* Far above any report; so a taken-over agent cannot fill an object storage with one session. */
#define SESSION_REPORT_MAX_BYTES (256LL << 20)

struct session_cache;

typedef void session_key_fn(void *ctx, const char *key);

struct session_cache *session_cache_new(void);
void session_cache_free(struct session_cache *c);

/* Takes what *s owns. An older resourceVersion of the same object than the one known is dropped (an echo of the past after our
 * own write). Returns whether something changed. */
bool session_cache_put_take(struct session_cache *c, struct profiling_session *s);

/* The same for the answer to our own write: an object that the watch has removed meanwhile is not brought back. */
bool session_cache_update_take(struct session_cache *c, struct profiling_session *s);

void session_cache_remove(struct session_cache *c, const char *key, const char *uid); /* uid NULL: any */

/* A list of a namespace (NULL: all) has begun: what is not put again until its end is removed then. */
void session_cache_list_begin(struct session_cache *c, const char *namespace);
void session_cache_list_end(struct session_cache *c, const char *namespace);

enum session_cache_kind { SESSION_ABSENT, SESSION_ACTIVE, SESSION_OVER };

/* ACTIVE: a copy with the newest job states merged in, and the views that plan_make wants (too_old is left false; the array is
 * allocated with pod_count entries). OVER: only namespace, name, uid and resource_version are set, *expires_wall_ms tells the rest. */
enum session_cache_kind session_cache_get(struct session_cache *c, const char *key, int64_t now_mono_ms, struct profiling_session *out,
					  struct plan_pod_view **views, int64_t *expires_wall_ms);

enum session_job_verdict {
	SESSION_JOB_TAKEN,   /* key filled: reconcile it */
	SESSION_JOB_ORPHAN,  /* its session is over, or its end stands in the status already */
	SESSION_JOB_UNKNOWN, /* of a session that is not known here: kept, as long as the link lasts, because the watch may be behind */
	SESSION_JOB_EARLY,   /* the same for a session without pods, as far as is known here */
	SESSION_JOB_FOREIGN, /* that job was not given to this node: ignored */
};

/* What a node's agent says of a job. */
enum session_job_verdict session_cache_job(struct session_cache *c, const char *node, const struct link_job *job, char key[SESSION_KEY_SIZE]);

/* The session of a job that was told early turned out not to be there. */
void session_cache_forget_early(struct session_cache *c, const char *node, const char *job_id);

/* Is it known here whose jobs this session's are: it is over, or its pods are chosen? */
bool session_cache_knows(struct session_cache *c, const char *uid);

/* The link of a node came up or went down: what was sent in the old link counts no more. `says_complete`: its agent says when it has told of all its
 * jobs, and session_cache_complete() is called then. */
void session_cache_node(struct session_cache *c, const char *node, bool linked, bool says_complete, int64_t now_mono_ms);

/* The node's agent has told the leader of this epoch of all its jobs. */
void session_cache_complete(struct session_cache *c, const char *node, int64_t epoch);

/* This process leads from now on, under this epoch; 0: it does no more. */
void session_cache_lead(struct session_cache *c, int64_t epoch, int64_t now_mono_ms);

/* Notes that this process has chosen the session's pods, and that an order or a cancel went out. */
void session_cache_assigned(struct session_cache *c, const char *key);
void session_cache_ordered(struct session_cache *c, const char *key, size_t pod, int64_t now_mono_ms);
void session_cache_canceled(struct session_cache *c, const char *key, size_t pod, int64_t now_mono_ms, bool sent);

/* Is this job this node's, and of a session that goes on? Fills what an upload needs. ERR_NOT_FOUND: its session is over; ERR_DENIED; ERR_RETRY: its
 * session is not known here yet. */
struct session_upload {
	char namespace[64], name[254], uid[40], pod_name[254];
	char store[64];
};
int session_cache_upload(struct session_cache *c, const char *node, const char *job_id, struct session_upload *out, struct err *e);

/* The same, and may this report be put there? A job has at most LINK_MAX_REPORTS names of reports, as long as this process lives. */
int session_cache_grant(struct session_cache *c, const char *node, const char *job_id, const struct link_report *r, struct session_upload *out,
			struct err *e);

bool session_cache_is_active(struct session_cache *c, const char *key);

void session_cache_counts(struct session_cache *c, size_t *active, size_t *over);

#endif
