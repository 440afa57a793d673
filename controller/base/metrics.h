/* Counters, gauges and histograms, and their text in Prometheus' exposition format 0.0.4. One registry per process; series
 * are created on first use and live for ever, so names and labels must come from a small fixed set: past METRICS_MAX_SERIES
 * a shared series "drdotnet_metrics_overflow_total" is handed out. Values are atomic; any thread. */
#ifndef DRDOTNET_METRICS_H
#define DRDOTNET_METRICS_H

#include "common/base/buf.h"

#include <stdint.h>

#define METRICS_MAX_SERIES 512

struct metric;

/* `name` and `help` have static storage. `labels` is the text between the braces (`reason="NoPodsMatched"`), copied, or
 * NULL. The same name and labels give the same series. */
struct metric *metrics_counter(const char *name, const char *labels, const char *help);
struct metric *metrics_gauge(const char *name, const char *labels, const char *help);

/* A histogram of seconds with buckets from 1 ms to 60 s. Observed in milliseconds. */
struct metric *metrics_histogram(const char *name, const char *labels, const char *help);

void metric_add(struct metric *m, int64_t n);
void metric_set(struct metric *m, int64_t value);
void metric_observe_ms(struct metric *m, int64_t ms);
int64_t metric_value(const struct metric *m); /* a histogram's: its count */

/* One counter with one label whose value comes from a small fixed set: metrics_count("x_total", "reason", "NoAgent", "..."). */
void metrics_count(const char *name, const char *label, const char *value, const char *help);

/* All series; -1 when `out` is full. */
int metrics_render(struct buf *out);

#endif
