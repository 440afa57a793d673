#include "controller/base/metrics.h"

#include "common/base/mem.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum metric_type { COUNTER, GAUGE, HISTOGRAM };

#define METRIC_ROW(id, type, name, label, help) {type, name, label, help},
static const struct family {
	enum metric_type type;
	const char *name, *label, *help;
} families[METRICS] = {METRIC_TABLE(METRIC_ROW)};

static const int64_t bounds_ms[] = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 30000, 60000};
#define BUCKETS (sizeof bounds_ms / sizeof bounds_ms[0])

struct histogram {
	int64_t bucket[BUCKETS]; /* not cumulative */
	int64_t sum_ms;
};

struct series {
	char *label; /* of the family's label; NULL: it has none */
	int64_t value; /* a histogram's count */
	struct histogram *histogram;
	struct series *next;
};

static pthread_mutex_t registry_lock = PTHREAD_MUTEX_INITIALIZER; /* of all below */
static struct series *registry[METRICS];
static size_t series_count;

static struct series **find(enum metric m, const char *value)
{
	struct series **at = &registry[m];
	while (*at && strcmp((*at)->label ? (*at)->label : "", value ? value : "") != 0)
		at = &(*at)->next;
	return at;
}

static struct series *new_series(const char *value)
{
	struct series *s = mem_alloc(sizeof *s);
	s->label = mem_strdup(value);
	return s;
}

/* NULL: one too many. */
static struct series *find_or_add_metric(enum metric m, const char *value)
{
	struct series **at = find(m, value);
	if (*at || (series_count >= METRICS_MAX_SERIES && m != METRIC_METRICS_OVERFLOW))
		return *at;
	struct series *s = new_series(value);
	if (families[m].type == HISTOGRAM)
		s->histogram = mem_alloc(sizeof *s->histogram);
	series_count++;
	*at = s;
	return s;
}

/* Locks. */
static struct series *lock_series(enum metric m, const char *value)
{
	pthread_mutex_lock(&registry_lock);
	struct series *s = find_or_add_metric(m, value);
	if (!s)
		find_or_add_metric(METRIC_METRICS_OVERFLOW, NULL)->value++;
	return s;
}

static void leave(void)
{
	pthread_mutex_unlock(&registry_lock);
}

void metrics_add(enum metric m, const char *value, int64_t n)
{
	struct series *s = lock_series(m, value);
	if (s)
		s->value += n;
	leave();
}

void metrics_count(enum metric m, const char *value)
{
	metrics_add(m, value, 1);
}

void metrics_set(enum metric m, const char *value, int64_t n)
{
	struct series *s = lock_series(m, value);
	if (s)
		s->value = n;
	leave();
}

void metrics_replace(enum metric m, const struct metric_value *list, size_t count)
{
	struct series *first = NULL, **end = &first;
	for (size_t i = 0; i < count && i < METRICS_MAX_REPLACED; i++) {
		*end = new_series(list[i].value);
		(*end)->value = list[i].n;
		end = &(*end)->next;
	}
	pthread_mutex_lock(&registry_lock);
	struct series *old = registry[m], *next;
	registry[m] = first;
	if (count > METRICS_MAX_REPLACED)
		find_or_add_metric(METRIC_METRICS_OVERFLOW, NULL)->value++;
	leave();
	for (; old; old = next) {
		next = old->next;
		free(old->label);
		free(old);
	}
}

void metrics_observe_ms(enum metric m, int64_t ms)
{
	struct series *s = lock_series(m, NULL);
	if (s) {
		size_t i = 0;
		while (i < BUCKETS && ms > bounds_ms[i])
			i++;
		if (i < BUCKETS)
			s->histogram->bucket[i]++;
		s->histogram->sum_ms += ms;
		s->value++;
	}
	leave();
}

int64_t metrics_value(enum metric m, const char *value)
{
	pthread_mutex_lock(&registry_lock);
	const struct series *s = *find(m, value);
	int64_t n = s ? s->value : 0;
	leave();
	return n;
}

static void render_histogram(const char *name, const struct series *s, struct buf *out)
{
	int64_t cumulative = 0;
	for (size_t i = 0; i < BUCKETS; i++) {
		cumulative += s->histogram->bucket[i];
		buf_printf(out, "%s_bucket{le=\"%g\"} %" PRId64 "\n", name, (double)bounds_ms[i] / 1000, cumulative);
	}
	buf_printf(out, "%s_bucket{le=\"+Inf\"} %" PRId64 "\n", name, s->value);
	buf_printf(out, "%s_sum %.3f\n%s_count %" PRId64 "\n", name, (double)s->histogram->sum_ms / 1000, name, s->value);
}

/* {finding="MemoryLeak",namespace="shop"} of "finding,namespace" and "MemoryLeak,shop" */
static void render_labels(const char *names, const char *values, struct buf *out)
{
	buf_putc(out, '{');
	for (const char *comma = ""; *names; comma = ",") {
		int name = (int)strcspn(names, ","), value = (int)strcspn(values, ",");
		buf_printf(out, "%s%.*s=\"%.*s\"", comma, name, names, value, values);
		names += name + (names[name] == ',');
		values += value + (values[value] == ',');
	}
	buf_putc(out, '}');
}

static void render_family(const struct family *f, const struct series *first, struct buf *out)
{
	static const char *const types[] = {[COUNTER] = "counter", [GAUGE] = "gauge", [HISTOGRAM] = "histogram"};
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", f->name, f->help, f->name, types[f->type]);
	for (const struct series *s = first; s; s = s->next) {
		if (s->histogram) {
			render_histogram(f->name, s, out);
			continue;
		}
		buf_puts(out, f->name);
		if (s->label)
			render_labels(f->label, s->label, out);
		buf_printf(out, " %" PRId64 "\n", s->value);
	}
}

int metrics_render(struct buf *out)
{
	pthread_mutex_lock(&registry_lock);
	for (enum metric m = 0; m < METRICS; m++)
		if (registry[m])
			render_family(&families[m], registry[m], out);
	leave();
	return out->full ? -1 : 0;
}
