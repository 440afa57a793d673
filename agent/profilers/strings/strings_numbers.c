#include "agent/profilers/strings/strings_numbers.h"

#include "agent/profilers/strings/strings_phrase.h"

RULE_FIELDS(strings_numbers, STRINGS_NUMBERS);

static void number_holder(const struct string_holder *h, struct strings_numbers *out)
{
	char scratch[RULE_TEXT_BYTES];
	rules_set_text(&out->holder, h->name);
	rules_set_text(&out->place, strings_phrase_place(h, scratch, sizeof scratch));
	out->holder_strings = (double)h->strings;
	out->holder_bytes = (double)h->wasted_bytes;
	if (!h->many)
		out->holder_values = (double)h->value_count;
}

static void number_value(const struct strings_value *v, struct strings_numbers *out)
{
	AUTO_BUF struct buf phrase;
	buf_init(&phrase, RULE_TEXT_BYTES);
	strings_phrase_value(&phrase, v);
	rules_set_text(&out->value, buf_str(&phrase));
	out->value_strings = v->count;
	out->value_bytes = (double)strings_value_wasted(v);
}

void strings_numbers_of(const struct strings_analysis *a, struct strings_numbers *out)
{
	rules_clear(&strings_numbers_fields, out);
	out->heap_bytes = (double)a->heap_bytes;
	out->strings = (double)a->strings;
	out->string_bytes = (double)a->bytes;
	out->values = (double)a->values;
	out->copies = (double)a->copies;
	out->wasted_bytes = (double)a->wasted_bytes;
	out->young_bytes = (double)(a->generation[HEAP_GEN0].wasted_bytes + a->generation[HEAP_GEN1].wasted_bytes);
	out->unheld_bytes = (double)a->unheld.wasted_bytes;
	out->crowded_bytes = (double)a->crowded.wasted_bytes;
	out->holder_bytes = out->value_bytes = 0;
	if (a->holders.count && strings_analysis_holder(a, 0)->wasted_bytes)
		number_holder(strings_analysis_holder(a, 0), out);
	if (a->list_count)
		number_value(&a->list[0], out);
}
