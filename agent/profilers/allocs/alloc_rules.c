#include "agent/profilers/allocs/alloc_rules.h"

#include "agent/report/phrase.h"
#include "agent/report/report.h"
#include "agent/symbols/method_name.h"
#include "common/base/size_text.h"

#include <string.h>

#define IDLE_BYTES_PER_SECOND 1e6
#define LEAST_SAMPLES 10        /* they tell a share to about a factor of two */
#define MANY_SAMPLES 100
#define LOST_PERCENT 20.0
#define ONE_PERCENT_OF 35.0     /* a method or type with so much is what the headline is about */
#define LARGE_PERCENT 40.0
#define BOXED_PERCENT 20.0
#define COLLECTING_PERCENT 5.0  /* of the time */
#define LEAST_NAME_CHARS 16

static const struct alloc_numbers *alloc_numbers_in(const void *numbers)
{
	return numbers;
}

bool alloc_rules_idle(const struct alloc_numbers *n)
{
	return n->bytes_per_second < IDLE_BYTES_PER_SECOND;
}

static const char *needs_samples(const void *numbers)
{
	const struct alloc_numbers *n = alloc_numbers_in(numbers);
	if (alloc_rules_idle(n))
		return NULL;
	if (n->samples < LEAST_SAMPLES)
		return "too few samples came";
	return n->dropped_percent > LOST_PERCENT ? "too many samples were lost: there were more places than can be kept" : NULL;
}

/* The runtime's collections bear the estimate out, or there are so many samples that it needs none. */
static struct rule_score alloc_score(const struct alloc_numbers *n, bool found, double percent)
{
	return (struct rule_score){found && !alloc_rules_idle(n) ? rules_score(percent) : 0, 1 + (n->collections > 0 || n->samples >= MANY_SAMPLES)};
}

static bool alloc_excluded(const struct alloc_numbers *n, const char *what, double percent, struct finding *f)
{
	if (f->state != FINDING_EXCLUDED)
		return false;
	finding_message(f, "%s", what);
	if (alloc_rules_idle(n))
		finding_evidence(f, "%.2f MB/s in all", n->bytes_per_second / 1e6);
	else
		finding_evidence(f, "%.0f%% of the bytes", percent);
	return true;
}

/* "80% of 412 MB/s is allocated in Shop.Tax.Compute", as long as a headline may be. */
static void alloc_message(const struct alloc_numbers *n, double percent, const char *before, const char *name, struct finding *f)
{
	AUTO_BUF struct buf line;
	buf_init(&line, 4096);
	phrase_percent(&line, percent);
	buf_puts(&line, " of ");
	size_text_bytes(&line, alloc_whole(n->bytes_per_second));
	buf_puts(&line, "/s");
	size_t used = phrase_chars(buf_str(&line)) + strlen(before), room = used < HEADLINE_MAX_CHARS ? HEADLINE_MAX_CHARS - used : 0;
	if (name[0] && room >= LEAST_NAME_CHARS) {
		buf_puts(&line, before);
		method_name_shorten(name, room, &line);
	} else {
		buf_append(&line, before, strcspn(before, ":"));
	}
	finding_message(f, "%s", buf_str(&line));
	finding_place(f, name);
}

/* what is allocated ------------------------------------------------------------------------------------------------------------- */

/* What is special of most that the first method allocates explains as much as that method. */
static double at_least_site(const struct alloc_numbers *n, double percent, const struct rule_text *method)
{
	bool same = method->text[0] && strcmp(method->text, n->site_method.text) == 0;
	return same && n->site_percent > percent ? n->site_percent : percent;
}

static struct rule_score is_large(const void *numbers)
{
	const struct alloc_numbers *n = alloc_numbers_in(numbers);
	return alloc_score(n, n->large_percent >= LARGE_PERCENT, at_least_site(n, n->large_percent, &n->large_method));
}

static void says_large(const void *numbers, struct finding *f)
{
	const struct alloc_numbers *n = alloc_numbers_in(numbers);
	if (alloc_excluded(n, "large objects", n->large_percent, f))
		return;
	alloc_message(n, n->large_percent, " are large objects: ", n->large_method.text[0] ? n->large_method.text : n->large_type.text, f);
	finding_evidence(f, "%.1f MB/s of %s to the large object heap", n->bytes_per_second * n->large_percent / 1e8, n->large_type.text);
}

static struct rule_score is_of_boxes(const void *numbers)
{
	const struct alloc_numbers *n = alloc_numbers_in(numbers);
	return alloc_score(n, n->boxed_percent >= BOXED_PERCENT, at_least_site(n, n->boxed_percent, &n->boxed_method));
}

static void says_of_boxes(const void *numbers, struct finding *f)
{
	const struct alloc_numbers *n = alloc_numbers_in(numbers);
	if (alloc_excluded(n, "boxed values", n->boxed_percent, f))
		return;
	alloc_message(n, n->boxed_percent, " are boxed values: ", n->boxed_method.text[0] ? n->boxed_method.text : n->boxed_type.text, f);
	finding_evidence(f, "%.1f MB/s, most of it %s", n->bytes_per_second * n->boxed_percent / 1e8, n->boxed_type.text);
}

/* who ---------------------------------------------------------------------------------------------------------------------------- */

static struct rule_score is_one_method(const void *numbers)
{
	const struct alloc_numbers *n = alloc_numbers_in(numbers);
	return alloc_score(n, n->site_percent >= ONE_PERCENT_OF, n->site_percent);
}

static void says_one_method(const void *numbers, struct finding *f)
{
	const struct alloc_numbers *n = alloc_numbers_in(numbers);
	if (alloc_excluded(n, "one method that allocates most", n->site_percent, f))
		return;
	alloc_message(n, n->site_percent, " is allocated in ", n->site_method.text, f);
	finding_evidence(f, "%.0f samples in %.0f s", n->samples, n->seconds);
}

static struct rule_score is_one_type(const void *numbers)
{
	const struct alloc_numbers *n = alloc_numbers_in(numbers);
	return alloc_score(n, n->type_percent >= ONE_PERCENT_OF && n->site_percent < ONE_PERCENT_OF, n->type_percent);
}

static void says_one_type(const void *numbers, struct finding *f)
{
	const struct alloc_numbers *n = alloc_numbers_in(numbers);
	if (f->state == FINDING_EXCLUDED && !alloc_rules_idle(n) && n->site_percent >= ONE_PERCENT_OF) {
		finding_message(f, "one type from many methods");
		finding_evidence(f, "%.0f%% of the bytes are one method's", n->site_percent);
		return;
	}
	if (alloc_excluded(n, "one type from many methods", n->type_percent, f))
		return;
	alloc_message(n, n->type_percent, " allocated is ", n->type_name.text, f);
	finding_evidence(f, "%.0f samples in %.0f s", n->samples, n->seconds);
}

static struct rule_score is_pressure(const void *numbers)
{
	const struct alloc_numbers *n = alloc_numbers_in(numbers);
	return alloc_score(n, n->collecting_percent >= COLLECTING_PERCENT, n->collecting_percent);
}

static void says_pressure(const void *numbers, struct finding *f)
{
	const struct alloc_numbers *n = alloc_numbers_in(numbers);
	if (f->state == FINDING_EXCLUDED)
		finding_message(f, "collections that stop the application for long");
	else
		finding_message(f, "collections stop the application for %.1f%% of the time", n->collecting_percent);
	finding_evidence(f, "%.0f collection%s, %.1f%% of the time, longest %.1f ms", n->collections, n->collections > 0 && n->collections < 2 ? "" : "s",
			 n->collecting_percent, n->longest_collection_ms);
}

/* Of equal scores the first: what is special of a method's objects comes before the method. */
const struct rule alloc_rules[] = {
	{"LargeObjectAllocations", needs_samples, is_large, says_large},
	{"BoxedValues", needs_samples, is_of_boxes, says_of_boxes},
	{"AllocationHotspot", needs_samples, is_one_method, says_one_method},
	{"AllocationOfOneType", needs_samples, is_one_type, says_one_type},
	{"AllocationPressure", needs_samples, is_pressure, says_pressure},
};
const size_t alloc_rule_count = sizeof alloc_rules / sizeof *alloc_rules;
