/* Leader election over a coordination.k8s.io/v1 Lease, after client-go's leaderelection, with one difference: the Lease's
 * leaseTransitions is our fencing epoch, max(leaseTransitions, highest epoch that any agent has reported) + 1 at each
 * acquisition, so that it grows even when the Lease was deleted meanwhile.
 *
 * Another's lease has run out when it did not change for its duration by our own monotonic clock (clocks of machines
 * differ), or when its renewTime is older than its duration + LEASE_SKEW_MS by the wall clock (a cold start after a
 * long outage). Two leaders at once are harmless for agents: they obey the newest epoch only.
 *
 * lease_step is pure; controller/kube/leader.c does the calls. */
#ifndef DRDOTNET_LEASE_H
#define DRDOTNET_LEASE_H

#include "common/base/jsonx.h"

#define LEASE_DURATION_MS 8000
#define LEASE_RENEW_MS 2000       /* between renewals, and between a standby's looks */
#define LEASE_RENEW_BOUND_MS 6000 /* no successful renewal for so long: we stop leading before others may start */
#define LEASE_SKEW_MS 60000
/* leaseTransitions is an int32: an agent's word moves it by at most so much, so that a lying one cannot exhaust it soon. */
#define LEASE_EPOCH_STEP_MAX 10000

/* What stands in the API server. */
struct lease_record {
	bool exists;
	char holder[96];          /* "" when released */
	char resource_version[64];
	int64_t duration_ms;
	int64_t renew_wall_ms;    /* 0: absent */
	int64_t acquire_wall_ms;
	int64_t transitions;
};

void lease_record_from_json(const json_t *lease, struct lease_record *out);

/* The whole object to create or update with. */
json_t *lease_record_to_json(const struct lease_record *r, const char *namespace, const char *name);

struct lease_state {
	char identity[96];
	bool leading;
	int64_t epoch;             /* while leading */
	int64_t renewed_mono_ms;   /* when our last successful write was begun */
	char seen_version[64];     /* of another's lease */
	int64_t seen_mono_ms;      /* when that version was seen first */
};

enum lease_action {
	LEASE_WAIT,   /* look again at wake_mono_ms */
	LEASE_WRITE,  /* create or update with `write` (resource_version is the precondition), then lease_written */
	LEASE_RESIGN, /* stop leading at once; the state says so already */
};

struct lease_decision {
	enum lease_action action;
	struct lease_record write;
	int64_t wake_mono_ms;
};

struct lease_clock {
	int64_t mono_ms, wall_ms;
};

/* The highest epoch that is believed of agents, from what stands in the Lease. */
int64_t lease_epoch_most(const struct lease_record *seen);

/* After each look at the Lease. `highest_epoch`: what agents have reported. */
void lease_step(struct lease_state *s, const struct lease_record *seen, struct lease_clock now, int64_t highest_epoch, struct lease_decision *out);

/* The write went through. */
void lease_written(struct lease_state *s, const struct lease_record *written, int64_t begun_mono_ms);

/* The look or the write failed (a conflict included). True: we led and the bound has passed; we no longer lead. */
bool lease_failed(struct lease_state *s, int64_t now_mono_ms);

#define LEASE_SAY_AGAIN_MS 10000
#define LEASE_SAY_OTHER_MS 3000

/* What the log has of failures. Zeroed: nothing, it goes well. */
struct lease_said {
	enum err_kind kind;
	int code;
	int64_t at_ms;
};

/* Tries are made three times a second while none goes well: should the log have this failure? When it is the first; when it is another one than the log has,
 * each LEASE_SAY_OTHER_MS at most, for a server that comes and goes fails in many ways; and now and then. Notes it. */
bool lease_worth_saying(struct lease_said *said, const struct err *e, int64_t now_mono_ms);

/* When this leader has to have renewed: lease_failed turns true then. */
int64_t lease_bound_ms(const struct lease_state *s);

#endif
