#include "common/base/mem.h"
#include "controller/sessions/starts.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct {
	size_t asked, called, more;
	int64_t valid, hertz;
	char last[64];
} seen;

/* In the place of the hub's. */
size_t agent_hub_await_starts(struct agent_hub *h, int64_t valid_seconds, int64_t frequency_hertz)
{
	(void)h;
	seen.asked++;
	seen.valid = valid_seconds;
	seen.hertz = frequency_hertz;
	return 2 + seen.more;
}

static void call(void *ctx, const char *key)
{
	(void)ctx;
	seen.called++;
	snprintf(seen.last, sizeof seen.last, "%s", key);
}

static void heard(struct starts *s, const char *pod, int64_t now_ms)
{
	starts_heard(s, "n1", pod, now_ms, call, NULL);
}

Test(starts, agents_are_asked_while_a_session_waits)
{
	struct starts *s = starts_new();
	starts_tick(s, NULL, 0, call, NULL);
	cr_expect_eq(seen.asked, 0, "nobody waits: nothing is asked");
	cr_expect_eq(starts_await(s, NULL, "a/one", 99, 1000), 2);
	cr_expect_eq(starts_await(s, NULL, "a/one", 99, 1500), 2);
	cr_expect(seen.asked == 1 && seen.valid == STARTS_VALID_SECONDS && seen.hertz == 99);
	starts_await(s, NULL, "a/two", 499, 1600);
	cr_expect(seen.asked == 2 && seen.hertz == 499, "the highest frequency");
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
	cr_expect(seen.asked == 5);
	starts_forget(s, NULL, "a/two");
	cr_expect(seen.asked == 6 && seen.valid == 0, "no more");
	starts_free(s);
}

Test(starts, each_start_is_one_sessions)
{
	struct starts *s = starts_new();
	struct started start, again;
	heard(s, "early", 10);
	cr_expect_eq(seen.called, 0, "nobody waits");
	starts_await(s, NULL, "a/one", 99, 20);
	starts_await(s, NULL, "a/two", 99, 20);
	cr_expect_not(starts_next(s, "a/one", 30, &start));
	heard(s, "p1", 40);
	heard(s, "p2", 41);
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

Test(starts, the_oldest_go_where_there_are_too_many)
{
	struct starts *s = starts_new();
	struct started start;
	char pod[40];
	starts_await(s, NULL, "a/one", 99, 0);
	for (int i = 0; i < STARTS_MAX + 2; i++) {
		snprintf(pod, sizeof pod, "p%d", i);
		heard(s, pod, 5);
	}
	cr_assert(starts_next(s, "a/one", 6, &start));
	cr_expect_str_eq(start.pod_uid, "p2");
	starts_free(s);
}
