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
	int64_t least, most;  /* of a number; `least` of option_set_value is the value */
	const char *values;   /* words for the shell's completion: "Auto Exact"; ":files", ":folders" or ":processes" of the machine; NULL: none */
	const char *help;     /* further lines after \n */
	const char *initial;  /* the value where neither command line nor environment gives one; NULL: none */
};

option_set_fn option_set_text;     /* const char *; not empty */
option_set_fn option_set_number;   /* int64_t, least to most */
option_set_fn option_set_duration; /* int64_t, seconds: 1s to 1h */
option_set_fn option_set_on, option_set_off; /* bool; the value of a variable is true or false */
option_set_fn option_set_value;    /* an enum: `least` */
option_set_fn option_set_last;     /* the same, and OPTIONS_END: nothing behind it counts (--help) */
option_set_fn option_set_log_level;

struct option_table {
	const struct option_row *rows;
	size_t count;
	unsigned command; /* rows of this bit and those of all commands; ~0u: all rows */
	/* A word that is no option; NULL: there may be none. Returns as option_set_fn. */
	int (*on_word)(void *args, const char *word, struct err *e);
};

/* The initial values, then the variables that `env` knows (an empty one counts as unset). Returns 0 or -1. */
int options_read_environment(const struct option_table *t, const char *(*env)(const char *name), void *args, struct err *e);

/* argv[first] and on. 0, OPTIONS_END, or -1: ERR_INVALID with a message that names the word, and the option that may have been meant. */
int options_read_words(const struct option_table *t, int argc, char *const argv[], int first, void *args, struct err *e);

/* "90", "90s", "2m", "1h" to seconds, 1..3600; -1 otherwise. */
int64_t option_parse_duration(const char *text);

/* Of `names` the one that `word` was probably meant to be, whatever the case of its letters: at most two letters, or a fourth of it, are
 * mistyped. NULL: none. */
const char *option_nearest(const char *word, const char *const *names, size_t count);

/* The options with their help. */
void options_print_help(const struct option_table *t, FILE *out);

/* A program with commands, each of which takes the rows with its bit. */
struct option_command {
	const char *name;
	int command;          /* the program's own number for it; its bit in option_row.commands is 1u << command */
	const char *operands; /* what its words are, as option_row.values; NULL: it has none */
	size_t least, most;   /* how many words it takes, where the program looks at that */
	const char *usage, *help;
};

struct option_program {
	const struct option_command *commands;
	size_t command_count;
	struct option_table options; /* `command` is that of the command at hand */
};

/* NULL: there is none of this name; with `e` that is ERR_INVALID and the message names what may have been meant. */
const struct option_command *option_program_find(const struct option_program *p, const char *name, struct err *e);
struct option_table option_program_table(const struct option_program *p, const struct option_command *c);
void option_program_print_commands(const struct option_program *p, FILE *out);

/* Shell completion, `program --complete WORD...`: prints what the last word may become, one a line. Returns NULL, or what is to be offered
 * besides: a value with a colon, such as ":files" (borrowed from the tables). */
#define OPTION_COMPLETE "--complete"
const char *option_program_complete(const struct option_program *p, int argc, char *const argv[], FILE *out);

#endif
