/* What is asked of all sessions in the cache. Any thread; no callback runs with the lock held. */
#ifndef DRDOTNET_SESSION_CACHE_EACH_H
#define DRDOTNET_SESSION_CACHE_EACH_H

#include "controller/sessions/session_cache.h"

/* Calls back for each active session, or for each over one whose time has come. */
void session_cache_each_active(struct session_cache *c, session_key_fn *fn, void *ctx);
/* has a pod there, or none yet and no queue to wait in */
void session_cache_each_waiting_for(struct session_cache *c, const char *node, session_key_fn *fn, void *ctx);
void session_cache_each_expired(struct session_cache *c, int64_t now_wall_ms, session_key_fn *fn, void *ctx);

/* Calls back for each job that was told before its session, or the session's pods, were known here. */
typedef void session_early_fn(void *ctx, const char *node, const struct link_job *job);
void session_cache_each_early(struct session_cache *c, session_early_fn *fn, void *ctx);

/* Notes in each of the pods which session other than `key` occupies its process, or will: jobs of sessions wait for each other there. The one that
 * ends last. `container`: the one that is wanted; NULL: any. */
void session_cache_occupy(struct session_cache *c, const char *key, const char *container, struct pod_info *pods, size_t count);

#endif
