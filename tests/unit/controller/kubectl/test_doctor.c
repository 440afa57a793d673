#include "controller/kubectl/doctor_checks.h"

#include "common/base/cleanup.h"
#include "common/base/jsonx.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define NOW_MS 1767225600000 /* 2026-01-01T00:00:00Z */

static json_t *json(const char *fmt, ...)
{
	char text[4096];
	va_list args;
	va_start(args, fmt);
	vsnprintf(text, sizeof text, fmt, args);
	va_end(args);
	for (char *at = text; *at; at++)
		*at = *at == '\'' ? '"' : *at; /* as tests write it */
	json_error_t why;
	json_t *doc = json_loads(text, 0, &why);
	cr_assert_not_null(doc, "%s: %s", why.text, text);
	return doc;
}

static void expect(struct doctor_findings *f, size_t i, enum doctor_level level, const char *part)
{
	cr_assert(i < f->count, "%zu findings", f->count);
	cr_expect_eq(f->items[i].level, level, "%s", f->items[i].what);
	cr_expect(strstr(f->items[i].what, part), "%s", f->items[i].what);
	cr_expect_eq(f->items[i].remedy == NULL, level == DOCTOR_OK);
}

Test(doctor, the_shipped_admission_policy_is_found_by_what_it_does)
{
	AUTO_JSON json_t *policy = json_pack("{s:{s:s, s:[{s:s}]}}", "spec", "failurePolicy", "Fail", "validations", "expression",
					     "authorizer.x.check('reveal').allowed()");
	AUTO_JSON json_t *binding = json("{'spec':{'policyName':'sessions.drdotnet.dev','validationActions':['Deny']}}");
	AUTO_JSON json_t *warns = json("{'spec':{'policyName':'sessions.drdotnet.dev','validationActions':['Warn']}}");
	struct err missing = {.kind = ERR_NOT_FOUND, .message = "not found"};
	struct doctor_findings f = {0};
	doctor_check_admission((struct doctor_answer){policy, NULL}, (struct doctor_answer){binding, NULL}, &f);
	expect(&f, 0, DOCTOR_OK, "in force");
	doctor_check_admission((struct doctor_answer){policy, NULL}, (struct doctor_answer){warns, NULL}, &f);
	expect(&f, 1, DOCTOR_WARN, "do not refuse");
	doctor_check_admission((struct doctor_answer){NULL, &missing}, (struct doctor_answer){NULL, &missing}, &f);
	expect(&f, 2, DOCTOR_WARN, "missing: not found");
	doctor_check_admission((struct doctor_answer){policy, NULL}, (struct doctor_answer){NULL, &missing}, &f);
	expect(&f, 3, DOCTOR_WARN, "missing: not found");
	cr_expect_eq(f.count, 4);
	doctor_findings_fini(&f);
}

Test(doctor, what_may_not_be_looked_at_is_named_in_one_line)
{
	struct err denied = {.kind = ERR_DENIED, .message = "leases is forbidden"};
	const struct doctor_answer none = {NULL, &denied};
	struct doctor_findings f = {0};
	doctor_check_left_out(&f);
	cr_expect_eq(f.count, 0);
	doctor_check_leader(none, NOW_MS, &f);
	doctor_check_nodes(none, none, &f);
	doctor_check_admission(none, none, &f);
	doctor_check_sessions(none, NOW_MS, &f);
	doctor_check_leader(none, NOW_MS, &f);
	cr_expect_eq(f.count, 0);
	doctor_check_left_out(&f);
	expect(&f, 0, DOCTOR_WARN, "you have no right to look at: leader, nodes, admission policy, recent sessions");
	cr_expect(strstr(f.items[0].remedy, "--clusterrole=drdotnet-doctor"));
	cr_expect_eq(doctor_findings_worst(&f), DOCTOR_WARN);
	for (int i = 0; i < 2 * DOCTOR_LEFT_OUT_MAX; i++)
		doctor_findings_leave_out(&f, &"more checks than there are, each by its own address"[i]);
	cr_expect_eq(f.left_out_count, DOCTOR_LEFT_OUT_MAX);
	doctor_findings_fini(&f);
}

static void check_controller(json_t *deployment, json_t *pods, json_t *events, enum doctor_level level, const char *part)
{
	struct doctor_findings f = {0};
	doctor_check_controller((struct doctor_answer){deployment, NULL}, (struct doctor_answer){pods, NULL}, (struct doctor_answer){events, NULL}, &f);
	expect(&f, 0, level, part);
	doctor_findings_fini(&f);
	json_decref(deployment);
}

static json_t *rollout(int generation, int updated, int all)
{
	return json("{'metadata':{'generation':%d},'spec':{'replicas':2},'status':{'availableReplicas':2,'observedGeneration':4,'updatedReplicas':%d,"
		    "'replicas':%d}}",
		    generation, updated, all);
}

Test(doctor, a_rollout_that_does_not_get_through_is_named)
{
	AUTO_JSON json_t *pods = json("[{'metadata':{'name':'old'},'status':{'containerStatuses':[{'name':'controller','state':{'running':{}}}]}},"
				      "{'metadata':{'name':'new'},'status':{'containerStatuses':[{'name':'controller','state':{'waiting':{"
				      "'reason':'ContainerCreating'}}}]}}]");
	AUTO_JSON json_t *unscheduled = json("[{'metadata':{'name':'new'},'status':{'conditions':[{'type':'PodScheduled','status':'False',"
					     "'reason':'Unschedulable','message':'0/3 nodes'}]}}]");
	AUTO_JSON json_t *events = json("[{'type':'Warning','reason':'FailedMount','message':'secret not found','lastTimestamp':'2026-01-01T00:00:02Z',"
					"'involvedObject':{'name':'new'}},{'type':'Warning','reason':'Old','message':'x',"
					"'lastTimestamp':'2026-01-01T00:00:01Z','involvedObject':{'name':'new'}}]");
	check_controller(rollout(4, 2, 2), NULL, NULL, DOCTOR_OK, "2 of 2 replicas available");
	check_controller(rollout(4, 1, 3), pods, events, DOCTOR_WARN, "1 of 2 are of the newest template, others still run with the settings before; pod new "
								       "does not start: ContainerCreating: controller (FailedMount: secret not found)");
	check_controller(rollout(4, 2, 3), NULL, NULL, DOCTOR_WARN, "2 of 2 are of the newest template");
	check_controller(rollout(5, 2, 2), unscheduled, NULL, DOCTOR_WARN, "has not been taken up yet; pod new does not start: Unschedulable: 0/3 nodes");
}

static json_t *ended_after(const char *reason, const char *waited_for)
{
	return json("{'metadata':{'name':'s'},'status':{'completionTime':'2025-12-31T20:00:00Z','conditions':["
		    "{'type':'Running','status':'False','reason':'%s'},{'type':'Succeeded','status':'False','reason':'%s','message':'because'}]}}",
		    waited_for, reason);
}

static json_t *ended(const char *reason)
{
	return ended_after(reason, reason);
}

Test(doctor, a_deadline_that_passed_while_no_pod_was_there_is_no_illness_either)
{
	AUTO_JSON json_t *sessions = json_array();
	struct doctor_findings f = {0};
	json_array_append_new(sessions, ended_after("DeadlineExceeded", "PodNotFound"));
	json_array_append_new(sessions, ended_after("DeadlineExceeded", "NoPodsMatched"));
	doctor_check_sessions((struct doctor_answer){sessions, NULL}, NOW_MS, &f);
	cr_assert_eq(f.count, 1);
	expect(&f, 0, DOCTOR_OK, "2 ended in the last day, none failed by the installation's fault; for other reasons: DeadlineExceeded (2)");
	json_array_append_new(sessions, ended_after("DeadlineExceeded", "NodeWithoutAgent"));
	doctor_check_sessions((struct doctor_answer){sessions, NULL}, NOW_MS, &f);
	cr_assert_eq(f.count, 2);
	expect(&f, 1, DOCTOR_WARN, "1 of 3: DeadlineExceeded, such as s: because");
	doctor_findings_fini(&f);
}

Test(doctor, what_targets_refuse_is_no_illness_of_the_installation)
{
	static const char *const ordinary[] = {"NoSamples", "PodGone", "PodNotFound", "NoSamples", "ProcessExited", "InvalidSpec", "PauseBudgetExceeded"};
	AUTO_JSON json_t *sessions = json_array();
	struct doctor_findings f = {0};
	for (size_t i = 0; i < sizeof ordinary / sizeof *ordinary; i++)
		json_array_append_new(sessions, ended(ordinary[i]));
	doctor_check_sessions((struct doctor_answer){sessions, NULL}, NOW_MS, &f);
	cr_assert_eq(f.count, 1);
	expect(&f, 0, DOCTOR_OK, "7 ended in the last day, none failed by the installation's fault; for other reasons: NoSamples (2), PodGone (1)");
	json_array_append_new(sessions, ended("UploadFailed"));
	doctor_check_sessions((struct doctor_answer){sessions, NULL}, NOW_MS, &f);
	cr_assert_eq(f.count, 2);
	expect(&f, 1, DOCTOR_WARN, "1 of 8: UploadFailed, such as s: because");
	doctor_findings_fini(&f);
}

static json_t *agent(const char *name, const char *node, const char *ready)
{
	return json("{'metadata':{'name':'%s'},'spec':{'nodeName':'%s'},'status':{'conditions':[{'type':'Ready','status':'%s'}]}}", name, node, ready);
}

static json_t *probed(const char *pod, const char *at, const char *said)
{
	return json("{'involvedObject':{'kind':'Pod','name':'%s'},'lastTimestamp':'%s','message':'Readiness probe failed: %s'}", pod, at, said);
}

Test(doctor, agents_without_a_link_and_why)
{
	AUTO_JSON json_t *pods = json_array();
	AUTO_JSON json_t *events = json_array();
	struct doctor_findings f = {0};
	struct doctor_answer p = {pods, NULL}, e = {events, NULL};
	json_array_append_new(pods, agent("a", "node-a", "True"));
	json_array_append_new(events, probed("a", "2026-01-01T00:00:00Z", "not linked: long ago"));
	json_array_append_new(pods, agent("b", "node-b", "False"));
	doctor_check_links(p, e, &f);
	cr_expect_eq(f.count, 0, "one is ready, of the other nothing was said");
	json_array_append_new(events, probed("b", "2026-01-01T00:01:00Z", "not linked: the name x cannot be resolved\\nmore"));
	json_array_append_new(events, probed("b", "2026-01-01T00:00:00Z", "not linked: an older one"));
	json_array_append_new(events, probed("b", "2026-01-01T00:02:00Z", "no agent answers"));
	doctor_check_links(p, e, &f);
	expect(&f, 0, DOCTOR_WARN, "1 of 2 agents have no link to a controller, such as b on node node-b: not linked: the name x cannot be resolved");
	cr_expect_null(strstr(f.items[0].what, "more"));
	json_array_remove(pods, 0);
	doctor_check_links(p, e, &f);
	expect(&f, 1, DOCTOR_FAIL, "1 of 1 agents");
	doctor_check_links((struct doctor_answer){NULL, NULL}, e, &f);
	cr_expect_eq(f.count, 2);
	doctor_findings_fini(&f);
}
