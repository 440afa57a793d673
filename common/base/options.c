#include "common/base/options.h"

#include "common/base/log.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DURATION_SECONDS 3600
#define MAX_SUGGESTED 32 /* characters of a word that is compared with the names */
#define MAX_ROWS 64
#define HELP_COLUMN 29

static bool row_applies(const struct option_table *t, const struct option_row *row)
{
	return !row->commands || (row->commands & t->command);
}

static const char *shown_name(const struct option_row *row)
{
	return row->name ? row->name : row->brief;
}

static void *field_of(const struct option_row *row, void *args)
{
	return (char *)args + row->at;
}

/* setting fields --------------------------------------------------------------------------------------------------- */

int option_set_text(const struct option_row *row, const char *name, const char *value, void *args, struct err *e)
{
	if (!*value)
		return err_set(e, ERR_INVALID, 0, "%s: must not be empty", name);
	*(const char **)field_of(row, args) = value;
	return 0;
}

int option_set_number(const struct option_row *row, const char *name, const char *value, void *args, struct err *e)
{
	char *end;
	errno = 0;
	long long v = strtoll(value, &end, 10);
	if (end == value || *end || errno || v < row->least || v > row->most)
		return err_set(e, ERR_INVALID, 0, "%s: expected a number from %lld to %lld, found \"%.80s\"", name, (long long)row->least,
			       (long long)row->most, value);
	*(int64_t *)field_of(row, args) = v;
	return 0;
}

int64_t option_parse_duration(const char *text)
{
	static const struct {
		const char *unit;
		int64_t seconds;
	} units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}};
	if (!isdigit((unsigned char)*text))
		return -1;
	char *end;
	errno = 0;
	long v = strtol(text, &end, 10);
	if (errno || v < 1 || v > MAX_DURATION_SECONDS)
		return -1;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(end, units[i].unit) == 0)
			return v * units[i].seconds <= MAX_DURATION_SECONDS ? v * units[i].seconds : -1;
	return -1;
}

int option_set_duration(const struct option_row *row, const char *name, const char *value, void *args, struct err *e)
{
	int64_t seconds = option_parse_duration(value);
	if (seconds < 0)
		return err_set(e, ERR_INVALID, 0, "%s: expected a time of 1s to 1h, such as 30s, found \"%.80s\"", name, value);
	*(int64_t *)field_of(row, args) = seconds;
	return 0;
}

static int set_switch(const char *name, const char *value, bool alone, bool *out, struct err *e)
{
	if (!value)
		*out = alone;
	else if (strcmp(value, "true") == 0 || strcmp(value, "1") == 0)
		*out = true;
	else if (strcmp(value, "false") == 0 || strcmp(value, "0") == 0)
		*out = false;
	else
		return err_set(e, ERR_INVALID, 0, "%s: expected true or false, found \"%.80s\"", name, value);
	return 0;
}

int option_set_on(const struct option_row *row, const char *name, const char *value, void *args, struct err *e)
{
	return set_switch(name, value, true, field_of(row, args), e);
}

int option_set_off(const struct option_row *row, const char *name, const char *value, void *args, struct err *e)
{
	return set_switch(name, value, false, field_of(row, args), e);
}

int option_set_value(const struct option_row *row, const char *name, const char *value, void *args, struct err *e)
{
	(void)name, (void)value, (void)e;
	*(int *)field_of(row, args) = (int)row->least;
	return 0;
}

int option_set_last(const struct option_row *row, const char *name, const char *value, void *args, struct err *e)
{
	option_set_value(row, name, value, args, e);
	return OPTIONS_END;
}

int option_set_log_level(const struct option_row *row, const char *name, const char *value, void *args, struct err *e)
{
	if (log_parse_level(value, field_of(row, args)) == 0)
		return 0;
	return err_set(e, ERR_INVALID, 0, "%s: expected debug, info, warn or error, found \"%.80s\"", name, value);
}

/* what may have been meant ----------------------------------------------------------------------------------------- */

static size_t least_of(size_t a, size_t b, size_t c)
{
	return a < b ? (a < c ? a : c) : (b < c ? b : c);
}

/* How many letters must be changed, added or taken away (Levenshtein, 1965), whatever their case. Both at most MAX_SUGGESTED long. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t row[MAX_SUGGESTED + 1], len = strlen(b);
	for (size_t j = 0; j <= len; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1]; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= len; j++) {
			size_t same = diagonal + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
			diagonal = row[j];
			row[j] = least_of(row[j] + 1, row[j - 1] + 1, same);
		}
	}
	return row[len];
}

const char *option_nearest(const char *word, const char *const *names, size_t count)
{
	const char *nearest = NULL;
	size_t len = strlen(word), least = (len < 8 ? 2 : len / 4) + 1;
	for (size_t i = 0; i < count && len <= MAX_SUGGESTED; i++) {
		size_t distance = names[i] && strlen(names[i]) <= MAX_SUGGESTED ? edit_distance(word, names[i]) : least;
		if (distance < least) {
			least = distance;
			nearest = names[i];
		}
	}
	return nearest;
}

static int unknown_option(const struct option_table *t, const char *word, size_t len, struct err *e)
{
	const char *names[MAX_ROWS], *nearest = NULL;
	char name[MAX_SUGGESTED + 1];
	size_t count = 0;
	for (size_t i = 0; i < t->count && count < MAX_ROWS; i++)
		if (row_applies(t, &t->rows[i]))
			names[count++] = t->rows[i].name;
	if (len <= MAX_SUGGESTED) {
		snprintf(name, sizeof name, "%.*s", (int)len, word);
		nearest = option_nearest(name, names, count);
	}
	return err_set(e, ERR_INVALID, 0, "unknown option: %.80s%s%s%s", word, nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

/* reading ---------------------------------------------------------------------------------------------------------- */

static bool is_name(const char *name, const char *word, size_t len)
{
	return name && strlen(name) == len && memcmp(name, word, len) == 0;
}

static const struct option_row *find_row(const struct option_table *t, const char *word, size_t len)
{
	for (size_t i = 0; i < t->count; i++)
		if (row_applies(t, &t->rows[i]) && (is_name(t->rows[i].name, word, len) || is_name(t->rows[i].brief, word, len)))
			return &t->rows[i];
	return NULL;
}

/* The option at argv[*i], whose value may be the word after it. */
static int read_option(const struct option_table *t, int argc, char *const argv[], int *i, void *args, struct err *e)
{
	const char *word = argv[*i];
	size_t len = strcspn(word, "=");
	const struct option_row *row = find_row(t, word, len);
	if (!row)
		return unknown_option(t, word, len, e);
	const char *value = word[len] ? word + len + 1 : NULL;
	if (!row->argument && value)
		return err_set(e, ERR_INVALID, 0, "this option takes no value: %.80s", word);
	if (row->argument && row->argument[0] != '[' && !value) {
		if (*i + 1 >= argc)
			return err_set(e, ERR_INVALID, 0, "this option needs a value: %.80s", word);
		value = argv[++*i];
	}
	return row->set(row, shown_name(row), value, args, e);
}

int options_read_words(const struct option_table *t, int argc, char *const argv[], int first, void *args, struct err *e)
{
	int rc = 0;
	for (int i = first; i < argc && rc == 0; i++) {
		if (argv[i][0] == '-' && argv[i][1])
			rc = read_option(t, argc, argv, &i, args, e);
		else if (t->on_word)
			rc = t->on_word(args, argv[i], e);
		else
			rc = err_set(e, ERR_INVALID, 0, "unexpected word: %.80s", argv[i]);
	}
	return rc;
}

int options_read_environment(const struct option_table *t, const char *(*env)(const char *name), void *args, struct err *e)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct option_row *row = &t->rows[i];
		const char *value = row->env ? env(row->env) : NULL;
		bool given = value && *value;
		if (!given && !row->initial)
			continue;
		if (row->set(row, given ? row->env : row->name, given ? value : row->initial, args, e) < 0)
			return -1;
	}
	return 0;
}

/* help ------------------------------------------------------------------------------------------------------------- */

/* A name that takes the help's whole column has its text below. */
static void print_row(FILE *out, const char *left, const char *help)
{
	if (strlen(left) >= HELP_COLUMN - 2) {
		fprintf(out, "  %s\n", left);
		left = "";
	}
	for (const char *line = help; *line; left = "") {
		size_t len = strcspn(line, "\n");
		fprintf(out, "  %-*s %.*s\n", HELP_COLUMN - 2, left, (int)len, line);
		line += len + (line[len] == '\n');
	}
}

void options_print_help(const struct option_table *t, FILE *out)
{
	for (size_t i = 0; i < t->count; i++) {
		const struct option_row *row = &t->rows[i];
		if (!row_applies(t, row))
			continue;
		char left[80], help[600];
		snprintf(left, sizeof left, "%s%s%s%s%s", row->brief ? row->brief : "", row->brief && row->name ? ", " : "", row->name ? row->name : "",
			 row->argument && row->argument[0] != '[' ? " " : "", row->argument ? row->argument : "");
		snprintf(help, sizeof help, "%s%s%s%s%s", row->help, row->initial && *row->initial ? "\ndefault: " : "", row->initial ? row->initial : "",
			 row->env ? "\nenvironment: " : "", row->env ? row->env : "");
		print_row(out, left, help);
	}
}

static void print_words_with(FILE *out, const char *words, const char *beginning)
{
	for (const char *word = words; *word;) {
		size_t len = strcspn(word, " ");
		if (strncmp(word, beginning, strlen(beginning)) == 0)
			fprintf(out, "%.*s\n", (int)len, word);
		word += len + (word[len] == ' ');
	}
}

static const char *complete_value(const struct option_row *row, const char *word, FILE *out)
{
	if (row->values && row->values[0] == ':')
		return row->values;
	print_words_with(out, row->values ? row->values : "", word);
	return NULL;
}

/* programs with commands ------------------------------------------------------------------------------------------- */

const struct option_command *option_program_find(const struct option_program *p, const char *name, struct err *e)
{
	const char *names[MAX_ROWS];
	for (size_t i = 0; i < p->command_count && i < MAX_ROWS; i++) {
		names[i] = p->commands[i].name;
		if (strcmp(names[i], name) == 0)
			return &p->commands[i];
	}
	const char *nearest = option_nearest(name, names, p->command_count);
	err_set(e, ERR_INVALID, 0, "unknown command: %.80s%s%s%s", name, nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
	return NULL;
}

struct option_table option_program_table(const struct option_program *p, const struct option_command *c)
{
	struct option_table t = p->options;
	t.command = 1u << c->command;
	return t;
}

void option_program_print_commands(const struct option_program *p, FILE *out)
{
	for (size_t i = 0; i < p->command_count; i++)
		fprintf(out, "  %-10s %s\n", p->commands[i].name, p->commands[i].help);
}

const char *option_program_complete(const struct option_program *p, int argc, char *const argv[], FILE *out)
{
	const char *word = argc > 2 ? argv[argc - 1] : "";
	if (argc <= 3) {
		for (size_t i = 0; i < p->command_count; i++)
			print_words_with(out, p->commands[i].name, word);
		print_words_with(out, "--help --version", word);
		return NULL;
	}
	const struct option_command *c = option_program_find(p, argv[2], NULL);
	if (!c)
		return NULL;
	struct option_table t = option_program_table(p, c);
	const struct option_row *before = find_row(&t, argv[argc - 2], strlen(argv[argc - 2]));
	if (before && before->argument && before->argument[0] != '[')
		return complete_value(before, word, out);
	if (*word != '-')
		return c->operands;
	for (size_t i = 0; i < t.count; i++)
		if (t.rows[i].name && row_applies(&t, &t.rows[i]))
			print_words_with(out, t.rows[i].name, word);
	return NULL;
}
