#include "agent/profilers/strings/strings_diagnosis.h"

#include "agent/report/phrase.h"
#include "agent/symbols/method_name.h"
#include "common/base/size_text.h"
#include "agent/profilers/strings/strings_phrase.h"

#include <stdlib.h>
#include <string.h>

#define LITTLE_BYTES (64u << 10)          /* nothing to say, whatever the heap's size */
#define LITTLE_OF_HEAP 1.0                /* percent */
#define LITTLE_OF_BIG_HEAP (16u << 20)    /* bytes: worth a word in any heap */
#define MAIN_PERCENT 25.0                 /* of the wasted bytes: the one to look at first */
#define HOLDER_PERCENT 5.0                /* worth a line */
#define HOLDER_LINES 3
#define UNHELD_PERCENT 20.0
#define NAME_CHARS 100
#define PATH_CHARS 160
#define LEAST_NAME_CHARS 12               /* a shorter piece of a name tells nothing */

const char *strings_finding_name(enum strings_finding f)
{
	static const char *const names[] = {"none", "holder", "value", "spread"};
	return names[f];
}

static double percent_of_heap(const struct strings_analysis *a)
{
	return strings_phrase_percent_of(a->wasted_bytes, a->heap_bytes);
}

static enum strings_finding choose_strings_finding(const struct strings_analysis *a, struct strings_diagnosis *d)
{
	d->holder = a->holders.count ? strings_analysis_holder(a, 0) : NULL;
	d->value = a->list_count ? &a->list[0] : NULL;
	if (d->holder && d->holder->wasted_bytes == 0)
		d->holder = NULL;
	if (a->wasted_bytes < LITTLE_BYTES || (percent_of_heap(a) < LITTLE_OF_HEAP && a->wasted_bytes < LITTLE_OF_BIG_HEAP))
		return STRINGS_NONE;
	if (d->holder && strings_phrase_percent_of(d->holder->wasted_bytes, a->wasted_bytes) >= MAIN_PERCENT)
		return STRINGS_HOLDER;
	if (d->value && strings_phrase_percent_of(strings_value_wasted(d->value), a->wasted_bytes) >= MAIN_PERCENT)
		return STRINGS_VALUE;
	return STRINGS_SPREAD;
}

/* Adds the phrase only when the line stays short enough. */
static void put_strings_phrase_if_room(struct buf *line, const struct buf *phrase)
{
	if (phrase_chars(buf_str(line)) + phrase_chars(buf_str(phrase)) <= HEADLINE_MAX_CHARS)
		buf_append(line, buf_str(phrase), phrase->len);
}

static void put_main_holder(const struct strings_diagnosis *d, struct buf *line)
{
	static const char most_in[] = ", most in ";
	char scratch[512];
	size_t used = phrase_chars(buf_str(line)) + strlen(most_in);
	if (used + LEAST_NAME_CHARS > HEADLINE_MAX_CHARS)
		return;
	buf_puts(line, most_in);
	method_name_shorten(strings_phrase_place(d->holder, scratch, sizeof scratch), HEADLINE_MAX_CHARS - used, line);
}

static void put_main_value(const struct strings_diagnosis *d, struct buf *line)
{
	AUTO_BUF struct buf phrase;
	buf_init(&phrase, 200);
	buf_puts(&phrase, ", most of one value: ");
	strings_phrase_value(&phrase, d->value);
	buf_puts(&phrase, ", ");
	size_text_count(&phrase, d->value->count);
	buf_puts(&phrase, " times");
	put_strings_phrase_if_room(line, &phrase);
}

static void put_strings_headline(const struct strings_analysis *a, const struct strings_diagnosis *d, struct buf *line)
{
	if (a->copies == 0) {
		buf_puts(line, "No two strings on the heap are equal");
		return;
	}
	buf_puts(line, d->finding == STRINGS_NONE ? "Duplicate strings cost little: " : "Duplicate strings waste ");
	size_text_bytes(line, a->wasted_bytes);
	buf_puts(line, " (");
	phrase_percent(line, percent_of_heap(a));
	buf_puts(line, " of the heap)");
	if (d->finding == STRINGS_HOLDER)
		put_main_holder(d, line);
	else if (d->finding == STRINGS_VALUE)
		put_main_value(d, line);
	else if (d->finding == STRINGS_SPREAD)
		buf_puts(line, ", in many fields");
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
	phrase_percent(line, strings_phrase_percent_of(h->wasted_bytes, a->wasted_bytes));
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
	buf_puts(line, percent >= 50 ? " of it is in the oldest generation: it stays until the last reference to it is gone."
				     : " of it is in the oldest generation; the rest is young: it costs by being made rather than by being kept.");
}

static void put_unheld(const struct strings_analysis *a, struct buf *line)
{
	size_text_bytes(line, a->unheld.wasted_bytes);
	buf_puts(line, " of it is referred to by no object: held by stacks or handles, or garbage that a collection would free.");
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
		if (h->wasted_bytes == 0 || strings_phrase_percent_of(h->wasted_bytes, a->wasted_bytes) < HOLDER_PERCENT)
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
	*out = (struct strings_diagnosis){0};
	out->finding = choose_strings_finding(a, out);
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
	free(d->headline);
	free(d->text);
	*d = (struct strings_diagnosis){0};
}
