#include "agent/report/report_file.h"
#include "agent/report/report_json.h"
#include "agent/profilers/strings/strings_phrase.h"
#include "agent/profilers/strings/strings_report.h"

#define HOLDERS_LISTED 500
#define VALUE_HOLDERS 5

static const char *const generations[HEAP_GENERATIONS] = {"gen0", "gen1", "gen2", "loh", "poh", "frozen"};

static void put_generations(const struct strings_analysis *a, struct json_writer *w)
{
	jsonw_array(w, "generations");
	for (int g = 0; g < HEAP_GENERATIONS; g++) {
		if (!a->generation[g].strings)
			continue;
		jsonw_object(w, NULL);
		jsonw_string(w, "generation", generations[g]);
		jsonw_unsigned(w, "strings", a->generation[g].strings);
		jsonw_unsigned(w, "bytes", a->generation[g].bytes);
		jsonw_unsigned(w, "copies", a->generation[g].copies);
		jsonw_unsigned(w, "wastedBytes", a->generation[g].wasted_bytes);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static void put_strings(const struct strings_analysis *a, struct json_writer *w)
{
	jsonw_line(w);
	jsonw_object(w, "heap");
	jsonw_unsigned(w, "objects", a->heap_objects);
	jsonw_unsigned(w, "bytes", a->heap_bytes);
	jsonw_integer(w, "stopMicroseconds", strings_report_stop_us(a));
	jsonw_end(w);
	jsonw_line(w);
	jsonw_object(w, "strings");
	jsonw_unsigned(w, "count", a->strings);
	jsonw_unsigned(w, "bytes", a->bytes);
	jsonw_unsigned(w, "values", a->values);
	jsonw_unsigned(w, "duplicatedValues", a->duplicated_values);
	jsonw_unsigned(w, "copies", a->copies);
	jsonw_unsigned(w, "wastedBytes", a->wasted_bytes);
	jsonw_number(w, "percentOfStrings", strings_phrase_percent_of(a->wasted_bytes, a->bytes), 2);
	jsonw_number(w, "percentOfHeap", strings_phrase_percent_of(a->wasted_bytes, a->heap_bytes), 2);
	put_generations(a, w);
	jsonw_end(w);
}

static void put_kinds(const struct strings_value *v, struct json_writer *w)
{
	jsonw_array(w, "kinds");
	for (unsigned bit = 0; strings_phrase_kind(bit); bit++)
		if (v->classes >> bit & 1)
			jsonw_string(w, NULL, strings_phrase_kind(bit));
	jsonw_end(w);
}

static void put_value(const struct strings_analysis *a, const struct strings_value *v, struct report_file *f)
{
	struct json_writer *w = &f->json;
	report_json_record(f);
	jsonw_string(w, "id", v->id);
	jsonw_integer(w, "characters", v->chars);
	put_kinds(v, w);
	jsonw_string(w, "start", v->start);
	jsonw_unsigned(w, "sizeBytes", v->size_bytes);
	jsonw_integer(w, "count", v->count);
	jsonw_unsigned(w, "wastedBytes", strings_value_wasted(v));
	jsonw_integer(w, "oldCount", v->old_count);
	jsonw_string(w, "remedy", string_remedy_name(v->remedy));
	jsonw_array(w, "holders");
	for (size_t i = 0; i < v->holder_count && i < VALUE_HOLDERS; i++) {
		jsonw_object(w, NULL);
		jsonw_unsigned(w, "count", v->holders[i].count);
		jsonw_string(w, "holder", a->holders.items[v->holders[i].holder].name);
		jsonw_end(w);
	}
	jsonw_end(w);
	jsonw_integer(w, "unheld", v->unheld);
	report_json_end(f);
}

static void put_values(const struct strings_analysis *a, struct report_file *f)
{
	struct json_writer *w = &f->json;
	uint64_t wasted = 0;
	jsonw_line(w);
	jsonw_array(w, "values");
	for (size_t i = 0; i < a->list_count; i++) {
		put_value(a, &a->list[i], f);
		wasted += strings_value_wasted(&a->list[i]);
	}
	jsonw_end(w);
	jsonw_line(w);
	jsonw_object(w, "valuesNotListed");
	jsonw_unsigned(w, "values", a->duplicated_values - a->list_count);
	jsonw_unsigned(w, "wastedBytes", a->wasted_bytes - wasted);
	jsonw_end(w);
}

static void put_holder(const struct strings_analysis *a, const struct string_holder *h, struct report_file *f)
{
	struct json_writer *w = &f->json;
	report_json_record(f);
	jsonw_unsigned(w, "strings", h->strings);
	jsonw_string(w, "name", h->name);
	jsonw_string(w, "type", h->type_name);
	jsonw_string(w, "field", h->field);
	jsonw_string(w, "heldBy", h->held_by);
	jsonw_unsigned(w, "copies", h->copies);
	jsonw_unsigned(w, "wastedBytes", h->wasted_bytes);
	jsonw_number(w, "percent", strings_phrase_percent_of(h->wasted_bytes, a->wasted_bytes), 2);
	jsonw_unsigned(w, "oldStrings", h->old_strings);
	jsonw_known(w, "values", h->many ? -1 : (int64_t)h->value_count);
	jsonw_string(w, "value", h->value == STRING_NO_VALUE ? NULL : a->list[h->value].id);
	jsonw_string(w, "remedy", string_remedy_name(h->remedy));
	report_json_end(f);
}

static void put_holders(const struct strings_analysis *a, struct report_file *f)
{
	struct json_writer *w = &f->json;
	size_t listed = a->holders.count < HOLDERS_LISTED ? a->holders.count : HOLDERS_LISTED;
	uint64_t rest = a->crowded.wasted_bytes;
	jsonw_line(w);
	jsonw_array(w, "holders");
	for (size_t i = 0; i < listed; i++)
		put_holder(a, strings_analysis_holder(a, i), f);
	jsonw_end(w);
	for (size_t i = listed; i < a->holders.count; i++)
		rest += strings_analysis_holder(a, i)->wasted_bytes;
	jsonw_line(w);
	jsonw_object(w, "holdersNotListed");
	jsonw_unsigned(w, "holders", a->holders.count - listed);
	jsonw_unsigned(w, "wastedBytes", rest);
	jsonw_end(w);
	jsonw_line(w);
	jsonw_object(w, "unheld");
	jsonw_unsigned(w, "strings", a->unheld.strings);
	jsonw_unsigned(w, "copies", a->unheld.copies);
	jsonw_unsigned(w, "wastedBytes", a->unheld.wasted_bytes);
	jsonw_end(w);
}

static void put_remedies(struct json_writer *w)
{
	jsonw_line(w);
	jsonw_object(w, "remedies");
	for (int i = 0; i < REMEDY_COUNT; i++)
		jsonw_string(w, string_remedy_name((enum string_remedy)i), string_remedy_words((enum string_remedy)i));
	jsonw_end(w);
}

void strings_json_write(const void *source, struct report_file *f)
{
	const struct strings_source *s = source;
	const struct strings_diagnosis *d = s->diagnosis;
	struct json_writer *w = &f->json;
	report_head_json_begin(&s->head, d->finding, f);
	jsonw_end(w);
	jsonw_line(w);
	jsonw_object(w, "main");
	jsonw_bool(w, "found", d->holder || d->value);
	jsonw_string(w, "holder", d->holder ? d->holder->name : NULL);
	jsonw_string(w, "value", d->value ? d->value->id : NULL);
	jsonw_end(w);
	jsonw_line(w);
	jsonw_object(w, "contents");
	jsonw_bool(w, "revealed", s->analysis->revealed);
	jsonw_string(w, "shown", strings_report_shown(s->analysis));
	jsonw_end(w);
	put_strings(s->analysis, w);
	put_values(s->analysis, f);
	put_holders(s->analysis, f);
	put_remedies(w);
	report_head_json_end(&s->head, f);
}
