/* What a session is compared with, the status that it stands in, and who asks for it. */
#include "controller/sessions/baseline.h"
#include "controller/sessions/comparisons.h"
#include "controller/sessions/session_status.h"
#include "tests/unit/controller/sessions/make_session.h"

#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define TARGET "\"target\":{\"podName\":\"a\"}"
#define WITH_BASELINE "{\"profiler\":\"GCSurvivors\"," TARGET ",\"baselineSession\":\"before\"}"
#define OF(profiler) "{\"profiler\":\"" profiler "\"," TARGET "}"
#define REPORT(name, url) "{\"name\":\"" name "\",\"mediaType\":\"application/json\",\"sizeBytes\":9,\"sha256\":\"x\"" url "}"
#define URL ",\"url\":\"http://s/r\""
#define POD(name, reports) "{\"podName\":\"" name "\",\"phase\":\"Succeeded\",\"reports\":[" reports "]}"
#define PODS(list) "\"targets\":[" list "]"
#define WHOLE COMPLETED_CONDITION "," PODS(POD("a", REPORT("report.json", URL)))

Test(baseline, must_be_finished_of_this_profiler_and_have_a_report)
{
	static const struct {
		const char *metadata, *spec, *status, *why; /* status NULL: there is no such session; why NULL: it is good */
	} rows[] = {
		{"", OF("GCSurvivors"), WHOLE, NULL},
		{"", OF("GCSurvivors"), NULL, "there is no session before in namespace shop"},
		{",\"deletionTimestamp\":\"2026-01-01T00:00:00Z\"", OF("GCSurvivors"), WHOLE, "there is no session before in namespace shop"},
		{"", OF("MemoryLeak"), WHOLE, "session before is of the profiler MemoryLeak, not of GCSurvivors"},
		{"", "{\"profiler\":\"Old\"}", WHOLE, "session before is no valid one, not of GCSurvivors"},
		{"", OF("GCSurvivors"), PODS(POD("a", REPORT("report.json", URL))), "session before has not finished"},
		{"", OF("GCSurvivors"), COMPLETED_CONDITION, "session before has no report"},
		{"", OF("GCSurvivors"), COMPLETED_CONDITION "," PODS(POD("a", REPORT("report.json", ""))), "session before has no report"},
		{"", OF("GCSurvivors"), COMPLETED_CONDITION "," PODS(POD("a", REPORT("report.html", URL))), "session before has no report"},
	};
	struct profiling_session s = make_session("", WITH_BASELINE, "");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct profiling_session baseline = {0};
		if (rows[i].status)
			baseline = make_session(rows[i].metadata, rows[i].spec, rows[i].status);
		AUTO_FREE char *why = baseline_unusable(&s, rows[i].status ? &baseline : NULL);
		cr_expect_eq(why == NULL, rows[i].why == NULL, "row %zu: %s", i, why);
		if (why && rows[i].why)
			cr_expect(strncmp(why, "spec.baselineSession: ", 22) == 0 && strcmp(why + 22, rows[i].why) == 0, "row %zu: %s", i, why);
		session_object_fini(&baseline);
	}
	session_object_fini(&s);
	s = make_session("", "{\"profiler\":\"GCSurvivors\"," TARGET ",\"baselineSession\":\"cpu\"}", WHOLE);
	AUTO_FREE char *why = baseline_unusable(&s, &s);
	cr_expect_str_eq(why, "spec.baselineSession: a session cannot be its own baseline");
	session_object_fini(&s);
}

Test(baseline, the_same_pod_comes_first)
{
	struct profiling_session s = make_session("", OF("GCSurvivors"), PODS(POD("a", "") "," POD("b", REPORT("report.json", URL)) ","
									    POD("c", REPORT("report.json", URL))));
	static const struct {
		const char *name, *found;
	} rows[] = {{NULL, "b"}, {"a", "b"}, {"b", "b"}, {"c", "c"}, {"d", "b"}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct link_report *report = NULL;
		const struct session_pod *pod = baseline_pod(&s, rows[i].name, &report);
		cr_assert_not_null(pod);
		cr_expect_str_eq(pod->pod_name, rows[i].found, "row %zu", i);
		cr_expect_eq(report, &pod->job.reports[0]);
	}
	session_object_fini(&s);
}

Test(baseline, the_comparison_is_kept_in_the_status_and_bounded)
{
	struct profiling_session s = make_session("", WITH_BASELINE, WHOLE ",\"comparison\":\"It grew.\\nA lot.\"");
	cr_expect_str_eq(s.comparison, "It grew.\nA lot.");
	struct profiling_session copy;
	session_object_copy(&copy, &s);
	AUTO_JSON json_t *status = session_status_to_json(&copy, NULL, NULL);
	cr_expect_str_eq(jsonx_str_at(status, "comparison", ""), "It grew.\nA lot.");
	free(copy.comparison);
	copy.comparison = mem_alloc(4001);
	memset(copy.comparison, 'x', 4000);
	copy.comparison[10] = '\x1b';
	AUTO_JSON json_t *cut = session_status_to_json(&copy, NULL, NULL);
	cr_expect_eq(strlen(jsonx_str_at(cut, "comparison", "")), 2048);
	cr_expect_null(strchr(jsonx_str_at(cut, "comparison", ""), '\x1b'));
	session_object_fini(&copy);
	session_object_fini(&s);
}

/* Without an API server: nobody waits, each is told, and what is asked for again is the same. */
static void count_done(void *ctx, const char *key)
{
	cr_expect(strncmp(key, "shop/s", 6) == 0, "%s", key);
	atomic_fetch_add((atomic_int *)ctx, 1);
}

Test(comparisons, are_made_beside_and_bounded)
{
	atomic_int done = 0;
	struct kube_config kube = {.server = mem_strdup("http://127.0.0.1:1")}; /* nobody is there */
	struct comparisons_options o = {&kube, NULL, count_done, &done};
	struct err e = ERR_INIT;
	struct comparisons *c = comparisons_start(&o, &e);
	cr_assert_not_null(c, "%s", e.message);
	struct profiling_session s = make_session("", WITH_BASELINE, WHOLE);
	size_t refused = 0;
	for (int i = 0; i < COMPARISONS_MOST + 3; i++) {
		snprintf(s.name, sizeof s.name, "s%d", i);
		snprintf(s.uid, sizeof s.uid, "uid-%d", i);
		AUTO_FREE char *text = comparisons_get(c, &s, 1000);
		refused += text && strstr(text, "too many sessions wait");
	}
	cr_expect_eq(refused, 3);
	snprintf(s.uid, sizeof s.uid, "uid-%d", COMPARISONS_MOST - 1);
	AUTO_FREE char *waits = comparisons_get(c, &s, 1000 + COMPARISONS_PATIENCE_MS);
	cr_expect_null(waits, "its time has not passed");
	AUTO_FREE char *late = comparisons_get(c, &s, 1001 + COMPARISONS_PATIENCE_MS);
	cr_expect(late && strstr(late, "Not compared with before: the reports could not be read in time; kubectl drdotnet diff"), "%s", late);
	comparisons_stop(c);
	comparisons_free(c);
	session_object_fini(&s);
	free(kube.server);
}
