#include "common/report/report_diff_items.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <math.h>
#include <string.h>

#define LEAST_SHARE_POINTS 0.01
#define SPOKEN 3          /* sentences of a kind and a direction */
#define ROWS_OF_A_KIND 50
#define LINE_NAME_CHARS 90

static const char same[] = "same", grew[] = "grew", shrank[] = "shrank", is_new[] = "new", vanished[] = "vanished";

void report_diff_items_fini(struct report_diff_items *all)
{
	HASH_CLEAR(hh, all->by_key);
	for (size_t i = 0; i < all->count; i++) {
		free(all->list[i]->key);
		free(all->list[i]);
	}
	free(all->list);
}

static struct report_diff_item *find_or_add_diff_item(struct report_diff_items *all, const struct report_diff_rule *rule, const char *name)
{
	AUTO_FREE char *key = mem_printf("%s\n%s", rule->kind, name);
	struct report_diff_item *item = NULL;
	HASH_FIND_STR(all->by_key, key, item);
	if (item)
		return item;
	item = mem_alloc(sizeof *item);
	*item = (struct report_diff_item){.key = steal_ptr(&key), .rule = rule, .change = same};
	item->name = item->key + strlen(rule->kind) + 1;
	HASH_ADD_KEYPTR(hh, all->by_key, item->key, strlen(item->key), item);
	GROW(all->list, all->count, all->cap);
	all->list[all->count++] = item;
	return item;
}

void report_diff_items_add(struct report_diff_items *all, const struct report_diff_rule *rule, const char *name, int which, double value, double error)
{
	struct report_diff_item *item = find_or_add_diff_item(all, rule, name);
	item->value[which] += value;
	item->error[which] = hypot(item->error[which], error);
}

int report_diff_items_total(struct report_diff_items *all, const struct report_diff_rule *rule, const char *name, const json_t *report, int which,
			    const char *path, struct err *e)
{
	double value;
	if (report_diff_number(report, path, -REPORT_DIFF_QUANTITY_MOST, REPORT_DIFF_QUANTITY_MOST, &value, e) < 0)
		return -1;
	report_diff_items_add(all, rule, name, which, value, 0);
	return 0;
}

/* judging ---------------------------------------------------------------------------------------------------------- */

static double delta(const struct report_diff_item *item)
{
	return item->value[1] - item->value[0];
}

static double share_moved(const struct report_diff_items *all, const struct report_diff_item *item)
{
	double share[2] = {0, 0};
	for (int i = 0; i < 2; i++)
		if (all->total && all->total->value[i] > 0)
			share[i] = item->value[i] / all->total->value[i];
	return share[1] - share[0];
}

static void judge_diff_item(const struct report_diff_items *all, struct report_diff_item *item)
{
	const struct report_diff_rule *r = item->rule;
	double larger = fmax(fabs(item->value[0]), fabs(item->value[1]));
	double total = all->total ? fmax(fabs(all->total->value[0]), fabs(all->total->value[1])) : 0;
	item->noise = fmax(fmax(r->least, r->least_part * larger), fmax(r->least_share * total, hypot(item->error[0], item->error[1])));
	if (fabs(delta(item)) <= item->noise)
		return;
	double moved = r->by_share ? share_moved(all, item) : 0;
	if (r->by_share && (fabs(moved) < LEAST_SHARE_POINTS || moved * delta(item) < 0))
		return;
	bool both = item->value[0] != 0 && item->value[1] != 0;
	item->change = delta(item) > 0 ? (both || item->value[1] == 0 ? grew : is_new) : (both || item->value[0] == 0 ? shrank : vanished);
}

/* What changed first, most first; the rest by its size. Names decide between equals, so that the order is always the same. */
static int diff_item_by_change(const void *pa, const void *pb)
{
	const struct report_diff_item *a = *(struct report_diff_item *const *)pa, *b = *(struct report_diff_item *const *)pb;
	bool a_changed = a->change != same, b_changed = b->change != same;
	if (a_changed != b_changed)
		return a_changed ? -1 : 1;
	double wa = a_changed ? fabs(delta(a)) : fabs(a->value[0]) + fabs(a->value[1]);
	double wb = a_changed ? fabs(delta(b)) : fabs(b->value[0]) + fabs(b->value[1]);
	return wa > wb ? -1 : wa < wb ? 1 : strcmp(a->key, b->key);
}

static bool is_total(const struct report_diff_item *item)
{
	return strcmp(item->rule->kind, "total") == 0;
}

/* words ------------------------------------------------------------------------------------------------------------ */

static void put_diff_values(const struct report_diff_item *item, struct buf *line)
{
	const struct report_diff_rule *r = item->rule;
	if (item->change == is_new || item->change == vanished) {
		buf_puts(line, item->change == is_new ? " is new: " : " vanished: was ");
		report_diff_put_value(line, r->unit, item->value[item->change == is_new]);
	} else {
		buf_printf(line, " %s: ", item->change);
		report_diff_put_value(line, r->unit, item->value[0]);
		buf_puts(line, " to ");
		report_diff_put_value(line, r->unit, item->value[1]);
	}
	buf_puts(line, r->suffix);
}

static void put_diff_sentence(const struct report_diff_item *item, size_t chars, struct buf *line)
{
	AUTO_BUF struct buf rest;
	buf_init(&rest, 256);
	put_diff_values(item, &rest);
	size_t used = report_diff_chars(buf_str(&rest));
	report_diff_put_name(line, item->name, chars > used ? chars - used : 0);
	buf_append(line, rest.data, rest.len);
}

/* The total of the headline: the first of all totals, else the one that changed most of those with a sentence. */
static const struct report_diff_item *changed_total(const struct report_diff_items *all)
{
	if (all->total && all->total->change != same)
		return all->total;
	for (size_t i = 0; i < all->count; i++)
		if (is_total(all->list[i]) && !all->list[i]->rule->silent && all->list[i]->change != same)
			return all->list[i];
	return NULL;
}

static void put_diff_headline(const struct report_diff_items *all, const struct report_diff_rule *const *spoken, bool totals_first,
			      struct report_diff_out *out)
{
	const struct report_diff_item *total = changed_total(all), *best = totals_first ? total : NULL;
	for (; *spoken && !best; spoken++)
		for (size_t i = 0; i < all->count && !best; i++)
			best = all->list[i]->rule == *spoken && all->list[i]->change != same ? all->list[i] : NULL;
	for (size_t i = 0; i < all->count; i++)
		out->changed |= all->list[i]->change != same;
	if (best || total)
		put_diff_sentence(best ? best : total, REPORT_DIFF_HEADLINE_CHARS, out->lines);
	else
		buf_puts(out->lines, out->changed ? "Only figures beside the main ones changed" : "No difference beyond noise");
}

static void put_diff_totals(const struct report_diff_items *all, struct buf *lines)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct report_diff_item *item = all->list[i];
		if (!is_total(item) || (item != all->total && (item->rule->silent || item->change == same)))
			continue;
		buf_putc(lines, '\n');
		if (item->change != same) {
			put_diff_sentence(item, LINE_NAME_CHARS, lines);
			buf_putc(lines, '.');
			continue;
		}
		report_diff_put_name(lines, item->name, LINE_NAME_CHARS);
		buf_puts(lines, ": the same within noise, ");
		report_diff_put_value(lines, item->rule->unit, item->value[0]);
		buf_puts(lines, " before, ");
		report_diff_put_value(lines, item->rule->unit, item->value[1]);
		buf_puts(lines, " after.");
	}
}

static void put_diff_changes(const struct report_diff_items *all, const struct report_diff_rule *rule, int direction, struct buf *lines)
{
	size_t spoken = 0;
	for (size_t i = 0; i < all->count && spoken < SPOKEN; i++) {
		const struct report_diff_item *item = all->list[i];
		if (item->rule != rule || item->change == same || delta(item) * direction <= 0)
			continue;
		spoken++;
		buf_putc(lines, '\n');
		put_diff_sentence(item, LINE_NAME_CHARS + 40, lines);
		buf_puts(lines, delta(item) > 0 ? " (+" : " (-");
		report_diff_put_value(lines, rule->unit, fabs(delta(item)));
		buf_puts(lines, ").");
	}
}

/* rows ------------------------------------------------------------------------------------------------------------- */

static void add_diff_row(const struct report_diff_item *item, json_t *rows)
{
	json_t *r = report_diff_row(item->rule->kind, item->name, item->rule->unit, item->value[0], item->value[1], item->change);
	json_object_set_new(r, "noise", report_diff_figure(item->noise));
	json_array_append_new(rows, r);
}

static bool was_told(const struct report_diff_items *all, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (all->list[i]->rule == all->list[at]->rule)
			return true;
	return false;
}

static void add_diff_rows(const struct report_diff_items *all, json_t *rows)
{
	for (size_t i = 0; i < all->count; i++)
		if (is_total(all->list[i]))
			add_diff_row(all->list[i], rows);
	for (size_t i = 0; i < all->count; i++) {
		size_t of_kind = 0;
		if (is_total(all->list[i]) || was_told(all, i))
			continue;
		for (size_t k = i; k < all->count && of_kind < ROWS_OF_A_KIND; k++)
			if (all->list[k]->rule == all->list[i]->rule && ++of_kind)
				add_diff_row(all->list[k], rows);
	}
}

void report_diff_items_tell(struct report_diff_items *all, const struct report_diff_rule *const *spoken, bool totals_first, struct report_diff_out *out)
{
	for (size_t i = 0; i < all->count && !all->total; i++)
		all->total = is_total(all->list[i]) ? all->list[i] : NULL;
	for (size_t i = 0; i < all->count; i++)
		judge_diff_item(all, all->list[i]);
	if (all->count)
		qsort(all->list, all->count, sizeof *all->list, diff_item_by_change);
	put_diff_headline(all, spoken, totals_first, out);
	put_diff_totals(all, out->lines);
	for (; *spoken; spoken++) {
		put_diff_changes(all, *spoken, 1, out->lines);
		put_diff_changes(all, *spoken, -1, out->lines);
	}
	add_diff_rows(all, out->rows);
}
