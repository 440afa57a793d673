#include "agent/observe/usage_query.h"

#include "agent/host/cgroup.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define STACK_BYTES (256 * 1024)

struct usage_queries {
	const char *proc_root;
	int (*send)(void *ctx, uint64_t link, const struct link_msg *m, struct err *e);
	void *ctx;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	size_t running;
	bool stopped;
};

struct query {
	struct usage_queries *all;
	uint64_t link;
	int64_t window_ms;
	struct link_msg answer;
};

struct usage_queries *usage_queries_new(const char *proc_root, int (*send)(void *ctx, uint64_t link, const struct link_msg *m, struct err *e),
					void *ctx)
{
	struct usage_queries *q = mem_alloc(sizeof *q);
	q->proc_root = proc_root;
	q->send = send;
	q->ctx = ctx;
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->ended, NULL);
	return q;
}

void usage_queries_stop(struct usage_queries *q)
{
	pthread_mutex_lock(&q->lock);
	q->stopped = true;
	while (q->running)
		pthread_cond_wait(&q->ended, &q->lock);
	pthread_mutex_unlock(&q->lock);
}

void usage_queries_free(struct usage_queries *q)
{
	if (!q)
		return;
	usage_queries_stop(q);
	pthread_cond_destroy(&q->ended);
	pthread_mutex_destroy(&q->lock);
	free(q);
}

static void finish_usage_query(struct query *one)
{
	struct usage_queries *q = one->all;
	link_msg_fini(&one->answer);
	free(one);
	pthread_mutex_lock(&q->lock);
	q->running--;
	pthread_cond_signal(&q->ended);
	pthread_mutex_unlock(&q->lock);
}

static void *run_usage_query(void *arg)
{
	struct query *one = arg;
	struct link_msg *m = &one->answer;
	struct err e = ERR_INIT;
	cgroup_pod_usage(one->all->proc_root, m->u.usage.pods, m->u.usage.count, one->window_ms);
	if (one->all->send(one->all->ctx, one->link, m, &e) < 0)
		LOG_DEBUG("usage", "nobody takes the answer", LOG_S("error", e.kind ? e.message : ""));
	finish_usage_query(one);
	return NULL;
}

static struct query *make_query(struct usage_queries *q, uint64_t link, const struct link_msg *m)
{
	struct query *one = mem_alloc(sizeof *one);
	one->all = q;
	one->link = link;
	one->window_ms = m->u.usage_query.window_ms > LINK_MAX_WINDOW_MS ? LINK_MAX_WINDOW_MS : m->u.usage_query.window_ms;
	size_t count = m->u.usage_query.count;
	one->answer.type = LINK_MSG_USAGE;
	one->answer.u.usage.request_id = m->u.usage_query.request_id;
	one->answer.u.usage.pods = mem_calloc(count ? count : 1, sizeof *one->answer.u.usage.pods);
	one->answer.u.usage.count = count;
	for (size_t i = 0; i < count; i++) {
		struct link_pod_usage *p = &one->answer.u.usage.pods[i];
		memcpy(p->pod_uid, m->u.usage_query.pod_uids[i], sizeof p->pod_uid);
		p->cpu_millicores = p->memory_bytes = -1;
	}
	return one;
}

void usage_queries_start(struct usage_queries *q, uint64_t link, const struct link_msg *m)
{
	pthread_mutex_lock(&q->lock);
	bool full = q->stopped || q->running == USAGE_QUERY_MAX;
	q->running += !full;
	pthread_mutex_unlock(&q->lock);
	if (full) {
		LOG_WARN("usage", "too many queries at once; one is not answered");
		return;
	}
	struct query *one = make_query(q, link, m);
	if (thread_start(NULL, "usage", STACK_BYTES, run_usage_query, one, NULL) < 0)
		finish_usage_query(one);
}
