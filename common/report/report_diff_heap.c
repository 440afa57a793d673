/* Two reports of GCSurvivors, MemoryLeak or DuplicatedStrings. What they count is exact, so that noise is not an error of measuring but what the
 * heap of an unchanged application differs by from one moment to the next: a difference must be a tenth of the quantity itself and a hundredth
 * of the whole. A growth is held against the slowest one that the sessions could have seen (`growth.detectableBytesPerMinute`). */
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/report/report_diff_items.h"

#include <math.h>
#include <string.h>

#define LEAST_BYTES 65536
#define LEAST_PART 0.1
#define LEAST_SHARE 0.01
#define LEAST_PER_MINUTE 16384

struct side {
	struct report_diff_items *all;
	const json_t *report;
	int which;
	double minutes, detectable; /* MemoryLeak */
};

static int read_bytes(const json_t *entry, const char *key, double *out, struct err *e)
{
	return report_diff_number(entry, key, -REPORT_DIFF_QUANTITY_MOST, REPORT_DIFF_QUANTITY_MOST, out, e);
}

static int add_named_bytes(const struct side *s, const struct report_diff_rule *rule, const char *name, const json_t *entry, const char *key, struct err *e)
{
	double value;
	if (read_bytes(entry, key, &value, e) < 0)
		return -1;
	report_diff_items_add(s->all, rule, name, s->which, value, 0);
	return 0;
}

typedef int read_side_fn(struct side *s, struct err *e);

static int read_heap_reports(struct report_diff_items *all, const json_t *before, const json_t *after, read_side_fn *read, const struct report_diff_out *out,
			     struct err *e)
{
	for (int which = 0; which < 2; which++) {
		struct side s = {.all = all, .report = which ? after : before, .which = which};
		if (read(&s, e) < 0)
			return err_prefix(e, "%.200s", which ? out->after_name : out->before_name);
	}
	return 0;
}

static void put_programs(const json_t *before, const json_t *after, struct buf *lines)
{
	report_diff_put_unlike(lines, before, after, "target.entrypoint", "Not the same program", "");
	report_diff_put_unlike(lines, before, after, "target.runtimeVersion", ".NET", "");
}

/* GCSurvivors ------------------------------------------------------------------------------------------------------ */

#define BYTES_RULE(kind_, suffix_) \
	{.kind = kind_, .unit = "B", .suffix = suffix_, .least = LEAST_BYTES, .least_part = LEAST_PART, .least_share = LEAST_SHARE}

static const struct report_diff_rule heap_total = {.kind = "total", .unit = "B", .suffix = "", .least = LEAST_BYTES, .least_part = LEAST_PART};
static const struct report_diff_rule heap_beside = {
	.kind = "total", .unit = "B", .suffix = "", .least = LEAST_BYTES, .least_part = 0.5, .least_share = 0.1, .silent = true};
static const struct report_diff_rule holder_rule = BYTES_RULE("holder", " retained"), type_rule = BYTES_RULE("type", " retained");

static int read_survivors_holder(const void *side, const json_t *entry, struct err *e)
{
	const struct side *s = side;
	const char *name = NULL, *kind = NULL;
	if (jsonx_string(entry, "", "name", true, &name, e) < 0 || jsonx_string(entry, "", "kind", true, &kind, e) < 0)
		return -1;
	bool several = strcmp(kind, "several") == 0, unknown = strcmp(kind, "unknown") == 0;
	AUTO_FREE char *shown = several ? mem_printf("%s, held by several", name) : unknown ? mem_printf("%s, holder not known", name) : mem_strdup(name);
	return add_named_bytes(s, &holder_rule, shown, entry, "retainedBytes", e);
}

static int read_survivors_type(const void *side, const json_t *entry, struct err *e)
{
	const struct side *s = side;
	const char *name = NULL;
	return jsonx_string(entry, "", "name", true, &name, e) < 0 ? -1 : add_named_bytes(s, &type_rule, name, entry, "retainedBytes", e);
}

static int compare_heaps(const json_t *before, const json_t *after, read_side_fn *read, const struct report_diff_rule *const *first,
			 struct report_diff_out *out, struct err *e)
{
	struct report_diff_items all = {0};
	int rc = read_heap_reports(&all, before, after, read, out, e);
	if (rc == 0) {
		report_diff_items_tell(&all, first, false, out);
		put_programs(before, after, out->lines);
	}
	report_diff_items_fini(&all);
	return rc;
}

/* Where one of the two has only counted by type, what both know is compared. */
static const struct report_diff_rule own_rule = BYTES_RULE("type", "");

static int read_counted_type(const void *side, const json_t *entry, struct err *e)
{
	const struct side *s = side;
	const char *name = NULL;
	return jsonx_string(entry, "", "name", true, &name, e) < 0 ? -1 : add_named_bytes(s, &own_rule, name, entry, "shallowBytes", e);
}

static int read_counted(struct side *s, struct err *e)
{
	if (report_diff_items_total(s->all, &heap_total, "Objects", s->report, s->which, "heap.bytes", e) < 0)
		return -1;
	return report_diff_list(s->report, "types", read_counted_type, s, e);
}

static bool is_counted(const json_t *report)
{
	const char *roots = NULL;
	const json_t *walk = json_object_get(report, "walk");
	return json_is_object(walk) && jsonx_string(walk, "walk", "roots", false, &roots, NULL) == 0 && roots && strcmp(roots, "none") == 0;
}

/* Of a part of a heap: what is not there may only not have been seen. */
static void put_part_seen(const json_t *report, const char *name, struct buf *lines)
{
	double seen = 100;
	if (report_diff_number(report, "walk.typesOnly.seenPercent", 0, 100, &seen, NULL) == 0 && seen < 100)
		buf_printf(lines, "\n%.100s saw a part of the heap only (at least %.0f%%): less in it may not have been seen.", name, seen);
}

static int compare_counted(const json_t *before, const json_t *after, struct report_diff_out *out, struct err *e)
{
	static const struct report_diff_rule *const first[] = {&own_rule, NULL};
	if (compare_heaps(before, after, read_counted, first, out, e) < 0)
		return -1;
	buf_puts(out->lines, "\nTypes only: holders and retained sizes are not known of both.");
	put_part_seen(before, out->before_name, out->lines);
	put_part_seen(after, out->after_name, out->lines);
	return 0;
}

static int read_survivors(struct side *s, struct err *e)
{
	if (report_diff_items_total(s->all, &heap_total, "Held memory", s->report, s->which, "heap.heldBytes", e) < 0 ||
	    report_diff_items_total(s->all, &heap_beside, "Held by nothing that is known", s->report, s->which, "heap.unreachableBytes", e) < 0 ||
	    report_diff_items_total(s->all, &heap_beside, "Free space between objects", s->report, s->which, "heap.freeBytes", e) < 0)
		return -1;
	return report_diff_list(s->report, "holders", read_survivors_holder, s, e) < 0 ? -1 : report_diff_list(s->report, "types", read_survivors_type, s, e);
}

int report_diff_survivors(const json_t *before, const json_t *after, struct report_diff_out *out, struct err *e)
{
	static const struct report_diff_rule *const first[] = {&holder_rule, &type_rule, NULL};
	if (is_counted(before) || is_counted(after))
		return compare_counted(before, after, out, e);
	if (compare_heaps(before, after, read_survivors, first, out, e) < 0)
		return -1;
	report_diff_put_unlike(out->lines, before, after, "walk.roots", "Roots were found in different ways",
			       ": what nothing that is known holds cannot be compared");
	return 0;
}

/* MemoryLeak ------------------------------------------------------------------------------------------------------- */

static const struct report_diff_rule growth_total = {
	.kind = "total", .unit = "B/min", .suffix = "", .least = LEAST_PER_MINUTE, .least_part = LEAST_PART};
static const struct report_diff_rule growing = {.kind = "holder", .unit = "B/min", .suffix = "", .least = LEAST_PER_MINUTE, .least_part = LEAST_PART};
static const struct report_diff_rule growing_type = {.kind = "type", .unit = "B/min", .suffix = "", .least = LEAST_PER_MINUTE, .least_part = LEAST_PART};

static void add_growth(const struct side *s, const struct report_diff_rule *rule, const char *name, double bytes_per_minute)
{
	report_diff_items_add(s->all, rule, name, s->which, bytes_per_minute, s->detectable);
}

static int read_leak_holder(const void *side, const json_t *entry, struct err *e)
{
	const struct side *s = side;
	const char *root = NULL, *type = NULL;
	double per_minute;
	if (jsonx_string(entry, "", "root", true, &root, e) < 0 || jsonx_string(entry, "", "type", true, &type, e) < 0 ||
	    read_bytes(entry, "bytesPerMinute", &per_minute, e) < 0)
		return -1;
	AUTO_FREE char *name = mem_printf("%s by %s", type, root);
	add_growth(s, &growing, name, per_minute);
	return 0;
}

static int read_leak_type(const void *side, const json_t *entry, struct err *e)
{
	const struct side *s = side;
	const char *type = NULL;
	double bytes;
	if (jsonx_string(entry, "", "type", true, &type, e) < 0 || read_bytes(entry, "growthBytes", &bytes, e) < 0)
		return -1;
	add_growth(s, &growing_type, type, bytes / s->minutes);
	return 0;
}

/* A part of the growth; what could not be read stands for nothing. */
static void add_part(const struct side *s, const char *path, const char *name)
{
	double bytes;
	if (read_bytes(s->report, path, &bytes, NULL) == 0)
		add_growth(s, &growth_total, name, bytes / s->minutes);
}

static int read_leak(struct side *s, struct err *e)
{
	double seconds, per_minute;
	if (report_diff_number(s->report, "growth.seconds", 0, 1e6, &seconds, e) < 0 ||
	    report_diff_number(s->report, "growth.detectableBytesPerMinute", 0, REPORT_DIFF_QUANTITY_MOST, &s->detectable, e) < 0 ||
	    read_bytes(s->report, "growth.bytesPerMinute", &per_minute, e) < 0)
		return -1;
	s->minutes = fmax(seconds, 1) / 60;
	add_growth(s, &growth_total, "Growth", per_minute);
	add_part(s, "growth.heldBytes", "Growth of held objects");
	add_part(s, "growth.unmanagedBytes", "Growth of unmanaged memory");
	return report_diff_list(s->report, "holders", read_leak_holder, s, e) < 0 ? -1 : report_diff_list(s->report, "types", read_leak_type, s, e);
}

static void put_detectable(const json_t *before, const json_t *after, struct buf *lines)
{
	double slowest[2] = {0, 0};
	report_diff_number(before, "growth.detectableBytesPerMinute", 0, REPORT_DIFF_QUANTITY_MOST, &slowest[0], NULL);
	report_diff_number(after, "growth.detectableBytesPerMinute", 0, REPORT_DIFF_QUANTITY_MOST, &slowest[1], NULL);
	buf_puts(lines, "\nDifferences up to ");
	report_diff_put_value(lines, "B/min", fmax(hypot(slowest[0], slowest[1]), LEAST_PER_MINUTE));
	buf_puts(lines, " may be noise.");
}

int report_diff_leak(const json_t *before, const json_t *after, struct report_diff_out *out, struct err *e)
{
	static const struct report_diff_rule *const first[] = {&growing, &growing_type, NULL};
	if (compare_heaps(before, after, read_leak, first, out, e) < 0)
		return -1;
	put_detectable(before, after, out->lines);
	return 0;
}

/* DuplicatedStrings ------------------------------------------------------------------------------------------------ */

static const struct report_diff_rule waste_total = {.kind = "total", .unit = "B", .suffix = "", .least = LEAST_BYTES, .least_part = LEAST_PART};
static const struct report_diff_rule waste_rule = BYTES_RULE("holder", " of copies");

static int read_strings_holder(const void *side, const json_t *entry, struct err *e)
{
	const struct side *s = side;
	const char *name = NULL;
	return jsonx_string(entry, "", "name", true, &name, e) < 0 ? -1 : add_named_bytes(s, &waste_rule, name, entry, "wastedBytes", e);
}

static int read_strings(struct side *s, struct err *e)
{
	if (report_diff_items_total(s->all, &waste_total, "Waste by copies of strings", s->report, s->which, "strings.wastedBytes", e) < 0 ||
	    report_diff_items_total(s->all, &waste_total, "Memory of all strings", s->report, s->which, "strings.bytes", e) < 0)
		return -1;
	return report_diff_list(s->report, "holders", read_strings_holder, s, e);
}

int report_diff_strings(const json_t *before, const json_t *after, struct report_diff_out *out, struct err *e)
{
	static const struct report_diff_rule *const first[] = {&waste_rule, NULL};
	return compare_heaps(before, after, read_strings, first, out, e);
}
