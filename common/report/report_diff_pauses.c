/* Two reports of RuntimePauses. Pauses come at random: a count may be off by the root of itself (Poisson); the time that some of them took by the
 * root of the sum of the lengths' squares (compound Poisson), which is at most that of all time times the longest; a percentile by what stands at
 * the ranks n p -+ z sqrt(n p (1 - p)) of the pauses in order. All at 99.9%, because many rows are looked at. Of the longest pause alone nothing
 * can be known: it must be three times the other to be called one that changed. */
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/report/report_diff_items.h"

#include <math.h>
#include <string.h>

#define Z 3.29 /* 99.9%, two-sided */
#define TIME_MOST 1e15

static const struct report_diff_rule share_total = {
	.kind = "total", .unit = "%", .suffix = " of the time", .least = 0.05, .least_part = 0.2};
static const struct report_diff_rule count_total = {.kind = "total", .unit = "/min", .suffix = "", .least = 1, .least_part = 0.1};
static const struct report_diff_rule length_total = {.kind = "total", .unit = "µs", .suffix = "", .least = 100, .least_part = 0.2};
static const struct report_diff_rule longest_total = {.kind = "total", .unit = "µs", .suffix = "", .least = 5000, .least_part = 2.0 / 3};
static const struct report_diff_rule cause_rule = {.kind = "cause", .unit = "%", .suffix = " of the time", .least = 0.05, .least_part = 0.2};
static const struct report_diff_rule generation_rule = {.kind = "generation", .unit = "/min", .suffix = "", .least = 1, .least_part = 0.1};
static const struct report_diff_rule inducer_rule = {.kind = "inducer", .unit = "/min", .suffix = "", .least = 1, .least_part = 0.1};

struct side {
	struct report_diff_items *all;
	const json_t *report;
	int which;
	double seconds;
	double *lengths; /* of all pauses, ascending; NULL: not all are listed */
	size_t count;
};

static int by_length(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;
	return a < b ? -1 : a > b;
}

/* What cannot be right is taken as not listed: the percentiles are then compared without their intervals. */
static void read_lengths(struct side *s, double pauses)
{
	const json_t *suspending = jsonx_at(s->report, "events.suspendingMicroseconds"), *stopped = jsonx_at(s->report, "events.stoppedMicroseconds");
	size_t n = json_array_size(stopped);
	if (n == 0 || (double)n != pauses || json_array_size(suspending) != n)
		return;
	s->lengths = mem_calloc(n, sizeof *s->lengths);
	for (size_t i = 0; i < n; i++)
		s->lengths[s->count++] = json_number_value(json_array_get(suspending, i)) + json_number_value(json_array_get(stopped, i));
	qsort(s->lengths, n, sizeof *s->lengths, by_length);
}

static double at_rank(const struct side *s, double rank)
{
	double most = (double)(s->count - 1);
	return fmin(fmax(s->lengths[(size_t)fmin(fmax(rank, 0), most)], -TIME_MOST), TIME_MOST);
}

static double percentile_error(const struct side *s, double p, double value)
{
	if (!s->lengths)
		return 0;
	double n = (double)s->count, spread = Z * sqrt(n * p * (1 - p));
	return fmax(fabs(at_rank(s, ceil(n * p + spread)) - value), fabs(value - at_rank(s, floor(n * p - spread) - 1)));
}

static int add_percentile(const struct side *s, const char *name, const char *path, double p, struct err *e)
{
	double value;
	if (report_diff_number(s->report, path, 0, TIME_MOST, &value, e) < 0)
		return -1;
	report_diff_items_add(s->all, p < 1 ? &length_total : &longest_total, name, s->which, value, p < 1 ? percentile_error(s, p, value) : 0);
	return 0;
}

/* For how many each of a sum stands that is an estimate from a sample: the error is that much larger, squared. Otherwise, and of an earlier
 * version's: 1. */
static double stands_for(const json_t *entry)
{
	double count = json_number_value(json_object_get(entry, "count")), looked = json_number_value(json_object_get(entry, "lookedAt"));
	return looked >= 1 && count > looked && count <= TIME_MOST ? count / looked : 1;
}

static void add_time(const struct side *s, const struct report_diff_rule *rule, const char *name, double total_us, double longest_us, double each)
{
	double percent = 1e-4 / s->seconds; /* of a microsecond */
	report_diff_items_add(s->all, rule, name, s->which, total_us * percent, Z * sqrt(total_us * fmin(longest_us * each, total_us)) * percent);
}

static void add_count(const struct side *s, const struct report_diff_rule *rule, const char *name, double count, double each)
{
	double minutes = s->seconds / 60;
	report_diff_items_add(s->all, rule, name, s->which, count / minutes, Z * sqrt(count * each) / minutes);
}

static int read_cause(const void *side, const json_t *entry, struct err *e)
{
	const struct side *s = side;
	const char *title = NULL;
	double total, longest;
	if (jsonx_string(entry, "", "title", true, &title, e) < 0 ||
	    report_diff_number(entry, "totalMicroseconds", 0, TIME_MOST, &total, e) < 0 ||
	    report_diff_number(entry, "longestMicroseconds", 0, TIME_MOST, &longest, e) < 0)
		return -1;
	AUTO_FREE char *name = mem_printf("Pauses: %s", title);
	add_time(s, &cause_rule, name, total, longest, stands_for(entry));
	return 0;
}

/* Collections are told by their causes. */
static int read_reason(const void *side, const json_t *entry, struct err *e)
{
	return strcmp(jsonx_str_at(entry, "reason", ""), "collection") == 0 ? 0 : read_cause(side, entry, e);
}

static int read_generation(const void *side, const json_t *entry, struct err *e)
{
	const struct side *s = side;
	double generation, collections;
	bool background = false;
	if (report_diff_number(entry, "generation", 0, 9, &generation, e) < 0 || jsonx_bool(entry, "", "background", true, &background, e) < 0 ||
	    report_diff_number(entry, "collections", 0, TIME_MOST, &collections, e) < 0)
		return -1;
	AUTO_FREE char *name = mem_printf("Rate of %scollections of generation %.0f", background ? "background " : "", generation);
	add_count(s, &generation_rule, name, collections, 1);
	return 0;
}

static int read_inducer(const void *side, const json_t *entry, struct err *e)
{
	const struct side *s = side;
	double count;
	if (report_diff_number(entry, "count", 0, TIME_MOST, &count, e) < 0)
		return -1;
	AUTO_FREE char *name = mem_printf("GC.Collect by %s", jsonx_str_at(entry, "method", "code that is not known"));
	add_count(s, &inducer_rule, name, count, stands_for(entry));
	return 0;
}

static int read_totals(struct side *s, struct err *e)
{
	double count, total, longest;
	if (report_diff_number(s->report, "time.durationSeconds", 1e-3, 1e6, &s->seconds, e) < 0 ||
	    report_diff_number(s->report, "pauses.count", 0, 1e9, &count, e) < 0 ||
	    report_diff_number(s->report, "pauses.length.totalMicroseconds", 0, TIME_MOST, &total, e) < 0 ||
	    report_diff_number(s->report, "pauses.length.maxMicroseconds", 0, TIME_MOST, &longest, e) < 0)
		return -1;
	read_lengths(s, count);
	add_time(s, &share_total, "Time in pauses", total, longest, 1);
	add_count(s, &count_total, "Number of pauses", count, 1);
	if (add_percentile(s, "Median pause", "pauses.length.p50Microseconds", 0.5, e) < 0 ||
	    add_percentile(s, "95th percentile of the pauses", "pauses.length.p95Microseconds", 0.95, e) < 0 ||
	    add_percentile(s, "99th percentile of the pauses", "pauses.length.p99Microseconds", 0.99, e) < 0 ||
	    add_percentile(s, "Longest pause", "pauses.length.maxMicroseconds", 1, e) < 0)
		return -1;
	return add_percentile(s, "Longest time to suspend", "pauses.suspending.maxMicroseconds", 1, e);
}

static int read_pauses_side(struct side *s, struct err *e)
{
	if (read_totals(s, e) < 0 || report_diff_list(s->report, "causes", read_cause, s, e) < 0 ||
	    report_diff_list(s->report, "reasons", read_reason, s, e) < 0 ||
	    report_diff_list(s->report, "generations", read_generation, s, e) < 0)
		return -1;
	return report_diff_list(s->report, "inducers", read_inducer, s, e);
}

static int read_pause_reports(struct report_diff_items *all, const json_t *before, const json_t *after, const struct report_diff_out *out, struct err *e)
{
	for (int which = 0; which < 2; which++) {
		struct side s = {.all = all, .report = which ? after : before, .which = which};
		int rc = read_pauses_side(&s, e);
		free(s.lengths);
		if (rc < 0)
			return err_prefix(e, "%.200s", which ? out->after_name : out->before_name);
	}
	return 0;
}

int report_diff_pauses(const json_t *before, const json_t *after, struct report_diff_out *out, struct err *e)
{
	static const struct report_diff_rule *const spoken[] = {&cause_rule, &inducer_rule, &generation_rule, NULL};
	struct report_diff_items all = {0};
	int rc = read_pause_reports(&all, before, after, out, e);
	if (rc == 0) {
		report_diff_items_tell(&all, spoken, true, out);
		report_diff_put_unlike(out->lines, before, after, "target.entrypoint", "Not the same program", "");
		report_diff_put_unlike(out->lines, before, after, "target.runtimeVersion", ".NET", "");
	}
	report_diff_items_fini(&all);
	return rc;
}
