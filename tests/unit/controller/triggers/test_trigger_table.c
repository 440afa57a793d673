#include "controller/triggers/trigger_table.h"

#include "controller/triggers/trigger_sessions.h"
#include "tests/unit/controller/triggers/make_trigger.h"

#include <pthread.h>
#include <stdatomic.h>

#define NOW INT64_C(1790000000000)

static struct trigger_table *table_with(const char *spec, const char *version)
{
	struct trigger_table *t = trigger_table_new();
	struct profiling_trigger *o = make_trigger(spec, NULL);
	snprintf(o->resource_version, sizeof o->resource_version, "%s", version);
	cr_assert(trigger_table_put_take(t, o));
	return t;
}

struct heard {
	atomic_int count;
	struct trigger_outcome last;
};

static void hear(void *ctx, const struct trigger_outcome *o)
{
	struct heard *h = ctx;
	h->last = *o;
	atomic_fetch_add(&h->count, 1);
}

/* The outcome at once, or NULL: it waits. */
static const char *fire(struct trigger_table *t, const char *dedup, struct heard *h, bool *wake)
{
	struct trigger_firing f = {.namespace = "shop", .trigger = "hot", .dedup = dedup, .pod_name = "p1", .message = "test"};
	struct trigger_outcome o;
	struct err e = ERR_INIT;
	cr_assert_eq(trigger_table_fire(t, &f, hear, h, NOW, &o, wake, &e), 0, "%s", e.message);
	return o.reason;
}

Test(trigger_table, what_waits_is_taken_once_and_answered_once)
{
	struct trigger_table *t = table_with(ALERTS ", " TEMPLATE, "7");
	struct heard a = {0}, b = {0};
	bool wake;
	cr_expect_null(fire(t, "a", &a, &wake));
	cr_expect(wake);
	cr_expect_str_eq(fire(t, "a", &b, &wake), "Duplicate", "while it waits");
	cr_expect_not(wake);
	struct trigger_load load;
	cr_assert(trigger_table_take(t, "shop/hot", &load));
	cr_expect_str_eq(fire(t, "a", &b, &wake), "Duplicate", "while it is in work");
	cr_assert_not_null(load.waits);
	cr_expect_null(load.waits->next);
	load.waits->outcome = (struct trigger_outcome){.verdict = TRIGGER_FIRED, .reason = TRIGGER_REASON_Fired};
	load.suppressed = (struct trigger_suppressed){.count = 3, .reason = TRIGGER_REASON_HourlyLimit};
	trigger_table_note(t, "shop/hot", TRIGGER_NOTE_GONE, "hot-1", NULL);
	trigger_table_done(t, "shop/hot", &load);
	cr_expect_eq(a.count, 1);
	cr_expect_eq(a.last.verdict, TRIGGER_FIRED);
	cr_expect_eq(b.count, 0);
	cr_expect_null(fire(t, "a", &b, &wake), "nothing is known of it: the status would tell");
	cr_assert(trigger_table_take(t, "shop/hot", &load));
	cr_expect_eq(load.suppressed.count, 3, "what was given back");
	cr_expect_str_eq(load.notes->session, "hot-1");
	load.waits->outcome.reason = TRIGGER_REASON_Unreachable;
	trigger_table_done(t, "shop/hot", &load);
	cr_expect_not(trigger_table_take(t, "shop/cold", &load));
	trigger_table_free(t);
}

Test(trigger_table, what_cannot_be_taken)
{
	struct trigger_table *t = table_with(ALERTS ", " TEMPLATE, "7");
	struct heard h = {0};
	struct trigger_outcome o;
	struct err e = ERR_INIT;
	bool wake;
	struct trigger_firing f = {.namespace = "shop", .trigger = "cold", .dedup = "a", .pod_name = "p"};
	cr_expect_eq(trigger_table_fire(t, &f, hear, &h, NOW, &o, &wake, &e), -1);
	cr_expect_eq(e.kind, ERR_NOT_FOUND);
	f.trigger = "hot";
	f.source = TRIGGER_THRESHOLD;
	cr_expect_eq(trigger_table_fire(t, &f, hear, &h, NOW, &o, &wake, &e), -1);
	char dedup[16];
	for (int i = 0; i < TRIGGER_MAX_WAITING; i++) {
		snprintf(dedup, sizeof dedup, "%d", i);
		cr_assert_null(fire(t, dedup, &h, &wake));
	}
	cr_expect_str_eq(fire(t, "more", &h, &wake), "TooManyWaiting");
	cr_expect_eq(h.count, 0);
	trigger_table_remove(t, "shop/hot", "another");
	cr_expect_eq(h.count, 0);
	trigger_table_remove(t, "shop/hot", "u-1");
	cr_expect_eq(h.count, TRIGGER_MAX_WAITING);
	cr_expect_str_eq(h.last.reason, "TriggerDeleted");
	trigger_table_free(t);
	t = table_with(ALERTS ", " TEMPLATE, "7");
	cr_assert_null(fire(t, "a", &h, &wake));
	trigger_table_close(t);
	cr_expect_eq(h.last.verdict, TRIGGER_TRY_AGAIN, "nobody is left to do it");
	cr_expect_str_eq(fire(t, "b", &h, &wake), "Unreachable");
	trigger_table_free(t);
}

Test(trigger_table, objects_come_and_go)
{
	struct trigger_table *t = table_with(ALERTS ", " TEMPLATE, "7");
	uint64_t revision = trigger_table_revision(t);
	struct profiling_trigger *old = make_trigger(ALERTS ", " TEMPLATE, NULL);
	snprintf(old->resource_version, sizeof old->resource_version, "6");
	cr_expect_not(trigger_table_put_take(t, old), "an echo of the past");
	struct profiling_trigger *status = make_trigger(ALERTS ", " TEMPLATE, NULL);
	snprintf(status->resource_version, sizeof status->resource_version, "10");
	cr_expect(trigger_table_put_take(t, status));
	cr_expect_eq(trigger_table_revision(t), revision, "its spec is the same");
	size_t count;
	struct profiling_trigger **list = trigger_table_of_source(t, TRIGGER_ALERTMANAGER, "shop", &count);
	cr_assert_eq(count, 1);
	trigger_unref(list[0]);
	free(list);
	for (int i = 0; i < 2; i++) {
		list = trigger_table_of_source(t, i ? TRIGGER_THRESHOLD : TRIGGER_ALERTMANAGER, i ? NULL : "bank", &count);
		cr_expect_eq(count, 0);
		free(list);
	}
	trigger_table_list_begin(t, "bank");
	trigger_table_list_end(t, "bank");
	cr_expect_eq(trigger_table_count(t), 1);
	trigger_table_list_begin(t, NULL);
	trigger_table_list_end(t, NULL);
	cr_expect_eq(trigger_table_count(t), 0);
	cr_expect_neq(trigger_table_revision(t), revision);
	trigger_table_free(t);
}

/* threads ---------------------------------------------------------------------------------------------------------------- */

#define THREADS 4
#define FIRINGS 500

struct crowd {
	struct trigger_table *table;
	struct heard heard;
	atomic_int at_once;
	atomic_bool over;
};

static void *run_source(void *arg)
{
	struct crowd *c = arg;
	char dedup[16];
	bool wake;
	for (int i = 0; i < FIRINGS; i++) {
		snprintf(dedup, sizeof dedup, "%d", i % 50);
		if (fire(c->table, dedup, &c->heard, &wake))
			atomic_fetch_add(&c->at_once, 1);
	}
	return NULL;
}

static void hear_many(void *ctx, const struct trigger_outcome *o)
{
	(void)o;
	atomic_fetch_add((atomic_int *)ctx, 1);
}

static void *run_worker(void *arg)
{
	struct crowd *c = arg;
	for (bool last = false; !last;) {
		struct trigger_load load;
		last = atomic_load(&c->over);
		if (!trigger_table_take(c->table, "shop/hot", &load))
			break;
		for (struct trigger_wait *w = load.waits; w; w = w->next) {
			w->outcome.reason = TRIGGER_REASON_Fired;
			w->done = hear_many;
			w->ctx = &c->heard.count;
		}
		trigger_table_note(c->table, "shop/hot", TRIGGER_NOTE_CREATED, "hot-1", NULL);
		trigger_table_done(c->table, "shop/hot", &load);
		size_t count;
		struct profiling_trigger **list = trigger_table_of_source(c->table, TRIGGER_ALERTMANAGER, NULL, &count);
		for (size_t i = 0; i < count; i++)
			trigger_unref(list[i]);
		free(list);
	}
	return NULL;
}

Test(trigger_table, sources_and_the_worker_at_the_same_time)
{
	struct crowd c = {.table = table_with(ALERTS ", " TEMPLATE, "7")};
	pthread_t sources[THREADS], worker;
	cr_assert_eq(pthread_create(&worker, NULL, run_worker, &c), 0);
	for (int i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&sources[i], NULL, run_source, &c), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(sources[i], NULL);
	atomic_store(&c.over, true);
	pthread_join(worker, NULL);
	cr_expect_eq(c.at_once + c.heard.count, THREADS * FIRINGS, "each got one answer: %d + %d", c.at_once, c.heard.count);
	trigger_table_free(c.table);
}

/* sessions --------------------------------------------------------------------------------------------------------------- */

static json_t *session_of(const char *name, const char *owner_kind, const char *completed, const char *succeeded)
{
	return json_pack("{s:{s:s, s:s, s:s, s:s, s:[{s:s, s:s, s:s, s:b}]}, s:{s:{s:s}}, s:{s:[{s:s, s:s}, {s:s, s:s, s:s}]}}", "metadata", "namespace",
			 "shop", "name", name, "uid", name, "creationTimestamp", "2026-01-01T00:00:00Z", "ownerReferences", "kind", owner_kind, "name",
			 "hot", "uid", "u-1", "controller", 1, "spec", "target", "podName", "p1", "status", "conditions", "type", "Completed",
			 "status", completed, "type", "Succeeded", "status", strcmp(succeeded, "True") == 0 ? "True" : "False", "reason", succeeded);
}

static bool put(struct trigger_sessions *s, bool deleted, json_t *take, struct trigger_sessions_change *change)
{
	bool changed = trigger_sessions_put(s, deleted, take, change);
	json_decref(take);
	return changed;
}

static enum trigger_phase only_phase(struct trigger_sessions *s)
{
	size_t count;
	struct trigger_session_view *views = trigger_sessions_of(s, "u-1", &count);
	cr_assert_eq(count, 1);
	enum trigger_phase phase = views[0].phase;
	cr_expect_str_eq(views[0].pod_name, "p1");
	trigger_sessions_views_free(views, count);
	return phase;
}

static void count_change(void *ctx, const char *key)
{
	cr_expect_str_eq(key, "shop/hot");
	++*(int *)ctx;
}

Test(trigger_sessions, what_matters_to_the_trigger)
{
	struct trigger_sessions *s = trigger_sessions_new();
	struct trigger_sessions_change change;
	cr_expect_not(put(s, false, session_of("other", "CronJob", "False", "Unknown"), &change), "it is somebody else's");
	cr_expect(put(s, false, session_of("a", "ProfilingTrigger", "False", "Unknown"), &change));
	cr_expect_str_eq(change.trigger_key, "shop/hot");
	cr_expect_eq(only_phase(s), TRIGGER_ACTIVE);
	cr_expect_not(put(s, false, session_of("a", "ProfilingTrigger", "False", "Profiling"), &change), "it only goes on");
	cr_expect(put(s, false, session_of("a", "ProfilingTrigger", "True", "NoSamples"), &change));
	cr_expect_eq(only_phase(s), TRIGGER_FAILED);
	cr_expect(put(s, false, session_of("a", "ProfilingTrigger", "True", "PartiallySucceeded"), &change));
	cr_expect_eq(only_phase(s), TRIGGER_SUCCEEDED);
	int changes = 0;
	cr_expect(put(s, false, session_of("b", "ProfilingTrigger", "True", "True"), &change));
	trigger_sessions_list_begin(s, "bank");
	trigger_sessions_list_end(s, "bank", count_change, &changes);
	cr_expect_eq(changes, 0);
	trigger_sessions_list_begin(s, NULL);
	put(s, false, session_of("b", "ProfilingTrigger", "True", "True"), &change);
	trigger_sessions_list_end(s, NULL, count_change, &changes);
	cr_expect_eq(changes, 1, "a was not listed");
	cr_expect(put(s, true, session_of("b", "ProfilingTrigger", "True", "True"), &change));
	cr_expect(change.gone);
	cr_expect_not(put(s, true, session_of("b", "ProfilingTrigger", "True", "True"), &change));
	size_t count;
	free(trigger_sessions_of(s, "u-1", &count));
	cr_expect_eq(count, 0);
	trigger_sessions_free(s);
}
