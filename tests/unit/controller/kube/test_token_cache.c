#include "controller/kube/token_cache.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define NOW 1000000

static struct agent_identity who(const char *node, int64_t expires)
{
	struct agent_identity a = {.expires_wall_ms = expires};
	snprintf(a.node, sizeof a.node, "%s", node);
	return a;
}

static bool has(struct token_cache *c, const char *token, int64_t now)
{
	struct agent_identity got;
	return token_cache_get(c, token, now, &got);
}

Test(token_cache, a_review_is_believed_until_it_is_old_or_the_token_expires)
{
	struct token_cache *c = token_cache_new(10);
	struct agent_identity a = who("node-a", NOW + 10 * TOKEN_REVIEW_CACHE_MS), b = who("node-b", NOW + 500), got;
	token_cache_put(c, "token-a", NOW, &a);
	token_cache_put(c, "token-b", NOW, &b);
	cr_assert(token_cache_get(c, "token-a", NOW, &got));
	cr_expect_str_eq(got.node, "node-a");
	cr_expect_not(has(c, "token-A", NOW));
	cr_expect(has(c, "token-b", NOW + 499));
	cr_expect_not(has(c, "token-b", NOW + 500), "expired");
	cr_expect_not(has(c, "token-b", NOW), "and then forgotten");
	cr_expect(has(c, "token-a", NOW + TOKEN_REVIEW_CACHE_MS));
	cr_expect_not(has(c, "token-a", NOW + TOKEN_REVIEW_CACHE_MS + 1), "too old");
	token_cache_free(c);
	token_cache_free(NULL);
}

Test(token_cache, a_newer_review_of_the_same_token_counts)
{
	struct token_cache *c = token_cache_new(10);
	struct agent_identity old = who("old", NOW + 100), newer = who("new", NOW + 100), got;
	token_cache_put(c, "t", NOW, &old);
	token_cache_put(c, "t", NOW + 1, &newer);
	cr_assert(token_cache_get(c, "t", NOW + 1, &got));
	cr_expect_str_eq(got.node, "new");
	token_cache_free(c);
}

Test(token_cache, the_oldest_entry_makes_room)
{
	struct token_cache *c = token_cache_new(3);
	struct agent_identity a = who("n", NOW + 100000);
	char token[16];
	for (int i = 0; i < 5; i++) {
		snprintf(token, sizeof token, "t%d", i);
		token_cache_put(c, token, NOW + i, &a);
	}
	for (int i = 0; i < 5; i++) {
		snprintf(token, sizeof token, "t%d", i);
		cr_expect_eq(has(c, token, NOW + 5), i >= 2, "%s", token);
	}
	token_cache_free(c);
}

static void *use(void *arg)
{
	struct agent_identity a = who("n", NOW + 100000);
	char token[16];
	for (int i = 0; i < 2000; i++) {
		snprintf(token, sizeof token, "t%d", i % 20);
		token_cache_put(arg, token, NOW + i, &a);
		has(arg, token, NOW + i);
	}
	return NULL;
}

Test(token_cache, many_threads)
{
	struct token_cache *c = token_cache_new(10);
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, use, c), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	token_cache_free(c);
}
