#include "controller/sessions/budget.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct budget_limits few = {.max_pods = 3, .max_pods_per_node = 2, .max_jobs_per_node = 4};

static void ask(struct budget *b, const char *key, int priority, int64_t created_ms, size_t want)
{
	char namespace[64];
	snprintf(namespace, sizeof namespace, "%.*s", (int)strcspn(key, "/"), key);
	budget_ask(b, &(struct budget_request){.key = key, .namespace = namespace, .priority = priority, .created_ms = created_ms, .want = want});
}

static void note(void *ctx, const char *key)
{
	char *text = ctx;
	snprintf(text + strlen(text), 1000 - strlen(text), "%s%s", text[0] ? " " : "", key);
}

static const char *granted(struct budget *b)
{
	static char text[1000];
	text[0] = '\0';
	budget_grant(b, note, text);
	return text;
}

static size_t place(struct budget *b, const char *key)
{
	struct budget_place p;
	budget_count_places(b);
	cr_assert(budget_look(b, key, &p), "%s is not known", key);
	return p.place;
}

static bool choose(struct budget *b, const char *key, const char *node)
{
	return budget_choose(b, key, &node, 1);
}

Test(budget, namespaces_take_turns_and_within_one_priority_then_age_counts)
{
	struct budget b;
	budget_init(&b, &few);
	ask(&b, "a/old", 1, 1, 1);
	ask(&b, "a/older", 1, 0, 1);
	ask(&b, "a/high", 2, 9, 1);
	ask(&b, "a/low", 0, 0, 1);
	ask(&b, "b/one", 1, 50, 1);
	cr_expect_str_eq(granted(&b), "a/high b/one a/older");
	cr_expect_eq(place(&b, "a/old"), 1);
	cr_expect_eq(place(&b, "a/low"), 2);
	ask(&b, "b/two", 1, 60, 1);
	cr_expect_eq(place(&b, "b/two"), 1, "its namespace has less in use");
	cr_expect_str_eq(granted(&b), "");
	budget_release(&b, "a/high");
	cr_expect_str_eq(granted(&b), "a/old", "one each: the one that was served longer ago");
	budget_release(&b, "a/older");
	cr_expect_str_eq(granted(&b), "b/two");
	budget_fini(&b);
}

Test(budget, who_asks_twice_waits_once)
{
	struct budget b;
	budget_init(&b, &few);
	for (int i = 0; i < 3; i++)
		ask(&b, "a/x", 1, 1, 2);
	cr_expect_eq(b.waiting, 1);
	cr_expect_str_eq(granted(&b), "a/x");
	ask(&b, "a/x", 1, 1, 2);
	cr_expect_eq(b.waiting, 0);
	cr_expect_eq(b.used, 2);
	budget_release(&b, "a/x");
	budget_release(&b, "a/x");
	cr_expect_eq(b.used, 0);
	budget_fini(&b);
}

Test(budget, a_full_node_lets_others_past_but_not_onto_it)
{
	struct budget b;
	budget_init(&b, &(struct budget_limits){.max_pods = 10, .max_pods_per_node = 1, .max_jobs_per_node = 4});
	ask(&b, "a/1", 1, 1, 1);
	ask(&b, "a/2", 1, 2, 1);
	ask(&b, "a/3", 1, 3, 1);
	ask(&b, "a/4", 1, 4, 1);
	cr_expect_str_eq(granted(&b), "a/1 a/2 a/3 a/4");
	cr_expect(choose(&b, "a/1", "n1"));
	cr_expect_not(choose(&b, "a/2", "n1"));
	cr_expect_not(choose(&b, "a/3", "n1"));
	cr_expect(choose(&b, "a/4", "n2"), "another node has room");
	struct budget_place p;
	budget_look(&b, "a/2", &p);
	cr_expect_str_eq(p.node, "n1");
	cr_expect_str_eq(granted(&b), "");
	cr_expect_eq(b.used, 2, "who waits for a node occupies nothing");
	budget_release(&b, "a/1");
	cr_expect_str_eq(granted(&b), "a/2");
	cr_expect(choose(&b, "a/2", "n1"));
	cr_expect_str_eq(granted(&b), "");
	budget_fini(&b);
}

Test(budget, many_pods_get_their_turn)
{
	struct budget b;
	budget_init(&b, &few);
	ask(&b, "a/1", 1, 1, 1);
	cr_expect_str_eq(granted(&b), "a/1");
	ask(&b, "a/many", 1, 2, 20);
	ask(&b, "b/1", 1, 3, 1);
	cr_expect_str_eq(granted(&b), "b/1", "its namespace has nothing yet");
	ask(&b, "a/2", 1, 4, 1);
	cr_expect_str_eq(granted(&b), "", "nobody overtakes within the installation's budget");
	budget_release(&b, "a/1");
	cr_expect_str_eq(granted(&b), "");
	budget_release(&b, "b/1");
	cr_expect_str_eq(granted(&b), "a/many", "more than all there is: when nothing else runs");
	const char *nodes[] = {"n1", "n1", "n1", "n2"};
	cr_expect(budget_choose(&b, "a/many", nodes, 4), "more than an empty node has, for one session");
	cr_expect_eq(b.used, 4);
	budget_fini(&b);
}

Test(budget, reports_on_their_way_count_for_the_node_only)
{
	struct budget b;
	budget_init(&b, &few);
	const char *nodes[] = {"n1", "n1", "n1", "n1"};
	struct budget_request r = {.key = "a/1", .namespace = "a", .priority = 1, .created_ms = 1, .want = 4};
	budget_hold(&b, &r, &(struct budget_hold){.nodes = nodes, .running = 1, .kept = 3});
	cr_expect_eq(b.used, 1);
	ask(&b, "a/2", 1, 2, 1);
	cr_expect_str_eq(granted(&b), "a/2");
	cr_expect_not(choose(&b, "a/2", "n1"), "four jobs are there");
	budget_hold(&b, &r, &(struct budget_hold){.nodes = nodes, .running = 1, .kept = 2});
	cr_expect_str_eq(granted(&b), "a/2");
	cr_expect(choose(&b, "a/2", "n1"));
	budget_fini(&b);
}

static void ask_long(struct budget *b, const char *key, int64_t created_ms)
{
	char namespace[64];
	snprintf(namespace, sizeof namespace, "%.*s", (int)strcspn(key, "/"), key);
	budget_ask(b, &(struct budget_request){.key = key, .namespace = namespace, .created_ms = created_ms, .want = 1, .is_long = true});
}

Test(budget, long_sessions_leave_a_place_of_each_node)
{
	struct budget b;
	struct budget_place p;
	budget_init(&b, &(struct budget_limits){.max_pods = 10, .max_pods_per_node = 3, .max_jobs_per_node = 9});
	ask_long(&b, "a/1", 1);
	ask_long(&b, "a/2", 2);
	ask_long(&b, "a/3", 3);
	cr_expect_str_eq(granted(&b), "a/1 a/2 a/3");
	cr_expect(choose(&b, "a/1", "n1"));
	cr_expect(choose(&b, "a/2", "n1"));
	cr_expect_not(choose(&b, "a/3", "n1"), "the last place is not for long ones");
	budget_look(&b, "a/3", &p);
	cr_expect(p.kept_for_short && strcmp(p.node, "n1") == 0);
	ask(&b, "b/1", 0, 4, 1);
	cr_expect_str_eq(granted(&b), "b/1");
	cr_expect(choose(&b, "b/1", "n1"), "it gets past who waits for what long ones may have");
	ask(&b, "b/2", 0, 5, 1);
	cr_expect_str_eq(granted(&b), "b/2");
	cr_expect_not(choose(&b, "b/2", "n1"), "now it is full");
	budget_look(&b, "b/2", &p);
	cr_expect_not(p.kept_for_short);
	budget_release(&b, "b/1");
	cr_expect_str_eq(granted(&b), "b/2");
	budget_release(&b, "a/1");
	cr_expect_str_eq(granted(&b), "a/3");
	cr_expect(choose(&b, "a/3", "n1"));
	budget_fini(&b);
}

Test(budget, a_node_of_one_place_has_it_for_all)
{
	struct budget b;
	budget_init(&b, &(struct budget_limits){.max_pods = 10, .max_pods_per_node = 1, .max_jobs_per_node = 9});
	ask_long(&b, "a/1", 1);
	cr_expect_str_eq(granted(&b), "a/1");
	cr_expect(choose(&b, "a/1", "n1"));
	budget_fini(&b);
}

Test(budget, what_is_held_counts_even_beyond_the_limits)
{
	struct budget b;
	budget_init(&b, &few);
	const char *node = "n1";
	for (int i = 0; i < 5; i++) {
		char key[20];
		snprintf(key, sizeof key, "a/%d", i);
		budget_hold(&b, &(struct budget_request){.key = key, .namespace = "a", .want = 1}, &(struct budget_hold){.nodes = &node, .running = 1});
	}
	cr_expect_eq(b.used, 5);
	ask(&b, "b/1", 1, 1, 1);
	for (int i = 0; i < 3; i++) {
		char key[20];
		snprintf(key, sizeof key, "a/%d", i);
		cr_expect_str_eq(granted(&b), "");
		budget_release(&b, key);
	}
	cr_expect_str_eq(granted(&b), "b/1");
	budget_fini(&b);
}

/* Random operations; afterwards the sums are those of a naive model, and the limits hold for what was granted. */
#define SESSIONS 24

struct model {
	bool known, granted;
	size_t want;
	int node;
};

static void mark(void *ctx, const char *key)
{
	struct model *m = ctx;
	m[atoi(strchr(key, '/') + 1)].granted = true;
}

Test(budget, random_operations_keep_the_sums)
{
	static const char *const names[] = {"n0", "n1", "n2"};
	struct budget b;
	struct model m[SESSIONS] = {0};
	budget_init(&b, &(struct budget_limits){.max_pods = 8, .max_pods_per_node = 3, .max_jobs_per_node = 6});
	srand(7);
	for (int step = 0; step < 20000; step++) {
		int i = rand() % SESSIONS, node = rand() % 3;
		char key[40];
		snprintf(key, sizeof key, "ns%d/%d", i % 4, i);
		switch (rand() % 4) {
		case 0:
			if (!m[i].known)
				m[i] = (struct model){.known = true, .want = 1, .node = -1};
			ask(&b, key, rand() % 3, step, 1);
			break;
		case 1:
			if (m[i].known && m[i].granted && m[i].node < 0) {
				m[i].granted = budget_choose(&b, key, &names[node], 1);
				m[i].node = m[i].granted ? node : -1;
			}
			break;
		case 2:
			budget_release(&b, key);
			m[i] = (struct model){.known = false};
			break;
		default:
			budget_grant(&b, mark, m);
		}
		int64_t used = 0, per_node[3] = {0};
		size_t waiting = 0;
		for (int k = 0; k < SESSIONS; k++) {
			used += m[k].granted;
			waiting += m[k].known && !m[k].granted;
			if (m[k].node >= 0 && m[k].known)
				per_node[m[k].node]++;
		}
		cr_assert_eq(b.used, used, "step %d: %d used, not %d", step, (int)b.used, (int)used);
		cr_assert_eq(b.waiting, waiting, "step %d", step);
		cr_assert_leq(used, 8);
		for (int k = 0; k < 3; k++)
			cr_assert_leq(per_node[k], 3, "step %d", step);
	}
	budget_fini(&b);
}
