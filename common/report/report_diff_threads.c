/* Two Threads reports: how many threads there are, of what kind, how many have not run, and how many stand at which place. */
#include "common/report/report_diff_private.h"
#include "common/base/size_text.h"

#include <math.h>
#include <string.h>

#define MOST_THREADS 1e6
#define LEAST_CHANGE 2       /* threads that come and go by themselves */
#define LEAST_PLACE_CHANGE 5
#define PART 10
#define NAME_BYTES 1024
#define NAME_CHARS 60

static const struct thread_figure {
	const char *path, *name;
} figures[] = {
	{"measured.threads", "threads"},
	{"measured.threadsApplication", "threads of the application"},
	{"measured.threadsWorkers", "pool workers"},
	{"measured.threadsStill", "threads that did not run"},
	{"measured.zombies", "threads that may never go on, at one place"},
};
#define FIGURES (sizeof figures / sizeof *figures)

static const char *thread_change(double before, double after, double least)
{
	double most = fmax(before, after), by = fabs(after - before);
	if (by < least || by * PART < most)
		return "same";
	return after > before ? "grew" : "shrank";
}

static int put_thread_figures(const json_t *before, const json_t *after, struct report_diff_out *out, double *first, double *second, struct err *e)
{
	for (size_t i = 0; i < FIGURES; i++) {
		if (report_diff_number(before, figures[i].path, 0, MOST_THREADS, &first[i], e) < 0)
			return err_prefix(e, "%.200s", out->before_name);
		if (report_diff_number(after, figures[i].path, 0, MOST_THREADS, &second[i], e) < 0)
			return err_prefix(e, "%.200s", out->after_name);
		const char *change = thread_change(first[i], second[i], LEAST_CHANGE);
		out->changed |= strcmp(change, "same") != 0;
		json_array_append_new(out->rows, report_diff_row("total", figures[i].name, "", first[i], second[i], change));
	}
	return 0;
}

/* places ------------------------------------------------------------------------------------------------------------ */

struct place_side {
	const json_t *report;
	json_t *places; /* {what its threads do: [before, after]} */
	size_t index;
};

static json_t *place_counts(json_t *places, const char *name)
{
	json_t *counts = json_object_get(places, name);
	if (counts)
		return counts;
	counts = json_pack("[i, i]", 0, 0);
	json_object_set_new(places, name, counts);
	return counts;
}

/* A group of no place is what all processes have. */
static int read_place(const void *ctx, const json_t *entry, struct err *e)
{
	const struct place_side *side = ctx;
	double threads, place;
	char name[NAME_BYTES];
	if (json_is_null(json_object_get(entry, "place")))
		return 0;
	if (report_diff_number(entry, "threads", 0, MOST_THREADS, &threads, e) < 0 || report_diff_number(entry, "place", 0, MOST_THREADS, &place, e) < 0)
		return -1;
	const json_t *method = json_array_get(json_object_get(side->report, "methods"), (size_t)place);
	const char *kind = json_string_value(json_object_get(entry, "kind")), *wait = json_string_value(json_object_get(entry, "wait"));
	const char *where = json_string_value(json_object_get(method, "name"));
	if (!kind || !wait || !where)
		return err_set(e, ERR_INVALID, 0, "kind, wait or place: expected a text");
	snprintf(name, sizeof name, "%.500s (%.40s, %.40s)", where, kind, wait);
	json_t *counts = place_counts(side->places, name);
	json_array_set_new(counts, side->index, json_real(json_number_value(json_array_get(counts, side->index)) + threads));
	return 0;
}

static void put_places(json_t *places, struct report_diff_out *out)
{
	const char *name;
	json_t *counts;
	double largest = 0;
	json_object_foreach(places, name, counts) {
		double before = json_number_value(json_array_get(counts, 0)), after = json_number_value(json_array_get(counts, 1));
		const char *change = thread_change(before, after, LEAST_PLACE_CHANGE);
		if (strcmp(change, "same") == 0)
			continue;
		out->changed = true;
		largest = fmax(largest, fabs(after - before));
		json_array_append_new(out->rows, report_diff_row("site", name, "", before, after, change));
	}
	json_object_foreach(places, name, counts) {
		double before = json_number_value(json_array_get(counts, 0)), after = json_number_value(json_array_get(counts, 1));
		if (largest < LEAST_PLACE_CHANGE || fabs(after - before) < largest)
			continue;
		buf_printf(out->lines, "\n%.0f %s before and %.0f after in ", before, size_text_plural(before, "thread", "threads"), after);
		report_diff_put_name(out->lines, name, NAME_CHARS);
		buf_puts(out->lines, ".");
		break;
	}
}

int report_diff_threads(const json_t *before, const json_t *after, struct report_diff_out *out, struct err *e)
{
	double first[FIGURES], second[FIGURES];
	json_t *places = json_object();
	const struct place_side sides[] = {{before, places, 0}, {after, places, 1}};
	int rc = put_thread_figures(before, after, out, first, second, e);
	if (rc == 0 && report_diff_list(before, "groups", read_place, &sides[0], e) < 0)
		rc = err_prefix(e, "%.200s", out->before_name);
	if (rc == 0 && report_diff_list(after, "groups", read_place, &sides[1], e) < 0)
		rc = err_prefix(e, "%.200s", out->after_name);
	if (rc == 0) {
		AUTO_BUF struct buf lines;
		struct report_diff_out rest = *out;
		buf_init(&lines, NAME_BYTES * 2);
		rest.lines = &lines;
		put_places(places, &rest);
		out->changed |= rest.changed;
		buf_printf(out->lines, "%s: %.0f %s before, %.0f after%s", out->changed ? "Changed" : "Nothing changed", first[0],
			   size_text_plural(first[0], "thread", "threads"), second[0], buf_str(&lines));
	}
	json_decref(places);
	return rc;
}
