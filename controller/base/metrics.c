#include "controller/base/metrics.h"

#include "common/base/mem.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

static const int64_t bounds_ms[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000};
#define BUCKETS (sizeof bounds_ms / sizeof bounds_ms[0])

struct histogram {
	_Atomic int64_t bucket[BUCKETS]; /* not cumulative */
	_Atomic int64_t sum_ms;
};

struct metric {
	const char *name, *help;
	char *labels; /* NULL: none */
	enum metric_type type;
	_Atomic int64_t value; /* a histogram's count */
	struct histogram *histogram;
	struct metric *next;
};

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER;
static struct metric *registry; /* sorted by name, so that a family's series stand together */
static size_t series_count;

static bool same(const struct metric *m, const char *name, const char *labels)
{
	return strcmp(m->name, name) == 0 && strcmp(m->labels ? m->labels : "", labels ? labels : "") == 0;
}

static struct metric *find_or_add(enum metric_type type, const char *name, const char *labels, const char *help)
{
	struct metric **at = &registry;
	for (; *at && strcmp((*at)->name, name) <= 0; at = &(*at)->next) {
		if (same(*at, name, labels))
			return *at;
	}
	struct metric *m = mem_alloc(sizeof *m);
	m->name = name;
	m->help = help;
	m->labels = mem_strdup(labels);
	m->type = type;
	if (type == METRIC_HISTOGRAM)
		m->histogram = mem_alloc(sizeof *m->histogram);
	m->next = *at;
	*at = m;
	series_count++;
	return m;
}

static bool exists(const char *name, const char *labels)
{
	for (struct metric *m = registry; m; m = m->next) {
		if (same(m, name, labels))
			return true;
	}
	return false;
}

static struct metric *get(enum metric_type type, const char *name, const char *labels, const char *help)
{
	pthread_mutex_lock(&registry_lock);
	struct metric *m;
	if (series_count >= METRICS_MAX_SERIES && !exists(name, labels)) {
		static struct histogram overflow_histogram;
		m = find_or_add(METRIC_COUNTER, "drdotnet_metrics_overflow_total", NULL, "Updates of series beyond the registry's limit.");
		m->histogram = &overflow_histogram; /* so that a histogram's caller may observe into it */
	} else {
		m = find_or_add(type, name, labels, help);
	}
	pthread_mutex_unlock(&registry_lock);
	return m;
}

struct metric *metrics_counter(const char *name, const char *labels, const char *help)
{
	return get(METRIC_COUNTER, name, labels, help);
}

struct metric *metrics_gauge(const char *name, const char *labels, const char *help)
{
	return get(METRIC_GAUGE, name, labels, help);
}

struct metric *metrics_histogram(const char *name, const char *labels, const char *help)
{
	return get(METRIC_HISTOGRAM, name, labels, help);
}

void metric_add(struct metric *m, int64_t n)
{
	atomic_fetch_add_explicit(&m->value, n, memory_order_relaxed);
}

void metric_set(struct metric *m, int64_t value)
{
	atomic_store_explicit(&m->value, value, memory_order_relaxed);
}

void metric_observe_ms(struct metric *m, int64_t ms)
{
	metric_add(m, 1);
	if (!m->histogram)
		return;
	atomic_fetch_add_explicit(&m->histogram->sum_ms, ms, memory_order_relaxed);
	for (size_t i = 0; i < BUCKETS; i++) {
		if (ms <= bounds_ms[i]) {
			atomic_fetch_add_explicit(&m->histogram->bucket[i], 1, memory_order_relaxed);
			return;
		}
	}
}

int64_t metric_value(const struct metric *m)
{
	return atomic_load_explicit(&m->value, memory_order_relaxed);
}

void metrics_count(const char *name, const char *label, const char *value, const char *help)
{
	char labels[128];
	snprintf(labels, sizeof labels, "%s=\"%s\"", label, value);
	metric_add(metrics_counter(name, labels, help), 1);
}

static void render_histogram(const struct metric *m, struct buf *out)
{
	const char *labels = m->labels ? m->labels : "", *comma = m->labels ? "," : "";
	int64_t cumulative = 0;
	for (size_t i = 0; i < BUCKETS; i++) {
		cumulative += atomic_load_explicit(&m->histogram->bucket[i], memory_order_relaxed);
		buf_printf(out, "%s_bucket{%s%sle=\"%g\"} %" PRId64 "\n", m->name, labels, comma, (double)bounds_ms[i] / 1000, cumulative);
	}
	int64_t count = metric_value(m);
	buf_printf(out, "%s_bucket{%s%sle=\"+Inf\"} %" PRId64 "\n", m->name, labels, comma, count);
	const char *open = m->labels ? "{" : "", *close = m->labels ? "}" : "";
	buf_printf(out, "%s_sum%s%s%s %.3f\n", m->name, open, labels, close,
		   (double)atomic_load_explicit(&m->histogram->sum_ms, memory_order_relaxed) / 1000);
	buf_printf(out, "%s_count%s%s%s %" PRId64 "\n", m->name, open, labels, close, count);
}

int metrics_render(struct buf *out)
{
	static const char *const type_names[] = {"counter", "gauge", "histogram"};
	pthread_mutex_lock(&registry_lock);
	const char *family = NULL;
	for (const struct metric *m = registry; m; m = m->next) {
		if (!family || strcmp(family, m->name) != 0)
			buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", m->name, m->help, m->name, type_names[m->type]);
		family = m->name;
		if (m->type == METRIC_HISTOGRAM)
			render_histogram(m, out);
		else if (m->labels)
			buf_printf(out, "%s{%s} %" PRId64 "\n", m->name, m->labels, metric_value(m));
		else
			buf_printf(out, "%s %" PRId64 "\n", m->name, metric_value(m));
	}
	pthread_mutex_unlock(&registry_lock);
	return out->full ? -1 : 0;
}
