#include "controller/triggers/observe_set.h"

#include "tests/unit/controller/triggers/make_source.h"

#define THRESHOLD(what) "{'threshold':{'target':{'selector':{'matchLabels':{'app':'checkout'}}" what "}}}"
#define POD_UID "u-1"

/* A running pod with a container "app" of these resources and a side-car. `odd` is put into its status or metadata. */
static json_t *make_pod(const char *name, const char *uid, const char *node, const char *resources)
{
	AUTO_FREE char *text = mem_printf(
		"{\"metadata\":{\"name\":\"%s\",\"uid\":\"%s\",\"namespace\":\"shop\"},\"spec\":{\"nodeName\":\"%s\",\"containers\":["
		"{\"name\":\"app\",\"resources\":%s},{\"name\":\"side\",\"resources\":{\"limits\":{\"cpu\":\"1\"}}},{\"name\":\"down\"}]},"
		"\"status\":{\"phase\":\"Running\",\"containerStatuses\":["
		"{\"name\":\"app\",\"containerID\":\"containerd://c-app\",\"state\":{\"running\":{}}},"
		"{\"name\":\"side\",\"containerID\":\"containerd://c-side\",\"state\":{\"running\":{}}},"
		"{\"name\":\"down\",\"containerID\":\"containerd://c-down\",\"state\":{\"terminated\":{}}}]}}", name, uid, node, resources);
	struct err e = ERR_INIT;
	json_t *pod = jsonx_parse(text, strlen(text), "pod", &e);
	cr_assert_not_null(pod, "%s", e.message);
	return pod;
}

static void add(struct observe_set *s, struct profiling_trigger *t, const char *name, const char *uid, const char *node, const char *resources)
{
	AUTO_JSON json_t *pod = make_pod(name, uid, node, resources);
	observe_set_add_pod(s, t, pod);
}

static const struct link_observation *of(const struct observe_set *s, const char *container)
{
	for (const struct observe_entry *e = s->entries; e; e = e->hh.next) {
		if (strcmp(e->what.container, container) == 0)
			return &e->what;
	}
	return NULL;
}

static const struct {
	const char *source, *resources;
	int64_t app, side; /* what 100% is; -1: not observed */
} wholes[] = {
	{THRESHOLD(",'container':'app'},'cpu':{'above':80"), "{\"limits\":{\"cpu\":\"1500m\",\"memory\":\"1Gi\"}}", 1500, -1},
	{THRESHOLD("},'cpu':{'above':80"), "{\"limits\":{\"cpu\":\"2\"}}", 2000, 1000},
	{THRESHOLD("},'cpu':{'above':80"), "{}", 0, 1000},
	{THRESHOLD("},'cpu':{'above':80"), "{\"limits\":{\"cpu\":\"nonsense\"}}", 0, 1000},
	{THRESHOLD("},'cpu':{'above':80,'percentOf':'Request'"), "{\"limits\":{\"cpu\":\"2\"},\"requests\":{\"cpu\":\"250m\"}}", 250, -1},
	{THRESHOLD("},'memory':{'above':80"), "{\"limits\":{\"memory\":\"128Mi\"}}", 134217728, 0},
	{THRESHOLD("},'memory':{'above':80"), "{\"limits\":{\"memory\":\"1n\"}}", 0, 0},
};

Test(observe_set, takes_what_per_cent_are_of_from_the_pod)
{
	for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) {
		struct observe_set s = {.max_entries = 100};
		struct profiling_trigger *t = make_source("shop", "t", wholes[i].source);
		add(&s, t, "checkout-1", POD_UID, "node-a", wholes[i].resources);
		const struct link_observation *app = of(&s, "app"), *side = of(&s, "side");
		cr_expect_eq(app ? app->whole : -1, wholes[i].app, "row %zu: %lld", i, app ? (long long)app->whole : -1);
		cr_expect_eq(side ? side->whole : -1, wholes[i].side, "row %zu", i);
		cr_expect_null(of(&s, "down"), "it does not run");
		observe_set_fini(&s);
		trigger_unref(t);
	}
}

Test(observe_set, pods_that_do_not_run_are_left_out)
{
	struct observe_set s = {.max_entries = 100};
	struct profiling_trigger *t = make_source("shop", "t", THRESHOLD("},'cpu':{'above':80,'forSeconds':30"));
	AUTO_JSON json_t *pending = make_pod("p", "u", "node-a", "{}"), *deleting = make_pod("p", "u", "node-a", "{}"), *nowhere = make_pod("p", "u", "", "{}");
	json_object_set_new(json_object_get(pending, "status"), "phase", json_string("Pending"));
	json_object_set_new(json_object_get(deleting, "metadata"), "deletionTimestamp", json_string("2026-11-21T00:00:00Z"));
	observe_set_add_pod(&s, t, pending);
	observe_set_add_pod(&s, t, deleting);
	observe_set_add_pod(&s, t, nowhere);
	cr_expect_eq(HASH_COUNT(s.entries), 0);
	add(&s, t, "checkout-1", POD_UID, "node-a", "{}");
	const struct link_observation *app = of(&s, "app");
	cr_assert_not_null(app);
	cr_expect_str_eq(app->id, TRIGGER_UID);
	cr_expect_str_eq(app->pod_uid, POD_UID);
	cr_expect_str_eq(app->container_id, "c-app");
	cr_expect_eq(app->above_percent, 80);
	cr_expect_eq(app->for_seconds, 30);
	observe_set_fini(&s);
	trigger_unref(t);
}

Test(observe_set, has_bounds)
{
	struct observe_set s = {.max_entries = 3};
	struct profiling_trigger *t = make_source("shop", "t", THRESHOLD("},'cpu':{'above':80"));
	add(&s, t, "p1", "u-1", "node-a", "{}");
	add(&s, t, "p1", "u-1", "node-a", "{}"); /* the same again is no other one */
	add(&s, t, "p2", "u-2", "node-b", "{}");
	cr_expect_eq(HASH_COUNT(s.entries), 3);
	cr_expect_eq(s.left_out, 1);
	observe_set_fini(&s);
	s = (struct observe_set){.max_entries = 100000};
	for (int i = 0; i < LINK_MAX_OBSERVATIONS / 2 + 5; i++) {
		AUTO_FREE char *uid = mem_printf("u-%d", i);
		add(&s, t, "p", uid, "node-a", "{}");
	}
	cr_expect_eq(s.nodes->count, LINK_MAX_OBSERVATIONS);
	cr_expect_eq(s.left_out, 10);
	observe_set_fini(&s);
	trigger_unref(t);
}

static struct observe_node *node(struct observe_set *s, const char *name)
{
	struct observe_node *n = NULL;
	HASH_FIND_STR(s->nodes, name, n);
	return n;
}

static void told(struct observe_node *n, int64_t now_ms)
{
	n->told = true;
	n->told_hash = n->hash;
	n->told_mono_ms = now_ms;
}

Test(observe_set, nodes_are_told_when_it_is_needed)
{
	struct profiling_trigger *t = make_source("shop", "t", THRESHOLD("},'cpu':{'above':80"));
	struct observe_set first = {.max_entries = 100}, same = {.max_entries = 100}, other = {.max_entries = 100}, last = {.max_entries = 100};
	add(&first, t, "p1", "u-1", "node-a", "{}");
	add(&first, t, "p2", "u-2", "node-a", "{}");
	cr_expect(observe_set_is_due(node(&first, "node-a"), 1000, 500), "never told");
	told(node(&first, "node-a"), 1000);
	cr_expect_not(observe_set_is_due(node(&first, "node-a"), 1499, 500));
	cr_expect(observe_set_is_due(node(&first, "node-a"), 1500, 500), "confirmed");

	add(&same, t, "p2", "u-2", "node-a", "{}");
	add(&same, t, "p1", "u-1", "node-a", "{}");
	observe_set_carry(&same, &first);
	cr_expect_not(observe_set_is_due(node(&same, "node-a"), 1001, 500), "in another order it is the same");

	add(&other, t, "p1", "u-1", "node-a", "{\"limits\":{\"cpu\":\"3\"}}");
	observe_set_carry(&other, &same);
	cr_expect(observe_set_is_due(node(&other, "node-a"), 1001, 500), "another set");
	told(node(&other, "node-a"), 1001);

	observe_set_carry(&last, &other);
	cr_assert_not_null(node(&last, "node-a"));
	cr_expect(observe_set_is_due(node(&last, "node-a"), 1002, 500), "nothing any more");
	cr_expect_eq(node(&last, "node-a")->count, 0);
	told(node(&last, "node-a"), 1002);
	cr_expect_not(observe_set_is_due(node(&last, "node-a"), 99999, 500), "and that need not be confirmed");
	struct observe_set after = {.max_entries = 100};
	observe_set_carry(&after, &last);
	cr_expect_null(node(&after, "node-a"), "forgotten");
	observe_set_fini(&first);
	observe_set_fini(&same);
	observe_set_fini(&other);
	observe_set_fini(&last);
	observe_set_fini(&after);
	trigger_unref(t);
}

Test(observe_set, only_the_asked_node_is_listened_to)
{
	struct profiling_trigger *t = make_source("shop", "t", THRESHOLD("},'memory':{'above':80,'forSeconds':30"));
	struct observe_set s = {.max_entries = 100};
	add(&s, t, "checkout-1", POD_UID, "node-a", "{\"limits\":{\"memory\":\"1000\"}}");
	struct link_observed o = {.id = TRIGGER_UID, .pod_uid = POD_UID, .container = "app", .state = LINK_OBSERVED_ABOVE, .value = 950, .whole = 1000};
	struct observe_entry *e = observe_set_find(&s, "node-a", &o);
	cr_assert_not_null(e);
	char message[OBSERVE_MESSAGE_SIZE];
	observe_set_message(e, &o, message);
	cr_expect_str_eq(message, "container app of pod checkout-1 uses 95% of its memory limit: above 80% for 30 s");
	cr_expect_null(observe_set_find(&s, "node-b", &o), "another node's pod");
	strcpy(o.container, "down");
	cr_expect_null(observe_set_find(&s, "node-a", &o));
	strcpy(o.container, "app");
	strcpy(o.id, "another");
	cr_expect_null(observe_set_find(&s, "node-a", &o));
	struct link_observation *items = observe_set_items(node(&s, "node-a"));
	cr_expect_eq(node(&s, "node-a")->count, 2);
	cr_expect_str_eq(items[0].pod_uid, POD_UID);
	free(items);
	observe_set_fini(&s);
	trigger_unref(t);
}
