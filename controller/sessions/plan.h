/* What should happen next with a session: a pure function of the session, what its agents have said, and the time. The
 * reconciler carries it out. */
#ifndef DRDOTNET_PLAN_H
#define DRDOTNET_PLAN_H

#include "controller/sessions/session_object.h"

#define PLAN_RELEASE_MS 60000          /* the finalizer outlives deletion by at most so much */
#define PLAN_CANCEL_MS 60000           /* an agent that does not confirm a cancel */
#define PLAN_DEADLINE_GRACE_MS 5000    /* the agent ends a job at its deadline by itself; then we cancel it */
#define PLAN_DEADLINE_END_MS 30000     /* ... and then we give up on it */
#define PLAN_ANALYZING_MS 120000       /* after the deadline */
#define PLAN_LOST_MS 600000            /* after the deadline: an agent without link may still come back with its report */
#define PLAN_DELIVERY_MS 86400000      /* after the deadline: the bound of delivery */
#define PLAN_SILENT_MS 10000           /* linked, and not a word of a job: order again, or give it up when it was past profiling */
#define PLAN_TELL_MS 5000              /* linked for so long: an agent that does not say when it has told of all its jobs has done so */
#define PLAN_COMPLETE_MS 120000        /* linked for so long: one that should say so is ill, and is not waited for any longer */
#define PLAN_RETURN_MS 30000           /* without a link for so long, or since we lead: the agent does not come back at once */
#define PLAN_CHECK_MS 15000            /* between looks at a pod whose node has no agent */

/* What is known of one pod's job beside the session itself. Ages are of this process; -1: never. */
struct plan_pod_view {
	bool linked;               /* the node's agent, now */
	bool says_complete;        /* it says when it has told of all its jobs */
	bool complete;             /* and has said so to this leader, in this link */
	bool too_old;              /* it is linked, and does not know the session's profiler */
	bool reported_in_link;     /* the agent has spoken of the job since its link came up */
	bool unordered;            /* no leader has given the order, for all that is known: what the status tells may be less than the agent has */
	int64_t linked_age_ms;     /* since the link came up or was lost, or since we lead, whichever was last */
	int64_t ordered_age_ms;    /* since the order was given within this link */
	int64_t canceled_age_ms;   /* since the first cancel was wanted */
	bool cancel_sent;          /* within this link */
	bool stored_final;         /* the pod's end stands in the API server already */
};

enum plan_stage {
	PLAN_IGNORE,   /* nothing (any more) */
	PLAN_REJECT,   /* the specification is invalid */
	PLAN_CHOOSE,   /* pods are to be chosen, or another after a missed start */
	PLAN_END,      /* ends before any pod was chosen: `reason` */
	PLAN_DRIVE,    /* act on each pod */
	PLAN_FINISHED, /* the end stands in the status */
};

enum pod_action {
	POD_WAIT,   /* reason and message, if any, are shown */
	POD_CHECK,  /* the same, and look whether the pod is still there */
	POD_ORDER,
	POD_CANCEL,
	POD_END,    /* with end_phase, reason, message */
};

struct plan_pod {
	enum pod_action action;
	enum job_phase end_phase;
	const char *reason;  /* NULL: as the agent says */
	const char *message; /* static storage */
};

struct plan {
	enum plan_stage stage;
	const char *reason;      /* PLAN_END */
	const char *message;
	bool release;            /* remove our finalizer */
	bool expire;             /* delete the object: its TTL has passed */
	int64_t wake_wall_ms;    /* look again then; INT64_MAX: not by time */
	struct plan_pod pods[SESSION_MAX_TARGETS];
};

/* `views` has s->pod_count entries (may be NULL when that is 0). */
void plan_make(const struct profiling_session *s, const struct plan_pod_view *views, int64_t now_wall_ms, struct plan *out);

/* When queue and profiling have to be over. */
int64_t plan_deadline_ms(const struct profiling_session *s);

/* How long to wait before pods are looked for again: grows with the session's age. */
int64_t plan_retry_ms(const struct profiling_session *s, int64_t now_wall_ms);

#endif
