#include "agent/observe/usage_query.h"

#include "agent/host/cgroup.h"
#include "agent/observe/query_threads.h"
#include "common/base/log.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

struct usage_queries {
	const char *proc_root;
	int (*send)(void *ctx, uint64_t link, const struct link_msg *m, struct err *e);
	void *ctx;
	struct query_threads threads;
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
	query_threads_init(&q->threads);
	return q;
}

void usage_queries_stop(struct usage_queries *q)
{
	query_threads_stop(&q->threads);
}

void usage_queries_free(struct usage_queries *q)
{
	if (!q)
		return;
	query_threads_fini(&q->threads);
	free(q);
}

static void free_usage_query(struct query *one)
{
	link_msg_fini(&one->answer);
	free(one);
}

static void *run_usage_query(void *arg)
{
	struct query *one = arg;
	struct link_msg *m = &one->answer;
	struct err e = ERR_INIT;
	cgroup_pod_usage(one->all->proc_root, m->u.usage.pods, m->u.usage.count, one->window_ms);
	if (one->all->send(one->all->ctx, one->link, m, &e) < 0)
		LOG_DEBUG("usage", "nobody takes the answer", LOG_S("error", e.kind ? e.message : ""));
	struct query_threads *threads = &one->all->threads;
	free_usage_query(one);
	query_threads_leave(threads);
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
	struct query *one = make_query(q, link, m);
	if (!query_threads_start(&q->threads, "usage", USAGE_QUERY_MAX, run_usage_query, one))
		free_usage_query(one);
}
