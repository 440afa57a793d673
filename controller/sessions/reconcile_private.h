/* What the steps of one reconcile share; private to reconcile*.c. */
#ifndef DRDOTNET_RECONCILE_PRIVATE_H
#define DRDOTNET_RECONCILE_PRIVATE_H

#include "controller/sessions/plan.h"
#include "controller/kube/pods.h"
#include "controller/sessions/reconcile.h"

/* In a message: what follows is the time until when is waited, and then the remedy. */
#define RECONCILE_UNTIL "; waiting until "

struct work {
	struct reconciler *r;
	struct kube_client *kube;
	const char *key;
	struct profiling_session s;
	struct plan_pod_view *views;
	struct plan plan;
	struct pod_info *infos;   /* of s.pods, as far as they were read; pod_count entries */
	bool assigned;            /* pods were chosen in this turn: those whose agents can serve them get their order */
	char *left_out;           /* what is said of pods that were not taken; NULL: nothing */
	int64_t now_wall_ms, now_mono_ms;
	int64_t wake_ms;          /* from now; INT64_MAX: none */
	const char *old_reason;   /* of the Succeeded condition, before */
	bool comparing;           /* the end waits for the comparison with the baseline */
	bool over;                /* nothing is left for the later steps */
	bool gone;                /* it has ended, or is no longer there */
};

/* One step: 0 or -1 with *e. */
int reconcile_choose(struct work *w, struct err *e);  /* reconcile_pods.c */
int reconcile_inspect(struct work *w, struct err *e); /* the pods that the plan wants looked at or ordered */
int reconcile_orders(struct work *w, struct err *e);
int reconcile_learn_ends(struct work *w, struct err *e); /* reconcile_ends.c */
void reconcile_tell_end(struct work *w);               /* of a session that has ended */
void reconcile_tell_readiness(struct work *w); /* reconcile_start.c: of a session that has ended */
int reconcile_choose_start(struct work *w, struct pod_list *l, struct err *e); /* reconcile_start.c: 1: *l has the pod; 0: it waits */
int reconcile_check_baseline(struct work *w, struct err *e); /* reconcile_baseline.c */
int reconcile_compare(struct work *w, struct err *e);

/* Does this agent know the session's profiler? */
bool reconcile_serves(const struct work *w, const struct agent_info *agent);

void reconcile_wake_in(struct work *w, int64_t ms);

#endif
