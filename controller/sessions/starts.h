/* Sessions that wait for the next container of their target to start (spec.start: NextContainerStart), and the starts that agents tell of. While a
 * session waits, the API server tells of its target's pods (start_pods.h), and the agent of the node that a pod is bound to is told to sample new
 * containers of that pod, and of no other, from their first instruction on. Agents keep what they have sampled for a short time, in which the session
 * must choose the container's pod. Nothing is watched and nobody is asked while no session waits. Any thread. */
#ifndef DRDOTNET_STARTS_H
#define DRDOTNET_STARTS_H

#include "controller/kube/kube_config.h"
#include "controller/link/agent_hub.h"
#include "controller/sessions/session_cache.h"

#define STARTS_KEPT_MS 20000    /* after that an agent may have dropped what it has sampled of a start */
#define STARTS_CONFIRM_MS 40000 /* agents are asked again so often, ... */
#define STARTS_VALID_SECONDS 120 /* ... and stop when they are not */
#define STARTS_PER_NODE 16      /* that are remembered of a node; its oldest go first */
#define STARTS_SESSIONS_MAX 64  /* that wait at once, ... */
#define STARTS_SESSIONS_PER_NAMESPACE 8 /* ... and of one namespace; others begin to wait when one of these ends */
#define STARTS_PODS_MAX 1000    /* of a session; the rest is ignored and said so in a log line */

struct starts;

struct started {
	char node[254], pod_uid[40];
	int64_t heard_mono_ms;
};

/* What a session waits for. All borrowed. */
struct start_wish {
	const char *key, *namespace, *requested_by; /* NULL: not known */
	const struct session_target *target;
	int64_t frequency_hertz;
};

/* `kube` outlives it. */
struct starts *starts_new(const struct kube_config *kube);
void starts_free(struct starts *s);

/* This session waits: 1, and how many agents were told last. 0: as many wait as may, in all or of its namespace. -1: its pods cannot be watched. */
int starts_await(struct starts *s, struct agent_hub *hub, const struct start_wish *wish, int64_t now_mono_ms, size_t *agents, struct err *e);

/* It waits no longer. Agents stop when nobody does. */
void starts_forget(struct starts *s, struct agent_hub *hub, const char *key);

/* All of them: this replica no longer leads, or is about to. */
void starts_reset(struct starts *s);

/* An agent has linked: it is asked with the next tick. */
void starts_node(struct starts *s);

/* An agent's word. It counts for pods that are waited for and bound to its own node; `fn` is called for each session that waits for the pod. */
enum starts_verdict {
	STARTS_TAKEN,
	STARTS_UNASKED, /* nobody waits for this pod (any more) */
	STARTS_FOREIGN, /* it is another node's */
};
enum starts_verdict starts_heard(struct starts *s, const char *node, const char *pod_uid, int64_t now_mono_ms, session_key_fn *fn, void *ctx);

/* The next start of this session's pods that it has not looked at, and that no other has taken. false: there is none. */
bool starts_next(struct starts *s, const char *key, int64_t now_mono_ms, struct started *out);

/* It is this session's; false: another was faster. */
bool starts_take(struct starts *s, const char *key, const struct started *start);

/* The start that this session has taken; false: none, or so long ago that its samples are gone. */
bool starts_taken(struct starts *s, const char *key, int64_t now_mono_ms, struct started *out);

/* Once a second or so. `fn` is called for each session that waits when another number of agents watches: it says so. */
void starts_tick(struct starts *s, struct agent_hub *hub, int64_t now_mono_ms, session_key_fn *fn, void *ctx);

struct starts_counts {
	int64_t sessions, pods; /* that wait, and are waited for */
};
struct starts_counts starts_count(struct starts *s);

#endif
