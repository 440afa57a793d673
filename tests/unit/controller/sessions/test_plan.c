#include "controller/sessions/plan.h"

#include "common/api/reason.h"
#include "tests/unit/controller/sessions/make_session.h"

#define HELD ",\"finalizers\":[\"drdotnet.dev/detach\"]"
#define DELETED ",\"deletionTimestamp\":\"2026-01-01T00:00:10Z\""
#define DELETED_MS (CREATED_MS + 10000)
#define DEADLINE_MS (CREATED_MS + 100000)
#define TARGET(phase) "\"targets\":[{\"podName\":\"a\",\"podUID\":\"u\",\"nodeName\":\"n\",\"jobID\":\"" UID "-0\",\"phase\":\"" phase "\"}]"
#define MISSED "\"targets\":[{\"podName\":\"a\",\"nodeName\":\"n\",\"jobID\":\"" UID "-0\",\"phase\":\"Failed\",\"reason\":\"StartMissed\"}]"
#define SPEC_NEXT_CANCELED "{\"profiler\":\"CPUHotpaths\",\"target\":{\"podName\":\"a\"},\"start\":\"NextContainerStart\",\"cancel\":true}"

static struct plan plan(const char *metadata, const char *spec, const char *status, const struct plan_pod_view *view, int64_t now_ms)
{
	struct profiling_session s = make_session(metadata, spec, status);
	struct plan p;
	plan_make(&s, view, now_ms, &p);
	session_object_fini(&s);
	return p;
}

Test(plan, stages_without_pods)
{
	static const struct {
		const char *metadata, *spec, *status;
		int64_t now_ms;
		enum plan_stage stage;
		const char *reason;
		int64_t wake_ms;
	} rows[] = {
		{"", SPEC, "", CREATED_MS, PLAN_CHOOSE, NULL, DEADLINE_MS},
		{"", SPEC, "", DEADLINE_MS - 1, PLAN_CHOOSE, NULL, DEADLINE_MS},
		{"", SPEC, "", DEADLINE_MS, PLAN_END, REASON_DeadlineExceeded, INT64_MAX},
		{"", SPEC_NEXT, "", DEADLINE_MS - 1, PLAN_CHOOSE, NULL, DEADLINE_MS},
		{"", SPEC_NEXT, "", DEADLINE_MS, PLAN_END, REASON_NoContainerStarted, INT64_MAX},
		{"", SPEC_NEXT, MISSED, DEADLINE_MS - 1, PLAN_CHOOSE, NULL, DEADLINE_MS},
		{"", SPEC_NEXT, MISSED, DEADLINE_MS, PLAN_END, REASON_StartMissed, INT64_MAX},
		{"", SPEC_NEXT_CANCELED, MISSED, CREATED_MS, PLAN_END, REASON_Canceled, INT64_MAX},
		{"", SPEC_CANCELED, "", CREATED_MS, PLAN_END, REASON_Canceled, INT64_MAX},
		{"", "{}", "", CREATED_MS, PLAN_REJECT, NULL, INT64_MAX},
		{"", "{}", COMPLETED_CONDITION, CREATED_MS, PLAN_FINISHED, NULL, INT64_MAX},
		{DELETED, SPEC, "", DELETED_MS, PLAN_IGNORE, NULL, INT64_MAX},
		{DELETED, "{}", "", DELETED_MS, PLAN_IGNORE, NULL, INT64_MAX},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct plan p = plan(rows[i].metadata, rows[i].spec, rows[i].status, NULL, rows[i].now_ms);
		cr_expect_eq(p.stage, rows[i].stage, "row %zu: stage %d", i, (int)p.stage);
		cr_expect_eq(p.reason, rows[i].reason, "row %zu: reason %s", i, p.reason);
		cr_expect_eq(p.wake_wall_ms, rows[i].wake_ms, "row %zu", i);
		cr_expect_not(p.release || p.expire, "row %zu", i);
	}
}

Test(plan, what_is_finished_is_released_and_expires)
{
	static const char status[] = COMPLETED_CONDITION ",\"completionTime\":\"2026-01-01T00:01:00Z\"";
	static const char spec[] = "{\"profiler\":\"CPUHotpaths\",\"target\":{\"podName\":\"a\"},\"ttlSecondsAfterFinished\":60}";
	struct plan p = plan(HELD, spec, status, NULL, CREATED_MS + 119999);
	cr_expect_eq(p.stage, PLAN_FINISHED);
	cr_expect(p.release);
	cr_expect_not(p.expire);
	p = plan("", spec, status, NULL, CREATED_MS + 120000);
	cr_expect_not(p.release);
	cr_expect(p.expire);
}

/* phase NULL: the agent has not spoken ("Pending"). */
static const struct drive_row {
	const char *about, *phase;
	struct plan_pod_view view;
	int64_t now_ms;
	enum pod_action action;
	enum job_phase end_phase;
	const char *reason;
	int64_t wake_ms;
} drive_rows[] = {
	{"new and linked", NULL, {.linked = true, .ordered_age_ms = -1, .linked_age_ms = PLAN_TELL_MS}, CREATED_MS, POD_ORDER, 0, NULL, DEADLINE_MS},
	{"ordered just now", NULL, {.linked = true, .ordered_age_ms = 0}, CREATED_MS, POD_WAIT, 0, NULL, CREATED_MS + PLAN_SILENT_MS},
	{"ordered, not a word", NULL, {.linked = true, .ordered_age_ms = PLAN_SILENT_MS}, CREATED_MS, POD_ORDER, 0, NULL,
	 DEADLINE_MS + PLAN_DEADLINE_GRACE_MS},
	{"no agent", NULL, {.unordered = true, .ordered_age_ms = -1}, CREATED_MS, POD_CHECK, 0, REASON_NodeWithoutAgent,
	 CREATED_MS + PLAN_CHECK_MS},
	{"an agent too old", NULL, {.linked = true, .too_old = true, .ordered_age_ms = -1, .linked_age_ms = PLAN_TELL_MS}, CREATED_MS, POD_CHECK, 0,
	 REASON_AgentTooOld,
	 CREATED_MS + PLAN_CHECK_MS},
	{"too old until the deadline", NULL, {.linked = true, .too_old = true, .ordered_age_ms = -1, .linked_age_ms = PLAN_TELL_MS}, DEADLINE_MS, POD_END,
	 JOB_FAILED,
	 REASON_DeadlineExceeded, INT64_MAX},
	{"too old for the next session only", "Profiling", {.linked = true, .too_old = true, .reported_in_link = true}, CREATED_MS, POD_WAIT, 0, NULL,
	 DEADLINE_MS + PLAN_DEADLINE_GRACE_MS},
	{"no agent until the deadline", NULL, {.unordered = true, .ordered_age_ms = -1}, DEADLINE_MS, POD_END, JOB_FAILED,
	 REASON_DeadlineExceeded, INT64_MAX},
	{"profiling", "Profiling", {.linked = true, .reported_in_link = true, .ordered_age_ms = -1}, CREATED_MS, POD_WAIT, 0, NULL,
	 DEADLINE_MS + PLAN_DEADLINE_GRACE_MS},
	{"past the deadline the agent ends it", "Profiling", {.linked = true, .reported_in_link = true, .ordered_age_ms = -1}, DEADLINE_MS, POD_WAIT, 0,
	 NULL, DEADLINE_MS + PLAN_DEADLINE_GRACE_MS},
	{"or is told to", "Profiling", {.linked = true, .reported_in_link = true}, DEADLINE_MS + PLAN_DEADLINE_GRACE_MS, POD_CANCEL, 0, NULL,
	 DEADLINE_MS + PLAN_DEADLINE_END_MS},
	{"once", "Profiling", {.linked = true, .reported_in_link = true, .cancel_sent = true}, DEADLINE_MS + PLAN_DEADLINE_GRACE_MS, POD_WAIT, 0,
	 NULL, DEADLINE_MS + PLAN_DEADLINE_END_MS},
	{"and given up at last", "Profiling", {.linked = true, .reported_in_link = true, .cancel_sent = true}, DEADLINE_MS + PLAN_DEADLINE_END_MS,
	 POD_END, JOB_FAILED, REASON_DeadlineExceeded, INT64_MAX},
	{"link lost", "Profiling", {.ordered_age_ms = -1, .linked_age_ms = PLAN_RETURN_MS}, CREATED_MS, POD_WAIT, 0, REASON_AgentLost,
	 DEADLINE_MS + PLAN_LOST_MS},
	{"link lost for ever", "Profiling", {.ordered_age_ms = -1, .linked_age_ms = PLAN_RETURN_MS}, DEADLINE_MS + PLAN_LOST_MS,
	 POD_END, JOB_FAILED, REASON_AgentLost, INT64_MAX},
	{"back without the job: again", "Profiling", {.linked = true, .ordered_age_ms = -1, .linked_age_ms = PLAN_TELL_MS}, CREATED_MS, POD_ORDER, 0, NULL, 0},
	{"back without the report: wait for its word", "Analyzing", {.linked = true, .ordered_age_ms = -1, .linked_age_ms = 0}, CREATED_MS, POD_WAIT,
	 0, NULL, CREATED_MS + PLAN_TELL_MS},
	{"and longer", "Analyzing", {.linked = true, .ordered_age_ms = -1, .linked_age_ms = PLAN_TELL_MS}, CREATED_MS, POD_WAIT, 0, NULL,
	 CREATED_MS + PLAN_SILENT_MS - PLAN_TELL_MS},
	{"which does not come", "Analyzing", {.linked = true, .ordered_age_ms = -1, .linked_age_ms = PLAN_SILENT_MS}, CREATED_MS, POD_END, JOB_FAILED,
	 REASON_AgentLost, 0},
	{"analyzing has a bound of its own", "Analyzing", {.linked = true, .reported_in_link = true}, DEADLINE_MS + PLAN_DEADLINE_END_MS, POD_WAIT, 0,
	 NULL, DEADLINE_MS + PLAN_ANALYZING_MS},
	{"which ends", "Analyzing", {.linked = true, .reported_in_link = true}, DEADLINE_MS + PLAN_ANALYZING_MS, POD_END, JOB_FAILED,
	 REASON_DeadlineExceeded, INT64_MAX},
	{"delivery has a day", "Delivering", {.ordered_age_ms = -1, .linked_age_ms = PLAN_RETURN_MS}, DEADLINE_MS + PLAN_LOST_MS, POD_WAIT, 0, REASON_AgentLost,
	 DEADLINE_MS + PLAN_DELIVERY_MS},
	{"and no more", "Delivering", {.linked = true, .reported_in_link = true}, DEADLINE_MS + PLAN_DELIVERY_MS, POD_END, JOB_FAILED,
	 REASON_DeliveryExpired, INT64_MAX},
	{"linked just now, to a leader that did not order: its word comes first", NULL, {.linked = true, .ordered_age_ms = -1}, CREATED_MS, POD_WAIT, 0, NULL,
	 CREATED_MS + PLAN_TELL_MS},
	{"whatever the status says", "Profiling", {.linked = true, .ordered_age_ms = -1}, CREATED_MS, POD_WAIT, 0, NULL, CREATED_MS + PLAN_TELL_MS},
	{"and however late it is", "Profiling", {.linked = true, .ordered_age_ms = -1}, DEADLINE_MS + PLAN_LOST_MS, POD_WAIT, 0, NULL,
	 DEADLINE_MS + PLAN_LOST_MS + PLAN_TELL_MS},
	{"a new leader lets agents come", "Profiling", {.ordered_age_ms = -1}, DEADLINE_MS + PLAN_LOST_MS, POD_WAIT, 0, NULL,
	 DEADLINE_MS + PLAN_LOST_MS + PLAN_RETURN_MS},
	{"and looks at no pod, which may be gone when its report is there", NULL, {.ordered_age_ms = -1, .linked_age_ms = PLAN_RETURN_MS}, CREATED_MS,
	 POD_WAIT, 0, REASON_AgentLost, DEADLINE_MS + PLAN_LOST_MS},
	{"an agent that says when it has told all is waited for", NULL, {.linked = true, .says_complete = true, .ordered_age_ms = -1,
	 .linked_age_ms = PLAN_RETURN_MS}, CREATED_MS, POD_WAIT, 0, NULL, CREATED_MS + PLAN_COMPLETE_MS - PLAN_RETURN_MS},
	{"also where it has told of the job, and may know more", "Profiling", {.linked = true, .says_complete = true, .reported_in_link = true,
	 .ordered_age_ms = -1}, DEADLINE_MS + PLAN_DEADLINE_END_MS, POD_WAIT, 0, NULL, DEADLINE_MS + PLAN_DEADLINE_END_MS + PLAN_COMPLETE_MS},
	{"it has told all: then it has not got the job", "Profiling", {.linked = true, .says_complete = true, .complete = true, .ordered_age_ms = -1},
	 CREATED_MS, POD_ORDER, 0, NULL, 0},
	{"nor its report", "Analyzing", {.linked = true, .says_complete = true, .complete = true, .ordered_age_ms = -1}, CREATED_MS, POD_END, JOB_FAILED,
	 REASON_AgentLost, 0},
	{"nor will it tell after the deadline", NULL, {.linked = true, .says_complete = true, .complete = true, .ordered_age_ms = -1}, DEADLINE_MS, POD_END,
	 JOB_FAILED, REASON_DeadlineExceeded, INT64_MAX},
	{"one that does not get to say so is ordered again, and answers with what it has", "Profiling",
	 {.linked = true, .says_complete = true, .ordered_age_ms = -1, .linked_age_ms = PLAN_COMPLETE_MS}, CREATED_MS, POD_ORDER, 0, NULL, 0},
	{"nobody waits where no order was given", NULL, {.linked = true, .says_complete = true, .unordered = true, .ordered_age_ms = -1}, CREATED_MS,
	 POD_ORDER, 0, NULL, DEADLINE_MS},
	{"ended", "Succeeded", {.linked = true}, DEADLINE_MS + PLAN_DELIVERY_MS, POD_WAIT, 0, NULL, INT64_MAX},
};

Test(plan, drives_a_pod)
{
	for (size_t i = 0; i < sizeof drive_rows / sizeof drive_rows[0]; i++) {
		const struct drive_row *r = &drive_rows[i];
		AUTO_FREE char *status = mem_printf("\"targets\":[{\"podName\":\"a\",\"nodeName\":\"n\",\"jobID\":\"j\",\"phase\":\"%s\"}]",
						    r->phase ? r->phase : "Pending");
		struct plan p = plan(HELD, SPEC, status, &r->view, r->now_ms);
		cr_expect_eq(p.stage, PLAN_DRIVE, "%s", r->about);
		cr_expect_eq(p.pods[0].action, r->action, "%s: action %d", r->about, (int)p.pods[0].action);
		cr_expect_eq(p.pods[0].reason, r->reason, "%s: reason %s", r->about, p.pods[0].reason);
		if (r->action == POD_END)
			cr_expect_eq(p.pods[0].end_phase, r->end_phase, "%s", r->about);
		if (r->wake_ms)
			cr_expect_eq(p.wake_wall_ms, r->wake_ms, "%s: wakes at deadline %+lld", r->about, (long long)(p.wake_wall_ms - DEADLINE_MS));
		cr_expect_not(p.release, "%s", r->about);
	}
}

Test(plan, cancels)
{
	static const struct {
		const char *about, *status;
		struct plan_pod_view view;
		enum pod_action action;
		const char *reason;
	} rows[] = {
		{"before any order", TARGET("Pending"), {.linked = true, .ordered_age_ms = -1, .canceled_age_ms = -1, .linked_age_ms = PLAN_TELL_MS},
		 POD_END, REASON_Canceled},
		{"ordered by another leader, and not told of yet", TARGET("Profiling"), {.linked = true, .ordered_age_ms = -1, .canceled_age_ms = -1},
		 POD_WAIT, NULL},
		{"ordered by another leader, and the agent has told all but this", TARGET("Pending"),
		 {.linked = true, .says_complete = true, .complete = true, .ordered_age_ms = -1, .canceled_age_ms = -1}, POD_END, REASON_Canceled},
		{"ordered by another leader, maybe, and no link", TARGET("Pending"),
		 {.ordered_age_ms = -1, .canceled_age_ms = 5, .linked_age_ms = PLAN_RETURN_MS}, POD_WAIT, REASON_AgentLost},
		{"profiling", TARGET("Profiling"), {.linked = true, .canceled_age_ms = -1}, POD_CANCEL, NULL},
		{"told already", TARGET("Profiling"), {.linked = true, .canceled_age_ms = 5, .cancel_sent = true}, POD_WAIT, NULL},
		{"no link", TARGET("Profiling"), {.canceled_age_ms = 5}, POD_WAIT, REASON_AgentLost},
		{"not confirmed", TARGET("Profiling"), {.linked = true, .canceled_age_ms = PLAN_CANCEL_MS, .cancel_sent = true}, POD_END, REASON_Canceled},
		{"not confirmed without link", TARGET("Profiling"), {.canceled_age_ms = PLAN_CANCEL_MS}, POD_END, REASON_AgentLost},
		{"the report is on its way", TARGET("Delivering"), {.linked = true, .reported_in_link = true, .canceled_age_ms = -1}, POD_WAIT, NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct plan p = plan(HELD, SPEC_CANCELED, rows[i].status, &rows[i].view, CREATED_MS);
		cr_expect_eq(p.pods[0].action, rows[i].action, "%s: action %d", rows[i].about, (int)p.pods[0].action);
		cr_expect_eq(p.pods[0].reason, rows[i].reason, "%s: reason %s", rows[i].about, p.pods[0].reason);
		if (rows[i].action == POD_END)
			cr_expect_eq(p.pods[0].end_phase, JOB_CANCELED, "%s", rows[i].about);
	}
}

Test(plan, holds_a_deleted_session_until_the_profiler_is_out)
{
	static const struct {
		const char *about, *status;
		struct plan_pod_view view;
		int64_t now_ms;
		enum pod_action action;
		bool release;
		int64_t wake_ms; /* 0: at the last moment */
	} rows[] = {
		{"no pods yet", "", {.linked = false}, DELETED_MS, POD_WAIT, true, 0},
		{"never ordered, and the agent would know", TARGET("Pending"), {.linked = true, .ordered_age_ms = -1, .linked_age_ms = PLAN_TELL_MS},
		 DELETED_MS, POD_WAIT, true, 0},
		{"never ordered, and the agent may not have told yet", TARGET("Pending"),
		 {.linked = true, .ordered_age_ms = -1, .linked_age_ms = PLAN_TELL_MS - 5}, DELETED_MS, POD_CANCEL, false, DELETED_MS + 5},
		{"never ordered as far as we know", TARGET("Pending"), {.ordered_age_ms = -1}, DELETED_MS, POD_WAIT, false, 0},
		{"profiling", TARGET("Profiling"), {.linked = true}, DELETED_MS, POD_CANCEL, false, 0},
		{"told already", TARGET("Profiling"), {.linked = true, .cancel_sent = true}, DELETED_MS + PLAN_RELEASE_MS - 1, POD_WAIT, false, 0},
		{"the node is gone", TARGET("Profiling"), {.ordered_age_ms = -1}, DELETED_MS + PLAN_RELEASE_MS - 1, POD_WAIT, false, 0},
		{"not for ever", TARGET("Profiling"), {.ordered_age_ms = -1}, DELETED_MS + PLAN_RELEASE_MS, POD_WAIT, true, 0},
		{"out of the process", TARGET("Analyzing"), {.linked = true}, DELETED_MS, POD_WAIT, true, 0},
		{"ended", TARGET("Failed"), {.linked = false}, DELETED_MS, POD_WAIT, true, 0},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct plan p = plan(HELD DELETED, SPEC, rows[i].status, &rows[i].view, rows[i].now_ms);
		cr_expect_eq(p.stage, PLAN_DRIVE, "%s", rows[i].about);
		cr_expect_eq(p.release, rows[i].release, "%s", rows[i].about);
		cr_expect_eq(p.pods[0].action, rows[i].action, "%s: action %d", rows[i].about, (int)p.pods[0].action);
		if (!rows[i].release)
			cr_expect_eq(p.wake_wall_ms, rows[i].wake_ms ? rows[i].wake_ms : DELETED_MS + PLAN_RELEASE_MS, "%s", rows[i].about);
	}
}

/* A job of a leader before us whose agent may hold more than the status says, a report even, and comes and tells in time: whatever happened to the pod, to
 * the session and to the clock meanwhile, nothing is decided before it has told. */
static const char *const lost_phases[] = {"Pending", "Queued", "Preparing", "Profiling", "Analyzing", "Delivering"};

struct return_case {
	size_t stored;
	int64_t leads_at_ms, links_after_ms, tells_after_ms, gone_after_ms; /* gone: the link, once more, before it has told; 0: not */
	bool canceled;
};

static struct plan_pod_view view_at(const struct return_case *c, int64_t since_ms)
{
	struct plan_pod_view v = {.ordered_age_ms = -1, .canceled_age_ms = c->canceled ? since_ms : -1};
	int64_t up_ms = c->links_after_ms, again_ms = up_ms + c->gone_after_ms + 1000;
	bool away = c->gone_after_ms && since_ms >= up_ms + c->gone_after_ms && since_ms < again_ms;
	int64_t last_ms = !c->gone_after_ms || since_ms < up_ms + c->gone_after_ms ? up_ms : away ? up_ms + c->gone_after_ms : again_ms;
	v.linked = since_ms >= up_ms && !away;
	v.linked_age_ms = since_ms >= up_ms ? since_ms - last_ms : since_ms;
	v.reported_in_link = v.linked && v.linked_age_ms >= c->tells_after_ms;
	return v;
}

static void a_report_is_not_lost(const struct return_case *c, const struct profiling_session *s)
{
	struct plan_pod_view v = {0};
	for (int64_t since_ms = 0; !v.reported_in_link; since_ms += 250) { /* what follows goes by the agent's word */
		struct plan p;
		v = view_at(c, since_ms);
		if (v.reported_in_link)
			return;
		plan_make(s, &v, c->leads_at_ms + since_ms, &p);
		cr_assert_eq(p.pods[0].action, POD_WAIT, "%s, canceled %d, leads at %+lld, links after %lld, tells after %lld, at %lld: action %d",
			     lost_phases[c->stored], c->canceled, (long long)(c->leads_at_ms - DEADLINE_MS), (long long)c->links_after_ms,
			     (long long)c->tells_after_ms, (long long)since_ms, (int)p.pods[0].action);
	}
}

Test(plan, what_an_agent_holds_is_not_given_up_by_a_leader_that_does_not_know_of_it)
{
	static const int64_t leads[] = {CREATED_MS, DEADLINE_MS, DEADLINE_MS + PLAN_DEADLINE_END_MS, DEADLINE_MS + PLAN_ANALYZING_MS,
					DEADLINE_MS + PLAN_LOST_MS};
	static const int64_t links[] = {0, 250, PLAN_CHECK_MS, PLAN_RETURN_MS - 250}, tells[] = {0, 250, PLAN_TELL_MS - 250}, gone[] = {0, 250, 1000};
	struct return_case c;
	for (size_t stored = 0; stored < sizeof lost_phases / sizeof *lost_phases * 2; stored++) {
		c = (struct return_case){.stored = stored / 2, .canceled = stored % 2};
		AUTO_FREE char *status = mem_printf(TARGET("%s"), lost_phases[c.stored]);
		struct profiling_session s = make_session(HELD, c.canceled ? SPEC_CANCELED : SPEC, status);
		for (size_t i = 0; i < 5 * 4 * 3 * 3; i++) {
			c.leads_at_ms = leads[i % 5];
			c.links_after_ms = links[i / 5 % 4];
			c.tells_after_ms = tells[i / 20 % 3];
			c.gone_after_ms = gone[i / 60];
			a_report_is_not_lost(&c, &s);
		}
		session_object_fini(&s);
	}
}

Test(plan, looks_again_ever_less_often)
{
	struct profiling_session s = {.created_wall_ms = CREATED_MS};
	static const int64_t rows[][2] = {{0, 1000}, {3999, 1000}, {4000, 1000}, {20000, 5000}, {60000, 15000}, {600000, 15000}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
		cr_expect_eq(plan_retry_ms(&s, CREATED_MS + rows[i][0]), rows[i][1], "at %lld", (long long)rows[i][0]);
}
