/* Two Waits reports: how many threads wait at a time, by kind and by place. A wait is no sample, but their lengths differ from one moment to the next: a
 * place of which few long waits make the most may be off by the longest of them. */
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/report/report_diff_items.h"

#define THREADS_MOST 1e6

static const struct report_diff_rule waiting_total = {.kind = "total", .unit = "threads", .suffix = "", .least = 0.2, .least_part = 0.1};
static const struct report_diff_rule kind_rule = {.kind = "kind", .unit = "threads", .suffix = "", .least = 0.2, .least_part = 0.1, .silent = true};
static const struct report_diff_rule place_rule = {.kind = "place", .unit = "threads", .suffix = " waiting", .least = 0.2, .least_part = 0.1};

struct side {
	struct report_diff_items *all;
	const json_t *report;
	int which;
	double seconds;
};

static int read_kind(const void *side, const json_t *entry, struct err *e)
{
	const struct side *s = side;
	const char *title = json_string_value(json_object_get(entry, "title"));
	double threads;
	if (!title)
		return err_set(e, ERR_INVALID, 0, "title: expected a string");
	if (report_diff_number(entry, "threads", 0, THREADS_MOST, &threads, e) < 0)
		return -1;
	if (threads > 0)
		report_diff_items_add(s->all, &kind_rule, title, s->which, threads, 0);
	return 0;
}

/* "Monitor in Shop.Cache.Get" */
static int read_place(const void *side, const json_t *entry, struct err *e)
{
	const struct side *s = side;
	const char *what = json_string_value(json_object_get(entry, "what")), *method = json_string_value(json_object_get(entry, "method"));
	double threads, longest;
	if (!what)
		return err_set(e, ERR_INVALID, 0, "what: expected a string");
	if (report_diff_number(entry, "threadsWaiting", 0, THREADS_MOST, &threads, e) < 0 ||
	    report_diff_number(entry, "longestNanoseconds", 0, REPORT_DIFF_QUANTITY_MOST, &longest, e) < 0)
		return -1;
	AUTO_FREE char *name = mem_printf("%s in %s", what, method ? method : "code of .NET");
	report_diff_items_add(s->all, &place_rule, name, s->which, threads, s->seconds > 0 ? longest / 1e9 / s->seconds : 0);
	return 0;
}

static int read_waits_side(struct side *s, struct err *e)
{
	if (report_diff_number(s->report, "time.durationSeconds", 0, REPORT_DIFF_QUANTITY_MOST, &s->seconds, e) < 0 ||
	    report_diff_items_total(s->all, &waiting_total, "Threads that wait at a time", s->report, s->which, "waiting.threads", e) < 0 ||
	    report_diff_list(s->report, "kinds", read_kind, s, e) < 0)
		return -1;
	return report_diff_list(s->report, "places", read_place, s, e);
}

int report_diff_waits(const json_t *before, const json_t *after, struct report_diff_out *out, struct err *e)
{
	static const struct report_diff_rule *const spoken[] = {&place_rule, NULL};
	struct report_diff_items all = {0};
	int rc = 0;
	for (int which = 0; which < 2 && rc == 0; which++) {
		struct side s = {.all = &all, .report = which ? after : before, .which = which};
		rc = read_waits_side(&s, e);
		if (rc < 0)
			err_prefix(e, "%.200s", which ? out->after_name : out->before_name);
	}
	if (rc == 0) {
		report_diff_items_tell(&all, spoken, true, out);
		report_diff_put_unlike(out->lines, before, after, "target.entrypoint", "Not the same program", "");
		report_diff_put_unlike(out->lines, before, after, "target.runtimeVersion", ".NET", "");
	}
	report_diff_items_fini(&all);
	return rc;
}
