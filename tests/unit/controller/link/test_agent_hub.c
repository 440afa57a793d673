#include "controller/link/agent_hub_private.h"

#include "common/api/reason.h"
#include "common/base/clock.h"
#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	int jobs, ups, downs, uploads, observed, completes;
	atomic_int wakes;
	char last_node[64], last_job[64];
	int64_t last_epoch;
} seen;

static void on_job(void *ctx, const char *node, const struct link_job *j)
{
	(void)ctx;
	seen.jobs++;
	snprintf(seen.last_node, sizeof seen.last_node, "%s", node);
	snprintf(seen.last_job, sizeof seen.last_job, "%s", j->job_id);
}

static void on_node(void *ctx, const char *node, bool linked, int64_t epoch)
{
	(void)ctx, (void)node;
	*(linked ? &seen.ups : &seen.downs) += 1;
	seen.last_epoch = epoch;
}

static void on_jobs_complete(void *ctx, const char *node, int64_t epoch)
{
	(void)ctx, (void)node;
	seen.completes++;
	seen.last_epoch = epoch;
}

static void on_observed(void *ctx, const char *node, const struct link_observed *items, size_t count)
{
	(void)ctx;
	seen.observed += (int)count;
	cr_expect_eq(items[0].state, LINK_OBSERVED_ABOVE);
	snprintf(seen.last_node, sizeof seen.last_node, "%s", node);
}

static void wake(void *ctx)
{
	(void)ctx;
	atomic_fetch_add(&seen.wakes, 1);
}

static void upload(void *ctx, const char *node, const char *job_id, const struct link_report *r)
{
	(void)ctx, (void)node, (void)job_id, (void)r;
	seen.uploads++;
}

static struct agent_hub *open_hub(void)
{
	struct agent_hub_callbacks cb = {.on_job = on_job, .on_node = on_node, .on_observed = on_observed, .on_jobs_complete = on_jobs_complete};
	struct agent_hub_transport t = {.wake = wake, .upload = upload};
	return agent_hub_new(&cb, &t);
}

static void receive(struct hub_link *l, const char *text)
{
	struct link_msg m;
	struct err e = ERR_INIT;
	cr_assert_eq(link_msg_decode(text, strlen(text), &m, &e), 0, "%s", e.message);
	cr_assert_eq(agent_hub_receive(l, &m, &e), 0, "%s", e.message);
	link_msg_fini(&m);
}

static struct hub_link *linked(struct agent_hub *h, const char *node, int64_t epoch)
{
	struct hub_link *l = agent_hub_attach(h, node, (void *)(uintptr_t)node);
	char text[200];
	snprintf(text, sizeof text, "{\"type\":\"hello\",\"epoch\":%lld,\"agentVersion\":\"1\",\"bootID\":\"b\",\"mode\":\"hostPID\",\"perfEvents\":true}",
		 (long long)epoch);
	receive(l, text);
	return l;
}

/* The next message's type and epoch. */
static enum link_msg_type next(struct hub_link *l, int64_t *epoch)
{
	char *text = agent_hub_next(l);
	struct link_msg m = {0};
	if (text)
		cr_assert_eq(link_msg_decode(text, strlen(text), &m, NULL), 0);
	enum link_msg_type type = m.type;
	if (epoch)
		*epoch = m.epoch;
	link_msg_fini(&m);
	free(text);
	return type;
}

Test(agent_hub, an_agent_counts_from_its_hello_until_its_end)
{
	struct agent_hub *h = open_hub();
	struct agent_info info;
	struct hub_link *l = agent_hub_attach(h, "n", (void *)(uintptr_t)"n");
	cr_expect_not(agent_hub_lookup(h, "n", NULL));
	struct link_msg early = {.type = LINK_MSG_JOB};
	struct err e = ERR_INIT;
	cr_expect_eq(agent_hub_receive(l, &early, &e), -1);
	cr_expect_eq(e.kind, ERR_PROTOCOL);
	agent_hub_detach(l);
	cr_expect_eq(seen.ups + seen.downs, 0);
	l = linked(h, "n", 7);
	cr_assert(agent_hub_lookup(h, "n", &info));
	cr_expect_str_eq(info.mode, "hostPID");
	cr_expect(info.perf_events);
	cr_expect_eq(agent_hub_highest_epoch(h, INT64_MAX), 7);
	cr_expect_eq(agent_hub_highest_epoch(h, 7), 7);
	cr_expect_eq(agent_hub_highest_epoch(h, 6), 0, "nobody said anything that is believed");
	cr_expect_eq(agent_hub_count(h), 1);
	receive(l, "{\"type\":\"job\",\"jobID\":\"j\",\"phase\":\"Queued\"}");
	cr_expect_str_eq(seen.last_job, "j");
	cr_expect_str_eq(seen.last_node, "n");
	receive(l, "{\"type\":\"of the future\"}");
	agent_hub_detach(l);
	cr_expect_eq(seen.ups, 1);
	cr_expect_eq(seen.downs, 1);
	cr_expect_eq(agent_hub_count(h), 0);
	agent_hub_detach(NULL);
	agent_hub_free(h);
	agent_hub_free(NULL);
}

Test(agent_hub, an_agent_says_when_it_has_told_of_all_its_jobs)
{
	struct agent_hub *h = open_hub();
	struct agent_info info;
	struct hub_link *l = linked(h, "n", 0);
	cr_expect(agent_hub_lookup(h, "n", &info) && !info.jobs_complete, "an older one does not");
	receive(l, "{\"type\":\"hello\",\"agentVersion\":\"2\",\"bootID\":\"b\",\"mode\":\"hostPID\",\"jobsComplete\":true}");
	cr_expect(agent_hub_lookup(h, "n", &info) && info.jobs_complete);
	receive(l, "{\"type\":\"jobsComplete\",\"epoch\":7}");
	cr_expect_eq(seen.completes, 1);
	cr_expect_eq(seen.last_epoch, 7);
	agent_hub_detach(l);
	agent_hub_free(h);
}

Test(agent_hub, only_a_leader_gives_orders_and_they_carry_its_epoch)
{
	struct agent_hub *h = open_hub();
	struct hub_link *l = linked(h, "n", 0);
	struct err e = ERR_INIT;
	cr_expect_eq(agent_hub_cancel(h, "n", "j", &e), -1);
	cr_expect_eq(e.kind, ERR_CONFLICT);
	cr_expect_eq(next(l, NULL), LINK_MSG_UNKNOWN, "nothing waits");
	agent_hub_set_epoch(h, 4);
	agent_hub_set_epoch(h, 4);
	int64_t epoch;
	cr_expect_eq(next(l, &epoch), LINK_MSG_LEADER);
	cr_expect_eq(epoch, 4);
	cr_expect_eq(next(l, NULL), LINK_MSG_UNKNOWN, "announced once");
	cr_expect_eq(agent_hub_cancel(h, "n", "j", NULL), 0);
	cr_expect_eq(agent_hub_forget(h, "n", "j", NULL), 0);
	cr_expect_eq(next(l, &epoch), LINK_MSG_CANCEL);
	cr_expect_eq(epoch, 4);
	cr_expect_eq(next(l, NULL), LINK_MSG_FORGET);
	e = (struct err)ERR_INIT;
	cr_expect_eq(agent_hub_cancel(h, "other", "j", &e), -1);
	cr_expect_eq(e.kind, ERR_NOT_FOUND);
	cr_expect_eq(e.reason, REASON_NodeWithoutAgent);
	struct hub_link *late = linked(h, "late", 0);
	cr_expect_eq(next(late, &epoch), LINK_MSG_LEADER);
	agent_hub_set_epoch(h, 0);
	cr_expect_eq(agent_hub_cancel(h, "n", "j", NULL), -1);
	agent_hub_detach(l);
	agent_hub_detach(late);
	agent_hub_free(h);
}

Test(agent_hub, only_a_leader_has_pods_observed)
{
	struct agent_hub *h = open_hub();
	struct hub_link *l = linked(h, "n", 0);
	struct link_observation o = {.id = "t", .pod_uid = "u", .container = "c", .container_id = "d", .above_percent = 80, .for_seconds = 5};
	struct err e = ERR_INIT;
	cr_expect_eq(agent_hub_observe(h, "n", &o, 1, 60, &e), -1);
	cr_expect_eq(e.kind, ERR_CONFLICT);
	agent_hub_set_epoch(h, 3);
	cr_expect_eq(next(l, NULL), LINK_MSG_LEADER);
	int64_t epoch = 0;
	cr_expect_eq(agent_hub_observe(h, "n", &o, 1, 60, NULL), 0);
	cr_expect_eq(next(l, &epoch), LINK_MSG_OBSERVE);
	cr_expect_eq(epoch, 3);
	cr_expect_eq(agent_hub_observe(h, "n", NULL, 0, 60, NULL), 0, "nothing any more");
	cr_expect_eq(next(l, NULL), LINK_MSG_OBSERVE);
	cr_expect_eq(agent_hub_observe(h, "gone", &o, 1, 60, NULL), -1);
	receive(l, "{\"type\":\"observed\",\"items\":[{\"id\":\"t\",\"podUID\":\"u\",\"container\":\"c\",\"state\":\"Above\",\"sinceTime\":1}]}");
	cr_expect_eq(seen.observed, 1);
	cr_expect_str_eq(seen.last_node, "n");
	agent_hub_detach(l);
	agent_hub_free(h);
}

Test(agent_hub, a_mailbox_has_a_bound)
{
	struct agent_hub *h = open_hub();
	struct hub_link *l = linked(h, "n", 0);
	agent_hub_set_epoch(h, 1);
	next(l, NULL);
	struct err e = ERR_INIT;
	for (int i = 0; i < AGENT_HUB_MAILBOX_MAX; i++)
		cr_assert_eq(agent_hub_cancel(h, "n", "j", NULL), 0);
	cr_expect_eq(agent_hub_cancel(h, "n", "j", &e), -1);
	cr_expect_eq(e.kind, ERR_RETRY);
	cr_expect_eq(next(l, NULL), LINK_MSG_CANCEL);
	cr_expect_eq(agent_hub_cancel(h, "n", "j", NULL), 0);
	agent_hub_detach(l);
	agent_hub_free(h);
}

Test(agent_hub, links_with_something_to_do_come_once_each)
{
	struct agent_hub *h = open_hub();
	struct hub_link *a = linked(h, "a", 0), *b = linked(h, "b", 0), *c = linked(h, "c", 0);
	agent_hub_set_epoch(h, 1);
	agent_hub_cancel(h, "a", "j", NULL);
	agent_hub_detach(b);
	cr_expect_str_eq((const char *)agent_hub_next_pending(h), "a");
	cr_expect_str_eq((const char *)agent_hub_next_pending(h), "c");
	cr_expect_null(agent_hub_next_pending(h));
	agent_hub_cancel(h, "c", "j", NULL);
	agent_hub_cancel(h, "a", "j", NULL);
	agent_hub_detach(a);
	cr_expect_str_eq((const char *)agent_hub_next_pending(h), "c");
	cr_expect_null(agent_hub_next_pending(h));
	agent_hub_detach(c);
	agent_hub_free(h);
}

Test(agent_hub, a_newer_link_of_a_node_takes_over)
{
	struct agent_hub *h = open_hub();
	struct hub_link *older = linked(h, "n", 1), *newer = linked(h, "n", 2);
	cr_expect(agent_hub_is_replaced(older));
	cr_expect_not(agent_hub_is_replaced(newer));
	cr_expect_eq(agent_hub_count(h), 1);
	cr_expect_eq(seen.ups, 2);
	cr_expect_eq(seen.downs, 1, "what was told in the older one counts no more");
	int jobs = seen.jobs;
	receive(older, "{\"type\":\"job\",\"jobID\":\"j\",\"phase\":\"Queued\"}");
	cr_expect_eq(seen.jobs, jobs, "what the older one says counts no more");
	agent_hub_detach(older);
	cr_expect_eq(seen.downs, 1, "the node is still linked");
	cr_expect(agent_hub_lookup(h, "n", NULL));
	agent_hub_detach(newer);
	cr_expect_eq(seen.downs, 2);
	agent_hub_free(h);
}

Test(agent_hub, uploads_and_what_agents_do_not_send)
{
	struct agent_hub *h = open_hub();
	struct hub_link *l = linked(h, "n", 0);
	struct link_msg request = {.type = LINK_MSG_UPLOAD_REQUEST, .job_id = "j"};
	cr_expect_eq(agent_hub_receive(l, &request, NULL), 0);
	cr_expect_eq(seen.uploads, 1);
	struct link_msg answer = {.type = LINK_MSG_UPLOAD_DENIED, .job_id = "j", .u.upload_denied = {.report_name = "r"}};
	agent_hub_answer_upload(h, "n", &answer);
	agent_hub_answer_upload(h, "gone", &answer);
	cr_expect_eq(next(l, NULL), LINK_MSG_UPLOAD_DENIED);
	for (int type = LINK_MSG_LEADER; type <= LINK_MSG_USAGE_QUERY; type++) {
		struct link_msg m = {.type = (enum link_msg_type)type};
		cr_expect_eq(agent_hub_receive(l, &m, NULL), -1, "type %d", type);
	}
	agent_hub_detach(l);
	agent_hub_free(h);
}

/* One thread plays the link thread of two nodes, others ask and give orders. */
struct crowd {
	struct agent_hub *hub;
	atomic_bool stop;
};

static void answer_queries(struct hub_link *l, int64_t cpu)
{
	char *text;
	while ((text = agent_hub_next(l))) {
		struct link_msg m;
		cr_assert_eq(link_msg_decode(text, strlen(text), &m, NULL), 0);
		free(text);
		if (m.type == LINK_MSG_USAGE_QUERY) {
			struct link_pod_usage pods[2] = {{.pod_uid = "pod-a", .cpu_millicores = cpu}, {.pod_uid = "pod-b", .cpu_millicores = cpu}};
			struct link_msg out = {.type = LINK_MSG_USAGE, .u.usage = {m.u.usage_query.request_id, pods, 2}};
			cr_assert_eq(agent_hub_receive(l, &out, NULL), 0);
		}
		link_msg_fini(&m);
	}
}

static void *serve(void *arg)
{
	struct crowd *c = arg;
	while (!atomic_load(&c->stop)) {
		struct hub_link *a = linked(c->hub, "node-a", 1), *b = linked(c->hub, "node-b", 1);
		for (int i = 0; i < 200 && !atomic_load(&c->stop); i++) {
			while (agent_hub_next_pending(c->hub))
				;
			answer_queries(a, 10);
			answer_queries(b, 20);
		}
		agent_hub_detach(a);
		agent_hub_detach(b);
	}
	return NULL;
}

static void *ask(void *arg)
{
	struct crowd *c = arg;
	static const char *const nodes[] = {"node-a", "node-b"};
	for (int i = 0; i < 100; i++) {
		struct link_pod_usage pods[2] = {{.pod_uid = "pod-a"}, {.pod_uid = "pod-b"}};
		agent_hub_usage(c->hub, nodes, pods, 2, 0, clock_mono_ms() + 20);
		/* Each node's word counts for its own pod only. */
		cr_assert(pods[0].cpu_millicores == 10 || pods[0].cpu_millicores == -1);
		cr_assert(pods[1].cpu_millicores == 20 || pods[1].cpu_millicores == -1);
		agent_hub_cancel(c->hub, nodes[i % 2], "j", NULL);
		agent_hub_set_epoch(c->hub, i % 5);
		agent_hub_highest_epoch(c->hub, INT64_MAX);
	}
	return NULL;
}

Test(agent_hub, many_threads)
{
	struct crowd c = {.hub = open_hub()};
	pthread_t link, askers[3];
	cr_assert_eq(pthread_create(&link, NULL, serve, &c), 0);
	for (int i = 0; i < 3; i++)
		cr_assert_eq(pthread_create(&askers[i], NULL, ask, &c), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(askers[i], NULL);
	atomic_store(&c.stop, true);
	pthread_join(link, NULL);
	cr_expect_gt(atomic_load(&seen.wakes), 0);
	agent_hub_free(c.hub);
}

Test(agent_hub, usage_without_an_answer_ends_at_the_deadline)
{
	struct agent_hub *h = open_hub();
	struct hub_link *l = linked(h, "n", 0);
	static const char *const nodes[] = {"n", "gone"};
	struct link_pod_usage pods[2] = {{.pod_uid = "pod-a"}, {.pod_uid = "pod-b"}};
	int64_t began = clock_mono_ms();
	agent_hub_usage(h, nodes, pods, 2, 0, began + 30);
	cr_expect_geq(clock_mono_ms() - began, 30);
	cr_expect_eq(pods[0].cpu_millicores, -1);
	cr_expect_eq(pods[1].memory_bytes, -1);
	began = clock_mono_ms();
	agent_hub_usage(h, nodes + 1, pods + 1, 1, 0, began + 60000);
	cr_expect_lt(clock_mono_ms() - began, 30000, "nobody to wait for");
	agent_hub_detach(l);
	agent_hub_free(h);
}

/* How many pods the agent of this link was told of, or -1: nothing. */
static int told_of(struct hub_link *l, const char *has, const char *has_not)
{
	struct link_msg m;
	struct err e = ERR_INIT;
	char *text = agent_hub_next(l);
	if (!text)
		return -1;
	cr_assert_eq(link_msg_decode(text, strlen(text), &m, &e), 0, "%s", e.message);
	int count = m.type == LINK_MSG_AWAIT_STARTS ? (int)m.u.await_starts.count : -2;
	cr_expect(!has || strstr(text, has), "%s", text);
	cr_expect(!strstr(text, has_not), "%s", text);
	link_msg_fini(&m);
	free(text);
	return count;
}

Test(agent_hub, each_agent_is_told_of_its_own_node_s_awaited_pods)
{
	static const char hello[] = "{\"type\":\"hello\",\"agentVersion\":\"1\",\"bootID\":\"b\",\"mode\":\"hostPID\",\"podStarts\":true}";
	static const struct awaited_pod pods[] = {{"n1", {"u1", "a", 99}}, {"n1", {"u2", "b", 499}}, {"n3", {"u3", "a", 99}}};
	struct agent_hub *h = open_hub();
	struct hub_link *one = agent_hub_attach(h, "n1", NULL), *two = agent_hub_attach(h, "n2", NULL), *old = linked(h, "n3", 0);
	receive(one, hello);
	receive(two, hello);
	cr_expect_eq(agent_hub_await_starts(h, NULL, 120, pods, 3), 0, "this replica does not lead");
	agent_hub_set_epoch(h, 5);
	struct hub_link *all[] = {one, two, old};
	for (size_t i = 0; i < 3; i++)
		cr_expect_eq(told_of(all[i], "leader", "pods"), -2);
	cr_expect_eq(agent_hub_await_starts(h, NULL, 120, pods, 3), 2);
	cr_expect_eq(told_of(one, "u2", "u3"), 2);
	cr_expect_eq(told_of(two, NULL, "u1"), 0, "it watches, and samples nothing");
	cr_expect_eq(told_of(old, NULL, "u"), -1, "an agent that would sample every container is not asked");
	cr_expect_eq(agent_hub_await_starts(h, "n1", 120, pods, 1), 1);
	cr_expect_eq(told_of(one, "u1", "u2"), 1);
	cr_expect_eq(told_of(two, NULL, "u"), -1);
	cr_expect_eq(agent_hub_await_starts(h, "n9", 120, pods, 1), 0);
	for (size_t i = 0; i < 3; i++)
		agent_hub_detach(all[i]);
	agent_hub_free(h);
}
