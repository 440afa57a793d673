#include "agent/cli/cli_rules.h"

#include "agent/catalogue/catalogue.h"
#include "agent/cli/cli_output.h"
#include "agent/report/phrase.h"
#include "agent/report/report.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"
#include "common/report/report_diff_file.h"

#include <fcntl.h>
#include <string.h>

struct adding {
	FILE *errors;
	int left_out;
};

static void add_file(void *context, const char *path, const char *text, size_t length, struct err *e)
{
	struct adding *a = context;
	if (!e->message[0] && catalogue_add_user(text, length, path, e) == 0)
		return;
	a->left_out++;
	fprintf(a->errors, "%s\n", e->message);
}

int cli_rules_add(const char *path, FILE *errors, struct err *e)
{
	struct adding a = {.errors = errors};
	return catalogue_each_file(path, add_file, &a, e) ? -1 : a.left_out;
}

static int failed(const struct cli_args *a, const struct err *e)
{
	cli_output_error(stdout, stderr, a->json, e);
	return e->kind == ERR_INVALID ? CLI_USAGE : CLI_FAILED;
}

/* explaining ------------------------------------------------------------------------------------------------------- */

static void print_part(const char *label, const char *text)
{
	if (text)
		printf("%s: %s\n", label, text);
}

static int no_such_rule(const struct cli_args *a, const char *id)
{
	struct err e = ERR_INIT;
	err_set(&e, ERR_INVALID, 0, "%s: no such finding; `drdotnet rules list` lists those of the catalogue", id);
	return failed(a, &e);
}

static void print_rule(const struct catalogue_rule *r)
{
	printf("%s (%s): %s\n\n", r->id, r->profiler, r->name);
	print_part("Meaning", r->meaning);
	print_part("Recognized by", r->recognized);
	print_part("Condition", r->when);
	for (size_t i = 0; i < r->fix.count; i++)
		print_part("Fix", r->fix.list[i].say);
	print_part("Confused with", r->confused);
	for (char **source = r->sources; source && *source; source++)
		print_part("Source", *source);
}

/* Several profilers may find the same. */
int cli_explain(const struct cli_args *a)
{
	const struct catalogue_rule *r;
	bool found = false;
	for (size_t i = 0; (r = catalogue_rule_at(i)); i++) {
		if (strcmp(r->id, a->words.at[0]) != 0)
			continue;
		if (found)
			fputs("\n", stdout);
		print_rule(r);
		found = true;
	}
	return found ? CLI_OK : no_such_rule(a, a->words.at[0]);
}

/* rules ------------------------------------------------------------------------------------------------------------ */

static int list_rules(const struct cli_args *a)
{
	(void)a;
	const struct catalogue_rule *r;
	for (size_t i = 0; (r = catalogue_rule_at(i)); i++)
		printf("%-26s %-16s %s\n", r->id, r->profiler, r->name);
	return CLI_OK;
}

static void print_definition(const struct rule_definition *d, const char *unit)
{
	printf("%-24s %-8s %s%s\n", d->name, d->unit ? d->unit : unit, d->expression ? "= " : "", d->expression ? d->expression : d->means);
}

static int list_numbers(const struct cli_args *a)
{
	const struct rule_group *g = catalogue_group(a->words.at[1]);
	struct err e = ERR_INIT;
	if (!g) {
		err_set(&e, ERR_INVALID, 0, "%s: not a profiler with rules in the catalogue, such as Allocations, Exceptions or RuntimePauses",
			a->words.at[1]);
		return failed(a, &e);
	}
	for (size_t i = 0; i < g->numbers.count; i++)
		print_definition(&g->numbers.list[i], "text");
	fputs("\nnames for expressions, which rules may use as well:\n", stdout);
	for (size_t i = 0; i < g->let.count; i++)
		print_definition(&g->let.list[i], "");
	return CLI_OK;
}

static int check_rules(const struct cli_args *a)
{
	struct err e = ERR_INIT;
	size_t before = catalogue_count();
	int left_out = cli_rules_add(a->words.at[1], stderr, &e);
	if (left_out < 0)
		return failed(a, &e);
	printf("%zu %s sound, %d %s not\n", catalogue_count() - before, catalogue_count() - before == 1 ? "rule is" : "rules are", left_out,
	       left_out == 1 ? "is" : "are");
	return left_out ? CLI_USAGE : CLI_OK;
}

/* What a report that was made up, or a rule that is being written, may have wrong. */
static void warn_of(const struct catalogue_rule *r, const json_t *measured, const struct finding *f)
{
	const struct rule_group *g = catalogue_group(r->profiler);
	char key[RULE_KEY_BYTES];
	size_t known = 0;
	for (size_t i = 0; i < g->numbers.count; i++) {
		const json_t *value = json_object_get(measured, rules_json_key(g->numbers.list[i].name, key));
		known += value != NULL;
		if (value && !json_is_null(value) && (g->numbers.list[i].unit ? !json_is_number(value) : !json_is_string(value)))
			fprintf(stderr, "warning: measured.%s: expected a %s; it counts as unknown\n", key, g->numbers.list[i].unit ? "number" : "text");
	}
	if (known < json_object_size(measured))
		fprintf(stderr, "warning: measured has %zu names that %s does not have; they are written likeThis\n", json_object_size(measured) - known,
			r->profiler);
	if (f->score && phrase_chars(f->message) > HEADLINE_MAX_CHARS)
		fprintf(stderr, "warning: the headline has %zu characters, at most %d fit\n", phrase_chars(f->message), HEADLINE_MAX_CHARS);
}

static void print_verdict(const struct catalogue_rule *r, const struct finding *f)
{
	printf("%s: %s\n", r->id, finding_state_name(f->state));
	if (f->score)
		printf("score: %d\n", f->score);
	print_part(f->state == FINDING_NOT_MEASURED ? "reason" : "message", f->message);
	print_part("why", f->evidence[0] ? f->evidence : NULL);
	print_part("place", f->place[0] ? f->place : NULL);
	print_part("fix", f->fix[0] ? f->fix : NULL);
}

/* Adds the rule of a file. NULL: *e. */
static const struct catalogue_rule *rule_of_file(const char *path, struct err *e)
{
	AUTO_BUF struct buf text;
	struct catalogue_rule parsed;
	if (fsio_read(AT_FDCWD, path, RULE_FILE_MAX_BYTES, &text, e) || catalogue_add_user(buf_str(&text), text.len, path, e))
		return NULL;
	bool is_sound = rule_file_parse(buf_str(&text), text.len, path, &parsed, e) == 0;
	const struct catalogue_rule *r = is_sound ? catalogue_find(parsed.id, parsed.profiler) : NULL;
	catalogue_rule_fini(&parsed);
	return r;
}

/* Of several of that id the one of the report's profiler, where there is one. */
static const struct catalogue_rule *rule_of_word(const char *word, const char *profiler, struct err *e)
{
	const struct catalogue_rule *of_report = catalogue_find(word, profiler), *r = of_report ? of_report : catalogue_find(word, NULL);
	if (r || strchr(word, '.'))
		return r ? r : rule_of_file(word, e);
	err_set(e, ERR_INVALID, 0, "%s: neither a finding of the catalogue nor a file such as slow.yaml", word);
	return NULL;
}

static int test_rule(const struct cli_args *a)
{
	struct err e = ERR_INIT;
	AUTO_JSON json_t *report = report_diff_file_read(a->words.at[2], &e);
	const char *profiler = report ? jsonx_str_at(report, "profiler", NULL) : NULL;
	const struct catalogue_rule *r = report ? rule_of_word(a->words.at[1], profiler, &e) : NULL;
	const json_t *measured = json_object_get(report, "measured");
	struct finding f;
	if (r && !json_is_object(measured))
		err_set(&e, ERR_INVALID, 0, "%s: has no 'measured': it is not a report.json of Dr-Dotnet", a->words.at[2]);
	else if (r && profiler && strcmp(profiler, r->profiler) != 0)
		err_set(&e, ERR_INVALID, 0, "%s: is a report of %s, and %s judges %s", a->words.at[2], profiler, r->id, r->profiler);
	if (e.message[0])
		return failed(a, &e);
	catalogue_judge_measured(r, measured, &f);
	print_verdict(r, &f);
	warn_of(r, measured, &f);
	return CLI_OK;
}

int cli_rules(const struct cli_args *a)
{
	static const struct {
		const char *name;
		size_t words;
		int (*run)(const struct cli_args *a);
	} verbs[] = {{"list", 1, list_rules}, {"numbers", 2, list_numbers}, {"check", 2, check_rules}, {"test", 3, test_rule}};
	struct err e = ERR_INIT;
	for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
		if (strcmp(a->words.at[0], verbs[i].name) == 0 && a->words.count == verbs[i].words)
			return verbs[i].run(a);
	err_set(&e, ERR_INVALID, 0, "rules %s: expected list, numbers PROFILER, check FOLDER, or test RULE REPORT", a->words.at[0]);
	return failed(a, &e);
}
