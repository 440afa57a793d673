#include "controller/sessions/session_object.h"

#include "common/api/reason.h"
#include "controller/store/report_store.h"
#include "tests/unit/controller/sessions/make_session.h"

Test(session_object, reads_what_we_wrote)
{
	struct profiling_session s = make_session(
		",\"finalizers\":[\"other\",\"drdotnet.dev/detach\",7]", SPEC,
		"\"podsMatched\":3,\"startTime\":\"2026-01-01T00:00:01Z\",\"diagnosis\":\"one\\ntwo\",\"conditions\":["
		"{\"type\":\"Succeeded\",\"status\":\"Unknown\",\"reason\":\"Profiling\",\"message\":\"m\",\"lastTransitionTime\":\"2026-01-01T00:00:02Z\","
		"\"observedGeneration\":3},{\"type\":\"Strange\",\"status\":\"True\"},"
		"{\"type\":\"Accepted\",\"status\":\"True\",\"reason\":\"SomebodyElses\"}],"
		"\"targets\":[{\"podName\":\"a\",\"podUID\":\"u\",\"nodeName\":\"n\",\"jobID\":\"" UID "-0\",\"phase\":\"Profiling\",\"reason\":\"Profiling\","
		"\"pid\":7,\"container\":\"app\",\"cost\":{\"samples\":9,\"maxPauseMicroseconds\":3},\"firstSampleTime\":\"2026-01-01T00:00:02.25Z\","
		"\"reports\":[{\"name\":\"summary.md\",\"sizeBytes\":5,\"sha256\":\"x\",\"url\":\"https://x/y\"},{\"name\":\"b\"}]}]");
	cr_expect_str_eq(s.namespace, "shop");
	cr_expect_eq(s.generation, 3);
	cr_expect_eq(s.created_wall_ms, CREATED_MS);
	cr_expect_eq(s.finalizer_count, 2);
	cr_expect(session_object_has_finalizer(&s));
	cr_expect(s.spec_valid);
	cr_expect_eq(s.conditions[CONDITION_SUCCEEDED].status, CONDITION_UNKNOWN);
	cr_expect_eq(s.conditions[CONDITION_SUCCEEDED].reason, REASON_Profiling);
	cr_expect_eq(s.conditions[CONDITION_SUCCEEDED].since_wall_ms, CREATED_MS + 2000);
	cr_expect_eq(s.conditions[CONDITION_ACCEPTED].reason, REASON_InternalError, "a reason that is none of ours");
	cr_expect_eq(s.conditions[CONDITION_COMPLETED].status, CONDITION_ABSENT);
	cr_assert_eq(s.pod_count, 1);
	const struct session_pod *p = &s.pods[0];
	cr_expect(p->reported);
	cr_expect_eq(p->job.phase, JOB_PROFILING);
	cr_expect_eq(p->job.pid, 7);
	cr_expect_eq(p->job.cost.samples, 9);
	cr_expect_eq(p->job.first_sample_wall_ms, CREATED_MS + 2250);
	cr_expect_str_eq(p->job.diagnosis, "one\ntwo");
	cr_expect_eq(p->job.report_count, 2);
	cr_expect(p->job.reports[0].delivered);
	cr_expect_not(p->job.reports[1].delivered);
	session_object_fini(&s);
}

Test(session_object, refuses_what_no_api_server_gives)
{
	static const char *const rows[] = {"{}", "[]", "{\"metadata\":{}}", "{\"metadata\":{\"namespace\":\"a\",\"name\":\"b\",\"uid\":\"c\"}}",
					   "{\"metadata\":{\"namespace\":7,\"name\":\"b\",\"uid\":\"c\",\"resourceVersion\":\"1\"}}"};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct err e = ERR_INIT;
		AUTO_JSON json_t *doc = jsonx_parse(rows[i], strlen(rows[i]), "test", &e);
		struct profiling_session s;
		cr_expect_eq(session_object_from_json(doc, &s, &e), -1, "%s", rows[i]);
		cr_expect_eq(e.kind, ERR_PROTOCOL, "%s", rows[i]);
	}
}

Test(session_object, keeps_an_invalid_spec_with_its_error)
{
	struct profiling_session s = make_session("", "{\"profiler\":\"Nope\"}", "");
	cr_expect_not(s.spec_valid);
	cr_expect(strstr(s.spec_error, "unknown profiler"), "%s", s.spec_error);
	session_object_fini(&s);
}

Test(session_object, a_spoiled_status_is_read_as_far_as_it_makes_sense)
{
	struct profiling_session s = make_session("", SPEC, "\"conditions\":{},\"targets\":[7,{\"phase\":\"Sleeping\",\"reports\":7}],\"startTime\":\"soon\"");
	cr_expect_eq(s.pod_count, 2);
	cr_expect_not(s.pods[1].reported);
	cr_expect_eq(s.pods[1].job.phase, JOB_QUEUED);
	cr_expect_eq(s.started_wall_ms, 0);
	session_object_fini(&s);
}

Test(session_object, a_copy_stands_alone)
{
	struct profiling_session s = make_session(",\"finalizers\":[\"x\"]", SPEC,
						  "\"targets\":[{\"podName\":\"a\",\"reason\":\"Pending\",\"message\":\"m\"}]");
	struct profiling_session copy;
	session_object_copy(&copy, &s);
	session_object_fini(&s);
	cr_expect_str_eq(copy.finalizers[0], "x");
	cr_expect_str_eq(copy.spec.target.pod_name, "a");
	cr_expect_str_eq(copy.pods[0].job.message, "m");
	session_object_fini(&copy);
}

Test(session_object, job_ids_name_their_session)
{
	char id[LINK_ID_SIZE], uid[40];
	static const struct {
		size_t index, attempt;
		const char *id;
	} good[] = {{19, 0, UID "-19"}, {0, 1, UID "-0.1"}, {0, SESSION_MAX_ATTEMPTS - 1, UID "-0.999"}};
	size_t index = 99, attempt = 99;
	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		session_job_id(UID, good[i].index, good[i].attempt, id);
		cr_expect_str_eq(id, good[i].id);
		cr_expect_eq(session_job_id_parse(id, uid, &index, &attempt), 0);
		cr_expect_str_eq(uid, UID);
		cr_expect(index == good[i].index && attempt == good[i].attempt, "%s", id);
	}
	static const char *const bad[] = {"", "-0", "a", "a-", "a-x", "a-20", "a-1x", "a-007", "a-0.", "a-0.0", "a-0.x", "a-0.1000", "a-0.1.1", "a-.1",
					  "0123456789012345678901234567890123456789-0"};
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		cr_expect_eq(session_job_id_parse(bad[i], uid, &index, NULL), -1, "%s", bad[i]);
	cr_expect(session_job_is_earlier(UID "-0", UID "-0.1") && session_job_is_earlier(UID "-0.9", UID "-0.10"));
	cr_expect_not(session_job_is_earlier(UID "-0.1", UID "-0.1") || session_job_is_earlier(UID "-1", UID "-0.1"));
	cr_expect_not(session_job_is_earlier("a-0", UID "-0.1"));
}

#define FAILED(job, why) "\"targets\":[{\"podName\":\"a\",\"nodeName\":\"n\",\"jobID\":\"" UID job "\",\"phase\":\"Failed\",\"reason\":\"" why "\"}]"
#define MISSED(job) FAILED(job, "StartMissed")

Test(session_object, after_a_missed_start_it_has_no_pod)
{
	static const struct {
		const char *spec, *status;
		bool unassigned;
	} rows[] = {
		{SPEC, "", true},
		{SPEC_NEXT, "", true},
		{SPEC_NEXT, MISSED("-0"), true},
		{SPEC_NEXT, MISSED("-0.998"), true},
		{SPEC_NEXT, MISSED("-0.999"), false},
		{SPEC, MISSED("-0"), false},
		{SPEC_NEXT, FAILED("-0", "AttachFailed"), false},
		{SPEC_NEXT, "\"targets\":[{\"podName\":\"a\",\"nodeName\":\"n\",\"jobID\":\"" UID "-0\",\"phase\":\"Queued\"}]", false},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct profiling_session s = make_session("", rows[i].spec, rows[i].status);
		cr_expect_eq(session_object_unassigned(&s), rows[i].unassigned, "row %zu", i);
		session_object_fini(&s);
	}
}

static uint64_t hash_of(const char *text)
{
	struct err e = ERR_INIT;
	AUTO_JSON json_t *doc = jsonx_parse(text, strlen(text), "test", &e);
	cr_assert_not_null(doc, "%s", e.message);
	return session_json_hash(doc);
}

Test(session_object, hashes_do_not_depend_on_the_order_of_keys_but_on_all_else)
{
	cr_expect_eq(hash_of("{\"a\":1,\"b\":[1,2]}"), hash_of("{\"b\":[1,2],\"a\":1}"));
	static const char *const different[] = {"{\"a\":1,\"b\":[1,2]}", "{\"a\":1,\"b\":[2,1]}", "{\"a\":\"1\",\"b\":[1,2]}", "{\"a\":1}", "{}", "[]",
						"\"\"", "null", "true", "false", "0", "0.0", "{\"b\":1,\"a\":[1,2]}", "[{\"a\":1}]", "[[1],2]", "[1,[2]]"};
	size_t n = sizeof different / sizeof different[0];
	for (size_t i = 0; i < n; i++) {
		for (size_t k = 0; k < i; k++)
			cr_expect_neq(hash_of(different[i]), hash_of(different[k]), "%s and %s", different[i], different[k]);
	}
}

Test(session_object, report_prefixes)
{
	char out[40];
	struct err e = ERR_INIT;
	cr_expect_eq(session_report_prefix("shop", "cpu", UID, "a", out, sizeof out, &e), 0);
	cr_expect_str_eq(out, "shop/cpu-7b6d8d3c/a/");
	cr_expect_eq(session_report_prefix("shop", "cpu", UID, "a", out, 20, &e), -1);
}

/* Each of the longest names that Kubernetes allows, and of those about the bound, has a key of its own that fits into a file system. */
Test(session_object, report_prefixes_of_long_names)
{
	static const size_t lengths[] = {SESSION_KEY_NAME_MAX - 1, SESSION_KEY_NAME_MAX, SESSION_KEY_NAME_MAX + 1, 252, 253};
	char keys[10][512];
	struct err e = ERR_INIT;
	for (size_t i = 0; i < 10; i++) {
		char namespace[64] = "", name[254] = "";
		memset(namespace, 'n', 63);
		memset(name, 'a', lengths[i / 2]);
		if (i % 2)
			name[lengths[i / 2] - 1] = 'b'; /* the part that is cut off tells them apart */
		cr_assert_eq(session_report_prefix(namespace, name, UID, name, keys[i], sizeof keys[i], &e), 0, "%s", e.message);
		char key[1024];
		snprintf(key, sizeof key, "%.511sprofile.speedscope.json", keys[i]);
		cr_expect(report_store_key_valid(key), "%s", key);
		for (size_t k = 0; k < i; k++)
			cr_expect_str_neq(keys[i], keys[k]);
	}
	cr_expect_not_null(strstr(keys[9], "_"));
	cr_expect_null(strstr(keys[3], "_"));
}
