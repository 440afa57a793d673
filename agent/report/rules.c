#include "agent/report/rules.h"

#include "agent/report/phrase.h"
#include "common/base/mem.h"
#include "common/base/size_text.h"
#include "common/base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define OTHERS_SAID 3
#define EXCLUDED_SAID 6
#define NOT_MEASURED_SAID 3

static double *number_of(const struct rule_field *f, void *numbers)
{
	return (double *)((char *)numbers + f->offset);
}

static struct rule_text *text_of(const struct rule_field *f, void *numbers)
{
	return (struct rule_text *)((char *)numbers + f->offset);
}

void rules_clear(const struct rule_fields *fields, void *numbers)
{
	memset(numbers, 0, fields->size);
	for (size_t i = 0; i < fields->count; i++)
		if (!fields->list[i].text)
			*number_of(&fields->list[i], numbers) = NAN;
}

void rules_set_text(struct rule_text *out, const char *name)
{
	size_t n = name ? text_cut_utf8(name, sizeof out->text - 1) : 0;
	memcpy(out->text, n ? name : "", n);
	out->text[n] = '\0';
}

int rules_score(double percent)
{
	return percent >= 100 ? 100 : percent > 1 ? (int)percent : 1;
}

void rules_share_evidence(struct finding *f, double bytes, double percent, const char *what)
{
	AUTO_BUF struct buf out;
	buf_init(&out, 400);
	size_text_bytes(&out, (uint64_t)bytes);
	buf_puts(&out, ", ");
	phrase_percent(&out, percent);
	buf_puts(&out, what);
	finding_evidence(f, "%s", buf_str(&out));
}

/* judging -------------------------------------------------------------------------------------------------------- */

/* As the rule calls it where it excludes it. */
static void name_rule(const struct rule *rule, const void *numbers, struct finding *out)
{
	struct finding named = {.state = FINDING_EXCLUDED};
	rule->says(numbers, &named);
	size_t n = text_cut_utf8(named.message, sizeof out->name - 1);
	memcpy(out->name, named.message, n);
}

static void judge(const struct rule *rule, const void *numbers, struct finding *out)
{
	const char *lacks = rule->needs ? rule->needs(numbers) : NULL;
	*out = (struct finding){.state = FINDING_NOT_MEASURED};
	memcpy(out->id, rule->id, strnlen(rule->id, sizeof out->id - 1));
	name_rule(rule, numbers, out);
	if (lacks) {
		finding_message(out, "%s", lacks);
		return;
	}
	struct rule_score s = rule->test(numbers);
	out->score = s.score > 100 ? 100 : s.score > 0 ? s.score : 0;
	out->state = out->score == 0 ? FINDING_EXCLUDED : s.witnesses >= 2 ? FINDING_FOUND : FINDING_POSSIBLE;
	rule->says(numbers, out);
}

/* Those that are alike stay in the table's order. */
static bool finding_comes_before(const struct finding *a, const struct finding *b)
{
	if (a->state != b->state)
		return a->state < b->state;
	return a->score != b->score ? a->score > b->score : a->precedence > b->precedence;
}

void findings_sort(struct findings *f)
{
	for (size_t i = 1; i < f->count; i++)
		for (size_t k = i; k > 0 && finding_comes_before(&f->list[k], &f->list[k - 1]); k--) {
			struct finding other = f->list[k];
			f->list[k] = f->list[k - 1];
			f->list[k - 1] = other;
		}
}

void findings_begin(struct findings *f, size_t most, const struct rule_fields *fields, const void *numbers)
{
	*f = (struct findings){.list = mem_calloc(most + 1, sizeof *f->list), .room = most, .fields = fields, .numbers = numbers};
}

void findings_add(struct findings *f, const struct finding *x)
{
	if (f->count < f->room)
		f->list[f->count++] = *x;
}

void rules_run(const struct rule *rules, size_t count, const struct rule_fields *fields, const void *numbers, struct findings *out)
{
	findings_begin(out, RULES_MAX, fields, numbers);
	for (size_t i = 0; i < count; i++) {
		struct finding x;
		judge(&rules[i], numbers, &x);
		findings_add(out, &x);
	}
	findings_sort(out);
}

void findings_doubt(struct findings *f, const char *why)
{
	for (size_t i = 0; i < f->count; i++) {
		struct finding *x = &f->list[i];
		if (x->state != FINDING_EXCLUDED)
			continue;
		x->state = FINDING_NOT_MEASURED;
		x->evidence[0] = '\0';
		finding_message(x, "%s", why);
	}
	findings_sort(f);
}

/* NULL: nothing that this finding rests on. */
static const char *lack_of(const struct finding *x, const struct rule_engines *list, const struct engine_support *s)
{
	while (list->id && strncmp(list->id, x->id, sizeof x->id - 1) != 0)
		list++;
	unsigned rests_on = list->id ? list->engines : 0;
	if (x->state != FINDING_EXCLUDED)
		rests_on &= ~s->partly;
	for (int i = 0; i < ENGINE_COUNT; i++)
		if (rests_on & ENGINE_BIT(i) && engine_lacks(s, (enum engine)i))
			return engine_lacks(s, (enum engine)i);
	return NULL;
}

void findings_withhold(struct findings *f, const struct rule_engines *list, const struct engine_support *s)
{
	for (size_t i = 0; i < f->count; i++) {
		struct finding *x = &f->list[i];
		const char *why = lack_of(x, list, s);
		if (why && !f->withheld)
			f->withheld = why;
		if (!why)
			continue;
		x->state = FINDING_NOT_MEASURED;
		x->score = 0;
		x->evidence[0] = x->place[0] = '\0';
		finding_message(x, "%s", why);
	}
	findings_sort(f);
}

void findings_put_withheld(const struct findings *f, struct buf *out)
{
	size_t at = out->len;
	buf_puts(out, f->withheld);
	if (out->len > at)
		out->data[at] = (char)toupper((unsigned char)out->data[at]);
}

void findings_fini(struct findings *f)
{
	free(f->list);
	*f = (struct findings){0};
}

static bool finding_was_found(const struct finding *f)
{
	return f->state == FINDING_FOUND || f->state == FINDING_POSSIBLE;
}

const struct finding *findings_lead(const struct findings *f)
{
	return f->count && finding_was_found(&f->list[0]) ? &f->list[0] : NULL;
}

const char *findings_lead_id(const struct findings *f)
{
	const struct finding *lead = findings_lead(f);
	return lead ? lead->id : "none";
}

const struct finding *findings_find(const struct findings *f, const char *id)
{
	for (size_t i = 0; i < f->count; i++)
		if (finding_was_found(&f->list[i]) && strcmp(f->list[i].id, id) == 0)
			return &f->list[i];
	return NULL;
}

/* words ---------------------------------------------------------------------------------------------------------- */

/* As the rule calls it where it excludes it; its id where it never does. */
static const char *words_of(const struct finding *x)
{
	return x->name[0] ? x->name : x->id;
}

/* lines ---------------------------------------------------------------------------------------------------------- */

void findings_put_others(const struct findings *f, struct buf *out)
{
	size_t said = 0;
	for (size_t i = 1; i < f->count && said < OTHERS_SAID && finding_was_found(&f->list[i]); i++) {
		const struct finding *x = &f->list[i];
		if (x->repeats)
			continue;
		const char *before = x->state == FINDING_FOUND ? "Also: " : strncmp(x->message, "Possible ", 9) == 0 ? "" : "Possibly: ";
		buf_printf(out, "\n%s%s", before, x->message);
		if (x->evidence[0] && !strstr(x->message, x->evidence))
			buf_printf(out, " (%s)", x->evidence);
		buf_putc(out, '.');
		said++;
	}
}

static void put_more(size_t said, size_t more, struct buf *out)
{
	if (more)
		buf_printf(out, "; and %zu more in report.json", more);
	if (said)
		buf_putc(out, '.');
}

/* "\nExcluded: CPU throttling; the .NET thread pool; and 3 more in report.json.": the numbers are there. */
static void put_excluded(const struct findings *f, struct buf *out)
{
	size_t said = 0, more = 0;
	for (size_t i = 0; i < f->count; i++) {
		if (f->list[i].state != FINDING_EXCLUDED || !f->list[i].message[0])
			continue;
		if (said < EXCLUDED_SAID)
			buf_printf(out, "%s%s", said++ ? "; " : "\nExcluded: ", f->list[i].message);
		else
			more++;
	}
	put_more(said, more, out);
}

/* "\nNot measured: a full node; CPU throttling (why both); spinning (why); and 3 more in report.json." */
static void put_not_measured(const struct findings *f, struct buf *out)
{
	const char *why = NULL; /* of the last one, not said yet */
	size_t said = 0, more = 0;
	for (size_t i = 0; i < f->count; i++) {
		const struct finding *x = &f->list[i];
		if (x->state != FINDING_NOT_MEASURED)
			continue;
		if (said == NOT_MEASURED_SAID) {
			more++;
			continue;
		}
		if (why && strcmp(why, x->message) != 0)
			buf_printf(out, " (%s)", why);
		buf_puts(out, said++ ? "; " : "\nNot measured: ");
		buf_puts(out, words_of(x));
		why = x->message;
	}
	if (why)
		buf_printf(out, " (%s)", why);
	put_more(said, more, out);
}

void findings_put_seen(const struct findings *f, struct buf *out)
{
	put_excluded(f, out);
	put_not_measured(f, out);
}

/* JSON ----------------------------------------------------------------------------------------------------------- */

const char *rules_json_key(const char *name, char key[RULE_KEY_BYTES])
{
	size_t n = 0;
	for (; *name && n + 1 < RULE_KEY_BYTES; name++) {
		bool upper = *name == '_' && name[1];
		name += upper;
		key[n++] = (char)(upper ? toupper((unsigned char)*name) : *name);
	}
	key[n] = '\0';
	return key;
}

static void put_printable(struct json_writer *w, const char *key, const char *text)
{
	AUTO_BUF struct buf clean;
	buf_init(&clean, 8 * FINDING_EVIDENCE_SIZE);
	text_append_printable(&clean, text, strlen(text));
	jsonw_string(w, key, buf_str(&clean));
}

static void put_findings_json(const struct findings *f, const char *key, bool (*wanted)(const struct finding *), struct json_writer *w)
{
	jsonw_line(w);
	jsonw_array(w, key);
	for (size_t i = 0; i < f->count; i++) {
		const struct finding *x = &f->list[i];
		if (!wanted(x))
			continue;
		jsonw_line(w);
		jsonw_object(w, NULL);
		jsonw_string(w, "id", x->id);
		if (x->state == FINDING_NOT_MEASURED)
			put_printable(w, "what", words_of(x));
		if (finding_was_found(x)) {
			jsonw_string(w, "state", finding_state_name(x->state));
			jsonw_integer(w, "score", x->score);
		}
		put_printable(w, "message", x->message);
		if (x->state != FINDING_NOT_MEASURED)
			put_printable(w, "evidence", x->evidence);
		if (finding_was_found(x))
			put_printable(w, "place", x->place);
		jsonw_end(w);
	}
	jsonw_end(w);
}

static bool finding_was_excluded(const struct finding *f)
{
	return f->state == FINDING_EXCLUDED;
}

static bool finding_was_not_measured(const struct finding *f)
{
	return f->state == FINDING_NOT_MEASURED;
}

void findings_put_json(const struct findings *f, struct json_writer *w)
{
	char key[RULE_KEY_BYTES];
	put_findings_json(f, "findings", finding_was_found, w);
	put_findings_json(f, "excluded", finding_was_excluded, w);
	put_findings_json(f, "notMeasured", finding_was_not_measured, w);
	jsonw_line(w);
	jsonw_object(w, "measured");
	for (size_t i = 0; f->fields && i < f->fields->count; i++) {
		const struct rule_field *field = &f->fields->list[i];
		if (field->text)
			put_printable(w, rules_json_key(field->name, key), text_of(field, (void *)f->numbers)->text);
		else
			jsonw_number(w, rules_json_key(field->name, key), *number_of(field, (void *)f->numbers), 3);
	}
	jsonw_end(w);
}
