/* What a trigger does: pure functions of the trigger, its status, its sessions, a firing and the time. The reconciler works on a
 * copy of the status and writes it before it acts (triggers.h says why).
 *
 * Limits and cool-down count the status's records, so they hold over restarts and replicas; sessions that exist and stand in no
 * record are taken up first (trigger_plan_settle). */
#ifndef DRDOTNET_TRIGGER_PLAN_H
#define DRDOTNET_TRIGGER_PLAN_H

#include "controller/triggers/trigger_object.h"
#include "controller/triggers/trigger_reason.h"

#define TRIGGER_HOUR_MS INT64_C(3600000)
#define TRIGGER_REJECTED_MS 60000 /* after a session was rejected, before the next one is tried */
#define TRIGGER_UNSEEN_MS 60000   /* a session that was made and that the watch has not told of for so long is gone */

/* One word of a source that a trigger's condition is met. */
struct trigger_firing {
	const char *namespace, *trigger;  /* the trigger's name */
	enum trigger_source source;       /* must be the trigger's own */
	const char *dedup;                /* the same for every repetition of one occurrence: "<fingerprint>/<startsAt>", "<pod uid>/<container>/<since>" */
	const char *pod_name, *container; /* NULL: as the template says */
	const char *message;              /* what was seen, for people: "alert HighCPU: checkout uses 95% of its CPU limit" */
};

/* A session of the trigger, as the API server has it. */
struct trigger_session_view {
	char name[254], uid[40];
	char *pod_name; /* NULL: chosen by a selector */
	enum trigger_phase phase; /* ACTIVE, SUCCEEDED or FAILED */
	int64_t created_wall_ms, completed_wall_ms;
};

/* What this process has learnt of a session beside the watch. */
struct trigger_note {
	enum { TRIGGER_NOTE_CREATED, TRIGGER_NOTE_REJECTED, TRIGGER_NOTE_GONE } what;
	char session[TRIGGER_SESSION_NAME_SIZE];
	char *message; /* of REJECTED */
	struct trigger_note *next;
};

/* Brings the records' phases up to date, drops what no longer counts after the spec was changed, and takes up sessions that stand in no record. */
void trigger_plan_settle(const struct profiling_trigger *t, struct trigger_status *st, const struct trigger_session_view *sessions, size_t count,
			 const struct trigger_note *notes, int64_t now_wall_ms);

struct trigger_decision {
	bool fire;
	const char *reason; /* Fired, or why not */
	char session[TRIGGER_SESSION_NAME_SIZE];
	char message[ERR_MESSAGE_SIZE];
};

/* Should this firing start a session? `st` is only read. */
void trigger_plan_fire(const struct profiling_trigger *t, const struct trigger_status *st, const struct trigger_firing *f, int64_t now_wall_ms,
		       struct trigger_decision *out);

/* Enters a firing that starts one: a record in phase Pending, and the counts. */
void trigger_plan_enter(const struct profiling_trigger *t, struct trigger_status *st, const struct trigger_firing *f, const struct trigger_decision *d,
			int64_t now_wall_ms);

/* Counts firings that started none. */
void trigger_plan_suppressed(struct trigger_status *st, const char *reason, int64_t count, int64_t wall_ms);

/* The time of the schedule that is due and was not dealt with, or 0; notes it in the status, with the next one. */
int64_t trigger_plan_due(const struct profiling_trigger *t, struct trigger_status *st, int64_t now_wall_ms);

/* Conditions, counts and message, at the end. Returns when they change by time alone (INT64_MAX: never). */
int64_t trigger_plan_conclude(const struct profiling_trigger *t, struct trigger_status *st, int64_t now_wall_ms);

/* Finished sessions beyond the history limits, the oldest first: their places in `sessions` go to `out` (room for `count`). */
size_t trigger_plan_history(const struct profiling_trigger *t, const struct trigger_session_view *sessions, size_t count, size_t *out);

/* Is this one of the trigger's own limits? */
bool trigger_plan_is_limit(const char *reason);

#endif
