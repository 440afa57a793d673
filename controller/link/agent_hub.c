#include "controller/link/agent_hub.h"

#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/thread.h"
#include "controller/link/hub_private.h"
#include "controller/base/metrics.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct agent_hub *agent_hub_new(const struct agent_hub_callbacks *cb, const struct agent_hub_transport *t)
{
	struct agent_hub *h = mem_alloc(sizeof *h);
	h->cb = *cb;
	h->transport = *t;
	metrics_add(METRIC_LINK_DROPPED_MESSAGES, "MailboxFull", 0); /* an alert counts its increase, from the first on */
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

int hub_post(struct hub_link *l, const struct link_msg *m, struct err *e)
{
	char *text = link_msg_encode(m, e);
	return text ? post_text_take(l, text, e) : -1;
}

struct hub_link *hub_find_link(struct agent_hub *h, const char *node)
{
	struct hub_link *l = NULL;
	HASH_FIND_STR(h->nodes, node, l);
	return l;
}

void hub_wake(struct agent_hub *h)
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
	hub_post(l, &m, NULL);
}

/* Returns whether it replaces another link. */
static bool register_hub_link(struct agent_hub *h, struct hub_link *l)
{
	struct hub_link *older = hub_find_link(h, l->node);
	if (older) {
		HASH_DELETE(hh, h->nodes, older);
		older->replaced = true;
		mark_pending(older);
	}
	l->said_hello = true;
	HASH_ADD_KEYPTR(hh, h->nodes, l->node, strlen(l->node), l);
	return older != NULL;
}

static void call_on_node(struct hub_link *l, bool replaces)
{
	const struct agent_hub_callbacks *cb = &l->hub->cb;
	if (replaces && cb->on_node)
		cb->on_node(cb->ctx, l->node, false, l->info.highest_epoch);
	if (cb->on_node)
		cb->on_node(cb->ctx, l->node, true, l->info.highest_epoch);
}

/* An agent that was told a stale epoch says hello again with the one that it has seen. */
static void receive_hello(struct hub_link *l, const struct link_msg *m)
{
	struct agent_hub *h = l->hub;
	bool replaces = false;
	pthread_mutex_lock(&h->lock);
	snprintf(l->info.version, sizeof l->info.version, "%s", m->u.hello.agent_version);
	snprintf(l->info.mode, sizeof l->info.mode, "%s", m->u.hello.mode);
	l->info.perf_events = m->u.hello.perf_events;
	l->info.process_queries = m->u.hello.process_queries;
	l->info.pod_starts = m->u.hello.pod_starts;
	l->info.jobs_complete = m->u.hello.jobs_complete;
	l->info.profilers = m->u.hello.profilers;
	l->info.highest_epoch = m->epoch;
	if (!l->said_hello) {
		replaces = register_hub_link(h, l);
		if (h->epoch > 0)
			announce_leader(l);
	}
	pthread_mutex_unlock(&h->lock);
	hub_wake(h);
	call_on_node(l, replaces);
	for (size_t i = 0; i < m->u.hello.job_count && h->cb.on_job; i++)
		h->cb.on_job(h->cb.ctx, l->node, &m->u.hello.jobs[i]);
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
	case LINK_MSG_JOBS_COMPLETE:
		if (h->cb.on_jobs_complete)
			h->cb.on_jobs_complete(h->cb.ctx, l->node, m->epoch);
		return 0;
	case LINK_MSG_USAGE:
		hub_usage_receive(h, l->node, m);
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
	struct hub_link *l = hub_find_link(h, node);
	if (l && out)
		*out = l->info;
	pthread_mutex_unlock(&h->lock);
	return l != NULL;
}

int hub_send_locked(struct agent_hub *h, const char *node, const struct link_msg *m, struct err *e)
{
	struct hub_link *l = hub_find_link(h, node);
	if (!l)
		return err_set_reason(e, ERR_NOT_FOUND, REASON_NodeWithoutAgent, "no agent of node %s is linked", node);
	return hub_post(l, m, e);
}

/* Orders carry the epoch; without one (not the leader) they are refused here. */
static int send_as_leader(struct agent_hub *h, const char *node, struct link_msg *m, struct err *e)
{
	pthread_mutex_lock(&h->lock);
	m->epoch = h->epoch;
	int rc = h->epoch > 0 ? hub_send_locked(h, node, m, e) : err_set(e, ERR_CONFLICT, 0, "this replica does not lead");
	pthread_mutex_unlock(&h->lock);
	if (rc == 0)
		hub_wake(h);
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

int agent_hub_send(struct agent_hub *h, const char *node, const struct link_msg *m, struct err *e)
{
	pthread_mutex_lock(&h->lock);
	int rc = hub_send_locked(h, node, m, e);
	pthread_mutex_unlock(&h->lock);
	if (rc == 0)
		hub_wake(h);
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
		hub_wake(h);
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
