/* Two reports of Exceptions, by exceptions a second: what each type and each site (a type thrown by a method) throws. Noise is what as many exceptions
 * differ by at random, at 99.9%. With more load all of them come more often: a type or site differs only when its share went the same way. */
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/report/report_diff_items.h"

#include <math.h>
#include <string.h>

#define Z 3.29 /* 99.9%, two-sided */
#define LEAST_PER_SECOND 0.5
#define LEAST_PART 0.2

static const struct report_diff_rule total_rule = {.kind = "total", .unit = "/s", .suffix = "", .least = LEAST_PER_SECOND, .least_part = LEAST_PART};
static const struct report_diff_rule type_rule = {
	.kind = "type", .unit = "/s", .suffix = "", .least = LEAST_PER_SECOND, .least_part = LEAST_PART, .by_share = true};
static const struct report_diff_rule site_rule = {
	.kind = "site", .unit = "/s", .suffix = "", .least = LEAST_PER_SECOND, .least_part = LEAST_PART, .by_share = true};

struct throws_side {
	struct report_diff_items *all;
	const json_t *report;
	int which;
	double seconds;
};

static int add_throws(const struct throws_side *s, const struct report_diff_rule *rule, const char *name, const json_t *entry, struct err *e)
{
	double count, counted;
	if (report_diff_number(entry, "count", 0, REPORT_DIFF_QUANTITY_MOST, &count, e) < 0 ||
	    report_diff_number(entry, "counted", 0, REPORT_DIFF_QUANTITY_MOST, &counted, e) < 0)
		return -1;
	double scale = counted > 0 ? count / counted : 1;
	report_diff_items_add(s->all, rule, name, s->which, count / s->seconds, Z * sqrt(counted) * scale / s->seconds);
	return 0;
}

static int read_thrown_type(const void *side, const json_t *entry, struct err *e)
{
	const char *name = NULL;
	return jsonx_string(entry, "", "type", true, &name, e) < 0 ? -1 : add_throws(side, &type_rule, name, entry, e);
}

static int read_throw_site(const void *side, const json_t *entry, struct err *e)
{
	const char *type = NULL, *way = NULL;
	if (jsonx_string(entry, "", "type", true, &type, e) < 0 || jsonx_string(entry, "", "way", true, &way, e) < 0)
		return -1;
	if (strcmp(way, "new") != 0)
		return 0;
	AUTO_FREE char *name = mem_printf("%s in %s", type, jsonx_str_at(entry, "method", "no method of the application"));
	return add_throws(side, &site_rule, name, entry, e);
}

static int read_throws_side(struct throws_side *s, struct err *e)
{
	double rate, count, counted;
	if (report_diff_number(s->report, "time.durationSeconds", 1e-3, 1e6, &s->seconds, e) < 0 ||
	    report_diff_number(s->report, "thrown.perSecond", 0, REPORT_DIFF_QUANTITY_MOST, &rate, e) < 0 ||
	    report_diff_number(s->report, "thrown.count", 0, REPORT_DIFF_QUANTITY_MOST, &count, e) < 0 ||
	    report_diff_number(s->report, "sampling.counted", 0, REPORT_DIFF_QUANTITY_MOST, &counted, e) < 0)
		return -1;
	double scale = counted > 0 && count > counted ? count / counted : 1;
	report_diff_items_add(s->all, &total_rule, "Exceptions", s->which, rate, Z * sqrt(counted) * scale / s->seconds);
	return report_diff_list(s->report, "sites", read_throw_site, s, e) < 0 ? -1 : report_diff_list(s->report, "types", read_thrown_type, s, e);
}

static int read_throws(struct report_diff_items *all, const json_t *before, const json_t *after, const struct report_diff_out *out, struct err *e)
{
	for (int which = 0; which < 2; which++) {
		struct throws_side s = {.all = all, .report = which ? after : before, .which = which};
		if (read_throws_side(&s, e) < 0)
			return err_prefix(e, "%.200s", which ? out->after_name : out->before_name);
	}
	return 0;
}

int report_diff_exceptions(const json_t *before, const json_t *after, struct report_diff_out *out, struct err *e)
{
	static const struct report_diff_rule *const first[] = {&site_rule, &type_rule, NULL};
	struct report_diff_items all = {0};
	int rc = read_throws(&all, before, after, out, e);
	if (rc == 0) {
		report_diff_items_tell(&all, first, false, out);
		report_diff_put_unlike(out->lines, before, after, "target.entrypoint", "Not the same program", "");
		report_diff_put_unlike(out->lines, before, after, "target.runtimeVersion", ".NET", "");
	}
	report_diff_items_fini(&all);
	return rc;
}
