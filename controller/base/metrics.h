/* Counters, gauges and histograms (metric_table.h), and their text in Prometheus' exposition format 0.0.4. One registry per process; series are
 * created on first use and live for ever, so values of labels must come from a small fixed set: past METRICS_MAX_SERIES an update goes nowhere
 * but into METRIC_METRICS_OVERFLOW. Any thread. */
#ifndef DRDOTNET_METRICS_H
#define DRDOTNET_METRICS_H

#include "common/base/buf.h"
#include "controller/base/metric_table.h"

#include <stddef.h>
#include <stdint.h>

#define METRICS_MAX_SERIES 512
#define METRICS_MAX_REPLACED 2000 /* of a metric whose series are replaced; they do not count as the others do */

#define METRIC_ID(id, type, name, label, help) METRIC_##id,
enum metric { METRIC_TABLE(METRIC_ID) METRICS };
#undef METRIC_ID

/* `value` is that of the metric's label, copied; NULL when it has none. A metric with several labels ("finding,namespace") takes their values in the same
 * order, with commas between them. */
void metrics_count(enum metric m, const char *value); /* one more */
void metrics_add(enum metric m, const char *value, int64_t n);
void metrics_set(enum metric m, const char *value, int64_t n);

/* Puts these series in the place of all that the metric has: for what comes and goes. */
struct metric_value {
	const char *value;
	int64_t n;
};
void metrics_replace(enum metric m, const struct metric_value *list, size_t count);

/* Into a histogram of seconds with buckets from 1 ms to 60 s. */
void metrics_observe_ms(enum metric m, int64_t ms);

int64_t metrics_value(enum metric m, const char *value); /* a histogram's: its count; 0: no such series */

/* All series; -1 when `out` is full. */
int metrics_render(struct buf *out);

#endif
