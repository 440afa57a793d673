/* The hub's question for pods' usage, and who waits for the answers. */
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/thread.h"
#include "controller/link/hub_private.h"

#include <stdlib.h>
#include <string.h>

/* Takes a node's first answer. false: it was not asked, or has answered before. */
static bool take_usage(struct usage_wait *w, const char *node, const struct link_msg *m)
{
	bool first = false;
	for (size_t k = 0; k < w->count; k++) {
		if (w->answered[k] || strcmp(w->nodes[k], node) != 0)
			continue;
		first = w->answered[k] = true;
		for (size_t i = 0; i < m->u.usage.count; i++) {
			if (strcmp(w->pods[k].pod_uid, m->u.usage.pods[i].pod_uid) == 0)
				w->pods[k] = m->u.usage.pods[i];
		}
	}
	return first;
}

void hub_usage_receive(struct agent_hub *h, const char *node, const struct link_msg *m)
{
	pthread_mutex_lock(&h->lock);
	struct usage_wait *w = h->waits;
	while (w && w->request_id != m->u.usage.request_id)
		w = w->next;
	if (w && take_usage(w, node, m) && w->outstanding > 0 && --w->outstanding == 0)
		pthread_cond_broadcast(&h->answered);
	pthread_mutex_unlock(&h->lock);
}

static bool seen_before(const char *const *nodes, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (strcmp(nodes[k], nodes[i]) == 0)
			return true;
	}
	return false;
}

/* One query for all pods of nodes[first]. The lock is held. */
static bool ask_node(struct agent_hub *h, size_t first, const struct usage_wait *w, int64_t window_ms)
{
	char(*uids)[40] = mem_calloc(w->count, sizeof *uids);
	struct link_msg m = {.type = LINK_MSG_USAGE_QUERY};
	m.u.usage_query.request_id = w->request_id;
	m.u.usage_query.window_ms = window_ms;
	m.u.usage_query.pod_uids = uids;
	for (size_t i = first; i < w->count && m.u.usage_query.count < LINK_MAX_PODS; i++) {
		if (strcmp(w->nodes[i], w->nodes[first]) == 0)
			strcpy(uids[m.u.usage_query.count++], w->pods[i].pod_uid);
	}
	bool sent = hub_send_locked(h, w->nodes[first], &m, NULL) == 0;
	free(uids);
	return sent;
}

static void wait_usage_answers(struct agent_hub *h, const struct usage_wait *w, int64_t deadline_ms)
{
	while (w->outstanding > 0) {
		if (thread_cond_wait_until(&h->answered, &h->lock, deadline_ms) != 0)
			break;
	}
}

void agent_hub_usage(struct agent_hub *h, const char *const *nodes, struct link_pod_usage *pods, size_t count, int64_t window_ms, int64_t deadline_ms)
{
	AUTO_FREE bool *answered = mem_calloc(count ? count : 1, sizeof *answered);
	struct usage_wait w = {.nodes = nodes, .pods = pods, .answered = answered, .count = count};
	for (size_t i = 0; i < count; i++)
		pods[i].cpu_millicores = pods[i].memory_bytes = -1;
	pthread_mutex_lock(&h->lock);
	w.request_id = ++h->next_request_id;
	for (size_t i = 0; i < count; i++) {
		if (!seen_before(nodes, i) && ask_node(h, i, &w, window_ms))
			w.outstanding++;
	}
	w.next = h->waits;
	h->waits = &w;
	pthread_mutex_unlock(&h->lock);
	hub_wake(h);
	pthread_mutex_lock(&h->lock);
	wait_usage_answers(h, &w, deadline_ms);
	struct usage_wait **p = &h->waits;
	while (*p != &w)
		p = &(*p)->next;
	*p = w.next;
	pthread_mutex_unlock(&h->lock);
}
