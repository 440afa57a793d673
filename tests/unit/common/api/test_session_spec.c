#include "common/api/label_selector.h"
#include "common/api/reason.h"
#include "common/api/session_manifest.h"
#include "common/api/session_spec.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TARGET "\"target\":{\"podName\":\"p\"}"

static int read_spec(const char *text, bool target_required, struct session_spec *out, struct err *e)
{
	struct err parse = ERR_INIT;
	AUTO_JSON json_t *doc = jsonx_parse(text, strlen(text), "test", &parse);
	cr_assert_not_null(doc, "%s", parse.message);
	return session_spec_from_json(doc, target_required, out, e);
}

Test(session_spec, fills_in_the_defaults)
{
	struct session_spec s;
	struct err e = ERR_INIT;
	cr_assert_eq(read_spec("{\"profiler\":\"CPUHotpaths\"," TARGET "}", true, &s, &e), 0, "%s", e.message);
	cr_expect_eq(s.profiler, PROFILER_CPU_HOTPATHS);
	cr_expect_eq(s.duration_seconds, 30);
	cr_expect_eq(s.frequency_hertz, 99);
	cr_expect_eq(s.pause_budget_ms, 200);
	cr_expect_eq(s.active_deadline_seconds, 600);
	cr_expect_eq(s.ttl_seconds_after_finished, 604800);
	cr_expect_eq(s.target.max_pods, 1);
	cr_expect_str_eq(s.target.pod_name, "p");
	cr_expect_str_eq(s.store, "default");
	cr_expect_eq(s.priority, PRIORITY_NORMAL);
	cr_expect_not(s.reveal);
	cr_expect_not(s.cancel);
	session_spec_fini(&s);
}

Test(session_spec, every_error_names_the_field)
{
	static const struct {
		const char *spec, *message;
	} rows[] = {
		{"{" TARGET "}", "spec.profiler: required"},
		{"{\"profiler\":\"Nope\"," TARGET "}", "spec.profiler: unknown profiler \"Nope\"; known are CPUHotpaths, GCSurvivors, MemoryLeak, "
		 "DuplicatedStrings, Allocations, RuntimePauses, Exceptions, Deadlocks, StuckTasks, Waits, Threads, "
		 "SlowRequests"},
		{"{\"profiler\":\"CPUHotpaths\"}", "spec.target: required"},
		{"{\"profiler\":\"CPUHotpaths\",\"target\":{}}", "spec.target: give selector or podName"},
		{"{\"profiler\":\"CPUHotpaths\",\"target\":{\"podName\":\"p\",\"selector\":{\"matchLabels\":{\"a\":\"b\"}}}}",
		 "spec.target: give either selector or podName, not both"},
		{"{\"profiler\":\"CPUHotpaths\",\"target\":{\"selector\":{}}}", "spec.target.selector: must not be empty; name at least one label"},
		{"{\"profiler\":\"CPUHotpaths\",\"target\":{\"podName\":\"Bad_Name\"}}",
		 "spec.target.podName: not a valid name: \"Bad_Name\"; expected at most 253 lower-case letters, digits and '-' or '.'"},
		{"{\"profiler\":\"CPUHotpaths\",\"target\":{\"podName\":\"p\",\"maxPods\":21}}",
		 "spec.target.maxPods: must be between 1 and 20, found 21"},
		{"{\"profiler\":\"CPUHotpaths\",\"target\":{\"podName\":\"p\",\"process\":{}}}",
		 "spec.target.process: name entrypoint or pid, or leave it out"},
		{"{\"profiler\":\"CPUHotpaths\"," TARGET ",\"durationSeconds\":0}", "spec.durationSeconds: must be between 1 and 3600, found 0"},
		{"{\"profiler\":\"CPUHotpaths\"," TARGET ",\"durationSeconds\":\"30s\"}", "spec.durationSeconds: expected an integer, found \"30s\""},
		{"{\"profiler\":\"CPUHotpaths\"," TARGET ",\"duration\":3}",
		 "spec.duration: unknown field; known are profiler, target, durationSeconds, cpuHotpaths, gcSurvivors, memoryLeak, "
		 "duplicatedStrings, allocations, runtimePauses, exceptions, deadlocks, stuckTasks, waits, threads, slowRequests, "
		 "pauseBudgetMilliseconds, output, activeDeadlineSeconds, "
		 "ttlSecondsAfterFinished, priority, start, reveal, baselineSession, cancel"},
		{"{\"profiler\":\"CPUHotpaths\"," TARGET ",\"priority\":\"urgent\"}", "spec.priority: must be Low, Normal or High, found \"urgent\""},
		{"{\"profiler\":\"CPUHotpaths\"," TARGET ",\"reveal\":1}", "spec.reveal: expected true or false, found 1"},
		{"{\"profiler\":\"CPUHotpaths\"," TARGET ",\"cpuHotpaths\":{\"frequencyHertz\":1000}}",
		 "spec.cpuHotpaths.frequencyHertz: must be between 1 and 999, found 1000"},
		{"{\"profiler\":\"CPUHotpaths\"," TARGET ",\"activeDeadlineSeconds\":39}",
		 "spec.activeDeadlineSeconds: must be at least durationSeconds + 10 = 40, found 39"},
		{"{\"profiler\":\"CPUHotpaths\"," TARGET ",\"output\":{\"store\":\"A\"}}",
		 "spec.output.store: not a valid name: \"A\"; expected at most 63 lower-case letters, digits and '-'"},
		{"{\"profiler\":\"CPUHotpaths\"," TARGET ",\"cancel\":\"no\"}", "spec.cancel: expected true or false, found \"no\""},
		{"{\"profiler\":\"CPUHotpaths\",\"target\":{\"selector\":{\"matchExpressions\":[{\"key\":\"a\",\"operator\":\"In\"}]}}}",
		 "spec.target.selector.matchExpressions[0]: In and NotIn need 1 to 32 values"},
		{"[]", "spec: required, expected an object"},
		{"{\"profiler\":\"GCSurvivors\"," TARGET ",\"durationSeconds\":30}",
		 "spec.durationSeconds: GCSurvivors takes one look at the heap: leave it out"},
		{"{\"profiler\":\"GCSurvivors\"," TARGET ",\"gcSurvivors\":{\"roots\":\"All\"}}",
		 "spec.gcSurvivors.roots: must be Auto, Exact or NoCollection, found \"All\""},
		{"{\"profiler\":\"MemoryLeak\"," TARGET ",\"memoryLeak\":{\"walks\":1}}", "spec.memoryLeak.walks: must be between 2 and 10, found 1"},
		{"{\"profiler\":\"Allocations\"," TARGET ",\"cpuHotpaths\":{}}",
		 "spec.cpuHotpaths: belongs to the profiler CPUHotpaths; leave it out for Allocations"},
		{"{\"profiler\":\"Allocations\"," TARGET ",\"allocations\":{\"rate\":1}}", "spec.allocations.rate: unknown field; none is known here"},
		{"{\"profiler\":\"Allocations\"," TARGET ",\"baselineSession\":\"A/b\"}",
		 "spec.baselineSession: not a valid name: \"A/b\"; expected at most 253 lower-case letters, digits and '-' or '.'"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct session_spec s;
		struct err e = ERR_INIT;
		cr_expect_eq(read_spec(rows[i].spec, true, &s, &e), -1, "%s was accepted", rows[i].spec);
		cr_expect_str_eq(e.message, rows[i].message);
		cr_expect_eq(e.kind, ERR_INVALID);
		cr_expect_eq(e.reason, REASON_InvalidSpec);
	}
}

Test(session_spec, bounds_are_exact)
{
	static const struct {
		int duration, deadline;
		int expected;
	} rows[] = {{30, 40, 0}, {30, 39, -1}, {3600, 3610, 0}, {3600, 0, 0}, {3601, 0, -1}, {1, 11, 0}, {1, 10, -1}};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		char text[200], deadline[60] = "";
		if (rows[i].deadline)
			snprintf(deadline, sizeof deadline, ",\"activeDeadlineSeconds\":%d", rows[i].deadline);
		snprintf(text, sizeof text, "{\"profiler\":\"CPUHotpaths\"," TARGET ",\"durationSeconds\":%d%s}", rows[i].duration, deadline);
		struct session_spec s;
		struct err e = ERR_INIT;
		int rc = read_spec(text, true, &s, &e);
		cr_expect_eq(rc, rows[i].expected, "%s gave %d", text, rc);
		if (rc == 0) {
			cr_expect_geq(s.active_deadline_seconds, s.duration_seconds + 10);
			session_spec_fini(&s);
		}
	}
}

Test(session_spec, what_it_writes_it_reads)
{
	static const char text[] = "{\"profiler\":\"CPUHotpaths\",\"target\":{\"selector\":{\"matchLabels\":{\"app\":\"checkout\"},"
				   "\"matchExpressions\":[{\"key\":\"tier\",\"operator\":\"NotIn\",\"values\":[\"a\",\"b\"]},"
				   "{\"key\":\"x.io/y\",\"operator\":\"Exists\"}]},\"container\":\"app\",\"process\":{\"entrypoint\":\"Checkout\",\"pid\":7},"
				   "\"maxPods\":3},\"durationSeconds\":5,\"cpuHotpaths\":{\"frequencyHertz\":199},\"priority\":\"High\",\"reveal\":true,"
				   "\"cancel\":true}";
	struct session_spec first, second, copy;
	struct err e = ERR_INIT;
	cr_assert_eq(read_spec(text, true, &first, &e), 0, "%s", e.message);
	AUTO_JSON json_t *json = session_spec_to_json(&first);
	cr_assert_eq(session_spec_from_json(json, true, &second, &e), 0, "%s", e.message);
	session_spec_copy(&copy, &second);
	AUTO_JSON json_t *again = session_spec_to_json(&copy);
	cr_expect(json_equal(json, again));
	cr_expect_eq(copy.priority, PRIORITY_HIGH);
	cr_expect(copy.reveal);
	AUTO_BUF struct buf query;
	buf_init(&query, 200);
	cr_expect_eq(label_selector_to_query(copy.target.selector, copy.target.selector_count, &query), 0);
	cr_expect_str_eq(buf_str(&query), "app=checkout,tier notin (a,b),x.io/y");
	session_spec_fini(&first);
	session_spec_fini(&second);
	session_spec_fini(&copy);
}

Test(session_spec, starts_that_cannot_be)
{
	static const struct {
		const char *spec, *message;
	} rows[] = {
		{"{\"profiler\":\"CPUHotpaths\"," TARGET ",\"start\":\"Later\"}", "spec.start: must be Now or NextContainerStart, found \"Later\""},
		{"{\"profiler\":\"Waits\"," TARGET ",\"start\":\"NextContainerStart\"}",
		 "spec.start: Waits cannot begin with a container's start: use CPUHotpaths, or start: Now"},
		{"{\"profiler\":\"CPUHotpaths\",\"target\":{\"podName\":\"a\",\"maxPods\":2},\"start\":\"NextContainerStart\"}",
		 "spec.target.maxPods: must be 1 with start: NextContainerStart; create a session for each pod"},
		{"{\"profiler\":\"CPUHotpaths\",\"target\":{\"podName\":\"a\",\"process\":{\"pid\":7}},\"start\":\"NextContainerStart\"}",
		 "spec.target.process: cannot be set with start: NextContainerStart, which profiles the first .NET process that starts; leave it out"},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct session_spec s;
		struct err e = ERR_INIT;
		cr_expect_eq(read_spec(rows[i].spec, true, &s, &e), -1, "%s was accepted", rows[i].spec);
		cr_expect_str_eq(e.message, rows[i].message);
	}
	struct session_spec local;
	struct err e = ERR_INIT;
	cr_expect_eq(read_spec("{\"profiler\":\"CPUHotpaths\",\"start\":\"NextContainerStart\"}", false, &local, &e), -1);
	cr_expect_str_eq(e.message, "spec.start: NextContainerStart is for sessions of a cluster; here `drdotnet run -- COMMAND` begins with a process");
}

Test(session_spec, its_start_is_said_where_it_is_not_now)
{
	struct session_spec s;
	struct err e = ERR_INIT;
	cr_assert_eq(read_spec("{\"profiler\":\"CPUHotpaths\"," TARGET ",\"start\":\"NextContainerStart\"}", true, &s, &e), 0, "%s", e.message);
	cr_expect_eq(s.start, START_NEXT_CONTAINER);
	AUTO_JSON json_t *next = session_spec_to_json(&s);
	cr_expect_str_eq(jsonx_str_at(next, "start", ""), "NextContainerStart");
	session_spec_fini(&s);
	cr_assert_eq(read_spec("{\"profiler\":\"Waits\"," TARGET ",\"start\":\"Now\"}", true, &s, &e), 0, "%s", e.message);
	AUTO_JSON json_t *now = session_spec_to_json(&s);
	cr_expect_null(json_object_get(now, "start"), "older agents do not know it");
	session_spec_fini(&s);
}

Test(session_spec, each_profiler_has_its_settings_and_defaults)
{
	static const struct {
		const char *spec;
		int64_t duration, budget, walks;
		enum heap_roots roots;
	} rows[] = {
		{"{\"profiler\":\"GCSurvivors\"}", 0, 500, 3, HEAP_ROOTS_AUTO},
		{"{\"profiler\":\"GCSurvivors\",\"gcSurvivors\":{\"roots\":\"Exact\"}}", 0, 500, 3, HEAP_ROOTS_EXACT},
		{"{\"profiler\":\"MemoryLeak\"}", 120, 500, 3, HEAP_ROOTS_AUTO},
		{"{\"profiler\":\"MemoryLeak\",\"memoryLeak\":{\"roots\":\"NoCollection\",\"walks\":10},\"baselineSession\":\"leak-1\"}", 120, 500, 10,
		 HEAP_ROOTS_NO_COLLECTION},
		{"{\"profiler\":\"DuplicatedStrings\",\"duplicatedStrings\":{}}", 0, 500, 3, HEAP_ROOTS_AUTO},
		{"{\"profiler\":\"Allocations\"}", 30, 200, 3, HEAP_ROOTS_AUTO},
		{"{\"profiler\":\"RuntimePauses\",\"durationSeconds\":5,\"pauseBudgetMilliseconds\":7}", 5, 7, 3, HEAP_ROOTS_AUTO},
	};
	for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
		struct session_spec s, again;
		struct err e = ERR_INIT;
		cr_assert_eq(read_spec(rows[i].spec, false, &s, &e), 0, "%s: %s", rows[i].spec, e.message);
		cr_expect_eq(s.duration_seconds, rows[i].duration, "%s", rows[i].spec);
		cr_expect_eq(s.pause_budget_ms, rows[i].budget, "%s", rows[i].spec);
		cr_expect_eq(s.walks, rows[i].walks, "%s", rows[i].spec);
		cr_expect_eq(s.roots, rows[i].roots, "%s", rows[i].spec);
		AUTO_JSON json_t *json = session_spec_to_json(&s);
		cr_assert_eq(session_spec_from_json(json, false, &again, &e), 0, "%s: %s", rows[i].spec, e.message);
		AUTO_JSON json_t *twice = session_spec_to_json(&again);
		cr_expect(json_equal(json, twice), "%s", rows[i].spec);
		session_spec_fini(&s);
		session_spec_fini(&again);
	}
}

Test(session_spec, reads_a_manifest)
{
	static const char text[] = "apiVersion: drdotnet.dev/v1alpha1\nkind: ProfilingSession\nmetadata: {name: cpu}\nspec:\n  profiler: CPUHotpaths\n"
				   "  durationSeconds: 5\n";
	char *name = NULL;
	struct session_spec s;
	struct err e = ERR_INIT;
	cr_assert_eq(session_manifest_parse(text, strlen(text), "s.yaml", &name, &s, &e), 0, "%s", e.message);
	cr_expect_str_eq(name, "cpu");
	cr_expect_eq(s.duration_seconds, 5);
	free(name);
	session_spec_fini(&s);
	static const char wrong[] = "apiVersion: v1\nkind: Pod\n";
	cr_expect_eq(session_manifest_parse(wrong, strlen(wrong), "s.yaml", &name, &s, &e), -1);
	cr_expect_str_eq(e.message, "s.yaml: apiVersion: expected \"drdotnet.dev/v1alpha1\", found \"v1\"");
}
