#include "controller/link/process_query.h"

#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* One message to one node: `count` of the asker's pods from `first` on. */
struct batch {
	int64_t request_id; /* 0: not sent, or answered */
	const struct process_pod *first;
	size_t count;
	bool more;
};

/* Lives on the asker's stack. */
struct wait {
	struct batch *batches;
	size_t count, outstanding;
	struct process_list *out;
	struct wait *next;
};

struct process_queries {
	pthread_mutex_t lock;
	pthread_cond_t answered;
	struct wait *waits;
	int64_t next_request_id;
	bool stopped;
};

struct process_queries *process_queries_new(void)
{
	struct process_queries *q = mem_alloc(sizeof *q);
	pthread_mutex_init(&q->lock, NULL);
	thread_cond_init(&q->answered);
	return q;
}

void process_queries_stop(struct process_queries *q)
{
	pthread_mutex_lock(&q->lock);
	q->stopped = true;
	pthread_cond_broadcast(&q->answered);
	pthread_mutex_unlock(&q->lock);
}

void process_queries_free(struct process_queries *q)
{
	if (!q)
		return;
	pthread_cond_destroy(&q->answered);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

void process_list_fini(struct process_list *l)
{
	link_processes_free(l->items, l->count);
	free(l->warnings);
	*l = (struct process_list){0};
}

/* Answers; the lock is held ---------------------------------------------------------------------------------------- */

static bool batch_has_pod(const struct batch *b, const char *pod_uid)
{
	for (size_t i = 0; i < b->count; i++) {
		if (strcmp(b->first[i].pod.uid, pod_uid) == 0)
			return true;
	}
	return false;
}

static void add_copy(struct process_list *l, const struct link_process *p)
{
	GROW(l->items, l->count, l->cap);
	struct link_process *copy = &l->items[l->count++];
	*copy = *p;
	copy->entrypoint = mem_strdup(p->entrypoint);
	copy->runtime_version = mem_strdup(p->runtime_version);
	copy->reason = mem_strdup(p->reason);
	copy->message = mem_strdup(p->message);
}

static void take_node_answer(struct wait *w, struct batch *b, const struct link_processes *answer)
{
	for (size_t i = 0; i < answer->count; i++) {
		if (batch_has_pod(b, answer->items[i].pod_uid))
			add_copy(w->out, &answer->items[i]);
	}
	b->request_id = 0;
	b->more = answer->more;
	w->outstanding--;
}

void process_queries_on_answer(void *ctx, const char *node, const struct link_processes *answer)
{
	struct process_queries *q = ctx;
	pthread_mutex_lock(&q->lock);
	for (struct wait *w = q->waits; w; w = w->next) {
		for (size_t i = 0; i < w->count; i++) {
			struct batch *b = &w->batches[i];
			if (b->request_id != answer->request_id || strcmp(b->first->node, node) != 0)
				continue;
			take_node_answer(w, b, answer);
			if (!w->outstanding)
				pthread_cond_broadcast(&q->answered);
		}
	}
	pthread_mutex_unlock(&q->lock);
}

/* Asking ----------------------------------------------------------------------------------------------------------- */

static int by_node(const void *a, const void *b)
{
	return strcmp(((const struct process_pod *)a)->node, ((const struct process_pod *)b)->node);
}

static void warn(struct process_list *l, const char *node, const char *reason, const char *message)
{
	for (size_t i = 0; i < l->warning_count; i++) {
		if (l->warnings[i].reason == reason && strcmp(l->warnings[i].node, node) == 0)
			return;
	}
	GROW(l->warnings, l->warning_count, l->warning_cap);
	struct process_warning *w = &l->warnings[l->warning_count++];
	snprintf(w->node, sizeof w->node, "%s", node);
	w->reason = reason;
	snprintf(w->message, sizeof w->message, "%s", message);
}

/* Pods of one node each, not more than a message takes. */
static size_t make_batches(const struct process_pod *pods, size_t count, struct batch *out)
{
	size_t n = 0;
	for (size_t i = 0; i < count; i++) {
		struct batch *b = n ? &out[n - 1] : NULL;
		if (!b || b->count == LINK_MAX_QUERIED_PODS || strcmp(b->first->node, pods[i].node) != 0)
			out[n++] = (struct batch){.first = &pods[i], .count = 1};
		else
			b->count++;
	}
	return n;
}

/* Numbers a batch before it is sent: the answer may be there before the sending returns. */
static int64_t expect_answer(struct process_queries *q, struct wait *w, struct batch *b)
{
	pthread_mutex_lock(&q->lock);
	b->request_id = ++q->next_request_id;
	w->outstanding++;
	int64_t id = b->request_id;
	pthread_mutex_unlock(&q->lock);
	return id;
}

static void expect_none(struct process_queries *q, struct wait *w, struct batch *b)
{
	pthread_mutex_lock(&q->lock);
	b->request_id = 0;
	w->outstanding--;
	pthread_mutex_unlock(&q->lock);
}

/* false: the link has no room, or went. */
static bool send_node_query(struct process_queries *q, struct agent_hub *hub, struct wait *w, struct batch *b)
{
	AUTO_FREE struct link_queried_pod *pods = mem_calloc(b->count, sizeof *pods);
	for (size_t i = 0; i < b->count; i++)
		pods[i] = b->first[i].pod;
	struct link_msg m = {.type = LINK_MSG_PROCESS_QUERY}; /* borrows the pods: it is not finished */
	m.u.process_query = (struct link_process_query){expect_answer(q, w, b), PROCESS_QUERY_WINDOW_MS, pods, b->count};
	if (agent_hub_send(hub, b->first->node, &m, NULL) == 0)
		return true;
	expect_none(q, w, b);
	return false;
}

static void query_node(struct process_queries *q, struct agent_hub *hub, struct wait *w, struct batch *b)
{
	struct agent_info info;
	const char *node = b->first->node, *reason = NULL, *message = NULL;
	if (!agent_hub_lookup(hub, node, &info)) {
		reason = REASON_NodeWithoutAgent;
		message = "no agent of this node is linked";
	} else if (!info.process_queries) {
		reason = REASON_AgentTooOld;
		message = "this node's agent does not list processes yet";
	} else if (!send_node_query(q, hub, w, b)) {
		reason = REASON_AgentLost;
		message = "this node's agent takes no message now";
	}
	if (!reason)
		return;
	pthread_mutex_lock(&q->lock); /* other batches' answers come meanwhile */
	warn(w->out, node, reason, message);
	pthread_mutex_unlock(&q->lock);
}

static void wait_process_answers(struct process_queries *q, const struct wait *w, int64_t deadline_ms)
{
	while (w->outstanding > 0 && !q->stopped) {
		if (thread_cond_wait_until(&q->answered, &q->lock, deadline_ms) != 0)
			break;
	}
}

static void remove_wait(struct process_queries *q, struct wait *w)
{
	struct wait **p = &q->waits;
	while (*p != w)
		p = &(*p)->next;
	*p = w->next;
}

void process_queries_ask(struct process_queries *q, struct agent_hub *hub, struct process_pod *pods, size_t count, int64_t deadline_ms,
			 struct process_list *out)
{
	*out = (struct process_list){0};
	if (count > 0)
		qsort(pods, count, sizeof *pods, by_node);
	AUTO_FREE struct batch *batches = mem_calloc(count + 1, sizeof *batches);
	struct wait w = {.batches = batches, .count = make_batches(pods, count, batches), .out = out};
	pthread_mutex_lock(&q->lock);
	w.next = q->waits;
	q->waits = &w;
	pthread_mutex_unlock(&q->lock);
	for (size_t i = 0; i < w.count; i++)
		query_node(q, hub, &w, &batches[i]);
	pthread_mutex_lock(&q->lock);
	wait_process_answers(q, &w, deadline_ms);
	remove_wait(q, &w);
	pthread_mutex_unlock(&q->lock);
	for (size_t i = 0; i < w.count; i++) {
		if (batches[i].request_id)
			warn(out, batches[i].first->node, REASON_AgentLost, "this node's agent did not answer in time");
		else if (batches[i].more)
			warn(out, batches[i].first->node, "Incomplete", "there are more processes on this node than could be told of");
	}
}
