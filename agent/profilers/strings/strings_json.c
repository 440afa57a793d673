#include "agent/report/report_file.h"
#include "agent/report/report_json.h"
#include "agent/profilers/strings/strings_phrase.h"
#include "agent/profilers/strings/strings_report.h"

#include <inttypes.h>
#include <string.h>

#define HOLDERS_LISTED 500
#define VALUE_HOLDERS 5

static const char *const generations[HEAP_GENERATIONS] = {"gen0", "gen1", "gen2", "loh", "poh", "frozen"};

static void put_generations(const struct strings_analysis *a, struct report_file *f)
{
	const char *between = "";
	buf_puts(&f->text, ",\"generations\":[");
	for (int g = 0; g < HEAP_GENERATIONS; g++) {
		if (!a->generation[g].strings)
			continue;
		buf_printf(&f->text, "%s{\"generation\":\"%s\"", between, generations[g]);
		report_json_integer(f, "strings", (int64_t)a->generation[g].strings);
		report_json_integer(f, "bytes", (int64_t)a->generation[g].bytes);
		report_json_integer(f, "copies", (int64_t)a->generation[g].copies);
		report_json_integer(f, "wastedBytes", (int64_t)a->generation[g].wasted_bytes);
		buf_puts(&f->text, "}");
		between = ",";
	}
	buf_puts(&f->text, "]");
}

static void put_strings(const struct strings_analysis *a, struct report_file *f)
{
	buf_printf(&f->text, ",\n\"heap\":{\"objects\":%" PRIu64, a->heap_objects);
	report_json_integer(f, "bytes", (int64_t)a->heap_bytes);
	report_json_integer(f, "stopMicroseconds", strings_report_stop_us(a));
	buf_printf(&f->text, "},\n\"strings\":{\"count\":%" PRIu64, a->strings);
	report_json_integer(f, "bytes", (int64_t)a->bytes);
	report_json_integer(f, "values", (int64_t)a->values);
	report_json_integer(f, "duplicatedValues", (int64_t)a->duplicated_values);
	report_json_integer(f, "copies", (int64_t)a->copies);
	report_json_integer(f, "wastedBytes", (int64_t)a->wasted_bytes);
	report_json_number(f, "percentOfStrings", strings_phrase_percent_of(a->wasted_bytes, a->bytes), 2);
	report_json_number(f, "percentOfHeap", strings_phrase_percent_of(a->wasted_bytes, a->heap_bytes), 2);
	put_generations(a, f);
	buf_puts(&f->text, "}");
}

static void put_kinds(const struct strings_value *v, struct report_file *f)
{
	const char *between = "";
	buf_puts(&f->text, ",\"kinds\":[");
	for (unsigned bit = 0; strings_phrase_kind(bit); bit++) {
		if (!(v->classes >> bit & 1))
			continue;
		buf_printf(&f->text, "%s\"%s\"", between, strings_phrase_kind(bit));
		between = ",";
	}
	buf_puts(&f->text, "]");
}

static void put_value(const struct strings_analysis *a, const struct strings_value *v, struct report_file *f)
{
	buf_printf(&f->text, "{\"id\":\"%s\"", v->id);
	report_json_integer(f, "characters", v->chars);
	put_kinds(v, f);
	report_json_shown(f, "start", v->start);
	report_json_integer(f, "sizeBytes", (int64_t)v->size_bytes);
	report_json_integer(f, "count", v->count);
	report_json_integer(f, "wastedBytes", (int64_t)strings_value_wasted(v));
	report_json_integer(f, "oldCount", v->old_count);
	report_json_shown(f, "remedy", string_remedy_name(v->remedy));
	buf_puts(&f->text, ",\"holders\":[");
	for (size_t i = 0; i < v->holder_count && i < VALUE_HOLDERS; i++) {
		buf_printf(&f->text, "%s{\"count\":%" PRIu32, i ? "," : "", v->holders[i].count);
		report_json_shown(f, "holder", a->holders.items[v->holders[i].holder].name);
		buf_puts(&f->text, "}");
	}
	buf_puts(&f->text, "]");
	report_json_integer(f, "unheld", v->unheld);
	buf_puts(&f->text, "}");
}

static void put_values(const struct strings_analysis *a, struct report_file *f)
{
	uint64_t wasted = 0;
	buf_puts(&f->text, ",\n\"values\":[");
	for (size_t i = 0; i < a->list_count; i++) {
		buf_puts(&f->text, i ? ",\n" : "\n");
		put_value(a, &a->list[i], f);
		wasted += strings_value_wasted(&a->list[i]);
		report_file_flow(f);
	}
	buf_printf(&f->text, "],\n\"valuesNotListed\":{\"values\":%" PRIu64, a->duplicated_values - a->list_count);
	report_json_integer(f, "wastedBytes", (int64_t)(a->wasted_bytes - wasted));
	buf_puts(&f->text, "}");
}

static void put_holder(const struct strings_analysis *a, const struct string_holder *h, struct report_file *f)
{
	buf_printf(&f->text, "{\"strings\":%" PRIu64, h->strings);
	report_json_shown(f, "name", h->name);
	report_json_shown(f, "type", h->type_name);
	report_json_shown(f, "field", h->field);
	report_json_shown(f, "heldBy", h->held_by);
	report_json_integer(f, "copies", (int64_t)h->copies);
	report_json_integer(f, "wastedBytes", (int64_t)h->wasted_bytes);
	report_json_number(f, "percent", strings_phrase_percent_of(h->wasted_bytes, a->wasted_bytes), 2);
	report_json_integer(f, "oldStrings", (int64_t)h->old_strings);
	report_json_known(f, "values", h->many ? -1 : (int64_t)h->value_count);
	report_json_shown(f, "value", h->value == STRING_NO_VALUE ? NULL : a->list[h->value].id);
	report_json_shown(f, "remedy", string_remedy_name(h->remedy));
	buf_puts(&f->text, "}");
}

static void put_sum(struct report_file *f, const char *key, uint64_t strings, uint64_t copies, uint64_t wasted)
{
	buf_printf(&f->text, ",\n\"%s\":{\"strings\":%" PRIu64, key, strings);
	report_json_integer(f, "copies", (int64_t)copies);
	report_json_integer(f, "wastedBytes", (int64_t)wasted);
	buf_puts(&f->text, "}");
}

static void put_holders(const struct strings_analysis *a, struct report_file *f)
{
	size_t listed = a->holders.count < HOLDERS_LISTED ? a->holders.count : HOLDERS_LISTED;
	uint64_t rest = a->crowded.wasted_bytes;
	buf_puts(&f->text, ",\n\"holders\":[");
	for (size_t i = 0; i < listed; i++) {
		buf_puts(&f->text, i ? ",\n" : "\n");
		put_holder(a, strings_analysis_holder(a, i), f);
		report_file_flow(f);
	}
	for (size_t i = listed; i < a->holders.count; i++)
		rest += strings_analysis_holder(a, i)->wasted_bytes;
	buf_printf(&f->text, "],\n\"holdersNotListed\":{\"holders\":%zu", a->holders.count - listed);
	report_json_integer(f, "wastedBytes", (int64_t)rest);
	buf_puts(&f->text, "}");
	put_sum(f, "unheld", a->unheld.strings, a->unheld.copies, a->unheld.wasted_bytes);
}

void strings_json_write(const void *source, struct report_file *f)
{
	const struct strings_source *s = source;
	const struct strings_diagnosis *d = s->diagnosis;
	report_head_json_begin(&s->head, strings_finding_name(d->finding), NULL, f);
	buf_printf(&f->text, ",\n\"main\":{\"found\":%s", d->holder || d->value ? "true" : "false");
	report_json_shown(f, "holder", d->holder ? d->holder->name : NULL);
	report_json_shown(f, "value", d->value ? d->value->id : NULL);
	buf_printf(&f->text, "},\n\"contents\":{\"revealed\":%s", s->analysis->revealed ? "true" : "false");
	report_json_shown(f, "shown", strings_report_shown(s->analysis));
	buf_puts(&f->text, "}");
	put_strings(s->analysis, f);
	put_values(s->analysis, f);
	put_holders(s->analysis, f);
	report_head_json_end(&s->head, f);
}
