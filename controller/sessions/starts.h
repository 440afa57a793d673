/* Sessions that wait for the next container of their target to start (spec.start: NextContainerStart), and the starts that agents tell of. While any
 * session waits, all agents that can are asked to sample containers from their first instruction on; they keep what they have sampled for a short
 * time, in which the session must choose the container's pod. Nothing is polled, and nothing is asked while no session waits. Any thread. */
#ifndef DRDOTNET_STARTS_H
#define DRDOTNET_STARTS_H

#include "controller/link/agent_hub.h"
#include "controller/sessions/session_cache.h"

#define STARTS_KEPT_MS 20000    /* after that an agent may have dropped what it has sampled of a start */
#define STARTS_CONFIRM_MS 40000 /* agents are asked again so often, ... */
#define STARTS_VALID_SECONDS 120 /* ... and stop when they are not */
#define STARTS_MAX 256          /* that nobody has looked at yet; the oldest go first */

struct starts;

struct started {
	char node[254], pod_uid[40];
	int64_t heard_mono_ms;
};

struct starts *starts_new(void);
void starts_free(struct starts *s);

/* This session waits, with this frequency of samples. Returns how many agents were asked last. */
size_t starts_await(struct starts *s, struct agent_hub *hub, const char *key, int64_t frequency_hertz, int64_t now_mono_ms);

/* It waits no longer. Agents stop when nobody does. */
void starts_forget(struct starts *s, struct agent_hub *hub, const char *key);

/* All of them: this replica no longer leads, or is about to. */
void starts_reset(struct starts *s);

/* An agent has linked: it is asked with the next tick. */
void starts_node(struct starts *s);

/* An agent's word. `fn` is called for each session that waits. */
void starts_heard(struct starts *s, const char *node, const char *pod_uid, int64_t now_mono_ms, session_key_fn *fn, void *ctx);

/* The next start that this session has not looked at, and that no other has taken. false: there is none. */
bool starts_next(struct starts *s, const char *key, int64_t now_mono_ms, struct started *out);

/* It is this session's; false: another was faster. */
bool starts_take(struct starts *s, const char *key, const struct started *start);

/* The start that this session has taken; false: none, or so long ago that its samples are gone. */
bool starts_taken(struct starts *s, const char *key, int64_t now_mono_ms, struct started *out);

/* Once a second or so. `fn` is called for each session that waits when another number of agents watches: it says so. */
void starts_tick(struct starts *s, struct agent_hub *hub, int64_t now_mono_ms, session_key_fn *fn, void *ctx);

#endif
