#include "controller/sessions/session_status.h"

#include "common/api/reason.h"
#include "tests/unit/controller/sessions/make_session.h"

#define POD(name, phase, more) "{\"podName\":\"" name "\",\"nodeName\":\"n\",\"jobID\":\"" UID "-0\",\"phase\":\"" phase "\"" more "}"
#define NOW_MS (CREATED_MS + 60000)

Test(session_status, concludes_from_its_pods)
{
	static const struct {
		const char *spec, *pods;
		const char *running, *succeeded, *completed, *reason, *state, *message;
	} rows[] = {
		{SPEC, POD("a", "Pending", ""), "False", "Unknown", "False", "Pending", "Pending", "pod a on node n"},
		/* its agent has it, and nothing keeps it from beginning: that is no queue */
		{SPEC, POD("a", "Queued", ",\"reason\":\"Queued\""), "False", "Unknown", "False", "Pending", "Pending", "pod a on node n"},
		{SPEC, POD("a", "Queued", ",\"reason\":\"Queued\",\"message\":\"b\""), "False", "Unknown", "False", "Queued", "Queued", "pod a: b"},
		{SPEC, POD("a", "Preparing", ""), "True", "Unknown", "False", "Preparing", "Preparing", "pod a on node n"},
		{SPEC, POD("a", "Succeeded", "") "," POD("b", "Profiling", ""), "True", "Unknown", "False", "Profiling", "Profiling", "pod b on node n"},
		{SPEC, POD("a", "Delivering", ""), "False", "Unknown", "False", "Delivering", "Delivering", "pod a on node n"},
		{SPEC, POD("a", "Profiling", ",\"reason\":\"AgentLost\",\"message\":\"gone\""), "True", "Unknown", "False", "AgentLost", "Profiling",
		 "pod a: gone. Check the agent on this node; the session is taken up when it is back."},
		{SPEC, POD("a", "Succeeded", ",\"summary\":\"84%\""), "False", "True", "True", "Completed", "Succeeded", "84%"},
		{SPEC, POD("a", "Failed", ",\"reason\":\"PodGone\",\"message\":\"it ended\""), "False", "False", "True", "PodGone", "Failed",
		 "pod a: it ended. The pod ended meanwhile; create the session again for its successor."},
		{SPEC, POD("a", "Failed", ",\"reason\":\"Unheard\""), "False", "False", "True", "InternalError", "Failed", NULL},
		{SPEC, POD("a", "Succeeded", "") "," POD("b", "Failed", ",\"reason\":\"PodGone\",\"message\":\"it ended\""), "False", "False", "True",
		 "PartiallySucceeded", "PartiallySucceeded", NULL},
		{SPEC_CANCELED, POD("a", "Canceled", ""), "False", "False", "True", "Canceled", "Canceled", NULL},
		{SPEC_CANCELED, POD("a", "Canceled", "") "," POD("b", "Succeeded", ""), "False", "False", "True", "Canceled", "Canceled", NULL},
		{SPEC, POD("a", "Canceled", ",\"reason\":\"DeadlineExceeded\",\"message\":\"late\""), "False", "False", "True", "DeadlineExceeded", "Failed",
		 NULL},
	};
	static const char *const names[] = {"", "Unknown", "True", "False"};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		AUTO_FREE char *status = mem_printf("\"targets\":[%s]", rows[i].pods);
		struct profiling_session s = make_session("", rows[i].spec, status);
		cr_expect_eq(session_status_conclude(&s, NOW_MS), strcmp(rows[i].completed, "True") == 0, "row %zu", i);
		const struct condition *c = s.conditions;
		cr_expect_str_eq(names[c[CONDITION_RUNNING].status], rows[i].running, "row %zu", i);
		cr_expect_str_eq(names[c[CONDITION_SUCCEEDED].status], rows[i].succeeded, "row %zu", i);
		cr_expect_str_eq(names[c[CONDITION_COMPLETED].status], rows[i].completed, "row %zu", i);
		cr_expect_str_eq(c[CONDITION_SUCCEEDED].reason, rows[i].reason, "row %zu: %s", i, c[CONDITION_SUCCEEDED].reason);
		cr_expect_str_eq(session_status_state(&s), rows[i].state, "row %zu: %s", i, session_status_state(&s));
		if (rows[i].message)
			cr_expect_str_eq(c[CONDITION_SUCCEEDED].message, rows[i].message, "row %zu: %s", i, c[CONDITION_SUCCEEDED].message);
		cr_expect_eq(c[CONDITION_ACCEPTED].status, CONDITION_TRUE);
		cr_expect_eq(s.completed_wall_ms, session_object_completed(&s) ? NOW_MS : 0, "row %zu", i);
		session_object_fini(&s);
	}
}

Test(session_status, the_transition_time_moves_only_with_the_status)
{
	struct profiling_session s = {.generation = 4};
	session_status_set(&s, CONDITION_RUNNING, CONDITION_FALSE, REASON_Pending, "a", 1000);
	session_status_set(&s, CONDITION_RUNNING, CONDITION_FALSE, REASON_Queued, "b", 2000);
	cr_expect_eq(s.conditions[CONDITION_RUNNING].since_wall_ms, 1000);
	cr_expect_str_eq(s.conditions[CONDITION_RUNNING].message, "b");
	cr_expect_eq(s.conditions[CONDITION_RUNNING].observed_generation, 4);
	session_status_set(&s, CONDITION_RUNNING, CONDITION_TRUE, REASON_Profiling, NULL, 3000);
	cr_expect_eq(s.conditions[CONDITION_RUNNING].since_wall_ms, 3000);
	session_object_fini(&s);
}

Test(session_status, an_end_without_pods_names_the_remedy)
{
	struct profiling_session s = make_session("", "{\"profiler\":\"Nope\"}", "");
	session_status_end(&s, false, REASON_InvalidSpec, "spec.profiler: unknown", NOW_MS);
	cr_expect_eq(s.conditions[CONDITION_ACCEPTED].status, CONDITION_FALSE);
	cr_expect_str_eq(s.conditions[CONDITION_ACCEPTED].message,
			 "spec.profiler: unknown. Correct the field that the message names and create the session again.");
	cr_expect(session_object_completed(&s));
	AUTO_JSON json_t *status = session_status_to_json(&s, NULL, NULL);
	cr_expect_str_eq(jsonx_str_at(status, "state", ""), "Failed");
	cr_expect_null(jsonx_at(status, "effective"));
	cr_expect_null(jsonx_at(status, "targets"));
	session_object_fini(&s);
}

static char *place(void *ctx, const struct profiling_session *s, const struct session_pod *pod, const struct link_report *r)
{
	(void)s;
	return mem_printf("%s%s/%s", (const char *)ctx, pod->pod_name, r->name);
}

#define DIGEST "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

Test(session_status, only_what_the_schema_takes_is_written)
{
	struct profiling_session s = make_session("", SPEC, "\"targets\":[" POD("a", "Succeeded", "") "]");
	struct link_job *j = &s.pods[0].job;
	j->headline = mem_strdup("bell\a and \033[31mred");
	char *long_text = mem_alloc(3001);
	memset(long_text, 'x', 3000);
	long_text[3000] = '\0';
	j->diagnosis = long_text;
	j->message = mem_strdup(long_text);
	j->report_count = 5;
	char base[] = "https://store/";
	static const char *const names[] = {"summary.md", "summary.md", "", "odd", "late"};
	for (size_t i = 0; i < 5; i++) {
		snprintf(j->reports[i].name, sizeof j->reports[i].name, "%s", names[i]);
		snprintf(j->reports[i].sha256, sizeof j->reports[i].sha256, "%s", i == 3 ? "XYZ" : DIGEST);
		j->reports[i].size_bytes = i == 0 ? -7 : 5;
		j->reports[i].delivered = i != 4;
	}
	AUTO_JSON json_t *status = session_status_to_json(&s, place, base);
	const json_t *target = json_array_get(jsonx_at(status, "targets"), 0);
	const json_t *reports = jsonx_at(target, "reports");
	cr_assert_eq(json_array_size(reports), 2, "no name twice, none empty, no digest that is none");
	cr_expect_str_eq(jsonx_str_at(json_array_get(reports, 0), "url", ""), "https://store/a/summary.md");
	cr_expect_eq(jsonx_int_at(json_array_get(reports, 0), "sizeBytes", -1), 0);
	cr_expect_null(jsonx_at(json_array_get(reports, 1), "url"), "not delivered yet");
	cr_expect_eq(strlen(jsonx_str_at(status, "diagnosis", "")), 2048);
	cr_expect_eq(strlen(jsonx_str_at(target, "message", "")), 1024);
	cr_expect_null(strpbrk(jsonx_str_at(status, "headline", ""), "\a\033"));
	cr_expect_str_eq(jsonx_str_at(status, "targetSummary", ""), "a");
	cr_expect_eq(jsonx_int_at(status, "effective.cpuHotpaths.frequencyHertz", 0), 99);
	session_object_fini(&s);
}

Test(session_status, a_failed_pod_is_told_what_to_do_once)
{
	const char *want = "it ended. The pod ended meanwhile; create the session again for its successor.";
	struct profiling_session s = make_session("", SPEC, "\"targets\":[" POD("a", "Failed", ",\"reason\":\"PodGone\",\"message\":\"it ended\"") ","
						  POD("b", "Queued", ",\"reason\":\"PodGone\",\"message\":\"it ended\"") "]");
	for (int again = 0; again < 2; again++) { /* what was written is read again */
		AUTO_JSON json_t *status = session_status_to_json(&s, NULL, NULL);
		const json_t *targets = jsonx_at(status, "targets");
		cr_expect_str_eq(jsonx_str_at(json_array_get(targets, 0), "message", ""), want);
		cr_expect_str_eq(jsonx_str_at(json_array_get(targets, 1), "message", ""), "it ended", "it has not failed yet");
		free(s.pods[0].job.message);
		s.pods[0].job.message = mem_strdup(want);
	}
	session_object_fini(&s);
}

Test(session_status, several_pods_give_a_line_each)
{
	struct profiling_session s = make_session("", SPEC, "\"targets\":[" POD("a", "Succeeded", ",\"summary\":\"84%\"") ","
						  POD("b", "Failed", "") "," POD("c", "Succeeded", ",\"summary\":\"7%\"") "]");
	AUTO_JSON json_t *status = session_status_to_json(&s, NULL, NULL);
	cr_expect_str_eq(jsonx_str_at(status, "diagnosis", ""), "a: 84%\nc: 7%");
	cr_expect_str_eq(jsonx_str_at(status, "headline", ""), "84%");
	cr_expect_eq(jsonx_int_at(status, "podsSucceeded", -1), 2);
	cr_expect_eq(jsonx_int_at(status, "podsFailed", -1), 1);
	session_object_fini(&s);
}

Test(session_status, a_write_is_bound_to_what_was_read)
{
	struct profiling_session s = make_session("", SPEC, "");
	AUTO_JSON json_t *apply = session_status_apply(&s, json_object());
	cr_expect_str_eq(jsonx_str_at(apply, "metadata.resourceVersion", ""), "7");
	cr_expect_str_eq(jsonx_str_at(apply, "metadata.uid", ""), UID);
	cr_expect_str_eq(jsonx_str_at(apply, "apiVersion", ""), "drdotnet.dev/v1alpha1");
	session_object_fini(&s);
}

Test(session_status, a_place_in_the_queue_is_told_with_what_it_waits_for)
{
	static const struct {
		const char *message, *want;
	} rows[] = {
		{NULL, "pod a: place 3 in the queue of node n"},
		{"another session profiles this process", "pod a: another session profiles this process; place 3 in the queue of node n"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct profiling_session s = make_session("", SPEC, "\"targets\":[" POD("a", "Queued", "") "]");
		snprintf(s.pods[0].node, sizeof s.pods[0].node, "n");
		s.pods[0].job.queue_position = 3;
		s.pods[0].job.message = mem_strdup(rows[i].message);
		session_status_conclude(&s, NOW_MS);
		cr_expect_eq(s.conditions[CONDITION_SUCCEEDED].reason, REASON_Queued);
		cr_expect_str_eq(s.conditions[CONDITION_SUCCEEDED].message, rows[i].want, "%s", s.conditions[CONDITION_SUCCEEDED].message);
		session_object_fini(&s);
	}
}
