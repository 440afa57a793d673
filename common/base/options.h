/* One reader for the command lines of all programs: a table of rows, each an option with the field that it sets, gives parsing, values from
 * the environment, --help and the words of the shell's completion. Pure but for options_print_*; any thread.
 *
 * "--name value", "--name=value" and "-n value" are read; values are borrowed from argv and the environment. */
#ifndef DRDOTNET_OPTIONS_H
#define DRDOTNET_OPTIONS_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct option_row;

/* Sets a field of `args` from a value; `name` is how it was given, an option or a variable; `value` NULL: the option stands alone.
 * 0: go on, OPTIONS_END: read no further (--help), -1 with ERR_INVALID. */
typedef int option_set_fn(const struct option_row *row, const char *name, const char *value, void *args, struct err *e);
#define OPTIONS_END 1

struct option_row {
	const char *name;     /* "--pid"; NULL: only the brief form */
	const char *brief;    /* "-f", or NULL */
	const char *argument; /* "FILE", for the help; NULL: takes none; "[=WORD]": only after an equals sign */
	const char *env;      /* the environment variable that gives it, too; NULL: none */
	unsigned commands;    /* a bit for each command that takes it; 0: all */
	option_set_fn *set;
	size_t at;            /* of the field in the program's arguments */
	int64_t least, most;  /* of a number; `least` of option_set_word and option_set_last: see there */
	const char *values;   /* words that it takes: "Auto Exact"; or ":files", ":folders", ":processes" of the machine; NULL: none */
	const char *help;     /* further lines after \n; of a row without names: a heading for those below it */
	const char *initial;  /* the value where neither command line nor environment gives one; NULL: none */
};

option_set_fn option_set_text;     /* const char *; not empty */
option_set_fn option_set_number;   /* int64_t, least to most */
option_set_fn option_set_duration; /* int64_t, seconds: 1s to 1h */
option_set_fn option_set_on, option_set_off; /* bool; the value of a variable is true or false */
option_set_fn option_set_word;     /* an enum: `least` for the first of `values`, and so on; in upper or lower case */
option_set_fn option_set_last;     /* an enum: `least`, and OPTIONS_END: nothing behind it counts (--version) */

/* Rows of the usual kinds, for a `field` of the program's arguments `args`; members of struct option_row may follow. */
#define OPTION_TEXT(args, field, option, word, text, ...) \
	{.name = option, .argument = word, .set = option_set_text, .at = offsetof(args, field), .help = text, __VA_ARGS__}
#define OPTION_NUMBER(args, field, option, word, from, to, text, ...) \
	{.name = option, .argument = word, .set = option_set_number, .at = offsetof(args, field), .least = from, .most = to, .help = text, __VA_ARGS__}
#define OPTION_WORD(args, field, option, word, words, text, ...) \
	{.name = option, .argument = word, .set = option_set_word, .at = offsetof(args, field), .values = words, .help = text, __VA_ARGS__}
#define OPTION_SWITCH(args, field, option, text, ...) \
	{.name = option, .set = option_set_on, .at = offsetof(args, field), .help = text, __VA_ARGS__}
#define OPTION_LAST(args, field, option, value, text, ...) \
	{.name = option, .set = option_set_last, .at = offsetof(args, field), .least = value, .help = text, __VA_ARGS__}
#define OPTION_LOG_LEVELS "debug info warn error" /* in the order of enum log_level */

/* What is no option, in the order in which it is given. */
#define OPTION_WORDS 16
struct option_words {
	const char *at[OPTION_WORDS]; /* NULL behind the last */
	size_t count;
};

struct option_table {
	const struct option_row *rows;
	size_t count;
	unsigned command; /* rows of this bit and those of all commands; ~0u: all rows */
	bool has_words;  /* there may be words that are no options; they go into a struct option_words: */
	size_t words_at; /* of it in the program's arguments */
};

/* The initial values, then the variables that `env` knows (an empty one counts as unset). Returns 0 or -1. */
int options_read_environment(const struct option_table *t, const char *(*env)(const char *name), void *args, struct err *e);

/* argv[first] and on. 0, OPTIONS_END, or -1: ERR_INVALID with a message that names the word, and the option that may have been meant. */
int options_read_words(const struct option_table *t, int argc, char *const argv[], int first, void *args, struct err *e);

/* "90", "90s", "2m", "1h" to seconds, 1..3600; -1 otherwise. */
int64_t option_parse_duration(const char *text);

/* Which one of the words "Auto Exact" it is, in upper or lower case; -1: none. */
int option_find_word(const char *words, const char *value);

/* ERR_INVALID that says which words were expected, and which of them may have been meant. Returns -1. */
int option_expected(const char *name, const char *words, const char *value, struct err *e);

/* Of `names` the one that `word` was probably meant to be, whatever the case of its letters: at most two letters, or a fourth of it, are
 * mistyped. NULL: none. */
const char *option_nearest(const char *word, const char *const *names, size_t count);

/* The options with their help. */
void options_print_help(const struct option_table *t, FILE *out);

/* One line: the message, and where there is help. `command` NULL: of the program. */
void options_print_error(const char *program, const char *command, const struct err *e, FILE *out);

/* A program with commands, each of which takes the rows with its bit. */
struct option_command {
	const char *name;
	int command;          /* the program's own number for it; its bit in option_row.commands is 1u << command */
	const char *operands; /* what its words are, as option_row.values; NULL: it has none */
	size_t least, most;   /* how many words it takes */
	const char *usage;    /* without the program's name; a line for each way to call it */
	const char *help;     /* one line */
	const char *details;  /* further lines of its --help, or NULL */
	int (*check)(void *args, struct err *e); /* what is given, together; NULL: nothing to check. 0 or -1, ERR_INVALID */
};

struct option_program {
	const char *name;            /* "drdotnet" */
	const char *about, *details; /* around the list of commands in its --help */
	const struct option_command *commands;
	size_t command_count;
	struct option_table options; /* `command` is that of the command at hand */
};

/* What every program can be asked; its own commands are numbered from OPTION_COMMANDS on. */
enum { OPTION_ALONE, OPTION_HELP, OPTION_VERSION, OPTION_COMPLETING, OPTION_COMMANDS };

/* Reads a command line. Returns the command's number, OPTION_ALONE (there is no word), OPTION_HELP (of *command, NULL: of the program),
 * OPTION_VERSION, OPTION_COMPLETING (the shell asks: option_program_complete()), or -1: ERR_INVALID. *command is NULL where there is none. */
int option_program_read(const struct option_program *p, int argc, char *const argv[], void *args, const struct option_command **command,
			struct err *e);
void option_program_print_help(const struct option_program *p, const struct option_command *c, FILE *out);

/* The rows of a command. */
struct option_table option_program_table(const struct option_program *p, const struct option_command *c);

/* Shell completion, `program --complete WORD...`: prints what the last word may become, one a line. Returns NULL, or what is to be offered
 * besides: a value with a colon, such as ":files" (borrowed from the tables). */
#define OPTION_COMPLETE "--complete"
const char *option_program_complete(const struct option_program *p, int argc, char *const argv[], FILE *out);

#endif
