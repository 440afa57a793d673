#include "controller/link/agent_hub.h"

#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/thread.h"
#include "controller/link/agent_hub_private.h"
#include "controller/link/hub_mailbox.h"
#include "controller/base/metrics.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct hub_link {
	struct agent_hub *hub;
	void *owner;
	char *node;
	bool said_hello, replaced, pending;
	struct agent_info info;
	struct hub_mailbox *mailbox; /* NULL while nothing waits: most links are idle most of the time */
	struct hub_link *next_pending;
	UT_hash_handle hh;       /* in `nodes`, once it has said hello and is the newest of its node */
};

/* A reconciler waits for these nodes' answers. Lives on its stack. */
struct usage_wait {
	int64_t request_id;
	const char *const *nodes; /* of pods[i]: an agent's word counts for the pods of its own node only */
	struct link_pod_usage *pods;
	bool *answered;           /* of pods[i]: by its node, once */
	size_t count, outstanding;
	struct usage_wait *next;
};

struct agent_hub {
	struct agent_hub_callbacks cb;
	struct agent_hub_transport transport;
	pthread_mutex_t lock;
	pthread_cond_t answered;
	struct hub_link *nodes;
	struct hub_link *pending_first, *pending_last;
	struct usage_wait *waits;
	int64_t epoch, next_request_id;
};

struct agent_hub *agent_hub_new(const struct agent_hub_callbacks *cb, const struct agent_hub_transport *t)
{
	struct agent_hub *h = mem_alloc(sizeof *h);
	h->cb = *cb;
	h->transport = *t;
	pthread_mutex_init(&h->lock, NULL);
	thread_cond_init(&h->answered);
	return h;
}

void agent_hub_free(struct agent_hub *h)
{
	if (!h)
		return;
	pthread_cond_destroy(&h->answered);
	pthread_mutex_destroy(&h->lock);
	free(h);
}

/* Mailboxes and the list of links with something to do; the lock is held ------------------------------------------ */

static void mark_pending(struct hub_link *l)
{
	struct agent_hub *h = l->hub;
	if (l->pending)
		return;
	l->pending = true;
	l->next_pending = NULL;
	if (h->pending_last)
		h->pending_last->next_pending = l;
	else
		h->pending_first = l;
	h->pending_last = l;
}

static void unmark_pending(struct hub_link *l)
{
	struct agent_hub *h = l->hub;
	if (!l->pending)
		return;
	struct hub_link *before = NULL;
	for (struct hub_link *p = h->pending_first; p != l; p = p->next_pending)
		before = p;
	if (before)
		before->next_pending = l->next_pending;
	else
		h->pending_first = l->next_pending;
	if (h->pending_last == l)
		h->pending_last = before;
	l->pending = false;
}

static int post_text_take(struct hub_link *l, char *text, struct err *e)
{
	if (!hub_mailbox_put(&l->mailbox, text)) {
		free(text);
		metrics_count(METRIC_LINK_DROPPED_MESSAGES, "MailboxFull");
		return err_set(e, ERR_RETRY, 0, "the agent of node %s reads too slowly: %d messages wait", l->node, AGENT_HUB_MAILBOX_MAX);
	}
	mark_pending(l);
	return 0;
}

static int post(struct hub_link *l, const struct link_msg *m, struct err *e)
{
	char *text = link_msg_encode(m, e);
	return text ? post_text_take(l, text, e) : -1;
}

static struct hub_link *find_hub_link(struct agent_hub *h, const char *node)
{
	struct hub_link *l = NULL;
	HASH_FIND_STR(h->nodes, node, l);
	return l;
}

static void wake_hub(struct agent_hub *h)
{
	if (h->transport.wake)
		h->transport.wake(h->transport.ctx);
}

/* The link thread's side ------------------------------------------------------------------------------------------ */

struct hub_link *agent_hub_attach(struct agent_hub *h, const char *node, void *owner)
{
	struct hub_link *l = mem_alloc(sizeof *l);
	l->hub = h;
	l->owner = owner;
	l->node = mem_strdup(node);
	return l;
}

char *agent_hub_next(struct hub_link *l)
{
	pthread_mutex_lock(&l->hub->lock);
	char *text = hub_mailbox_take(&l->mailbox);
	pthread_mutex_unlock(&l->hub->lock);
	return text;
}

bool agent_hub_is_replaced(const struct hub_link *l)
{
	pthread_mutex_lock(&l->hub->lock);
	bool replaced = l->replaced;
	pthread_mutex_unlock(&l->hub->lock);
	return replaced;
}

void *agent_hub_next_pending(struct agent_hub *h)
{
	pthread_mutex_lock(&h->lock);
	struct hub_link *l = h->pending_first;
	if (l) {
		h->pending_first = l->next_pending;
		if (!h->pending_first)
			h->pending_last = NULL;
		l->pending = false;
	}
	pthread_mutex_unlock(&h->lock);
	return l ? l->owner : NULL;
}

/* Nobody waits any longer for a node that is gone: the waiters' deadline bounds it, so this needs no bookkeeping per node. */
void agent_hub_detach(struct hub_link *l)
{
	if (!l)
		return;
	struct agent_hub *h = l->hub;
	pthread_mutex_lock(&h->lock);
	unmark_pending(l);
	bool was_current = l->said_hello && !l->replaced;
	if (was_current)
		HASH_DELETE(hh, h->nodes, l);
	pthread_mutex_unlock(&h->lock);
	if (was_current && h->cb.on_node)
		h->cb.on_node(h->cb.ctx, l->node, false, l->info.highest_epoch);
	hub_mailbox_free(l->mailbox);
	free(l->node);
	free(l);
}

static void announce_leader(struct hub_link *l)
{
	struct link_msg m = {.type = LINK_MSG_LEADER, .epoch = l->hub->epoch};
	post(l, &m, NULL);
}

static void register_hub_link(struct agent_hub *h, struct hub_link *l)
{
	struct hub_link *older = find_hub_link(h, l->node);
	if (older) {
		HASH_DELETE(hh, h->nodes, older);
		older->replaced = true;
		mark_pending(older);
	}
	l->said_hello = true;
	HASH_ADD_KEYPTR(hh, h->nodes, l->node, strlen(l->node), l);
}

/* An agent that was told a stale epoch says hello again with the one that it has seen. */
static void receive_hello(struct hub_link *l, const struct link_msg *m)
{
	struct agent_hub *h = l->hub;
	pthread_mutex_lock(&h->lock);
	snprintf(l->info.version, sizeof l->info.version, "%s", m->u.hello.agent_version);
	snprintf(l->info.mode, sizeof l->info.mode, "%s", m->u.hello.mode);
	l->info.perf_events = m->u.hello.perf_events;
	l->info.process_queries = m->u.hello.process_queries;
	l->info.container_starts = m->u.hello.container_starts;
	l->info.profilers = m->u.hello.profilers;
	l->info.highest_epoch = m->epoch;
	if (!l->said_hello) {
		register_hub_link(h, l);
		if (h->epoch > 0)
			announce_leader(l);
	}
	pthread_mutex_unlock(&h->lock);
	wake_hub(h);
	if (h->cb.on_node)
		h->cb.on_node(h->cb.ctx, l->node, true, m->epoch);
	for (size_t i = 0; i < m->u.hello.job_count && h->cb.on_job; i++)
		h->cb.on_job(h->cb.ctx, l->node, &m->u.hello.jobs[i]);
}

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

static void receive_usage(struct agent_hub *h, const char *node, const struct link_msg *m)
{
	pthread_mutex_lock(&h->lock);
	struct usage_wait *w = h->waits;
	while (w && w->request_id != m->u.usage.request_id)
		w = w->next;
	if (w && take_usage(w, node, m) && w->outstanding > 0 && --w->outstanding == 0)
		pthread_cond_broadcast(&h->answered);
	pthread_mutex_unlock(&h->lock);
}

static void receive_told(struct agent_hub *h, const char *node, const struct link_msg *m)
{
	if (m->type == LINK_MSG_OBSERVED && h->cb.on_observed)
		h->cb.on_observed(h->cb.ctx, node, m->u.observed.items, m->u.observed.count);
	if (m->type == LINK_MSG_STARTED && h->cb.on_started)
		h->cb.on_started(h->cb.ctx, node, m->u.started.pod_uid, m->u.started.container_id);
	if (m->type == LINK_MSG_PROCESSES && h->cb.on_processes)
		h->cb.on_processes(h->cb.ctx, node, &m->u.processes);
}

int agent_hub_receive(struct hub_link *l, const struct link_msg *m, struct err *e)
{
	struct agent_hub *h = l->hub;
	if (m->type != LINK_MSG_HELLO && m->type != LINK_MSG_UNKNOWN && !l->said_hello)
		return err_set(e, ERR_PROTOCOL, 0, "a message before hello");
	if (agent_hub_is_replaced(l))
		return 0;
	switch (m->type) {
	case LINK_MSG_UNKNOWN:
		return 0;
	case LINK_MSG_HELLO:
		receive_hello(l, m);
		return 0;
	case LINK_MSG_JOB:
		if (h->cb.on_job)
			h->cb.on_job(h->cb.ctx, l->node, &m->u.job);
		return 0;
	case LINK_MSG_USAGE:
		receive_usage(h, l->node, m);
		return 0;
	case LINK_MSG_OBSERVED:
	case LINK_MSG_PROCESSES:
	case LINK_MSG_STARTED:
		receive_told(h, l->node, m);
		return 0;
	case LINK_MSG_UPLOAD_REQUEST:
		if (h->transport.upload)
			h->transport.upload(h->transport.ctx, l->node, m->job_id, &m->u.upload_request.report);
		return 0;
	default:
		return err_set(e, ERR_PROTOCOL, 0, "a message that agents do not send");
	}
}

/* Any thread ------------------------------------------------------------------------------------------------------ */

bool agent_hub_lookup(struct agent_hub *h, const char *node, struct agent_info *out)
{
	pthread_mutex_lock(&h->lock);
	struct hub_link *l = find_hub_link(h, node);
	if (l && out)
		*out = l->info;
	pthread_mutex_unlock(&h->lock);
	return l != NULL;
}

static int send_locked(struct agent_hub *h, const char *node, const struct link_msg *m, struct err *e)
{
	struct hub_link *l = find_hub_link(h, node);
	if (!l)
		return err_set_reason(e, ERR_NOT_FOUND, REASON_NodeWithoutAgent, "no agent of node %s is linked", node);
	return post(l, m, e);
}

/* Orders carry the epoch; without one (not the leader) they are refused here. */
static int send_as_leader(struct agent_hub *h, const char *node, struct link_msg *m, struct err *e)
{
	pthread_mutex_lock(&h->lock);
	m->epoch = h->epoch;
	int rc = h->epoch > 0 ? send_locked(h, node, m, e) : err_set(e, ERR_CONFLICT, 0, "this replica does not lead");
	pthread_mutex_unlock(&h->lock);
	if (rc == 0)
		wake_hub(h);
	return rc;
}

int agent_hub_order(struct agent_hub *h, const char *node, const struct link_order *o, struct err *e)
{
	struct link_msg m = {.type = LINK_MSG_ORDER};
	m.u.order = *o; /* borrowed for the encoding only: m is not finished */
	return send_as_leader(h, node, &m, e);
}

static int send_job_message(struct agent_hub *h, enum link_msg_type type, const char *node, const char *job_id, struct err *e)
{
	struct link_msg m = {.type = type};
	if (strlen(job_id) >= sizeof m.job_id)
		return err_set(e, ERR_INVALID, 0, "job id is too long");
	strcpy(m.job_id, job_id);
	return send_as_leader(h, node, &m, e);
}

int agent_hub_cancel(struct agent_hub *h, const char *node, const char *job_id, struct err *e)
{
	return send_job_message(h, LINK_MSG_CANCEL, node, job_id, e);
}

int agent_hub_forget(struct agent_hub *h, const char *node, const char *job_id, struct err *e)
{
	return send_job_message(h, LINK_MSG_FORGET, node, job_id, e);
}

int agent_hub_observe(struct agent_hub *h, const char *node, const struct link_observation *items, size_t count, int64_t valid_seconds, struct err *e)
{
	struct link_msg m = {.type = LINK_MSG_OBSERVE};
	m.u.observe.items = (struct link_observation *)items; /* borrowed for the encoding only: m is not finished */
	m.u.observe.count = count;
	m.u.observe.valid_seconds = valid_seconds;
	return send_as_leader(h, node, &m, e);
}

size_t agent_hub_await_starts(struct agent_hub *h, int64_t valid_seconds, int64_t frequency_hertz)
{
	struct link_msg m = {.type = LINK_MSG_AWAIT_STARTS, .u.await_starts = {valid_seconds, frequency_hertz}};
	size_t count = 0;
	pthread_mutex_lock(&h->lock);
	m.epoch = h->epoch;
	for (struct hub_link *l = h->nodes; l; l = l->hh.next)
		count += h->epoch > 0 && l->info.container_starts && post(l, &m, NULL) == 0;
	pthread_mutex_unlock(&h->lock);
	if (count)
		wake_hub(h);
	return count;
}

int agent_hub_send(struct agent_hub *h, const char *node, const struct link_msg *m, struct err *e)
{
	pthread_mutex_lock(&h->lock);
	int rc = send_locked(h, node, m, e);
	pthread_mutex_unlock(&h->lock);
	if (rc == 0)
		wake_hub(h);
	return rc;
}

void agent_hub_answer_upload(struct agent_hub *h, const char *node, const struct link_msg *m)
{
	if (agent_hub_send(h, node, m, NULL) < 0)
		metrics_count(METRIC_LINK_DROPPED_MESSAGES, "AgentGone");
}

void agent_hub_set_epoch(struct agent_hub *h, int64_t epoch)
{
	pthread_mutex_lock(&h->lock);
	bool announce = epoch > 0 && epoch != h->epoch;
	h->epoch = epoch;
	struct hub_link *l, *tmp;
	if (announce) {
		HASH_ITER(hh, h->nodes, l, tmp)
			announce_leader(l);
	}
	pthread_mutex_unlock(&h->lock);
	if (announce)
		wake_hub(h);
}

int64_t agent_hub_highest_epoch(struct agent_hub *h, int64_t most)
{
	int64_t highest = 0;
	pthread_mutex_lock(&h->lock);
	struct hub_link *l, *tmp;
	HASH_ITER(hh, h->nodes, l, tmp) {
		if (l->info.highest_epoch > highest && l->info.highest_epoch <= most)
			highest = l->info.highest_epoch;
	}
	pthread_mutex_unlock(&h->lock);
	return highest;
}

size_t agent_hub_count(struct agent_hub *h)
{
	pthread_mutex_lock(&h->lock);
	size_t count = HASH_COUNT(h->nodes);
	pthread_mutex_unlock(&h->lock);
	return count;
}

/* Usage ----------------------------------------------------------------------------------------------------------- */

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
	bool sent = send_locked(h, w->nodes[first], &m, NULL) == 0;
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
	wake_hub(h);
	pthread_mutex_lock(&h->lock);
	wait_usage_answers(h, &w, deadline_ms);
	struct usage_wait **p = &h->waits;
	while (*p != &w)
		p = &(*p)->next;
	*p = w.next;
	pthread_mutex_unlock(&h->lock);
}
