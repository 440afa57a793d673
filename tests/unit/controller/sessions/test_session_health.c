#include "controller/sessions/session_health.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "controller/base/metrics.h"

#include <criterion/criterion.h>
#include <string.h>

static void put_session(struct session_index *x, const char *name, int minute, const char *profiler, const char *state, const char *findings)
{
	struct err e = ERR_INIT;
	AUTO_FREE char *created = mem_printf("2026-11-23T10:%02d:00Z", minute);
	json_t *found = jsonx_parse(findings, strlen(findings), "findings", &e);
	cr_assert_not_null(found, "%s", e.message);
	AUTO_JSON json_t *object =
		json_pack("{s:{s:s, s:s, s:s, s:s, s:s}, s:{s:s}, s:{s:s, s:[{s:s, s:s}], s:o}}", "metadata", "namespace", "shop", "name", name, "uid", name,
			  "resourceVersion", "1", "creationTimestamp", created, "spec", "profiler", profiler, "status", "state", state, "targets", "podName",
			  "cart-1", "workload", "Deployment/cart", "findings", found);
	cr_assert(session_index_put(x, object));
}

Test(session_health, is_what_the_newest_session_of_each_profiler_found)
{
	struct session_index *x = session_index_new();
	put_session(x, "old", 1, "MemoryLeak", "Succeeded", "[{\"id\": \"Old\", \"state\": \"Found\", \"score\": 9}]");
	put_session(x, "leak", 2, "MemoryLeak", "Succeeded",
		    "[{\"id\": \"MemoryLeak\", \"state\": \"Found\", \"score\": 87}, {\"id\": \"NoMemoryLimit\", \"state\": \"Possible\", \"score\": 40}]");
	put_session(x, "cpu", 3, "CPUHotpaths", "Succeeded", "[{\"id\": \"Idle\", \"state\": \"Found\", \"score\": 100}]");
	put_session(x, "now", 4, "MemoryLeak", "Running", "[]");
	put_session(x, "bad", 5, "CPUHotpaths", "Failed", "[{\"id\": \"Wrong\", \"state\": \"Found\", \"score\": 9}]");
	struct session_page page;
	session_index_newest(x, 10, &page);
	cr_assert_eq(page.count, 2);
	cr_assert_str_eq(page.items[0].name, "cpu");
	cr_assert_str_eq(page.items[1].name, "leak");
	cr_assert_str_eq(page.items[1].findings, "MemoryLeak:87 NoMemoryLimit?40");
	cr_assert_str_eq(page.items[1].workload, "Deployment/cart");
	session_page_fini(&page);
	session_index_newest(x, 1, &page);
	cr_assert_eq(page.count, 1);
	session_page_fini(&page);
	session_health_measure(x);
	cr_assert_eq(metrics_value(METRIC_FINDING_SCORE, "MemoryLeak,MemoryLeak,shop,Deployment,cart"), 87);
	cr_assert_eq(metrics_value(METRIC_FINDING_SCORE, "Idle,CPUHotpaths,shop,Deployment,cart"), 0, "no reason for an alert");
	cr_assert_eq(metrics_value(METRIC_FINDING_SCORE, "Old,MemoryLeak,shop,Deployment,cart"), 0);
	session_index_free(x);
}

Test(session_health, words_are_read_to_their_end)
{
	char id[48];
	bool possible;
	int score;
	cr_assert_null(session_health_next("", id, &possible, &score));
	const char *rest = session_health_next("NoMemoryLimit?40", id, &possible, &score);
	cr_assert(rest && possible && score == 40);
	cr_assert_null(session_health_next(rest, id, &possible, &score));
	cr_assert_null(session_health_next("no such word", id, &possible, &score));
}
