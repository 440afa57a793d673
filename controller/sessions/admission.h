/* Which session may begin now (budget.h), for all of the controller's threads: the workers ask, choose and let go; the main thread's tick sees to
 * it that those who wait show their place. What is known is of this process: a new leader tells it first what its sessions occupy.
 *
 * A place in the queue changes with each session that ends: it is written into a status when it is new, then once in ADMISSION_SHOW_MS at
 * most, and so many a second over all sessions. */
#ifndef DRDOTNET_ADMISSION_H
#define DRDOTNET_ADMISSION_H

#include "common/base/buf.h"
#include "controller/sessions/budget.h"
#include "controller/sessions/session_cache.h"

#define ADMISSION_SHOW_MS 10000
#define ADMISSION_SHOWS_PER_TICK 10
/* An agent keeps LINK_MAX_JOBS; some are left for what it has of sessions that are gone. */
#define ADMISSION_MAX_JOBS_PER_NODE (LINK_MAX_JOBS - 8)

struct admission;

/* `granted` is called without a lock, from the thread that made room. */
struct admission *admission_new(int64_t max_pods, int64_t max_pods_per_node, session_key_fn *granted, void *ctx);
void admission_free(struct admission *a);

/* Leadership begins: what was known is forgotten; nothing is granted until admission_open. */
void admission_reset(struct admission *a);
void admission_open(struct admission *a);

/* May this session choose its pods? No: it waits, and `why` gets what its status should say, or is left empty when that is to stay as it is. */
bool admission_ask(struct admission *a, const char *key, const struct profiling_session *s, int64_t now_mono_ms, struct buf *why);

/* The pods that it has chosen. False: their nodes are full, it waits; `why` as above. */
bool admission_choose(struct admission *a, const char *key, const char *const *nodes, size_t count, int64_t now_mono_ms, struct buf *why);

/* What it occupies by its pods' phases; one that has ended or has none any more lets go. Before admission_open those without pods queue up. */
void admission_update(struct admission *a, const char *key, const struct profiling_session *s);
void admission_release(struct admission *a, const char *key);

/* Main thread, once a second: calls `show` for those whose status should tell a new place, and lets go what the cache no longer has. */
void admission_tick(struct admission *a, struct session_cache *cache, int64_t now_mono_ms, session_key_fn *show, void *ctx);

struct admission_counts {
	int64_t used, waiting;
};
struct admission_counts admission_count(struct admission *a);

#endif
