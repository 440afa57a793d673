#include "controller/sessions/session_findings.h"

#include "common/base/jsonx.h"
#include "common/base/mem.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_finding(struct session_pod *pod, const char *id, int score)
{
	struct link_job *j = &pod->job;
	struct finding f = {.state = FINDING_FOUND, .score = score};
	strcpy(f.id, id);
	finding_message(&f, "%s of %s", id, pod->pod_name);
	j->findings = mem_realloc(j->findings, j->finding_count + 1, sizeof f);
	j->findings[j->finding_count++] = f;
}

static struct profiling_session with_pods(struct session_pod *pods, size_t count)
{
	for (size_t i = 0; i < count; i++)
		snprintf(pods[i].pod_name, sizeof pods[i].pod_name, "shop-%zu", i);
	return (struct profiling_session){.pods = pods, .pod_count = count};
}

static void free_findings(struct profiling_session *s)
{
	for (size_t i = 0; i < s->pod_count; i++) {
		free(s->pods[i].job.findings);
		s->pods[i].job.findings = NULL;
		s->pods[i].job.finding_count = 0;
	}
}

Test(session_findings, of_one_pod_name_no_pod)
{
	struct session_pod pods[1] = {0};
	struct profiling_session s = with_pods(pods, 1);
	cr_assert_null(session_findings_json(&s));
	add_finding(&pods[0], "HotMethod", 80);
	AUTO_JSON json_t *list = session_findings_json(&s);
	cr_assert_eq(json_array_size(list), 1);
	cr_assert_null(json_object_get(json_array_get(list, 0), "podName"));
	free_findings(&s);
	session_findings_read(list, &s);
	cr_assert_eq(pods[0].job.finding_count, 1);
	cr_assert_eq(pods[0].job.findings[0].score, 80);
	free_findings(&s);
}

Test(session_findings, of_several_pods_the_highest_scores_are_kept)
{
	struct session_pod pods[3] = {0};
	struct profiling_session s = with_pods(pods, 3);
	for (int i = 0; i < 8; i++)
		for (int pod = 0; pod < 3; pod++)
			add_finding(&pods[pod], "Slow", 10 * pod + 8 - i);
	AUTO_JSON json_t *list = session_findings_json(&s);
	cr_assert_eq(json_array_size(list), SESSION_FINDINGS_MAX);
	cr_assert_str_eq(jsonx_str_at(json_array_get(list, 0), "podName", ""), "shop-2");
	cr_assert_eq(jsonx_int_at(json_array_get(list, 0), "score", 0), 28);
	cr_assert_eq(jsonx_int_at(json_array_get(list, 15), "score", 0), 11);
	free_findings(&s);
	session_findings_read(list, &s);
	cr_assert_eq(pods[2].job.finding_count, 8);
	cr_assert_eq(pods[1].job.finding_count, 8);
	cr_assert_eq(pods[0].job.finding_count, 0);
	AUTO_JSON json_t *again = session_findings_json(&s);
	cr_assert(json_equal(list, again), "what was read is written again");
	free_findings(&s);
}

Test(session_findings, of_a_pod_that_is_not_there_are_passed_over)
{
	struct session_pod pods[2] = {0};
	struct profiling_session s = with_pods(pods, 2);
	AUTO_JSON json_t *list = json_pack("[{s:s, s:s, s:i, s:s}, {s:s, s:s, s:i}, i]", "id", "Slow", "state", "Found", "score", 5, "podName", "other", "id",
					   "Slow", "state", "Found", "score", 5, 7);
	session_findings_read(list, &s);
	cr_assert_eq(pods[0].job.finding_count + pods[1].job.finding_count, 0);
}
