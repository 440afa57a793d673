#include "controller/base/metrics.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill(void)
{
	metrics_count(METRIC_SESSIONS_ENDED, "Completed,none");
	metrics_count(METRIC_SESSIONS_ENDED, "Canceled,none");
	metrics_count(METRIC_SESSIONS_ENDED, "Completed,none");
	metrics_add(METRIC_OBSERVED, "Dropped", 5);
	metrics_set(METRIC_CLOCK_DIFFERENCE, NULL, -3);
	static const int64_t waits[] = {0, 1, 2, 60000, 60001};
	for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++)
		metrics_observe_ms(METRIC_RECONCILE_TIME, waits[i]);
}

Test(metrics, text)
{
	fill();
	AUTO_BUF struct buf out;
	buf_init(&out, 65536);
	cr_assert_eq(metrics_render(&out), 0);
	static const char *const lines[] = {
		"# HELP drdotnet_clock_difference_seconds Between our clock and the API server's.\n"
		"# TYPE drdotnet_clock_difference_seconds gauge\ndrdotnet_clock_difference_seconds -3\n",
		"# TYPE drdotnet_sessions_total counter\ndrdotnet_sessions_total{reason=\"Completed\",fault=\"none\"} 2\n"
		"drdotnet_sessions_total{reason=\"Canceled\",fault=\"none\"} 1\n",
		"drdotnet_observed_total{state=\"Dropped\"} 5\n",
		"# TYPE drdotnet_reconcile_seconds histogram\ndrdotnet_reconcile_seconds_bucket{le=\"0.001\"} 2\n",
		"drdotnet_reconcile_seconds_bucket{le=\"0.002\"} 3\n",
		"drdotnet_reconcile_seconds_bucket{le=\"60\"} 4\n",
		"drdotnet_reconcile_seconds_bucket{le=\"+Inf\"} 5\n",
		"drdotnet_reconcile_seconds_sum 120.004\ndrdotnet_reconcile_seconds_count 5\n",
	};
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
		cr_expect(strstr(buf_str(&out), lines[i]), "lacks %s in\n%s", lines[i], buf_str(&out));
	cr_expect_null(strstr(buf_str(&out), "drdotnet_alerts_total"), "of what was never counted there is no series");
	AUTO_BUF struct buf small;
	buf_init(&small, 20);
	cr_expect_eq(metrics_render(&small), -1);
}

#define METRIC_NAME(id, type, name, label, help) name,

Test(metrics, table_is_in_order)
{
	static const char *const names[] = {METRIC_TABLE(METRIC_NAME)};
	for (size_t i = 1; i < METRICS; i++)
		cr_expect(strcmp(names[i - 1], names[i]) < 0, "%s comes before %s", names[i], names[i - 1]);
}

Test(metrics, series_of_several_labels_are_replaced)
{
	AUTO_BUF struct buf out;
	buf_init(&out, 65536);
	static const struct metric_value two[] = {{"MemoryLeak,MemoryLeak,shop,Deployment,cart", 87}, {"HotMethod,CPUHotpaths,shop,Job,sum", 60}};
	metrics_replace(METRIC_FINDING_SCORE, two, 2);
	cr_assert_eq(metrics_render(&out), 0);
	cr_expect(strstr(buf_str(&out), "drdotnet_finding_score{finding=\"MemoryLeak\",profiler=\"MemoryLeak\",namespace=\"shop\",workload_kind=\"Deployment\","
					"workload=\"cart\"} 87\n"));
	metrics_replace(METRIC_FINDING_SCORE, NULL, 0);
	buf_reset(&out);
	cr_assert_eq(metrics_render(&out), 0);
	cr_expect_null(strstr(buf_str(&out), "drdotnet_finding_score"), "what is no more is gone");
}

Test(metrics, series_are_bounded)
{
	char value[32];
	for (int i = 0; i < METRICS_MAX_SERIES + 10; i++) {
		snprintf(value, sizeof value, "%d", i);
		metrics_count(METRIC_ALERTS, value);
	}
	metrics_observe_ms(METRIC_TRIGGER_FIRE_TIME, 1);
	cr_expect_eq(metrics_value(METRIC_METRICS_OVERFLOW, NULL), 11);
	metrics_count(METRIC_ALERTS, "7");
	cr_expect_eq(metrics_value(METRIC_ALERTS, "7"), 2, "those that exist go on");
}

static void *count(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2000; i++) {
		metrics_count(METRIC_ALERTS, i % 2 ? "odd" : "even");
		metrics_observe_ms(METRIC_RECONCILE_TIME, i % 100);
	}
	return NULL;
}

Test(metrics, threads)
{
	pthread_t threads[4];
	for (int i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, count, NULL), 0);
	for (int i = 0; i < 20; i++) {
		AUTO_BUF struct buf out;
		buf_init(&out, 65536);
		cr_expect_eq(metrics_render(&out), 0);
	}
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	cr_expect_eq(metrics_value(METRIC_ALERTS, "odd"), 4000);
	cr_expect_eq(metrics_value(METRIC_RECONCILE_TIME, NULL), 8000);
}
