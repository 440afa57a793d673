#include "agent/report/report_file.h"
#include "agent/report/report_json.h"
#include "agent/profilers/strings/strings_phrase.h"
#include "agent/profilers/strings/strings_report.h"

#define HOLDERS_LISTED 500
#define VALUE_HOLDERS 5

static const char *const generations[HEAP_GENERATIONS] = {"gen0", "gen1", "gen2", "loh", "poh", "frozen"};

static void put_generations(const struct strings_analysis *a, struct json_writer *w)
{
	json_array(w, "generations");
	for (int g = 0; g < HEAP_GENERATIONS; g++) {
		if (!a->generation[g].strings)
			continue;
		json_object(w, NULL);
		json_string(w, "generation", generations[g]);
		json_unsigned(w, "strings", a->generation[g].strings);
		json_unsigned(w, "bytes", a->generation[g].bytes);
		json_unsigned(w, "copies", a->generation[g].copies);
		json_unsigned(w, "wastedBytes", a->generation[g].wasted_bytes);
		json_end(w);
	}
	json_end(w);
}

static void put_strings(const struct strings_analysis *a, struct json_writer *w)
{
	json_line(w);
	json_object(w, "heap");
	json_unsigned(w, "objects", a->heap_objects);
	json_unsigned(w, "bytes", a->heap_bytes);
	json_integer(w, "stopMicroseconds", strings_report_stop_us(a));
	json_end(w);
	json_line(w);
	json_object(w, "strings");
	json_unsigned(w, "count", a->strings);
	json_unsigned(w, "bytes", a->bytes);
	json_unsigned(w, "values", a->values);
	json_unsigned(w, "duplicatedValues", a->duplicated_values);
	json_unsigned(w, "copies", a->copies);
	json_unsigned(w, "wastedBytes", a->wasted_bytes);
	json_number(w, "percentOfStrings", strings_phrase_percent_of(a->wasted_bytes, a->bytes), 2);
	json_number(w, "percentOfHeap", strings_phrase_percent_of(a->wasted_bytes, a->heap_bytes), 2);
	put_generations(a, w);
	json_end(w);
}

static void put_kinds(const struct strings_value *v, struct json_writer *w)
{
	json_array(w, "kinds");
	for (unsigned bit = 0; strings_phrase_kind(bit); bit++)
		if (v->classes >> bit & 1)
			json_string(w, NULL, strings_phrase_kind(bit));
	json_end(w);
}

static void put_value(const struct strings_analysis *a, const struct strings_value *v, struct report_file *f)
{
	struct json_writer *w = &f->json;
	report_json_record(f);
	json_string(w, "id", v->id);
	json_integer(w, "characters", v->chars);
	put_kinds(v, w);
	json_string(w, "start", v->start);
	json_unsigned(w, "sizeBytes", v->size_bytes);
	json_integer(w, "count", v->count);
	json_unsigned(w, "wastedBytes", strings_value_wasted(v));
	json_integer(w, "oldCount", v->old_count);
	json_string(w, "remedy", string_remedy_name(v->remedy));
	json_array(w, "holders");
	for (size_t i = 0; i < v->holder_count && i < VALUE_HOLDERS; i++) {
		json_object(w, NULL);
		json_unsigned(w, "count", v->holders[i].count);
		json_string(w, "holder", a->holders.items[v->holders[i].holder].name);
		json_end(w);
	}
	json_end(w);
	json_integer(w, "unheld", v->unheld);
	report_json_end(f);
}

static void put_values(const struct strings_analysis *a, struct report_file *f)
{
	struct json_writer *w = &f->json;
	uint64_t wasted = 0;
	json_line(w);
	json_array(w, "values");
	for (size_t i = 0; i < a->list_count; i++) {
		put_value(a, &a->list[i], f);
		wasted += strings_value_wasted(&a->list[i]);
	}
	json_end(w);
	json_line(w);
	json_object(w, "valuesNotListed");
	json_unsigned(w, "values", a->duplicated_values - a->list_count);
	json_unsigned(w, "wastedBytes", a->wasted_bytes - wasted);
	json_end(w);
}

static void put_holder(const struct strings_analysis *a, const struct string_holder *h, struct report_file *f)
{
	struct json_writer *w = &f->json;
	report_json_record(f);
	json_unsigned(w, "strings", h->strings);
	json_string(w, "name", h->name);
	json_string(w, "type", h->type_name);
	json_string(w, "field", h->field);
	json_string(w, "heldBy", h->held_by);
	json_unsigned(w, "copies", h->copies);
	json_unsigned(w, "wastedBytes", h->wasted_bytes);
	json_number(w, "percent", strings_phrase_percent_of(h->wasted_bytes, a->wasted_bytes), 2);
	json_unsigned(w, "oldStrings", h->old_strings);
	json_known(w, "values", h->many ? -1 : (int64_t)h->value_count);
	json_string(w, "value", h->value == STRING_NO_VALUE ? NULL : a->list[h->value].id);
	json_string(w, "remedy", string_remedy_name(h->remedy));
	report_json_end(f);
}

static void put_holders(const struct strings_analysis *a, struct report_file *f)
{
	struct json_writer *w = &f->json;
	size_t listed = a->holders.count < HOLDERS_LISTED ? a->holders.count : HOLDERS_LISTED;
	uint64_t rest = a->crowded.wasted_bytes;
	json_line(w);
	json_array(w, "holders");
	for (size_t i = 0; i < listed; i++)
		put_holder(a, strings_analysis_holder(a, i), f);
	json_end(w);
	for (size_t i = listed; i < a->holders.count; i++)
		rest += strings_analysis_holder(a, i)->wasted_bytes;
	json_line(w);
	json_object(w, "holdersNotListed");
	json_unsigned(w, "holders", a->holders.count - listed);
	json_unsigned(w, "wastedBytes", rest);
	json_end(w);
	json_line(w);
	json_object(w, "unheld");
	json_unsigned(w, "strings", a->unheld.strings);
	json_unsigned(w, "copies", a->unheld.copies);
	json_unsigned(w, "wastedBytes", a->unheld.wasted_bytes);
	json_end(w);
}

static void put_remedies(struct json_writer *w)
{
	json_line(w);
	json_object(w, "remedies");
	for (int i = 0; i < REMEDY_COUNT; i++)
		json_string(w, string_remedy_name((enum string_remedy)i), string_remedy_words((enum string_remedy)i));
	json_end(w);
}

void strings_json_write(const void *source, struct report_file *f)
{
	const struct strings_source *s = source;
	const struct strings_diagnosis *d = s->diagnosis;
	struct json_writer *w = &f->json;
	report_head_json_begin(&s->head, strings_finding_name(d->finding), f);
	json_end(w);
	json_line(w);
	json_object(w, "main");
	json_bool(w, "found", d->holder || d->value);
	json_string(w, "holder", d->holder ? d->holder->name : NULL);
	json_string(w, "value", d->value ? d->value->id : NULL);
	json_end(w);
	json_line(w);
	json_object(w, "contents");
	json_bool(w, "revealed", s->analysis->revealed);
	json_string(w, "shown", strings_report_shown(s->analysis));
	json_end(w);
	put_strings(s->analysis, w);
	put_values(s->analysis, f);
	put_holders(s->analysis, f);
	put_remedies(w);
	report_head_json_end(&s->head, f);
}
