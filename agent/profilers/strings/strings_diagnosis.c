#include "agent/profilers/strings/strings_diagnosis.h"

#include "agent/catalogue/catalogue.h"
#include "agent/report/phrase.h"
#include "agent/symbols/method_name.h"
#include "common/base/size_text.h"
#include "agent/profilers/strings/strings_numbers.h"
#include "agent/profilers/strings/strings_phrase.h"
#include "common/base/mem.h"

#include <stdlib.h>
#include <string.h>

#define HOLDER_PERCENT 5.0                /* worth a line */
#define HOLDER_LINES 3
#define UNHELD_PERCENT 20.0
#define NAME_CHARS 100
#define PATH_CHARS 160

static void choose_rows(const struct strings_analysis *a, struct strings_diagnosis *d)
{
	d->holder = a->holders.count ? strings_analysis_holder(a, 0) : NULL;
	d->value = a->list_count ? &a->list[0] : NULL;
	if (d->holder && d->holder->wasted_bytes == 0)
		d->holder = NULL;
}

/* Copies that cost something of which no rule can say where they are. */
static bool is_unclear(const struct findings *f)
{
	for (size_t i = 0; i < f->count; i++)
		if (f->list[i].state == FINDING_NOT_MEASURED)
			return true;
	return false;
}

/* As the headline counts: what no object refers to is apart. */
static uint64_t kept_waste(const struct strings_analysis *a)
{
	return a->wasted_bytes - a->unheld.wasted_bytes;
}

/* "Duplicate strings waste 400 kB (55% of the heap)" */
static void put_cost(const struct strings_analysis *a, const char *verb, struct buf *line)
{
	buf_printf(line, "Duplicate strings %s ", verb);
	size_text_bytes(line, kept_waste(a));
	buf_puts(line, " (");
	phrase_percent(line, strings_phrase_percent_of(kept_waste(a), a->heap_bytes));
	buf_puts(line, " of the heap)");
}

static void put_strings_headline(const struct strings_analysis *a, const struct strings_diagnosis *d, struct buf *line)
{
	const struct finding *lead = findings_lead(&d->found);
	if (lead)
		buf_puts(line, lead->message);
	else if (d->numbers->copies < 1)
		buf_puts(line, "No two strings on the heap are equal");
	else
		put_cost(a, is_unclear(&d->found) ? "waste" : "cost little:", line);
}

static void put_strings_totals(const struct strings_analysis *a, struct buf *line)
{
	size_text_count(line, a->strings);
	buf_puts(line, " strings (");
	size_text_bytes(line, a->bytes);
	buf_puts(line, ", ");
	phrase_percent(line, strings_phrase_percent_of(a->bytes, a->heap_bytes));
	buf_puts(line, " of the heap) have ");
	size_text_count(line, a->values);
	buf_puts(line, " different values; ");
	size_text_count(line, a->copies);
	buf_puts(line, " are copies of another.");
}

static void put_values_of(const struct string_holder *h, struct buf *line)
{
	if (h->many)
		buf_printf(line, " of more than %d values", STRING_HOLDER_VALUES);
	else if (h->value_count == 1)
		buf_puts(line, " of one value");
	else
		buf_printf(line, " of %zu values", h->value_count);
}

static void put_string_holder(const struct strings_analysis *a, const struct string_holder *h, struct buf *line)
{
	method_name_shorten(h->name, NAME_CHARS, line);
	if (h->held_by) {
		buf_puts(line, ", held by ");
		method_name_printable(h->held_by, PATH_CHARS, line);
	}
	buf_puts(line, ": ");
	size_text_count(line, h->strings);
	buf_puts(line, " strings");
	put_values_of(h, line);
	buf_puts(line, " waste ");
	size_text_bytes(line, h->wasted_bytes);
	buf_puts(line, " (");
	phrase_percent(line, strings_phrase_percent_of(h->wasted_bytes, kept_waste(a)));
	buf_printf(line, " of the waste). Remedy: %s; it saves up to ", string_remedy_words(h->remedy));
	size_text_bytes(line, h->wasted_bytes);
	buf_puts(line, ".");
}

static void put_string_value(const struct strings_analysis *a, const struct strings_value *v, struct buf *line)
{
	buf_puts(line, "The most expensive value: ");
	strings_phrase_value(line, v);
	buf_printf(line, " (%s), ", v->id);
	size_text_count(line, v->count);
	buf_puts(line, " times, wastes ");
	size_text_bytes(line, strings_value_wasted(v));
	if (v->holder_count) {
		buf_puts(line, "; mostly in ");
		method_name_shorten(a->holders.items[v->holders[0].holder].name, NAME_CHARS, line);
	}
	buf_puts(line, ".");
}

/* Old ones stay; of young ones only the making costs. */
static void put_age(const struct strings_analysis *a, struct buf *line)
{
	uint64_t young = a->generation[HEAP_GEN0].wasted_bytes + a->generation[HEAP_GEN1].wasted_bytes;
	double percent = strings_phrase_percent_of(a->wasted_bytes - young, a->wasted_bytes);
	phrase_percent(line, percent);
	buf_puts(line, percent >= 50 ? " of all copies' bytes are in the oldest generation: they stay until the last reference to them is gone."
				     : " of all copies' bytes are in the oldest generation; the rest are young: they cost by being made, not by being kept.");
}

static void put_unheld(const struct strings_analysis *a, struct buf *line)
{
	size_text_bytes(line, a->unheld.wasted_bytes);
	buf_puts(line, " more of copies are referred to by no object: held by stacks or handles, or garbage that a collection would free.");
}

/* A line that does not fit is left out. */
static void end_strings_line(struct buf *text, struct buf *line)
{
	if (text->len + 1 + line->len < DIAGNOSIS_MAX_BYTES) {
		buf_puts(text, "\n");
		buf_append(text, buf_str(line), line->len);
	}
	buf_reset(line);
}

static void put_strings_lines(const struct strings_analysis *a, const struct strings_diagnosis *d, struct buf *text)
{
	AUTO_BUF struct buf line;
	buf_init(&line, DIAGNOSIS_MAX_BYTES);
	put_strings_totals(a, &line);
	end_strings_line(text, &line);
	if (a->copies == 0)
		return;
	for (size_t i = 0; i < a->holders.count && i < HOLDER_LINES; i++) {
		const struct string_holder *h = strings_analysis_holder(a, i);
		if (h->wasted_bytes == 0 || strings_phrase_percent_of(h->wasted_bytes, kept_waste(a)) < HOLDER_PERCENT)
			break;
		put_string_holder(a, h, &line);
		end_strings_line(text, &line);
	}
	if (d->value) {
		put_string_value(a, d->value, &line);
		end_strings_line(text, &line);
	}
	put_age(a, &line);
	end_strings_line(text, &line);
	if (strings_phrase_percent_of(a->unheld.wasted_bytes, a->wasted_bytes) >= UNHELD_PERCENT) {
		put_unheld(a, &line);
		end_strings_line(text, &line);
	}
}

void strings_diagnosis_make(const struct strings_analysis *a, struct strings_diagnosis *out)
{
	struct buf headline, text;
	*out = (struct strings_diagnosis){.numbers = mem_alloc(sizeof *out->numbers)};
	strings_numbers_of(a, out->numbers);
	catalogue_judge("DuplicatedStrings", &strings_numbers_fields, out->numbers, &out->found);
	out->finding = findings_lead_id(&out->found);
	choose_rows(a, out);
	buf_init(&headline, 1024);
	buf_init(&text, DIAGNOSIS_MAX_BYTES + 1);
	put_strings_headline(a, out, &headline);
	buf_append(&text, buf_str(&headline), headline.len);
	put_strings_lines(a, out, &text);
	out->headline = buf_steal(&headline);
	out->text = buf_steal(&text);
}

void strings_diagnosis_fini(struct strings_diagnosis *d)
{
	findings_fini(&d->found);
	free(d->numbers);
	free(d->headline);
	free(d->text);
	*d = (struct strings_diagnosis){0};
}
