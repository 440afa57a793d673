/* Differences between two sessions of CPUHotpaths that are none of the program: one of them saw it warm up, or the compiler inlined a method in one. */
#include "common/report/report_diff_cpu_private.h"

#include <math.h>
#include <string.h>

#define WARM_UP_SECONDS 600    /* what is compiled later was not there before, or is compiled again */
#define LEAST_COMPILING 0.05   /* of the samples, where the process is known to be young */
#define LEAST_UNKNOWN 0.10     /* where its age is not known */
#define TIMES_THE_OTHER 2.5
#define LEAST_SAMPLES 50
#define ALMOST_GONE 0.25       /* of the larger share: what is left of a method that is inlined in most of its callers */
#define FOLDED_SPOKEN 3
#define FOLDED_NAME_CHARS 60

/* warming up ------------------------------------------------------------------------------------------------------- */

static double compiling_share(const struct report_diff_side *s)
{
	return s->samples > 0 ? s->compiling / s->samples : 0;
}

static bool is_warming_beside(const struct report_diff_side *s, const struct report_diff_side *other)
{
	bool known = s->uptime_seconds >= 0;
	if (s->samples < LEAST_SAMPLES || other->samples < LEAST_SAMPLES || s->uptime_seconds >= WARM_UP_SECONDS)
		return false;
	return compiling_share(s) >= (known ? LEAST_COMPILING : LEAST_UNKNOWN) && compiling_share(s) >= TIMES_THE_OTHER * compiling_share(other);
}

int report_diff_cpu_warming(const struct report_diff_comparison *c)
{
	return is_warming_beside(&c->side[0], &c->side[1]) ? 0 : is_warming_beside(&c->side[1], &c->side[0]) ? 1 : -1;
}

void report_diff_cpu_put_warming(const struct report_diff_comparison *c, int warming, struct buf *lines)
{
	static const char *const names[] = {"before", "after"};
	const struct report_diff_side *s = &c->side[warming];
	buf_printf(lines, "The session %s was warming up: ", names[warming]);
	report_diff_put_percent(lines, 100 * compiling_share(s));
	buf_puts(lines, " of CPU in compilation, ");
	report_diff_put_percent(lines, 100 * compiling_share(&c->side[!warming]));
	buf_printf(lines, " %s", names[!warming]);
	buf_puts(lines, "\nMethods are not compared: code that was compiled just now is slower than it will be, and not yet inlined.");
	if (s->uptime_seconds >= 0)
		buf_printf(lines, "\nThe process had run for %.0f seconds when that session began.", s->uptime_seconds);
	buf_puts(lines, "\nCompare sessions of processes that have run for some minutes under load.");
}

void report_diff_cpu_forget(struct report_diff_comparison *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->items[i]->kind == ITEM_METHOD || (strcmp(c->items[i]->name, "JIT compilation") != 0 && strcmp(c->items[i]->name, "type loading") != 0))
			c->items[i]->change = report_diff_same;
}

/* inlining --------------------------------------------------------------------------------------------------------- */

static bool has_changed(const struct report_diff_cpu_item *item)
{
	return item->change != report_diff_same;
}

static bool names_caller(const json_t *method, const char *caller)
{
	size_t i;
	json_t *edge;
	json_array_foreach(json_object_get(method, "callers"), i, edge) {
		if (strcmp(jsonx_str_at(edge, "name", ""), caller) == 0)
			return true;
	}
	return false;
}

/* One of them calls the other, by either report. */
static bool are_neighbours(const struct report_diff_comparison *c, const char *one, const char *other)
{
	for (int which = 0; which < 2; which++) {
		size_t i;
		json_t *method;
		json_array_foreach(jsonx_at(c->side[which].report, "topMethods"), i, method) {
			const char *name = jsonx_str_at(method, "name", "");
			if ((strcmp(name, one) == 0 && names_caller(method, other)) || (strcmp(name, other) == 0 && names_caller(method, one)))
				return true;
		}
	}
	return false;
}

static bool almost_gone(const struct report_diff_comparison *c, const struct report_diff_cpu_item *item)
{
	double share[2];
	for (int i = 0; i < 2; i++)
		share[i] = c->side[i].samples > 0 ? item->samples[i] / c->side[i].samples : 0;
	return fmin(share[0], share[1]) <= ALMOST_GONE * fmax(share[0], share[1]);
}

/* Whether `other` may hold what `item` lost, or the other way round. */
static bool exchanges_with(const struct report_diff_comparison *c, const struct report_diff_cpu_item *item, const struct report_diff_cpu_item *other)
{
	return other != item && other->kind == ITEM_METHOD && has_changed(other) && item->points * other->points < 0 &&
	       are_neighbours(c, item->name, other->name);
}

/* A method that came or went, and those that call it or that it calls: all of them did not change when their shares together did not. */
static void fold_item(struct report_diff_comparison *c, struct report_diff_cpu_item *item)
{
	double sum = item->points, noise = item->noise_points;
	const struct report_diff_cpu_item *most = NULL;
	for (size_t i = 0; i < c->count; i++)
		if (exchanges_with(c, item, c->items[i])) {
			sum += c->items[i]->points;
			noise = hypot(noise, c->items[i]->noise_points);
			most = most && fabs(most->points) >= fabs(c->items[i]->points) ? most : c->items[i];
		}
	if (!most || fabs(sum) > noise)
		return;
	for (size_t i = 0; i < c->count; i++)
		if (exchanges_with(c, item, c->items[i])) {
			c->items[i]->change = report_diff_same;
			c->items[i]->folded = item;
		}
	item->change = report_diff_same;
	item->folded = most;
}

void report_diff_cpu_fold(struct report_diff_comparison *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->items[i]->kind == ITEM_METHOD && has_changed(c->items[i]) && almost_gone(c, c->items[i]))
			fold_item(c, c->items[i]);
}

void report_diff_cpu_put_folded(const struct report_diff_comparison *c, struct buf *lines)
{
	size_t spoken = 0;
	for (size_t i = 0; i < c->count && spoken < FOLDED_SPOKEN; i++) {
		const struct report_diff_cpu_item *item = c->items[i], *other = item->folded;
		if (!other || other->folded != item || item->points > 0)
			continue;
		spoken++;
		buf_putc(lines, '\n');
		report_diff_put_name(lines, item->name, FOLDED_NAME_CHARS);
		buf_puts(lines, " and ");
		report_diff_put_name(lines, other->name, FOLDED_NAME_CHARS);
		buf_puts(lines, " exchanged ");
		report_diff_put_percent(lines, fabs(item->points));
		buf_puts(lines, " of CPU: one calls the other, and in one session the compiler had inlined it.");
	}
}
