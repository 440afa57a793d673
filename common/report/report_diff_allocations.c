/* Two reports of Allocations, by bytes a second: what each type and each site (a type on behalf of a method) allocates. The reports' own
 * confidence intervals say what is noise, widened to 99.9%, because many rows are looked at. With more load everything allocates more: a type
 * or site differs only when its share of all bytes went the same way. */
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/report/report_diff_items.h"

#include <math.h>

#define Z 3.29 /* 99.9%, two-sided */
#define LEAST_PER_SECOND 16384
#define LEAST_PART 0.1

static const struct report_diff_rule total_rule = {.kind = "total", .unit = "B/s", .suffix = "", .least = LEAST_PER_SECOND, .least_part = LEAST_PART};
static const struct report_diff_rule objects_rule = {
	.kind = "total", .unit = "/s", .suffix = "", .least = 100, .least_part = 0.2, .silent = true};
static const struct report_diff_rule type_rule = {
	.kind = "type", .unit = "B/s", .suffix = "", .least = LEAST_PER_SECOND, .least_part = LEAST_PART, .by_share = true};
static const struct report_diff_rule site_rule = {
	.kind = "site", .unit = "B/s", .suffix = "", .least = LEAST_PER_SECOND, .least_part = LEAST_PART, .by_share = true};

struct side {
	struct report_diff_items *all;
	const json_t *report;
	int which;
	double seconds, widen;
};

/* How much wider than the report's interval one of 99.9% is. */
static double widening(double confidence_percent)
{
	return Z / (confidence_percent >= 99.8 ? Z : confidence_percent >= 98.5 ? 2.576 : confidence_percent >= 94 ? 1.96 : 1.645);
}

static int add_allocation(const struct side *s, const struct report_diff_rule *rule, const char *name, const json_t *entry, struct err *e)
{
	double bytes, low, high;
	if (report_diff_number(entry, "bytes", 0, REPORT_DIFF_QUANTITY_MOST, &bytes, e) < 0 ||
	    report_diff_number(entry, "bytesLow", 0, bytes, &low, e) < 0 ||
	    report_diff_number(entry, "bytesHigh", bytes, REPORT_DIFF_QUANTITY_MOST, &high, e) < 0)
		return -1;
	report_diff_items_add(s->all, rule, name, s->which, bytes / s->seconds, s->widen * fmax(high - bytes, bytes - low) / s->seconds);
	return 0;
}

static int read_allocated_type(const void *side, const json_t *entry, struct err *e)
{
	const struct side *s = side;
	const char *name = NULL;
	return jsonx_string(entry, "", "name", true, &name, e) < 0 ? -1 : add_allocation(s, &type_rule, name, entry, e);
}

static int read_site(const void *side, const json_t *entry, struct err *e)
{
	const struct side *s = side;
	const char *type = NULL;
	if (jsonx_string(entry, "", "type", true, &type, e) < 0)
		return -1;
	const char *method = jsonx_str_at(entry, "method", "no method of the application");
	AUTO_FREE char *name = mem_printf("%s by %s", type, method);
	return add_allocation(s, &site_rule, name, entry, e);
}

static int read_allocations_side(struct side *s, struct err *e)
{
	double objects, confidence;
	const json_t *allocated = NULL;
	if (report_diff_number(s->report, "time.durationSeconds", 1e-3, 1e6, &s->seconds, e) < 0 ||
	    report_diff_number(s->report, "sampling.confidencePercent", 1, 100, &confidence, e) < 0 ||
	    report_diff_number(s->report, "allocated.objects", 0, REPORT_DIFF_QUANTITY_MOST, &objects, e) < 0 ||
	    jsonx_object(s->report, "", "allocated", true, &allocated, e) < 0)
		return -1;
	s->widen = widening(confidence);
	if (add_allocation(s, &total_rule, "Allocation", allocated, e) < 0)
		return err_prefix(e, "allocated");
	report_diff_items_add(s->all, &objects_rule, "Objects", s->which, objects / s->seconds, 0);
	return report_diff_list(s->report, "sites", read_site, s, e) < 0 ? -1 : report_diff_list(s->report, "types", read_allocated_type, s, e);
}

static int read_allocations(struct report_diff_items *all, const json_t *before, const json_t *after, const struct report_diff_out *out, struct err *e)
{
	for (int which = 0; which < 2; which++) {
		struct side s = {.all = all, .report = which ? after : before, .which = which};
		if (read_allocations_side(&s, e) < 0)
			return err_prefix(e, "%.200s", which ? out->after_name : out->before_name);
	}
	return 0;
}

int report_diff_allocations(const json_t *before, const json_t *after, struct report_diff_out *out, struct err *e)
{
	static const struct report_diff_rule *const first[] = {&site_rule, &type_rule, NULL};
	struct report_diff_items all = {0};
	int rc = read_allocations(&all, before, after, out, e);
	if (rc == 0) {
		report_diff_items_tell(&all, first, false, out);
		report_diff_put_unlike(out->lines, before, after, "target.entrypoint", "Not the same program", "");
		report_diff_put_unlike(out->lines, before, after, "target.runtimeVersion", ".NET", "");
		report_diff_put_unlike(out->lines, before, after, "sampling.event", "Sampled in different ways", ": small differences say nothing");
	}
	report_diff_items_fini(&all);
	return rc;
}
