#include "controller/link/process_query.h"

#include "common/api/reason.h"
#include "common/base/clock.h"
#include "controller/link/agent_hub_private.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define HELLO "{\"type\":\"hello\",\"agentVersion\":\"1\",\"bootID\":\"b\",\"mode\":\"hostPID\",\"processQueries\":"

static struct agent_hub *open_hub(struct process_queries *q)
{
	struct agent_hub_callbacks cb = {.ctx = q, .on_processes = process_queries_on_answer};
	struct agent_hub_transport t = {.wake = NULL};
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

static struct hub_link *linked(struct agent_hub *h, const char *node, const char *hello)
{
	struct hub_link *l = agent_hub_attach(h, node, NULL);
	receive(l, hello);
	return l;
}

/* Plays an agent: for each pod that is asked for one process, and one of a pod that is not. */
struct agent {
	struct hub_link *link;
	atomic_bool stop;
	atomic_int queries, pods;
	bool silent;
};

static void answer(struct agent *a, const struct link_process_query *q)
{
	struct link_process *items = calloc(q->count + 1, sizeof *items);
	struct link_msg out = {.type = LINK_MSG_PROCESSES, .u.processes = {q->request_id, items, q->count + 1, q->count == 3}};
	for (size_t i = 0; i <= q->count; i++) {
		items[i] = (struct link_process){.pid = 1, .user = -1, .cpu_millicores = -1, .memory_bytes = -1, .can_profile = true};
		strcpy(items[i].pod_uid, i < q->count ? q->pods[i].uid : "of-another-node");
	}
	cr_assert_eq(agent_hub_receive(a->link, &out, NULL), 0);
	cr_assert_eq(agent_hub_receive(a->link, &out, NULL), 0, "a second answer changes nothing");
	free(items);
}

static void *play(void *arg)
{
	struct agent *a = arg;
	while (!atomic_load(&a->stop)) {
		char *text = agent_hub_next(a->link);
		if (!text) {
			clock_sleep_until_ms(clock_mono_ms() + 1);
			continue;
		}
		struct link_msg m;
		cr_assert_eq(link_msg_decode(text, strlen(text), &m, NULL), 0);
		free(text);
		cr_assert_eq(m.type, LINK_MSG_PROCESS_QUERY);
		atomic_fetch_add(&a->queries, 1);
		atomic_fetch_add(&a->pods, (int)m.u.process_query.count);
		if (!a->silent)
			answer(a, &m.u.process_query);
		link_msg_fini(&m);
	}
	return NULL;
}

static void add(struct process_pod *pods, size_t *count, const char *node, size_t how_many)
{
	for (size_t i = 0; i < how_many; i++) {
		struct process_pod *p = &pods[(*count)++];
		*p = (struct process_pod){.pod = {"", "shop", "cart"}};
		snprintf(p->pod.uid, sizeof p->pod.uid, "%s-%zu", node, i);
		snprintf(p->node, sizeof p->node, "%s", node);
	}
}

static const char *warning(const struct process_list *l, const char *node)
{
	for (size_t i = 0; i < l->warning_count; i++) {
		if (strcmp(l->warnings[i].node, node) == 0)
			return l->warnings[i].reason;
	}
	return "";
}

Test(process_query, asks_each_node_once_and_says_who_did_not_answer, .timeout = 60)
{
	struct process_queries *q = process_queries_new();
	struct agent_hub *h = open_hub(q);
	struct agent good = {.link = linked(h, "good", HELLO "true}")}, many = {.link = linked(h, "many", HELLO "true}")},
		     silent = {.link = linked(h, "silent", HELLO "true}"), .silent = true};
	struct hub_link *old = linked(h, "old", "{\"type\":\"hello\",\"agentVersion\":\"1\",\"bootID\":\"b\",\"mode\":\"hostPID\"}");
	pthread_t threads[3];
	pthread_create(&threads[0], NULL, play, &good);
	pthread_create(&threads[1], NULL, play, &many);
	pthread_create(&threads[2], NULL, play, &silent);

	static struct process_pod pods[600];
	size_t count = 0;
	add(pods, &count, "good", 3);
	add(pods, &count, "many", 300);
	add(pods, &count, "silent", 1);
	add(pods, &count, "old", 2);
	add(pods, &count, "none", 2);
	struct process_list list;
	int64_t began = clock_mono_ms();
	process_queries_ask(q, h, pods, count, began + 1000, &list);
	cr_expect_geq(clock_mono_ms() - began, 1000, "one is silent");
	cr_expect_eq(list.count, 303);
	for (size_t i = 0; i < list.count; i++)
		cr_expect_str_neq(list.items[i].pod_uid, "of-another-node");
	cr_expect_eq(list.warning_count, 4);
	cr_expect_str_eq(warning(&list, "good"), "Incomplete");
	cr_expect_str_eq(warning(&list, "silent"), REASON_AgentLost);
	cr_expect_str_eq(warning(&list, "old"), REASON_AgentTooOld);
	cr_expect_str_eq(warning(&list, "none"), REASON_NodeWithoutAgent);
	cr_expect_eq(atomic_load(&good.queries), 1);
	cr_expect_eq(atomic_load(&many.queries), 2, "one message takes %d pods", LINK_MAX_QUERIED_PODS);
	cr_expect_eq(atomic_load(&many.pods), 300);
	process_list_fini(&list);

	began = clock_mono_ms();
	process_queries_ask(q, h, pods, 0, began + 60000, &list);
	cr_expect_eq(list.count + list.warning_count, 0);
	count = 0;
	add(pods, &count, "many", 2);
	process_queries_ask(q, h, pods, count, began + 60000, &list);
	cr_expect_eq(list.count, 2);
	cr_expect_lt(clock_mono_ms() - began, 30000, "who has answered is not waited for");
	process_list_fini(&list);

	struct agent *all[] = {&good, &many, &silent};
	for (int i = 0; i < 3; i++) {
		atomic_store(&all[i]->stop, true);
		pthread_join(threads[i], NULL);
		agent_hub_detach(all[i]->link);
	}
	agent_hub_detach(old);
	agent_hub_free(h);
	process_queries_free(q);
}

/* The answer of a node to a question that another node was asked. */
Test(process_query, a_node_speaks_for_itself_only, .timeout = 60)
{
	struct process_queries *q = process_queries_new();
	struct agent_hub *h = open_hub(q);
	struct hub_link *liar = linked(h, "liar", HELLO "true}"), *silent = linked(h, "silent", HELLO "true}");
	struct process_pod pods[1];
	size_t count = 0;
	add(pods, &count, "silent", 1);
	struct link_process item = {.pod_uid = "silent-0", .pid = 1, .can_profile = true};
	for (int64_t id = 1; id < 4; id++) {
		struct link_msg m = {.type = LINK_MSG_PROCESSES, .u.processes = {id, &item, 1, false}};
		cr_assert_eq(agent_hub_receive(liar, &m, NULL), 0);
	}
	struct process_list list;
	process_queries_ask(q, h, pods, count, clock_mono_ms() + 50, &list);
	cr_expect_eq(list.count, 0);
	cr_expect_eq(list.warning_count, 1);
	process_list_fini(&list);
	agent_hub_detach(liar);
	agent_hub_detach(silent);
	agent_hub_free(h);
	process_queries_free(q);
}
