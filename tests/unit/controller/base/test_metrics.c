#include "controller/base/metrics.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void fill(void)
{
	metrics_count("t_sessions_total", "reason", "Completed", "Sessions that ended.");
	metrics_count("t_sessions_total", "reason", "Canceled", "Sessions that ended.");
	metrics_count("t_sessions_total", "reason", "Completed", "Sessions that ended.");
	metric_set(metrics_gauge("t_depth", NULL, "Depth."), -3);
	struct metric *plain = metrics_histogram("t_wait_seconds", NULL, "Waits.");
	struct metric *named = metrics_histogram("t_work_seconds", "step=\"plan\"", "Work.");
	static const int64_t waits[] = {0, 1, 2, 60000, 60001};
	for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
		metric_observe_ms(plain, waits[i]);
		metric_observe_ms(named, waits[i]);
	}
}

Test(metrics, text)
{
	fill();
	AUTO_BUF struct buf out;
	buf_init(&out, 65536);
	cr_assert_eq(metrics_render(&out), 0);
	static const char *const lines[] = {
		"# HELP t_depth Depth.\n# TYPE t_depth gauge\nt_depth -3\n",
		"# TYPE t_sessions_total counter\n",
		"t_sessions_total{reason=\"Completed\"} 2\n",
		"t_sessions_total{reason=\"Canceled\"} 1\n",
		"t_wait_seconds_bucket{le=\"0.001\"} 2\n",
		"t_wait_seconds_bucket{le=\"0.002\"} 3\n",
		"t_wait_seconds_bucket{le=\"60\"} 4\n",
		"t_wait_seconds_bucket{le=\"+Inf\"} 5\n",
		"t_wait_seconds_sum 120.004\nt_wait_seconds_count 5\n",
		"t_work_seconds_bucket{step=\"plan\",le=\"+Inf\"} 5\n",
		"t_work_seconds_count{step=\"plan\"} 5\n",
	};
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
		cr_expect(strstr(buf_str(&out), lines[i]), "lacks %s in\n%s", lines[i], buf_str(&out));
	AUTO_BUF struct buf small;
	buf_init(&small, 20);
	cr_expect_eq(metrics_render(&small), -1);
}

Test(metrics, series_are_bounded)
{
	char labels[32];
	for (int i = 0; i < METRICS_MAX_SERIES + 10; i++) {
		snprintf(labels, sizeof labels, "n=\"%d\"", i);
		metric_observe_ms(metrics_histogram("t_many", labels, "Many."), 1);
	}
	cr_expect_eq(metric_value(metrics_counter("drdotnet_metrics_overflow_total", NULL, "")), 10);
	cr_expect_eq(metric_value(metrics_histogram("t_many", "n=\"7\"", "Many.")), 1, "those that exist go on");
}

static void *count(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2000; i++) {
		metrics_count("t_shared_total", "n", i % 2 ? "odd" : "even", "Shared.");
		metric_observe_ms(metrics_histogram("t_shared_seconds", NULL, "Shared."), i % 100);
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
	cr_expect_eq(metric_value(metrics_counter("t_shared_total", "n=\"odd\"", "")), 4000);
	cr_expect_eq(metric_value(metrics_histogram("t_shared_seconds", NULL, "")), 8000);
}
