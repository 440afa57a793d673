/* The command line of `drdotnet`, driven by one table: parsing, --help and the words of the shell's completion. Pure but for
 * cli_print_*. */
#ifndef DRDOTNET_CLI_OPTIONS_H
#define DRDOTNET_CLI_OPTIONS_H

#include "common/api/session_options.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What the program exits with. */
enum cli_exit {
	CLI_OK = 0,     /* also: ended early by Ctrl-C, with a report of what there was */
	CLI_FAILED = 1, /* the session failed, or there was no process for it */
	CLI_USAGE = 2,  /* the command line or the manifest is wrong */
};

enum cli_command {
	CLI_WELCOME = OPTION_ALONE,     /* no word at all */
	CLI_HELP = OPTION_HELP,         /* also of a command: see `about` */
	CLI_VERSION = OPTION_VERSION,
	CLI_COMPLETE = OPTION_COMPLETING, /* the shell asks for words: cli_complete() */
	CLI_PS = OPTION_COMMANDS,
	CLI_RUN,
	CLI_SERVE,
	CLI_DIFF,
	CLI_EXPLAIN,
	CLI_RULES,
	CLI_COMPLETION,
};

struct cli_args {
	enum cli_command command;
	const struct option_command *about; /* the command, or NULL: the program */
	char *const *start;                 /* of `run`, what follows "--": the command to start and profile, with a NULL at its end; NULL: none */
	struct option_words words;          /* of `diff` the two reports; borrowed from argv, like the others */
	const char *file;          /* -f */
	const char *name;
	const char *output;
	const char *rules;         /* a folder of users' rules, or one file */
	const char *baseline;      /* a report.json, or its folder */
	int64_t pid;               /* 0: not given */
	struct session_options session;
	/* of `serve` */
	int64_t port;              /* 0: any free one */
	int64_t at_once;           /* 0: not given */
	const char *bind, *reports, *token_file, *tls_cert, *tls_key;
	bool no_web_ui, no_rest_api;
	bool json, quiet, verbose;
};

/* ERR_INVALID when it cannot be understood; the message names the word. */
int cli_parse(int argc, char **argv, struct cli_args *out, struct err *e);

void cli_print_help(const struct cli_args *a, FILE *out);

/* One line for what cli_parse() refused. */
void cli_print_usage_error(const struct cli_args *a, const struct err *e, FILE *out);

/* option_program_complete() of `drdotnet`; what it may return: ":files [EXTENSION...]", ":folders" or ":processes". */
const char *cli_complete(int argc, char *const argv[], FILE *out);

#endif
