#include "common/base/options.h"

#include "common/base/buf.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_DURATION_SECONDS 3600
#define MAX_SUGGESTED 32 /* characters of a word that is compared with the names */
#define MAX_ROWS 96
#define HELP_COLUMN 29
#define WORDS_MAX 512 /* characters of a list of words */

static bool row_applies(const struct option_table *t, const struct option_row *row)
{
	return !row->commands || (row->commands & t->command);
}

static const char *option_name(const struct option_row *row)
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

int option_set_last(const struct option_row *row, const char *name, const char *value, void *args, struct err *e)
{
	(void)name, (void)value, (void)e;
	*(int *)field_of(row, args) = (int)row->least;
	return OPTIONS_END;
}

int option_set_word(const struct option_row *row, const char *name, const char *value, void *args, struct err *e)
{
	int index = option_find_word(row->values, value);
	if (index < 0)
		return option_expected(name, row->values, value, e);
	*(int *)field_of(row, args) = (int)row->least + index;
	return 0;
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

static int unknown(const char *what, const char *word, const char *nearest, struct err *e)
{
	return err_set(e, ERR_INVALID, 0, "unknown %s: %.80s%s%s%s", what, word, nearest ? "; did you mean " : "", nearest ? nearest : "",
		       nearest ? "?" : "");
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
	return unknown("option", word, nearest, e);
}

/* The words of a list "Auto Exact", copied to `text`, which they point into. */
static size_t split_words(const char *words, char *text, size_t size, const char *out[MAX_ROWS])
{
	size_t count = 0;
	char *rest = text, *word;
	snprintf(text, size, "%s", words);
	while (count < MAX_ROWS && (word = strsep(&rest, " ")))
		if (*word)
			out[count++] = word;
	return count;
}

int option_find_word(const char *words, const char *value)
{
	char text[WORDS_MAX];
	const char *names[MAX_ROWS];
	size_t count = split_words(words, text, sizeof text, names);
	for (size_t i = 0; i < count; i++)
		if (strcasecmp(names[i], value) == 0)
			return (int)i;
	return -1;
}

int option_expected(const char *name, const char *words, const char *value, struct err *e)
{
	char text[WORDS_MAX];
	const char *names[MAX_ROWS];
	size_t count = split_words(words, text, sizeof text, names);
	const char *nearest = option_nearest(value, names, count);
	AUTO_BUF struct buf list;
	buf_init(&list, WORDS_MAX * 2);
	for (size_t i = 0; i < count; i++)
		buf_printf(&list, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", names[i]);
	return err_set(e, ERR_INVALID, 0, "%s: expected %s, found \"%.80s\"%s%s%s", name, buf_str(&list), value, nearest ? "; did you mean " : "",
		       nearest ? nearest : "", nearest ? "?" : "");
}

/* reading ---------------------------------------------------------------------------------------------------------- */

static bool is_option_name(const char *name, const char *word, size_t len)
{
	return name && strlen(name) == len && memcmp(name, word, len) == 0;
}

static const struct option_row *find_row(const struct option_table *t, const char *word, size_t len)
{
	for (size_t i = 0; i < t->count; i++)
		if (row_applies(t, &t->rows[i]) && (is_option_name(t->rows[i].name, word, len) || is_option_name(t->rows[i].brief, word, len)))
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
	return row->set(row, option_name(row), value, args, e);
}

static int read_word(const struct option_table *t, const char *word, void *args, struct err *e)
{
	struct option_words *words = (struct option_words *)(void *)((char *)args + t->words_at);
	if (!t->has_words || words->count + 1 == OPTION_WORDS)
		return err_set(e, ERR_INVALID, 0, "unexpected word: %.80s", word);
	if (!*word)
		return err_set(e, ERR_INVALID, 0, "a word is empty");
	words->at[words->count++] = word;
	return 0;
}

int options_read_words(const struct option_table *t, int argc, char *const argv[], int first, void *args, struct err *e)
{
	int rc = 0;
	for (int i = first; i < argc && rc == 0; i++) {
		if (argv[i][0] == '-' && argv[i][1])
			rc = read_option(t, argc, argv, &i, args, e);
		else
			rc = read_word(t, argv[i], args, e);
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
static void print_option_row(FILE *out, const char *left, const char *help)
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
		if (!row->name && !row->brief) {
			fprintf(out, "\n%s:\n", row->help);
			continue;
		}
		char left[80], help[600];
		snprintf(left, sizeof left, "%s%s%s%s%s", row->brief ? row->brief : "", row->brief && row->name ? ", " : "", row->name ? row->name : "",
			 row->argument && row->argument[0] != '[' ? " " : "", row->argument ? row->argument : "");
		snprintf(help, sizeof help, "%s%s%s%s%s", row->help, row->initial && *row->initial ? "\ndefault: " : "", row->initial ? row->initial : "",
			 row->env ? "\nenvironment: " : "", row->env ? row->env : "");
		print_option_row(out, left, help);
	}
}

void options_print_error(const char *program, const char *command, const struct err *e, FILE *out)
{
	fprintf(out, "%s: %s (see %s%s%s --help)\n", program, e->message, program, command ? " " : "", command ? command : "");
}

static const struct option_command *find_command(const struct option_program *p, const char *name)
{
	for (size_t i = 0; i < p->command_count; i++)
		if (strcmp(p->commands[i].name, name) == 0)
			return &p->commands[i];
	return NULL;
}

/* completion ------------------------------------------------------------------------------------------------------- */

static void print_words_with(FILE *out, const char *words, const char *beginning)
{
	for (const char *word = words; *word;) {
		size_t len = strcspn(word, " ");
		if (strncmp(word, beginning, strlen(beginning)) == 0)
			fprintf(out, "%.*s\n", (int)len, word);
		word += len + (word[len] == ' ');
	}
}

/* A list of words offers those that begin so; what only the machine knows is returned. */
static const char *complete_word(const char *values, const char *word, FILE *out)
{
	if (values && values[0] == ':')
		return values;
	print_words_with(out, values ? values : "", word);
	return NULL;
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
	const struct option_command *c = find_command(p, argv[2]);
	if (!c)
		return NULL;
	struct option_table t = option_program_table(p, c);
	const struct option_row *before = find_row(&t, argv[argc - 2], strlen(argv[argc - 2]));
	if (before && before->argument && before->argument[0] != '[')
		return complete_word(before->values, word, out);
	if (*word != '-')
		return complete_word(c->operands, word, out);
	for (size_t i = 0; i < t.count; i++)
		if (t.rows[i].name && row_applies(&t, &t.rows[i]))
			print_words_with(out, t.rows[i].name, word);
	return NULL;
}

/* programs with commands ------------------------------------------------------------------------------------------- */

struct option_table option_program_table(const struct option_program *p, const struct option_command *c)
{
	struct option_table t = p->options;
	t.command = 1u << c->command;
	t.has_words = true;
	return t;
}

static int unknown_command(const struct option_program *p, const char *name, struct err *e)
{
	const char *names[MAX_ROWS];
	size_t count = 0;
	for (; count < p->command_count && count < MAX_ROWS; count++)
		names[count] = p->commands[count].name;
	return unknown("command", name, option_nearest(name, names, count), e);
}

static int check(const struct option_program *p, const struct option_command *c, void *args, struct err *e)
{
	const struct option_words *words = (const struct option_words *)(const void *)((const char *)args + p->options.words_at);
	if (words->count > c->most)
		return err_set(e, ERR_INVALID, 0, "unexpected word: %.80s", words->at[c->most]);
	if (words->count < c->least)
		return err_set(e, ERR_INVALID, 0, "a word is missing: %s %.*s", p->name, (int)strcspn(c->usage, "\n"), c->usage);
	return c->check ? c->check(args, e) : 0;
}

static bool is_either(const char *word, const char *a, const char *b)
{
	return strcmp(word, a) == 0 || strcmp(word, b) == 0;
}

int option_program_read(const struct option_program *p, int argc, char *const argv[], void *args, const struct option_command **command,
			struct err *e)
{
	const char *first = argc > 1 ? argv[1] : NULL, *name = first;
	*command = NULL;
	if (!first)
		return OPTION_ALONE;
	if (is_either(first, "--version", "version"))
		return OPTION_VERSION;
	if (strcmp(first, OPTION_COMPLETE) == 0)
		return OPTION_COMPLETING;
	bool help = strcmp(first, "help") == 0;
	if (help)
		name = argc > 2 ? argv[2] : NULL;
	if (!name || is_either(first, "--help", "-h"))
		return OPTION_HELP;
	*command = find_command(p, name);
	if (!*command)
		return unknown_command(p, name, e);
	if (help)
		return OPTION_HELP;
	struct option_table t = option_program_table(p, *command);
	int rc = options_read_words(&t, argc, argv, 2, args, e);
	if (rc == 0)
		rc = check(p, *command, args, e);
	return rc < 0 ? -1 : rc == OPTIONS_END ? OPTION_HELP : (*command)->command;
}

static void print_usage(const struct option_program *p, const struct option_command *c, FILE *out)
{
	const char *before = "usage:";
	for (const char *line = c->usage; *line; before = "") {
		size_t len = strcspn(line, "\n");
		fprintf(out, "%-6s %s %.*s\n", before, p->name, (int)len, line);
		line += len + (line[len] == '\n');
	}
}

void option_program_print_help(const struct option_program *p, const struct option_command *c, FILE *out)
{
	if (c) {
		struct option_table t = option_program_table(p, c);
		print_usage(p, c, out);
		fprintf(out, "\n%s\n%s%s%s", c->help, c->details ? "\n" : "", c->details ? c->details : "", c->details ? "\n" : "");
		options_print_help(&t, out);
		return;
	}
	fprintf(out, "%s\n\ncommands:\n", p->about);
	for (size_t i = 0; i < p->command_count; i++)
		fprintf(out, "  %-10s %s\n", p->commands[i].name, p->commands[i].help);
	fprintf(out, "\n%s\n", p->details);
}
