#include "controller/triggers/trigger_plan.h"

#include "common/base/clock.h"
#include "common/base/mem.h"
#include "controller/triggers/trigger_status.h"
#include "tests/unit/controller/triggers/make_trigger.h"

#define NOW INT64_C(1790000000000)
#define SECOND INT64_C(1000)

/* A trigger and the status that is worked on, as the reconciler has them. */
struct fixture {
	struct profiling_trigger *t;
	struct trigger_status st;
};

static struct fixture begin(const char *spec)
{
	struct fixture f = {.t = make_trigger(spec, NULL)};
	trigger_status_copy(&f.st, &f.t->status);
	trigger_plan_conclude(f.t, &f.st, NOW - 3600 * SECOND);
	return f;
}

static void end(struct fixture *f)
{
	trigger_status_fini(&f->st);
	trigger_unref(f->t);
}

/* Fires at a time; what was decided, and entered when it starts a session. */
static const char *fire(struct fixture *f, const char *dedup, const char *pod, int64_t now)
{
	struct trigger_firing firing = {.source = f->t->spec.source, .dedup = dedup, .pod_name = pod, .message = "test"};
	struct trigger_decision d;
	trigger_plan_fire(f->t, &f->st, &firing, now, &d);
	cr_expect_eq(d.fire, d.reason == TRIGGER_REASON_Fired);
	cr_expect(d.fire || d.message[0], "%s says nothing", d.reason);
	if (d.fire)
		trigger_plan_enter(f->t, &f->st, &firing, &d, now);
	else if (d.reason != TRIGGER_REASON_Duplicate)
		trigger_plan_suppressed(&f->st, d.reason, 1, now);
	return d.reason;
}

static void finish(struct fixture *f, enum trigger_phase phase)
{
	for (size_t i = 0; i < f->st.record_count; i++) {
		if (f->st.records[i].phase == TRIGGER_PENDING || f->st.records[i].phase == TRIGGER_ACTIVE)
			f->st.records[i].phase = phase;
	}
}

#define EXPECT(reason_, call)                                                \
	do {                                                                 \
		const char *got = (call);                                    \
		cr_expect_str_eq(got, #reason_, "%s: %s", #call, got);       \
	} while (0)

Test(trigger_plan, one_occurrence_is_one_session)
{
	struct fixture f = begin(ALERTS ", " TEMPLATE);
	EXPECT(Fired, fire(&f, "a", "p1", NOW));
	for (int i = 0; i < 10000; i++)
		cr_assert_eq(fire(&f, "a", "p1", NOW + i * 60 * SECOND), TRIGGER_REASON_Duplicate);
	finish(&f, TRIGGER_SUCCEEDED);
	EXPECT(Duplicate, fire(&f, "a", "p1", NOW + 86400 * SECOND));
	cr_expect_eq(f.st.fired_count, 1);
	cr_expect_eq(f.st.suppressed_count, 0, "a repetition is no firing");
	EXPECT(Fired, fire(&f, "b", "p1", NOW + 86400 * SECOND));
	end(&f);
}

Test(trigger_plan, cool_down_is_per_pod)
{
	struct fixture f = begin(ALERTS ", " AIMED ", \"cooldownSeconds\": 100");
	EXPECT(Fired, fire(&f, "a", "p1", NOW));
	EXPECT(SessionRunningOnPod, fire(&f, "b", "p1", NOW + 200 * SECOND));
	EXPECT(Fired, fire(&f, "c", "p2", NOW + SECOND));
	EXPECT(Fired, fire(&f, "d", NULL, NOW + SECOND));
	finish(&f, TRIGGER_FAILED);
	EXPECT(CoolingDown, fire(&f, "b", "p1", NOW + 100 * SECOND - 1));
	EXPECT(CoolingDown, fire(&f, "e", NULL, NOW + 100 * SECOND));
	EXPECT(Fired, fire(&f, "b", "p1", NOW + 100 * SECOND));
	EXPECT(Fired, fire(&f, "e", NULL, NOW + 101 * SECOND));
	end(&f);
}

Test(trigger_plan, limits_stop_it_and_say_so)
{
	struct fixture f = begin(ALERTS ", " TEMPLATE ", \"limits\": {\"maxActive\": 2, \"perHour\": 4}");
	EXPECT(Fired, fire(&f, "1", "p1", NOW));
	EXPECT(Fired, fire(&f, "2", "p2", NOW));
	EXPECT(TooManyActive, fire(&f, "3", "p3", NOW));
	trigger_plan_conclude(f.t, &f.st, NOW);
	cr_expect_eq(f.st.active_sessions, 2);
	const struct condition *limited = &f.st.conditions[TRIGGER_LIMITED];
	cr_expect_eq(limited->status, CONDITION_TRUE);
	cr_expect_str_eq(limited->reason, "TooManyActive");
	cr_expect(strstr(limited->message, "spec.limits.maxActive"), "%s", limited->message);
	cr_expect_str_eq(f.st.message, limited->message);
	finish(&f, TRIGGER_SUCCEEDED);
	trigger_plan_conclude(f.t, &f.st, NOW);
	cr_expect_eq(limited->status, CONDITION_FALSE);
	EXPECT(Fired, fire(&f, "3", "p3", NOW + SECOND));
	EXPECT(Fired, fire(&f, "4", "p4", NOW + SECOND));
	finish(&f, TRIGGER_SUCCEEDED);
	EXPECT(HourlyLimit, fire(&f, "5", "p5", NOW + 1800 * SECOND));
	int64_t wake = trigger_plan_conclude(f.t, &f.st, NOW + 1800 * SECOND);
	cr_expect_eq(limited->status, CONDITION_TRUE);
	cr_expect_str_eq(limited->reason, "HourlyLimit");
	cr_expect_eq(wake, NOW + 3600 * SECOND, "then the condition changes");
	EXPECT(CoolingDown, fire(&f, "6", "p4", NOW + 600 * SECOND));
	trigger_plan_conclude(f.t, &f.st, NOW + 1800 * SECOND);
	cr_expect_eq(limited->status, CONDITION_TRUE, "the limit holds, whatever else was met");
	trigger_plan_conclude(f.t, &f.st, wake);
	cr_expect_eq(limited->status, CONDITION_FALSE);
	EXPECT(Fired, fire(&f, "5", "p5", wake));
	cr_expect_eq(f.st.fired_count, 5);
	cr_expect_eq(f.st.suppressed_count, 3);
	end(&f);
}

Test(trigger_plan, a_flood_is_bounded_by_the_status)
{
	struct fixture f = begin(ALERTS ", " TEMPLATE ", \"cooldownSeconds\": 86400, \"limits\": {\"maxActive\": 20, \"perHour\": 60}");
	char dedup[16], pod[16];
	int fired = 0;
	const char *last = NULL;
	for (int i = 0; i < 1000; i++) {
		snprintf(dedup, sizeof dedup, "d%d", i);
		snprintf(pod, sizeof pod, "p%d", i);
		last = fire(&f, dedup, pod, NOW + i * 70 * SECOND);
		fired += last == TRIGGER_REASON_Fired;
		finish(&f, TRIGGER_SUCCEEDED);
		cr_assert_leq(f.st.record_count, TRIGGER_MAX_FIRINGS);
	}
	cr_expect_eq(fired, TRIGGER_MAX_FIRINGS);
	cr_expect_eq(last, TRIGGER_REASON_HistoryFull);
	EXPECT(Fired, fire(&f, "later", "p", NOW + 86400 * SECOND + SECOND));
	end(&f);
}

Test(trigger_plan, what_may_not_fire_at_all)
{
	struct fixture f = begin(ALERTS ", " TEMPLATE ", \"suspend\": true");
	EXPECT(Suspended, fire(&f, "a", "p1", NOW));
	trigger_plan_conclude(f.t, &f.st, NOW);
	cr_expect_eq(f.st.conditions[TRIGGER_READY].status, CONDITION_FALSE);
	cr_expect_str_eq(f.st.conditions[TRIGGER_READY].reason, "Suspended");
	end(&f);
	f = begin(ALERTS ", \"sessionTemplate\": {\"spec\": {\"profiler\": \"Guess\"}}");
	EXPECT(InvalidSpec, fire(&f, "a", "p1", NOW));
	trigger_plan_conclude(f.t, &f.st, NOW);
	cr_expect(strstr(f.st.conditions[TRIGGER_READY].message, "spec.profiler"), "%s", f.st.conditions[TRIGGER_READY].message);
	end(&f);
	f = begin(ALERTS ", " TEMPLATE);
	EXPECT(NoTarget, fire(&f, "a", NULL, NOW));
	EXPECT(Fired, fire(&f, "a", "p1", NOW));
	f.t->deleting = true;
	EXPECT(TriggerDeleted, fire(&f, "b", "p2", NOW));
	end(&f);
}

static struct trigger_session_view view(const char *name, enum trigger_phase phase, int64_t created, int64_t completed)
{
	struct trigger_session_view v = {.phase = phase, .created_wall_ms = created, .completed_wall_ms = completed};
	snprintf(v.name, sizeof v.name, "%s", name);
	return v;
}

Test(trigger_plan, a_rejected_session_pauses_the_trigger)
{
	struct fixture f = begin(ALERTS ", " TEMPLATE);
	EXPECT(Fired, fire(&f, "a", "p1", NOW));
	char why[] = "exceeded quota";
	struct trigger_note note = {.what = TRIGGER_NOTE_REJECTED, .message = why};
	trigger_session_name(f.t, "a", note.session);
	trigger_plan_settle(f.t, &f.st, NULL, 0, &note, NOW);
	trigger_plan_conclude(f.t, &f.st, NOW);
	cr_expect_str_eq(f.st.conditions[TRIGGER_READY].reason, "SessionRejected");
	cr_expect(f.st.fired_count == 0 && !f.st.last_session && !f.st.last_fired_wall_ms, "it was never made");
	cr_expect(strstr(f.st.conditions[TRIGGER_READY].message, "exceeded quota"), "%s", f.st.conditions[TRIGGER_READY].message);
	cr_expect_eq(f.st.active_sessions, 0);
	EXPECT(SessionRejected, fire(&f, "a", "p1", NOW + TRIGGER_REJECTED_MS - 1));
	EXPECT(SessionRejected, fire(&f, "b", "p2", NOW + TRIGGER_REJECTED_MS - 1));
	EXPECT(Fired, fire(&f, "a", "p1", NOW + TRIGGER_REJECTED_MS));
	cr_expect_eq(f.st.record_count, 1, "the record is the same occurrence's");
	trigger_plan_settle(f.t, &f.st, NULL, 0, &note, NOW);
	f.t->generation++; /* the template was changed: nothing of it counts any more */
	trigger_plan_settle(f.t, &f.st, NULL, 0, NULL, NOW);
	cr_expect_eq(f.st.record_count, 0);
	EXPECT(Fired, fire(&f, "a", "p1", NOW + SECOND));
	end(&f);
}

Test(trigger_plan, records_follow_the_sessions)
{
	struct fixture f = begin(ALERTS ", " TEMPLATE);
	EXPECT(Fired, fire(&f, "a", "p1", NOW));
	struct trigger_note made = {.what = TRIGGER_NOTE_CREATED};
	trigger_session_name(f.t, "a", made.session);
	trigger_plan_settle(f.t, &f.st, NULL, 0, NULL, NOW + 3600 * SECOND);
	cr_expect_eq(f.st.records[0].phase, TRIGGER_PENDING, "it is still to be made");
	trigger_plan_settle(f.t, &f.st, NULL, 0, &made, NOW + SECOND);
	cr_expect_eq(f.st.records[0].phase, TRIGGER_ACTIVE);
	trigger_plan_settle(f.t, &f.st, NULL, 0, NULL, NOW + TRIGGER_UNSEEN_MS - 1);
	cr_expect_eq(f.st.records[0].phase, TRIGGER_ACTIVE, "the watch may be behind");
	trigger_plan_settle(f.t, &f.st, NULL, 0, NULL, NOW + TRIGGER_UNSEEN_MS);
	cr_expect_eq(f.st.records[0].phase, TRIGGER_GONE);
	struct trigger_session_view v = view(made.session, TRIGGER_SUCCEEDED, NOW, NOW + 5 * SECOND);
	trigger_plan_settle(f.t, &f.st, &v, 1, NULL, NOW);
	cr_expect_eq(f.st.records[0].phase, TRIGGER_SUCCEEDED);
	trigger_plan_settle(f.t, &f.st, NULL, 0, NULL, NOW + 86400 * SECOND);
	cr_expect_eq(f.st.records[0].phase, TRIGGER_SUCCEEDED, "history was removed, the record stays");
	end(&f);
}

Test(trigger_plan, a_lost_status_is_made_up_from_the_sessions)
{
	struct fixture f = begin(ALERTS ", " TEMPLATE ", \"limits\": {\"maxActive\": 2, \"perHour\": 3}");
	char pod[] = "p1";
	struct trigger_session_view views[] = {
		view("hot-3", TRIGGER_ACTIVE, NOW - 7200 * SECOND, 0),
		view("hot-2", TRIGGER_SUCCEEDED, NOW - 60 * SECOND, NOW),
		view("hot-1", TRIGGER_FAILED, NOW - 120 * SECOND, NOW),
		view("hot-0", TRIGGER_SUCCEEDED, NOW - 7200 * SECOND, NOW - 7000 * SECOND),
	};
	views[1].pod_name = pod;
	trigger_plan_settle(f.t, &f.st, views, 4, NULL, NOW);
	cr_assert_eq(f.st.record_count, 3, "what no limit asks for stays away");
	cr_expect_str_eq(f.st.records[0].session, "hot-3", "by their time");
	cr_expect_str_eq(f.st.records[1].session, "hot-1");
	EXPECT(CoolingDown, fire(&f, "a", "p1", NOW));
	EXPECT(Fired, fire(&f, "a", "p2", NOW));
	EXPECT(TooManyActive, fire(&f, "b", "p3", NOW));
	finish(&f, TRIGGER_SUCCEEDED);
	EXPECT(HourlyLimit, fire(&f, "b", "p3", NOW));
	end(&f);
}

static int64_t when(const char *text)
{
	int64_t ms = 0;
	cr_assert_eq(clock_parse_rfc3339(text, &ms), 0);
	return ms;
}

Test(trigger_plan, the_schedule)
{
	struct fixture f = begin(SCHEDULE("0 * * * *") ", " AIMED);
	trigger_status_fini(&f.st);
	trigger_status_copy(&f.st, &f.t->status);
	cr_expect_eq(trigger_plan_due(f.t, &f.st, when("2026-11-21T10:00:30Z")), 0, "what was before it was there is not made up for");
	cr_expect_eq(f.st.next_schedule_wall_ms, when("2026-11-21T11:00:00Z"));
	cr_expect_eq(trigger_plan_conclude(f.t, &f.st, when("2026-11-21T10:00:30Z")), when("2026-11-21T11:00:00Z"), "and then it is looked at");
	cr_expect_eq(trigger_plan_due(f.t, &f.st, when("2026-11-21T10:59:59Z")), 0);
	cr_expect_eq(trigger_plan_due(f.t, &f.st, when("2026-11-21T11:00:00Z")), when("2026-11-21T11:00:00Z"));
	cr_expect_eq(trigger_plan_due(f.t, &f.st, when("2026-11-21T11:00:01Z")), 0, "once");
	cr_expect_eq(f.st.last_schedule_wall_ms, when("2026-11-21T11:00:00Z"));
	/* away from 11:30 to 15:04: the last missed time counts, the others do not */
	cr_expect_eq(trigger_plan_due(f.t, &f.st, when("2026-11-21T15:04:00Z")), when("2026-11-21T15:00:00Z"));
	cr_expect_eq(trigger_plan_due(f.t, &f.st, when("2026-11-21T15:04:01Z")), 0);
	/* away until 18:06: more than startingDeadlineSeconds */
	cr_expect_eq(trigger_plan_due(f.t, &f.st, when("2026-11-21T18:06:00Z")), 0);
	cr_expect_eq(f.st.next_schedule_wall_ms, when("2026-11-21T19:00:00Z"));
	end(&f);
}

Test(trigger_plan, suspended_times_are_not_made_up_for)
{
	struct fixture f = begin(SCHEDULE("*/5 * * * *") ", " AIMED ", \"suspend\": true");
	int64_t now = when("2026-11-21T10:00:30Z");
	cr_expect_eq(trigger_plan_due(f.t, &f.st, now), 0);
	cr_expect_eq(f.st.next_schedule_wall_ms, 0);
	trigger_plan_conclude(f.t, &f.st, now);
	f.t->spec.suspend = false;
	now = when("2026-11-21T10:06:00Z");
	cr_expect_eq(trigger_plan_due(f.t, &f.st, now), 0, "10:05 was suspended");
	trigger_plan_conclude(f.t, &f.st, now);
	cr_expect_eq(trigger_plan_due(f.t, &f.st, now + SECOND), 0);
	cr_expect_eq(trigger_plan_due(f.t, &f.st, when("2026-11-21T10:10:00Z")), when("2026-11-21T10:10:00Z"));
	trigger_plan_conclude(f.t, &f.st, now);
	f.t->generation++;
	cr_expect_eq(trigger_plan_due(f.t, &f.st, when("2026-11-21T10:16:00Z")), 0, "10:15 may have been another schedule's");
	end(&f);
}

Test(trigger_plan, history_goes_from_its_end_and_never_what_runs)
{
	struct fixture f = begin(ALERTS ", " TEMPLATE ", \"historyLimits\": {\"successful\": 2, \"failed\": 0}");
	struct trigger_session_view views[] = {
		view("a", TRIGGER_SUCCEEDED, 1, 50), view("b", TRIGGER_SUCCEEDED, 1, 40), view("c", TRIGGER_ACTIVE, 1, 0),
		view("d", TRIGGER_FAILED, 1, 90), view("e", TRIGGER_SUCCEEDED, 1, 60), view("f", TRIGGER_SUCCEEDED, 1, 40),
	};
	size_t out[6], count = trigger_plan_history(f.t, views, 6, out);
	char names[8] = "";
	for (size_t i = 0; i < count; i++)
		strcat(names, views[out[i]].name);
	cr_expect_str_eq(names, "bdf");
	end(&f);
}

Test(trigger_plan, the_status_is_read_as_it_is_written)
{
	struct fixture f = begin(ALERTS ", " TEMPLATE);
	EXPECT(Fired, fire(&f, "a", "p1", NOW));
	EXPECT(SessionRunningOnPod, fire(&f, "b", "p1", NOW));
	free(f.st.records[0].message);
	f.st.records[0].message = mem_strdup("bell \a and a long text");
	trigger_plan_conclude(f.t, &f.st, NOW);
	AUTO_JSON json_t *status = trigger_status_to_json(f.t, &f.st);
	AUTO_JSON json_t *object = json_pack("{s:{s:s, s:s, s:s, s:s}, s:O}", "metadata", "namespace", "shop", "name", "hot", "uid", "u", "resourceVersion",
					     "8", "status", status);
	struct profiling_trigger *again = trigger_object_from_json(object, NULL);
	cr_assert_not_null(again);
	AUTO_JSON json_t *twice = trigger_status_to_json(f.t, &again->status);
	cr_expect(json_equal(status, twice));
	cr_expect_eq(again->status.hash, session_json_hash(twice), "so that nothing is written twice");
	cr_expect_eq(again->status.records[0].phase, TRIGGER_PENDING);
	cr_expect(strstr(again->status.records[0].message, "\\x07"), "%s", again->status.records[0].message);
	trigger_unref(again);
	end(&f);
}

Test(trigger_plan, the_session_is_the_template_aimed_at_the_pod)
{
	struct fixture f = begin(ALERTS ", \"sessionTemplate\": {\"metadata\": {\"labels\": {\"team\": \"a\", \"drdotnet.dev/trigger\": \"false\"}}, \"spec\": "
				 "{\"profiler\": \"CPUHotpaths\", \"durationSeconds\": 20, \"target\": {\"selector\": {\"matchLabels\": {\"app\": \"x\"}},"
				 " \"container\": \"app\", \"maxPods\": 3}}}");
	cr_assert(f.t->spec_valid, "%s", f.t->spec_error);
	EXPECT(Fired, fire(&f, "a", "p1", NOW));
	AUTO_JSON json_t *s = trigger_status_session(f.t, &f.st.records[0]);
	struct session_spec spec;
	struct err e = ERR_INIT;
	cr_assert_eq(session_spec_from_json(jsonx_at(s, "spec"), true, &spec, &e), 0, "%s", e.message);
	cr_expect_str_eq(spec.target.pod_name, "p1");
	cr_expect_null(spec.target.selector);
	cr_expect_str_eq(spec.target.container, "app");
	cr_expect_eq(spec.target.max_pods, 1);
	cr_expect_eq(spec.duration_seconds, 20);
	session_spec_fini(&spec);
	cr_expect_str_eq(json_string_value(json_array_get(jsonx_at(s, "metadata.finalizers"), 0)), SESSION_FINALIZER, "no write of its own for it");
	const json_t *labels = jsonx_at(s, "metadata.labels"), *owner = json_array_get(jsonx_at(s, "metadata.ownerReferences"), 0);
	cr_expect_str_eq(json_string_value(json_object_get(labels, "team")), "a");
	cr_expect_str_eq(json_string_value(json_object_get(labels, TRIGGER_LABEL)), "hot", "it cannot be faked");
	cr_expect_str_eq(jsonx_str_at(owner, "uid", ""), "u-1");
	cr_expect(json_is_true(json_object_get(owner, "controller")));
	char name[TRIGGER_SESSION_NAME_SIZE];
	trigger_session_name(f.t, "a", name);
	cr_expect_str_eq(jsonx_str_at(s, "metadata.name", ""), name);
	cr_expect_eq(strlen(name), strlen("hot-") + 16);
	end(&f);
}
