/* Two reports of CPUHotpaths. A method counts by what it causes (`caused`: samples whose nearest application method it is), others by their
 * self time, as in the report's own diagnosis.
 *
 * Shares are compared by the two-proportion bound of Agresti and Caffo (one success and one failure added to each: holds for small
 * counts and shares near 0 and 1), at 99.9%, because many methods are looked at. Samples of one burst are not independent: the variance is
 * multiplied by the index of dispersion of the samples over time, when that is above that of independent ones, up to DISPERSION_MOST.
 *
 * When one method grows, the shares of all others fall. So a method has changed only when its share changed beyond noise and its CPU time
 * per second went the same way. */
#include "common/base/cleanup.h"
#include "common/base/mem.h"
#include "common/base/size_text.h"
#include "common/report/report_diff_cpu_private.h"

#include <math.h>
#include <string.h>

#define Z_SHARE 3.29 /* 99.9%, two-sided */
#define Z_CPUS 1.64  /* the second sign: the same direction at 95% */
#define LEAST_POINTS 1.0
#define LEAST_CPUS 0.02
#define LEAST_CPUS_PART 0.1
#define MOVED_POINTS 10.0
#define DISPERSION_MOST 3.0 /* uneven load is not yet an uneven mix: more would hide what everybody sees */
#define SAMPLES_MOST 1e12
#define METHOD_ROWS 50
#define SPOKEN 3
#define LINE_NAME_CHARS 90

const char report_diff_same[] = "same";
static const char grew[] = "grew", shrank[] = "shrank", is_new[] = "new", vanished[] = "vanished";

/* reading ---------------------------------------------------------------------------------------------------------- */

/* How much the samples' counts vary over time: against what independent ones would, and as the standard error of their mean. */
static void read_timeline(struct report_diff_side *s)
{
	const json_t *counts = jsonx_at(s->report, "timeline.samples");
	size_t i, n = json_array_size(counts);
	double sum = 0, squares = 0;
	json_t *v;
	json_array_foreach(counts, i, v) {
		sum += json_number_value(v);
		squares += json_number_value(v) * json_number_value(v);
	}
	double mean = n ? sum / (double)n : 0;
	double variance = n > 1 ? (squares - sum * mean) / (double)(n - 1) : 0;
	s->dispersion = 1;
	s->cpus_error = s->samples > 0 ? s->cpus / sqrt(s->samples) : 0;
	if (!(mean > 0) || !(variance >= 0) || n < 2)
		return;
	s->dispersion = fmin(fmax(1, variance / mean), DISPERSION_MOST);
	s->cpus_error = s->cpus * sqrt(variance / (double)n) / mean;
}

static int read_cpu_side(const json_t *report, const char *name, struct report_diff_side *s, struct err *e)
{
	*s = (struct report_diff_side){.report = report};
	double used;
	if (report_diff_number(report, "sampling.samples", 0, SAMPLES_MOST, &s->samples, e) < 0 ||
	    report_diff_number(report, "cpu.usedNanoseconds", 0, 1e18, &used, e) < 0 ||
	    report_diff_number(report, "time.durationSeconds", 1e-3, 1e6, &s->seconds, e) < 0)
		return err_prefix(e, "%.200s", name);
	s->cpus = used / 1e9 / s->seconds;
	const json_t *uptime = jsonx_at(report, "cpu.uptimeSeconds");
	s->uptime_seconds = json_is_number(uptime) ? json_number_value(uptime) : -1;
	read_timeline(s);
	return 0;
}

static struct report_diff_cpu_item *add_cpu_item(struct report_diff_comparison *c, enum report_diff_cpu_kind kind, const char *name)
{
	struct report_diff_cpu_item *item = mem_alloc(sizeof *item);
	*item = (struct report_diff_cpu_item){.kind = kind, .name = name, .change = report_diff_same};
	GROW(c->items, c->count, c->cap);
	c->items[c->count++] = item;
	return item;
}

static int read_samples(const json_t *entry, const char *list, size_t at, const char *key, const struct report_diff_side *s, double *out, struct err *e)
{
	if (report_diff_number(entry, key, 0, s->samples, out, e) < 0)
		return err_prefix(e, "%s[%zu]", list, at);
	return 0;
}

static int read_category(struct report_diff_comparison *c, int which, const json_t *entry, size_t at, struct err *e)
{
	const char *title = NULL;
	double samples;
	if (jsonx_string(entry, "categories", "title", true, &title, e) < 0 ||
	    read_samples(entry, "categories", at, "samples", &c->side[which], &samples, e) < 0)
		return -1;
	const char *category = jsonx_str_at(entry, "category", "");
	if (strcmp(category, "jit") == 0 || strcmp(category, "typeLoading") == 0)
		c->side[which].compiling += samples;
	if (strcmp(category, "application") == 0 || strcmp(category, "library") == 0 || strcmp(category, "native") == 0)
		return 0; /* their methods tell more */
	struct report_diff_cpu_item *item = NULL;
	for (size_t i = 0; i < c->count && !item; i++)
		if (c->items[i]->kind == ITEM_CATEGORY && strcmp(c->items[i]->name, title) == 0)
			item = c->items[i];
	if (!item)
		item = add_cpu_item(c, ITEM_CATEGORY, title);
	item->samples[which] += samples;
	return 0;
}

static int read_cpu_method(struct report_diff_comparison *c, int which, const json_t *entry, size_t at, struct err *e)
{
	const char *name = NULL, *layer = NULL;
	double self, caused;
	if (jsonx_string(entry, "methods", "name", true, &name, e) < 0 || jsonx_string(entry, "methods", "layer", true, &layer, e) < 0 ||
	    read_samples(entry, "methods", at, "self", &c->side[which], &self, e) < 0 ||
	    read_samples(entry, "methods", at, "caused", &c->side[which], &caused, e) < 0)
		return -1;
	double weight = caused > 0 ? caused : self;
	if (weight == 0 || name[0] == '[' || strcmp(layer, "kernel") == 0 || strcmp(layer, "runtime") == 0)
		return 0; /* nothing, or a part of a category */
	struct report_diff_cpu_item *item = NULL;
	HASH_FIND_STR(c->by_name, name, item);
	if (!item) {
		item = add_cpu_item(c, ITEM_METHOD, name);
		HASH_ADD_KEYPTR(hh, c->by_name, item->name, strlen(item->name), item);
	}
	item->application |= strcmp(layer, "application") == 0;
	item->samples[which] = fmin(item->samples[which] + weight, c->side[which].samples);
	return 0;
}

typedef int read_entry_fn(struct report_diff_comparison *c, int which, const json_t *entry, size_t at, struct err *e);

static int read_cpu_list(struct report_diff_comparison *c, int which, const char *list, read_entry_fn *read_entry, struct err *e)
{
	const json_t *entries = NULL;
	size_t i;
	json_t *entry;
	if (jsonx_array(c->side[which].report, "", list, true, &entries, e) < 0)
		return -1;
	json_array_foreach(entries, i, entry) {
		if (read_entry(c, which, entry, i, e) < 0)
			return -1;
	}
	return 0;
}

static int read_cpu_reports(struct report_diff_comparison *c, const json_t *before, const json_t *after, const struct report_diff_out *out, struct err *e)
{
	if (read_cpu_side(before, out->before_name, &c->side[0], e) < 0 || read_cpu_side(after, out->after_name, &c->side[1], e) < 0)
		return -1;
	for (int which = 0; which < 2; which++)
		if (read_cpu_list(c, which, "categories", read_category, e) < 0 || read_cpu_list(c, which, "methods", read_cpu_method, e) < 0)
			return err_prefix(e, "%.200s", which ? out->after_name : out->before_name);
	return 0;
}

static void comparison_fini(struct report_diff_comparison *c)
{
	HASH_CLEAR(hh, c->by_name);
	for (size_t i = 0; i < c->count; i++)
		free(c->items[i]);
	free(c->items);
}

/* judging ---------------------------------------------------------------------------------------------------------- */

static double share(const struct report_diff_comparison *c, const struct report_diff_cpu_item *item, int which)
{
	double n = c->side[which].samples;
	return n > 0 ? item->samples[which] / n : 0;
}

static double cpus(const struct report_diff_comparison *c, const struct report_diff_cpu_item *item, int which)
{
	return share(c, item, which) * c->side[which].cpus;
}

/* Agresti and Caffo 2000: the difference of two proportions, "add one success and one failure to each". */
static double share_error(const struct report_diff_comparison *c, const double samples[2], double *difference)
{
	double p[2], variance = 0;
	for (int i = 0; i < 2; i++) {
		double n = c->side[i].samples + 2;
		p[i] = (samples[i] + 1) / n;
		variance += c->side[i].dispersion * p[i] * (1 - p[i]) / n;
	}
	*difference = p[1] - p[0];
	return sqrt(variance);
}

static double cpus_error(const struct report_diff_comparison *c, const struct report_diff_cpu_item *item)
{
	double variance = 0;
	for (int i = 0; i < 2; i++) {
		double one = c->side[i].samples > 0 ? c->side[i].cpus / c->side[i].samples : 0;
		variance += c->side[i].dispersion * (item->samples[i] + 1) * one * one;
	}
	return sqrt(variance);
}

static void judge_cpu_item(const struct report_diff_comparison *c, struct report_diff_cpu_item *item)
{
	double difference, error = share_error(c, item->samples, &difference);
	item->points = 100 * (share(c, item, 1) - share(c, item, 0));
	item->cpus = cpus(c, item, 1) - cpus(c, item, 0);
	item->noise_points = fmax(100 * Z_SHARE * error, LEAST_POINTS);
	bool beyond = fabs(100 * difference) > item->noise_points && fabs(item->points) >= LEAST_POINTS;
	if (!beyond || c->side[0].samples == 0 || c->side[1].samples == 0 || item->points * item->cpus <= 0 ||
	    fabs(item->cpus) <= Z_CPUS * cpus_error(c, item))
		return;
	bool both = item->kind == ITEM_CATEGORY || (item->samples[0] > 0 && item->samples[1] > 0);
	item->change = item->points > 0 ? (both ? grew : is_new) : (both ? shrank : vanished);
}

static bool total_changed(const struct report_diff_comparison *c)
{
	const struct report_diff_side *a = &c->side[0], *b = &c->side[1];
	double difference = fabs(b->cpus - a->cpus);
	return difference > Z_SHARE * hypot(a->cpus_error, b->cpus_error) && difference >= LEAST_CPUS &&
	       difference >= LEAST_CPUS_PART * fmax(a->cpus, b->cpus);
}

/* What changed first, by CPU time; the rest by its share. Names decide between equals, so that the order is always the same. */
static int cpu_item_by_change(const void *pa, const void *pb)
{
	const struct report_diff_cpu_item *a = *(struct report_diff_cpu_item *const *)pa, *b = *(struct report_diff_cpu_item *const *)pb;
	bool a_changed = a->change != report_diff_same, b_changed = b->change != report_diff_same;
	if (a_changed != b_changed)
		return a_changed ? -1 : 1;
	double wa = a_changed ? fabs(a->cpus) : a->samples[0] + a->samples[1];
	double wb = a_changed ? fabs(b->cpus) : b->samples[0] + b->samples[1];
	return wa > wb ? -1 : wa < wb ? 1 : strcmp(a->name, b->name);
}

/* The one that changed most in a direction (+1, -1): application methods before others, which they call; a category when it is more. */
static const struct report_diff_cpu_item *most_changed_item(const struct report_diff_comparison *c, int direction)
{
	const struct report_diff_cpu_item *application = NULL, *other = NULL, *category = NULL;
	for (size_t i = 0; i < c->count && c->items[i]->change != report_diff_same; i++) {
		const struct report_diff_cpu_item *item = c->items[i];
		if (item->points * direction <= 0)
			continue;
		const struct report_diff_cpu_item **slot = item->kind == ITEM_CATEGORY ? &category : item->application ? &application : &other;
		*slot = *slot ? *slot : item;
	}
	const struct report_diff_cpu_item *method = application ? application : other;
	if (!method || !category)
		return method ? method : category;
	return fabs(category->cpus) > fabs(method->cpus) ? category : method;
}

/* words ------------------------------------------------------------------------------------------------------------ */

/* At the start of a sentence; the names of categories are words. */
static void put_cpu_subject(const struct report_diff_cpu_item *item, size_t max_chars, struct buf *line)
{
	size_t at = line->len;
	report_diff_put_name(line, item->name, max_chars);
	if (item->kind == ITEM_CATEGORY && line->len > at && line->data[at] >= 'a' && line->data[at] <= 'z')
		line->data[at] = (char)(line->data[at] - 'a' + 'A');
}

static void put_shares(const struct report_diff_comparison *c, const struct report_diff_cpu_item *item, struct buf *line)
{
	if (item->change == is_new || item->change == vanished) {
		buf_puts(line, item->change == is_new ? " is new: " : " vanished: was ");
		report_diff_put_percent(line, 100 * share(c, item, item->change == is_new));
	} else {
		buf_printf(line, " %s: ", item->change);
		report_diff_put_percent(line, 100 * share(c, item, 0));
		buf_puts(line, " to ");
		report_diff_put_percent(line, 100 * share(c, item, 1));
	}
	buf_puts(line, " of CPU");
}

static void put_change_headline(const struct report_diff_comparison *c, const struct report_diff_cpu_item *item, struct buf *line)
{
	AUTO_BUF struct buf rest;
	buf_init(&rest, 256);
	put_shares(c, item, &rest);
	put_cpu_subject(item, REPORT_DIFF_HEADLINE_CHARS - rest.len, line);
	buf_append(line, rest.data, rest.len);
}

static void put_moved_headline(const struct report_diff_cpu_item *up, const struct report_diff_cpu_item *down, struct buf *line)
{
	static const char lead[] = "CPU moved from ", middle[] = " to ";
	size_t room = REPORT_DIFF_HEADLINE_CHARS - (sizeof lead - 1) - (sizeof middle - 1), from = line->len + sizeof lead - 1;
	buf_puts(line, lead);
	report_diff_put_name(line, down->name, room / 2);
	size_t used = report_diff_chars(buf_str(line) + from);
	buf_puts(line, middle);
	report_diff_put_name(line, up->name, room - used);
}

static void put_total(const struct report_diff_comparison *c, struct buf *line)
{
	buf_puts(line, "CPU use ");
	buf_puts(line, c->side[1].cpus > c->side[0].cpus ? "rose from " : "fell from ");
	report_diff_put_cpus(line, c->side[0].cpus);
	buf_puts(line, " to ");
	report_diff_put_cpus(line, c->side[1].cpus);
	buf_puts(line, " CPUs");
}

static void put_cpu_diff_headline(const struct report_diff_comparison *c, struct report_diff_out *out)
{
	const struct report_diff_cpu_item *up = most_changed_item(c, 1), *down = most_changed_item(c, -1);
	bool total = total_changed(c), blind = c->side[0].samples == 0 || c->side[1].samples == 0;
	int warming = report_diff_cpu_warming(c);
	if (warming >= 0) {
		report_diff_cpu_put_warming(c, warming, out->lines);
		return;
	}
	out->changed = up || down || total;
	if (up && down && up->points >= MOVED_POINTS && down->points <= -MOVED_POINTS)
		put_moved_headline(up, down, out->lines);
	else if (up || down)
		put_change_headline(c, up && (!down || up->cpus >= -down->cpus) ? up : down, out->lines);
	else if (total) {
		put_total(c, out->lines);
		buf_puts(out->lines, blind ? "; no samples to compare" : "; its spread is the same");
	} else
		buf_puts(out->lines, blind ? "No difference in CPU use; no samples to compare" : "No difference beyond noise");
}

static void put_total_line(const struct report_diff_comparison *c, struct buf *lines)
{
	if (total_changed(c)) {
		buf_putc(lines, '\n');
		put_total(c, lines);
		buf_putc(lines, '.');
		return;
	}
	buf_puts(lines, "\nCPU use is the same within its own changes: ");
	report_diff_put_cpus(lines, c->side[0].cpus);
	buf_puts(lines, " before, ");
	report_diff_put_cpus(lines, c->side[1].cpus);
	buf_puts(lines, " after.");
}

static void put_cpu_changes(const struct report_diff_comparison *c, int direction, struct buf *lines)
{
	size_t spoken = 0;
	for (size_t i = 0; i < c->count && c->items[i]->change != report_diff_same && spoken < SPOKEN; i++) {
		const struct report_diff_cpu_item *item = c->items[i];
		if (item->points * direction <= 0)
			continue;
		spoken++;
		buf_putc(lines, '\n');
		put_cpu_subject(item, LINE_NAME_CHARS, lines);
		put_shares(c, item, lines);
		buf_printf(lines, " (%+.2f CPUs).", item->cpus);
	}
}

/* How small a difference could have been seen: for a share of a half, where it is largest. */
static void put_bound(const struct report_diff_comparison *c, struct buf *lines)
{
	double half[2] = {c->side[0].samples / 2, c->side[1].samples / 2}, difference;
	double points = fmax(100 * Z_SHARE * share_error(c, half, &difference), LEAST_POINTS);
	if (c->side[0].samples > 0 && c->side[1].samples > 0)
		buf_printf(lines, "\nCompared %.0f %s with %.0f: differences up to %.1f percentage points may be noise.", c->side[0].samples,
			   size_text_plural(c->side[0].samples, "sample", "samples"), c->side[1].samples, fmin(points, 100));
}

static void put_cpu_diff_lines(const struct report_diff_comparison *c, struct report_diff_out *out)
{
	put_cpu_diff_headline(c, out);
	put_total_line(c, out->lines);
	put_cpu_changes(c, 1, out->lines);
	put_cpu_changes(c, -1, out->lines);
	report_diff_cpu_put_folded(c, out->lines);
	const json_t *before = c->side[0].report, *after = c->side[1].report;
	report_diff_put_unlike(out->lines, before, after, "target.entrypoint", "Not the same program", "");
	report_diff_put_unlike(out->lines, before, after, "target.runtimeVersion", ".NET", "");
	report_diff_put_unlike(out->lines, before, after, "sampling.method", "Sampled in different ways",
			       ": kernel and native time cannot be compared");
	put_bound(c, out->lines);
}

/* rows ------------------------------------------------------------------------------------------------------------- */

static void add_item_row(const struct report_diff_comparison *c, const struct report_diff_cpu_item *item, json_t *rows)
{
	json_t *r = report_diff_row(item->kind == ITEM_CATEGORY ? "category" : "method", item->name, "%", 100 * share(c, item, 0), 100 * share(c, item, 1),
			item->change);
	json_object_set_new(r, "noise", report_diff_figure(item->noise_points));
	json_object_set_new(r, "beforeCPUs", report_diff_figure(cpus(c, item, 0)));
	json_object_set_new(r, "afterCPUs", report_diff_figure(cpus(c, item, 1)));
	json_object_set_new(r, "deltaCPUs", report_diff_figure(item->cpus));
	json_array_append_new(rows, r);
}

static void add_cpu_rows(const struct report_diff_comparison *c, json_t *rows)
{
	double before = c->side[0].cpus, after = c->side[1].cpus;
	size_t methods = 0;
	const char *change = !total_changed(c) ? report_diff_same : after > before ? grew : shrank;
	json_array_append_new(rows, report_diff_row("total", "CPU use", "CPUs", before, after, change));
	for (size_t i = 0; i < c->count; i++)
		if (c->items[i]->kind == ITEM_CATEGORY && c->items[i]->samples[0] + c->items[i]->samples[1] > 0)
			add_item_row(c, c->items[i], rows);
	for (size_t i = 0; i < c->count; i++)
		if (c->items[i]->kind == ITEM_METHOD && methods++ < METHOD_ROWS)
			add_item_row(c, c->items[i], rows);
}

int report_diff_cpu(const json_t *before, const json_t *after, struct report_diff_out *out, struct err *e)
{
	struct report_diff_comparison c = {0};
	int rc = read_cpu_reports(&c, before, after, out, e);
	if (rc == 0) {
		for (size_t i = 0; i < c.count; i++)
			judge_cpu_item(&c, c.items[i]);
		if (report_diff_cpu_warming(&c) >= 0)
			report_diff_cpu_forget(&c);
		else
			report_diff_cpu_fold(&c);
		if (c.count)
			qsort(c.items, c.count, sizeof(struct report_diff_cpu_item *), cpu_item_by_change);
		put_cpu_diff_lines(&c, out);
		add_cpu_rows(&c, out->rows);
	}
	comparison_fini(&c);
	return rc;
}
