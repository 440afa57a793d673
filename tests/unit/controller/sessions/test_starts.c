#include "common/base/mem.h"
#include "controller/sessions/start_pods.h"
#include "controller/sessions/starts.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct {
	size_t asked, called, more;
	int64_t valid;
	char node[64], told[4096]; /* whom the last question was for, and its pods: "uid@node:hertz ..." */
	char last[64];
	size_t watches;
	struct start_pods_callbacks api; /* of the watch that was made last */
} seen;

/* In the place of the hub's. */
size_t agent_hub_await_starts(struct agent_hub *h, const char *node, int64_t valid_seconds, const struct awaited_pod *pods, size_t count)
{
	(void)h;
	seen.asked++;
	seen.valid = valid_seconds;
	snprintf(seen.node, sizeof seen.node, "%s", node ? node : "*");
	seen.told[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(seen.told);
		cr_expect(i == 0 || strcmp(pods[i - 1].node, pods[i].node) <= 0, "sorted by nodes");
		snprintf(seen.told + len, sizeof seen.told - len, "%s%s/%s@%s:%lld", i ? " " : "", pods[i].pod.namespace, pods[i].pod.uid, pods[i].node,
			 (long long)pods[i].pod.frequency_hertz);
	}
	return 2 + seen.more;
}

/* In the place of the watch's. */
struct start_pods *start_pods_new(const struct kube_config *config, const char *key, const char *namespace, const struct session_target *t,
				  const struct start_pods_callbacks *callbacks, struct err *e)
{
	(void)config, (void)key, (void)namespace, (void)t, (void)e;
	seen.watches++;
	seen.api = *callbacks;
	return mem_alloc(1);
}

void start_pods_free(struct start_pods *p)
{
	seen.watches -= p != NULL;
	free(p);
}

static void call(void *ctx, const char *key)
{
	(void)ctx;
	seen.called++;
	snprintf(seen.last, sizeof seen.last, "%s", key);
}

static enum starts_verdict heard(struct starts *s, const char *node, const char *pod, int64_t now_ms)
{
	return starts_heard(s, node, pod, now_ms, call, NULL);
}

/* The namespace is what stands before the slash. */
static int await(struct starts *s, const char *key, int64_t hertz, int64_t now_ms)
{
	char namespace[64];
	size_t agents;
	struct err e = ERR_INIT;
	snprintf(namespace, sizeof namespace, "%.*s", (int)strcspn(key, "/"), key);
	struct start_wish wish = {.key = key, .namespace = namespace, .frequency_hertz = hertz};
	int rc = starts_await(s, NULL, &wish, now_ms, &agents, &e);
	cr_expect(rc != 1 || agents == 2 + seen.more);
	return rc;
}

static void bound(const char *key, const char *uid, const char *node)
{
	seen.api.pod(seen.api.ctx, key, uid, node, false);
}

Test(starts, agents_are_asked_while_a_session_waits)
{
	struct starts *s = starts_new(NULL);
	starts_tick(s, NULL, 0, call, NULL);
	cr_expect_eq(seen.asked, 0, "nobody waits: nothing is asked");
	cr_expect_eq(await(s, "a/one", 99, 1000), 1);
	cr_expect_eq(await(s, "a/one", 99, 1500), 1);
	cr_expect(seen.asked == 1 && seen.valid == STARTS_VALID_SECONDS && seen.watches == 1);
	await(s, "a/two", 499, 1600);
	cr_expect(seen.asked == 2 && seen.watches == 2);
	starts_tick(s, NULL, 1600 + STARTS_CONFIRM_MS - 1, call, NULL);
	cr_expect_eq(seen.asked, 2);
	starts_tick(s, NULL, 1600 + STARTS_CONFIRM_MS, call, NULL);
	cr_expect_eq(seen.asked, 3, "again, before they stop");
	starts_node(s);
	starts_tick(s, NULL, 1600 + STARTS_CONFIRM_MS + 500, call, NULL);
	cr_expect_eq(seen.asked, 3, "those that link at once are asked together");
	starts_tick(s, NULL, 1600 + STARTS_CONFIRM_MS + 1000, call, NULL);
	cr_expect(seen.asked == 4 && seen.called == 0);
	seen.more = 1;
	starts_node(s);
	starts_tick(s, NULL, 1600 + STARTS_CONFIRM_MS + 2000, call, NULL);
	cr_expect(seen.asked == 5 && seen.called == 2, "more agents watch: both sessions say so");
	starts_forget(s, NULL, "a/one");
	starts_forget(s, NULL, "a/none");
	cr_expect(seen.asked == 5 && seen.watches == 1);
	starts_tick(s, NULL, 1600 + STARTS_CONFIRM_MS + 3000, call, NULL);
	cr_expect(seen.asked == 6, "without the pods of who waits no longer");
	starts_forget(s, NULL, "a/two");
	cr_expect(seen.asked == 7 && seen.valid == 0 && seen.watches == 0, "no more");
	starts_free(s);
}

Test(starts, agents_are_told_of_the_target_s_pods_on_their_node_and_of_no_other)
{
	struct starts *s = starts_new(NULL);
	await(s, "a/one", 99, 1000);
	cr_expect_str_eq(seen.told, "", "nothing is known of its pods: nothing is sampled");
	seen.api.list_begin(seen.api.ctx, "a/one");
	bound("a/one", "p2", "n2");
	bound("a/one", "p1", "n1");
	cr_expect_eq(seen.asked, 1, "they are told of the whole list at once");
	seen.api.list_end(seen.api.ctx, "a/one");
	cr_expect_str_eq(seen.node, "*");
	cr_expect_str_eq(seen.told, "a/p1@n1:99 a/p2@n2:99");
	await(s, "a/two", 999, 1100);
	bound("a/two", "p2", "n2");
	cr_expect_str_eq(seen.node, "n2", "the node's agent, at once");
	cr_expect_str_eq(seen.told, "a/p2@n2:999", "the highest frequency that is asked for");
	await(s, "b/one", 499, 1200);
	bound("b/one", "q1", "n1");
	cr_expect_str_eq(seen.told, "a/p1@n1:99 b/q1@n1:499", "another's frequency is that of its own pods");
	size_t asked = seen.asked;
	bound("b/one", "q1", "n1");
	cr_expect_eq(seen.asked, asked, "no news");
	seen.api.pod(seen.api.ctx, "a/one", "p1", "n1", true);
	seen.api.list_begin(seen.api.ctx, "b/one");
	seen.api.list_end(seen.api.ctx, "b/one");
	cr_expect_str_eq(seen.told, "a/p2@n2:999", "those that are gone are not");
	cr_expect(starts_count(s).sessions == 3 && starts_count(s).pods == 2);
	starts_reset(s);
	cr_expect_eq(seen.watches, 0);
	bound("a/one", "p1", "n1");
	starts_free(s);
}

Test(starts, one_namespace_cannot_have_all_places)
{
	struct starts *s = starts_new(NULL);
	char key[40];
	for (int i = 0; i < STARTS_SESSIONS_PER_NAMESPACE; i++) {
		snprintf(key, sizeof key, "a/%d", i);
		cr_expect_eq(await(s, key, 99, 0), 1);
	}
	cr_expect_eq(await(s, "a/more", 99, 0), 0);
	cr_expect_eq(await(s, "a/0", 99, 0), 1, "it waits already");
	cr_expect_eq(await(s, "b/one", 99, 0), 1, "another namespace's");
	starts_forget(s, NULL, "a/0");
	cr_expect_eq(await(s, "a/more", 99, 0), 1);
	starts_free(s);
}

Test(starts, each_start_is_one_sessions)
{
	struct starts *s = starts_new(NULL);
	struct started start, again;
	cr_expect_eq(heard(s, "n1", "p1", 10), STARTS_UNASKED);
	cr_expect_eq(seen.called, 0, "nobody waits");
	await(s, "a/one", 99, 20);
	bound("a/one", "p1", "n1");
	bound("a/one", "p2", "n1");
	await(s, "a/two", 99, 20);
	bound("a/two", "p1", "n1");
	bound("a/two", "p2", "n1");
	cr_expect_not(starts_next(s, "a/one", 30, &start));
	cr_expect_eq(heard(s, "n1", "p1", 40), STARTS_TAKEN);
	cr_expect_eq(heard(s, "n1", "p2", 41), STARTS_TAKEN);
	cr_expect_eq(seen.called, 4);
	cr_assert(starts_next(s, "a/one", 50, &start));
	cr_expect(strcmp(start.pod_uid, "p1") == 0 && strcmp(start.node, "n1") == 0);
	cr_expect_not(starts_taken(s, "a/one", 50, &again));
	cr_expect(starts_take(s, "a/one", &start));
	cr_expect_not(starts_take(s, "a/two", &start), "another was faster");
	cr_expect(starts_taken(s, "a/one", 50, &again) && strcmp(again.pod_uid, "p1") == 0);
	cr_assert(starts_next(s, "a/two", 50, &start));
	cr_expect(strcmp(start.pod_uid, "p2") == 0);
	cr_expect_not(starts_next(s, "a/two", 50, &start), "looked at once");
	cr_expect_not(starts_taken(s, "a/one", 40 + STARTS_KEPT_MS, &again), "its samples are gone");
	starts_reset(s);
	cr_expect_not(starts_taken(s, "a/one", 50, &again));
	starts_free(s);
}

Test(starts, a_node_speaks_of_its_own_pods_only)
{
	struct starts *s = starts_new(NULL);
	struct started start;
	await(s, "a/one", 99, 0);
	bound("a/one", "p1", "n1");
	cr_expect_eq(heard(s, "n2", "p1", 5), STARTS_FOREIGN);
	cr_expect_eq(heard(s, "n2", "other", 5), STARTS_UNASKED);
	cr_expect(seen.called == 0 && !starts_next(s, "a/one", 6, &start));
	cr_expect_eq(heard(s, "n1", "p1", 7), STARTS_TAKEN);
	cr_expect(starts_next(s, "a/one", 8, &start) && strcmp(start.node, "n1") == 0);
	starts_free(s);
}

Test(starts, who_speaks_much_pushes_out_its_own_words_only)
{
	struct starts *s = starts_new(NULL);
	struct started start;
	await(s, "a/one", 99, 0);
	bound("a/one", "p1", "n1");
	await(s, "b/one", 99, 0);
	bound("b/one", "q1", "n2");
	bound("b/one", "q2", "n2");
	heard(s, "n1", "p1", 5);
	heard(s, "n2", "q2", 5);
	for (int i = 0; i < 1000; i++)
		heard(s, "n2", "q1", 6);
	cr_expect(starts_next(s, "b/one", 7, &start) && strcmp(start.pod_uid, "q1") == 0, "the oldest of that node has gone");
	cr_expect(starts_next(s, "a/one", 7, &start) && strcmp(start.pod_uid, "p1") == 0, "another node's has not");
	starts_tick(s, NULL, 6 + STARTS_KEPT_MS, call, NULL);
	cr_expect_not(starts_next(s, "b/one", 7, &start), "what is too old is forgotten");
	starts_free(s);
}
