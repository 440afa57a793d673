/* Two reports of SlowRequests, by the p95 of each endpoint. Noise is a fifth, or what a quantile of so many requests differs by at random. */
#include "common/report/report_diff_items.h"

#include <math.h>

#define Z 3.29 /* 99.9%, two-sided */
#define LEAST_US 5000
#define LEAST_PART 0.2
#define LEAST_REQUESTS 20

static const struct report_diff_rule all_rule = {.kind = "total", .unit = "µs", .suffix = "", .least = LEAST_US, .least_part = LEAST_PART};
static const struct report_diff_rule rate_rule = {.kind = "total", .unit = "/s", .suffix = "", .least = 1, .least_part = LEAST_PART, .silent = true};
static const struct report_diff_rule endpoint_rule = {.kind = "endpoint", .unit = "µs", .suffix = "", .least = LEAST_US, .least_part = LEAST_PART};

struct requests_side {
	struct report_diff_items *all;
	int which;
};

/* A p95 is the value of one request in twenty: with few of them another one is it by chance. */
static double noise_of(double p95, double requests)
{
	return p95 * Z / sqrt(0.05 * requests) * 0.5;
}

static int read_endpoint(const void *side, const json_t *entry, struct err *e)
{
	const struct requests_side *s = side;
	const char *name = NULL;
	double p95, requests;
	if (jsonx_string(entry, "", "name", true, &name, e) < 0 ||
	    report_diff_number(entry, "p95Nanoseconds", 0, REPORT_DIFF_QUANTITY_MOST, &p95, e) < 0 ||
	    report_diff_number(entry, "requests", 0, REPORT_DIFF_QUANTITY_MOST, &requests, e) < 0)
		return -1;
	if (requests >= LEAST_REQUESTS)
		report_diff_items_add(s->all, &endpoint_rule, name, s->which, p95 / 1000, noise_of(p95 / 1000, requests));
	return 0;
}

static int read_requests_side(struct report_diff_items *all, const json_t *report, int which, struct err *e)
{
	const struct requests_side s = {all, which};
	double rate, p95, count;
	if (report_diff_number(report, "requests.perSecond", 0, REPORT_DIFF_QUANTITY_MOST, &rate, e) < 0 ||
	    report_diff_number(report, "requests.p95Nanoseconds", 0, REPORT_DIFF_QUANTITY_MOST, &p95, e) < 0 ||
	    report_diff_number(report, "requests.count", 0, REPORT_DIFF_QUANTITY_MOST, &count, e) < 0)
		return -1;
	report_diff_items_add(all, &all_rule, "p95 of all requests", which, p95 / 1000, count > 0 ? noise_of(p95 / 1000, count) : 0);
	report_diff_items_add(all, &rate_rule, "Requests", which, rate, 0);
	return report_diff_list(report, "endpoints", read_endpoint, &s, e);
}

int report_diff_requests(const json_t *before, const json_t *after, struct report_diff_out *out, struct err *e)
{
	static const struct report_diff_rule *const first[] = {&endpoint_rule, NULL};
	struct report_diff_items all = {0};
	int rc = 0;
	if (read_requests_side(&all, before, 0, e) < 0)
		rc = err_prefix(e, "%.200s", out->before_name);
	else if (read_requests_side(&all, after, 1, e) < 0)
		rc = err_prefix(e, "%.200s", out->after_name);
	if (rc == 0) {
		report_diff_items_tell(&all, first, false, out);
		report_diff_put_unlike(out->lines, before, after, "target.entrypoint", "Not the same program", "");
		report_diff_put_unlike(out->lines, before, after, "target.runtimeVersion", ".NET", "");
	}
	report_diff_items_fini(&all);
	return rc;
}
