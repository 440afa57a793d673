#include "common/report/report_diff.h"

#include "common/base/mem.h"
#include "common/base/size_text.h"
#include "common/base/text.h"
#include "common/report/report_diff_private.h"

#include <math.h>
#include <string.h>

#define REPORT_SCHEMA "drdotnet.dev/report/v1"
#define DIAGNOSIS_MAX_BYTES 4096
#define NAME_MAX_BYTES 1024
#define TABLE_NAME_CHARS 70
#define TABLE_ROWS 25
#define LEAST_SHOWN 0.5 /* percent */

static const struct {
	const char *profiler;
	report_diff_fn *compare;
} profilers[] = {
	{"CPUHotpaths", report_diff_cpu},
	{"GCSurvivors", report_diff_survivors},
	{"MemoryLeak", report_diff_leak},
	{"DuplicatedStrings", report_diff_strings},
	{"Allocations", report_diff_allocations},
	{"RuntimePauses", report_diff_pauses},
	{"Deadlocks", report_diff_deadlocks},
	{"Exceptions", report_diff_exceptions},
	{"StuckTasks", report_diff_stucktasks},
	{"Waits", report_diff_waits},
	{"Threads", report_diff_threads},
	{"SlowRequests", report_diff_requests},
};

size_t report_diff_chars(const char *s)
{
	size_t count = 0;
	for (; *s; s++)
		count += ((unsigned char)*s & 0xC0) != 0x80;
	return count;
}

void report_diff_put_percent(struct buf *out, double percent)
{
	buf_printf(out, percent >= 9.95 || percent == 0 ? "%.0f%%" : percent >= 0.095 ? "%.1f%%" : "%.2f%%", percent);
}

void report_diff_put_cpus(struct buf *out, double cpus)
{
	buf_printf(out, "%.2f", fabs(cpus) < 0.005 ? 0.0 : cpus);
}

void report_diff_put_value(struct buf *out, const char *unit, double value)
{
	static const char *const sizes[] = {"bytes", "kB", "MB", "GB", "TB"};
	size_t size = 0;
	if (strcmp(unit, "%") == 0) {
		report_diff_put_percent(out, value);
	} else if (strcmp(unit, "/s") == 0 || strcmp(unit, "/min") == 0) {
		buf_printf(out, fabs(value) >= 99.5 || value == 0 ? "%.0f%s" : "%.1f%s", value, unit);
	} else if (strcmp(unit, "threads") == 0) {
		buf_printf(out, fabs(value) >= 99.5 ? "%.0f %s" : "%.1f %s", value, size_text_plural(fabs(value), "thread", "threads"));
	} else if (unit[0] == 'B' && (unit[1] == '\0' || unit[1] == '/')) {
		for (; fabs(value) >= 999.5 && size < sizeof sizes / sizeof *sizes - 1; size++)
			value /= 1000;
		buf_printf(out, size == 0 || fabs(value) >= 99.5 ? "%.0f %s%s" : "%.1f %s%s", value, sizes[size], unit + 1);
	} else if (fabs(value) < 999.5) {
		buf_printf(out, "%.0f %s", value, unit);
	} else {
		buf_printf(out, fabs(value) < 999.5e3 ? "%.1f ms" : "%.2f s", fabs(value) < 999.5e3 ? value / 1e3 : value / 1e6);
	}
}

void report_diff_put_unlike(struct buf *out, const json_t *before, const json_t *after, const char *path, const char *what, const char *remark)
{
	const char *first = jsonx_str_at(before, path, ""), *second = jsonx_str_at(after, path, "");
	if (strcmp(first, second) == 0)
		return;
	buf_printf(out, "\n%s: ", what);
	report_diff_put_name(out, first[0] ? first : "not known", 40);
	buf_puts(out, " before, ");
	report_diff_put_name(out, second[0] ? second : "not known", 40);
	buf_printf(out, " after%s.", remark);
}

json_t *report_diff_figure(double value)
{
	double rounded = round(value * 1000) / 1000;
	return json_real(rounded == 0 ? 0.0 : rounded);
}

json_t *report_diff_row(const char *kind, const char *name, const char *unit, double before, double after, const char *change)
{
	json_t *r = json_object();
	json_object_set_new(r, "kind", json_string(kind));
	json_object_set_new(r, "name", json_string(name));
	json_object_set_new(r, "unit", json_string(unit));
	json_object_set_new(r, "before", report_diff_figure(before));
	json_object_set_new(r, "after", report_diff_figure(after));
	json_object_set_new(r, "delta", report_diff_figure(after - before));
	json_object_set_new(r, "change", json_string(change));
	return r;
}

/* Where a shortened name may begin: behind a separator of namespaces or types. */
static const char *next_part(const char *name)
{
	size_t len = strcspn(name, ".+/");
	return name[len] && name[len + 1] ? name + len + 1 : NULL;
}

void report_diff_put_name(struct buf *out, const char *name, size_t max_chars)
{
	AUTO_BUF struct buf shown;
	buf_init(&shown, NAME_MAX_BYTES * 8);
	text_append_printable(&shown, name, text_cut_utf8(name, NAME_MAX_BYTES));
	const char *s = buf_str(&shown);
	size_t chars = report_diff_chars(s), most = max_chars > 3 ? max_chars : 3;
	if (chars <= most) {
		buf_puts(out, s);
		return;
	}
	for (const char *part = next_part(s); part; part = next_part(part)) {
		if (report_diff_chars(part) + 1 <= most) {
			buf_printf(out, "…%s", part);
			return;
		}
	}
	for (; chars + 1 > most; chars--) /* one long word: its end says most */
		for (s++; ((unsigned char)*s & 0xC0) == 0x80; s++)
			;
	buf_printf(out, "…%s", s);
}

int report_diff_number(const json_t *report, const char *path, double least, double most, double *out, struct err *e)
{
	const json_t *v = jsonx_at(report, path);
	if (!json_is_number(v))
		return err_set(e, ERR_INVALID, 0, "%s: %s", path, v ? "expected a number" : "required");
	double number = json_number_value(v);
	if (!(number >= least && number <= most))
		return err_set(e, ERR_INVALID, 0, "%s: must be between %g and %g", path, least, most);
	*out = number;
	return 0;
}

int report_diff_list(const json_t *report, const char *list, report_diff_entry_fn *read, const void *side, struct err *e)
{
	const json_t *entries = NULL;
	size_t i;
	json_t *entry;
	if (jsonx_array(report, "", list, true, &entries, e) < 0)
		return -1;
	json_array_foreach(entries, i, entry) {
		if (read(side, entry, e) < 0)
			return err_prefix(e, "%s[%zu]", list, i);
	}
	return 0;
}

static int check_report_schema(const json_t *report, const char **profiler, struct err *e)
{
	const char *schema = NULL;
	if (!json_is_object(report))
		return err_set(e, ERR_INVALID, 0, "no report.json of Dr-Dotnet: expected an object");
	if (jsonx_string(report, "", "schema", true, &schema, e) < 0)
		return err_prefix(e, "no report.json of Dr-Dotnet");
	if (strcmp(schema, REPORT_SCHEMA) != 0)
		return err_set(e, ERR_INVALID, 0, "schema: \"%.60s\" cannot be compared, only " REPORT_SCHEMA ": take drdotnet of the report's version",
			       schema);
	return jsonx_string(report, "", "profiler", true, profiler, e);
}

static int choose_report_diff(const char *before, const char *after, report_diff_fn **out, struct err *e)
{
	if (strcmp(before, after) != 0)
		return err_set(e, ERR_INVALID, 0, "profiler: %.60s before, %.60s after: compare two sessions of one profiler", before, after);
	for (size_t i = 0; i < sizeof profilers / sizeof *profilers; i++)
		if (strcmp(profilers[i].profiler, before) == 0)
			*out = profilers[i].compare;
	return *out ? 0 : err_set(e, ERR_INVALID, 0, "profiler: reports of %.60s cannot be compared", before);
}

static void copy_report_text(json_t *out, const char *key, const json_t *report, const char *path)
{
	const char *text = jsonx_str_at(report, path, NULL);
	json_object_set_new(out, key, text ? json_stringn(text, text_cut_utf8(text, NAME_MAX_BYTES)) : json_null());
}

static json_t *describe_report(const json_t *report)
{
	json_t *out = json_object();
	const json_t *duration = jsonx_at(report, "time.durationSeconds");
	copy_report_text(out, "session", report, "session.name");
	copy_report_text(out, "namespace", report, "session.namespace");
	copy_report_text(out, "pod", report, "target.pod");
	copy_report_text(out, "startedAt", report, "time.startedAt");
	json_object_set_new(out, "durationSeconds", json_real(json_is_number(duration) ? json_number_value(duration) : 0));
	json_object_set_new(out, "samples", json_integer(jsonx_int_at(report, "sampling.samples", 0)));
	return out;
}

static json_t *assemble(const json_t *before, const json_t *after, const char *profiler, const struct report_diff_out *made)
{
	const char *lines = buf_str(made->lines);
	json_t *out = json_object();
	json_object_set_new(out, "schema", json_string(REPORT_DIFF_SCHEMA));
	json_object_set_new(out, "profiler", json_string(profiler));
	json_object_set_new(out, "headline", json_stringn(lines, strcspn(lines, "\n")));
	json_object_set_new(out, "diagnosis", json_string(lines));
	json_object_set_new(out, "changed", json_boolean(made->changed));
	json_object_set_new(out, "before", describe_report(before));
	json_object_set_new(out, "after", describe_report(after));
	json_object_set(out, "rows", made->rows);
	return out;
}

/* Sessions in the wrong order make every sign wrong. Times are of one form: RFC 3339 in UTC. */
static void put_order(const json_t *before, const json_t *after, struct buf *lines)
{
	const char *first = jsonx_str_at(before, "time.startedAt", ""), *second = jsonx_str_at(after, "time.startedAt", "");
	size_t n = strlen(first);
	if (n == 0 || n != strlen(second) || first[n - 1] != 'Z' || second[n - 1] != 'Z' || strcmp(first, second) <= 0)
		return;
	buf_puts(lines, "\nThe session before is the younger one: it began at ");
	report_diff_put_name(lines, first, 40);
	buf_puts(lines, ", the one after at ");
	report_diff_put_name(lines, second, 40);
	buf_puts(lines, ". If they are exchanged, what is said to have grown has shrunk.");
}

static json_t *make_report_diff(const json_t *before, const char *before_name, const json_t *after, const char *after_name, struct err *e)
{
	const char *profiler = NULL, *other = NULL;
	report_diff_fn *compare = NULL;
	if (check_report_schema(before, &profiler, e) < 0) {
		err_prefix(e, "%.200s", before_name);
		return NULL;
	}
	if (check_report_schema(after, &other, e) < 0) {
		err_prefix(e, "%.200s", after_name);
		return NULL;
	}
	if (choose_report_diff(profiler, other, &compare, e) < 0)
		return NULL;
	AUTO_JSON json_t *rows = json_array();
	AUTO_BUF struct buf lines;
	buf_init(&lines, DIAGNOSIS_MAX_BYTES);
	struct report_diff_out out = {.rows = rows, .lines = &lines, .before_name = before_name, .after_name = after_name};
	if (compare(before, after, &out, e) < 0)
		return NULL;
	put_order(before, after, &lines);
	return assemble(before, after, profiler, &out);
}

json_t *report_diff_make(const json_t *before, const json_t *after, struct err *e)
{
	return make_report_diff(before, "the report before", after, "the report after", e);
}

static json_t *parse_report(const char *text, size_t len, const char *name, struct err *e)
{
	struct err why = ERR_INIT;
	json_t *doc = len <= REPORT_DIFF_FILE_MAX_BYTES ? jsonx_parse(text, len, name, &why) : NULL;
	if (!doc && len > REPORT_DIFF_FILE_MAX_BYTES)
		err_set(e, ERR_INVALID, 0, "%.200s: larger than %d MiB", name, REPORT_DIFF_FILE_MAX_BYTES >> 20);
	else if (!doc) /* the user must give another file */
		err_set(e, ERR_INVALID, 0, "%s", why.message);
	return doc;
}

json_t *report_diff_make_text(const char *before, size_t before_len, const char *before_name, const char *after, size_t after_len,
			      const char *after_name, struct err *e)
{
	AUTO_JSON json_t *first = parse_report(before, before_len, before_name, e);
	AUTO_JSON json_t *second = first ? parse_report(after, after_len, after_name, e) : NULL;
	return second ? make_report_diff(first, before_name, second, after_name, e) : NULL;
}

static double number_of(const json_t *row, const char *key)
{
	return json_number_value(json_object_get(row, key));
}

/* Bytes in the unit that makes the largest of a row's figures short. */
static double shown_unit(const json_t *row, const char **unit)
{
	static const struct {
		double bytes;
		const char *units[3];
	} sizes[] = {{1e9, {"GB", "GB/s", "GB/min"}}, {1e6, {"MB", "MB/s", "MB/min"}}, {1e3, {"kB", "kB/s", "kB/min"}}};
	static const char *const plain[] = {"B", "B/s", "B/min"};
	double most = fmax(fabs(number_of(row, "before")), fabs(number_of(row, "after")));
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes && strcmp(*unit, plain[i]) == 0; k++)
			if (most >= sizes[k].bytes) {
				*unit = sizes[k].units[i];
				return sizes[k].bytes;
			}
	return 1;
}

static void print_diff_row(const json_t *row, struct buf *out)
{
	const char *unit = jsonx_str_at(row, "unit", "");
	int digits = strcmp(unit, "%") == 0 ? 1 : 2;
	double by = shown_unit(row, &unit);
	buf_printf(out, " %9.*f %9.*f %+9.*f", digits, number_of(row, "before") / by, digits, number_of(row, "after") / by, digits,
		   number_of(row, "delta") / by);
	buf_printf(out, " %-6s %-9s ", unit, jsonx_str_at(row, "change", ""));
	report_diff_put_name(out, jsonx_str_at(row, "name", ""), TABLE_NAME_CHARS);
	buf_putc(out, '\n');
}

static bool worth_showing(const json_t *row)
{
	return strcmp(jsonx_str_at(row, "unit", ""), "%") != 0 || number_of(row, "before") >= LEAST_SHOWN || number_of(row, "after") >= LEAST_SHOWN;
}

int report_diff_print(const json_t *diff, struct buf *out)
{
	size_t i, shown = 0;
	json_t *row;
	buf_printf(out, "%s\n\n", jsonx_str_at(diff, "diagnosis", ""));
	buf_printf(out, " %9s %9s %9s %-6s %-9s %s\n", "BEFORE", "AFTER", "DELTA", "UNIT", "CHANGE", "NAME");
	json_array_foreach(jsonx_at(diff, "rows"), i, row) {
		if (worth_showing(row) && shown++ < TABLE_ROWS)
			print_diff_row(row, out);
	}
	return out->full ? -1 : 0;
}
