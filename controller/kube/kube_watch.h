/* List-watch: tells of all objects of one kind in one namespace (or all), and from then on of each change, for ever: lists in
 * pages, watches with bookmarks from there, resumes after a cut, lists again after 410, backs off with jitter, and takes a
 * watch without an event (bookmarks come each minute) as dead, whatever bytes drip from it. Where there are many objects they come as the
 * beginning of the watch, if the server can do that: it takes them from its cache and writes them while we read. Its own thread and connection. */
#ifndef DRDOTNET_KUBE_WATCH_H
#define DRDOTNET_KUBE_WATCH_H

#include "controller/kube/kube_client.h"

struct kube_watch;

struct kube_watch_callbacks {
	void *ctx;
	/* All are called in the watch's thread. What is not told of between begin and end does not exist (any more). */
	void (*on_list_begin)(void *ctx, const char *namespace);
	void (*on_list_end)(void *ctx, const char *namespace);
	void (*on_object)(void *ctx, bool deleted, const json_t *object);
};

struct kube_watch_options {
	const struct kube_config *config; /* outlives the watch */
	const char *api, *plural;         /* static storage */
	const char *namespace;            /* NULL: all; copied */
	const char *field_selector, *label_selector; /* NULL: none; outlive the watch */
	int page_limit;                   /* 0: 100 */
	int64_t stream_above;             /* objects; 0: 500 */
	int64_t stall_timeout_ms;         /* 0: 100 s */
	struct kube_watch_callbacks callbacks;
};

struct kube_watch *kube_watch_start(const struct kube_watch_options *o, struct err *e);

/* Has listed at least once. Any thread. */
bool kube_watch_synced(const struct kube_watch *w);

/* Why it has not listed yet: what the last try met; "" when nothing was met. Any thread. */
void kube_watch_why(struct kube_watch *w, char *out, size_t size);

/* Ends the thread and frees it; NULL is taken. */
void kube_watch_stop(struct kube_watch *w);

#endif
