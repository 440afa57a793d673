#include "agent/profilers/strings/strings_rules.h"

#include "agent/profilers/strings/strings_phrase.h"
#include "agent/report/phrase.h"
#include "agent/report/report.h"
#include "agent/symbols/method_name.h"
#include "common/base/size_text.h"

#include <string.h>

#define LITTLE_BYTES 65536.0           /* nothing to say, whatever the heap's size */
#define LITTLE_OF_HEAP 1.0             /* percent */
#define LITTLE_OF_BIG_HEAP 16777216.0  /* bytes: worth a word in any heap */
#define MAIN_PERCENT 25.0              /* of the wasted bytes: the one to look at first */
#define LEAST_NAME_CHARS 12            /* a shorter piece of a name tells nothing */

/* What no object refers to is mostly garbage: nobody keeps these copies. */
static double kept_bytes(const struct strings_numbers *n)
{
	return n->unheld_bytes > 0 ? n->wasted_bytes - n->unheld_bytes : n->wasted_bytes;
}

static double percent_wasted(const struct strings_numbers *n)
{
	return n->heap_bytes > 0 ? 100 * kept_bytes(n) / n->heap_bytes : 0;
}

static double percent_of_waste(const struct strings_numbers *n, double bytes)
{
	return kept_bytes(n) > 0 && bytes > 0 ? 100 * bytes / kept_bytes(n) : 0;
}

bool strings_rules_costly(const struct strings_numbers *n)
{
	return kept_bytes(n) >= LITTLE_BYTES && (percent_wasted(n) >= LITTLE_OF_HEAP || kept_bytes(n) >= LITTLE_OF_BIG_HEAP);
}

static bool has_field(const struct strings_numbers *n)
{
	return percent_of_waste(n, n->holder_bytes) >= MAIN_PERCENT;
}

static bool has_value(const struct strings_numbers *n)
{
	return percent_of_waste(n, n->value_bytes) >= MAIN_PERCENT;
}

/* A field that was not told apart may have most of them. */
static const char *needs_fields(const void *numbers)
{
	const struct strings_numbers *n = numbers;
	bool crowded = strings_rules_costly(n) && !has_field(n) && percent_of_waste(n, n->crowded_bytes) >= MAIN_PERCENT;
	return crowded ? "more fields hold strings than could be told apart" : NULL;
}

static struct rule_score score_if(const struct strings_numbers *n, bool found)
{
	return (struct rule_score){strings_rules_costly(n) && found ? rules_score(percent_wasted(n)) : 0, 2};
}

void strings_rules_put_cost(const struct strings_numbers *n, const char *verb, struct buf *line)
{
	buf_printf(line, "Duplicate strings %s ", verb);
	size_text_bytes(line, (uint64_t)kept_bytes(n));
	buf_puts(line, " (");
	phrase_percent(line, percent_wasted(n));
	buf_puts(line, " of the heap)");
}

/* Where they cost little, that is what excludes it. */
static bool say_little(const struct strings_numbers *n, const char *what, struct finding *f)
{
	if (f->state != FINDING_EXCLUDED)
		return false;
	finding_message(f, "%s", what);
	if (!strings_rules_costly(n))
		rules_share_evidence(f, kept_bytes(n), percent_wasted(n), " of the heap, are copies");
	return true;
}

static struct rule_score test_field(const void *numbers)
{
	const struct strings_numbers *n = numbers;
	return score_if(n, has_field(n));
}

static void say_field(const void *numbers, struct finding *f)
{
	static const char most_in[] = ", most in ";
	const struct strings_numbers *n = numbers;
	AUTO_BUF struct buf line;
	buf_init(&line, 1024);
	rules_share_evidence(f, n->holder_bytes, percent_of_waste(n, n->holder_bytes), " of the waste, in one field");
	if (say_little(n, "copies in one field", f))
		return;
	strings_rules_put_cost(n, "waste", &line);
	size_t used = phrase_chars(buf_str(&line)) + strlen(most_in);
	if (used + LEAST_NAME_CHARS <= HEADLINE_MAX_CHARS) {
		buf_puts(&line, most_in);
		method_name_shorten(n->place.text, HEADLINE_MAX_CHARS - used, &line);
	}
	finding_message(f, "%s", buf_str(&line));
	finding_place(f, n->place.text);
}

static struct rule_score test_value(const void *numbers)
{
	const struct strings_numbers *n = numbers;
	return score_if(n, !has_field(n) && has_value(n));
}

static void say_value(const void *numbers, struct finding *f)
{
	static const char most_of[] = ", most of one value: ";
	const struct strings_numbers *n = numbers;
	AUTO_BUF struct buf line, times;
	buf_init(&line, 1024);
	buf_init(&times, 100);
	rules_share_evidence(f, n->value_bytes, percent_of_waste(n, n->value_bytes), " of the waste, of one value");
	if (say_little(n, "copies of one value", f))
		return;
	strings_rules_put_cost(n, "waste", &line);
	if (phrase_chars(buf_str(&line)) + strlen(most_of) + phrase_chars(n->value.text) <= HEADLINE_MAX_CHARS)
		buf_printf(&line, "%s%s", most_of, n->value.text);
	buf_puts(&times, ", ");
	size_text_count(&times, (uint64_t)n->value_strings);
	buf_puts(&times, " times");
	if (phrase_chars(buf_str(&line)) + phrase_chars(buf_str(&times)) <= HEADLINE_MAX_CHARS)
		buf_puts(&line, buf_str(&times));
	finding_message(f, "%s", buf_str(&line));
	finding_place(f, n->place.text);
}

static struct rule_score test_everywhere(const void *numbers)
{
	const struct strings_numbers *n = numbers;
	return score_if(n, !has_field(n) && !has_value(n));
}

static void say_everywhere(const void *numbers, struct finding *f)
{
	const struct strings_numbers *n = numbers;
	AUTO_BUF struct buf line;
	buf_init(&line, 1024);
	rules_share_evidence(f, n->holder_bytes, percent_of_waste(n, n->holder_bytes), " of the waste, in the field with most");
	if (say_little(n, "copies in many fields", f))
		return;
	strings_rules_put_cost(n, "waste", &line);
	buf_puts(&line, ", in many fields");
	finding_message(f, "%s", buf_str(&line));
}

const struct rule strings_rules[] = {
	{"CopiesInOneField", needs_fields, test_field, say_field},
	{"CopiesOfOneValue", NULL, test_value, say_value},
	{"CopiesInManyFields", needs_fields, test_everywhere, say_everywhere},
};
const size_t strings_rules_count = sizeof strings_rules / sizeof *strings_rules;
