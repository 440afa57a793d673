/* The command line of `kubectl drdotnet`, driven by one table: parsing, --help and the words of the shell's completion. Pure but for
 * plugin_options_print_*. */
#ifndef DRDOTNET_PLUGIN_OPTIONS_H
#define DRDOTNET_PLUGIN_OPTIONS_H

#include "common/api/session_options.h"

#include <stdio.h>

/* What the program exits with. */
enum plugin_exit {
	PLUGIN_OK = 0,     /* also: ended early by Ctrl-C, with a diagnosis */
	PLUGIN_FAILED = 1, /* the session failed, a check of the doctor failed, or something could not be reached */
	PLUGIN_USAGE = 2,  /* the command line is wrong */
};

enum plugin_command {
	PLUGIN_HELP = OPTION_HELP,             /* also of a command: see `about` */
	PLUGIN_VERSION = OPTION_VERSION,
	PLUGIN_COMPLETE = OPTION_COMPLETING,   /* the shell asks for words: plugin_options_complete() */
	PLUGIN_PROFILE = OPTION_COMMANDS,
	PLUGIN_LS,
	PLUGIN_REPORT,
	PLUGIN_PS,
	PLUGIN_CANCEL,
	PLUGIN_DELETE,
	PLUGIN_DIFF,
	PLUGIN_TRIGGERS,
	PLUGIN_DOCTOR,
};

#define PLUGIN_OPERANDS (OPTION_WORDS - 1)

enum plugin_format { PLUGIN_TEXT, PLUGIN_YAML, PLUGIN_JSON }; /* -o */

struct plugin_args {
	enum plugin_command command;
	const struct option_command *about; /* the command, or NULL: the program */
	struct option_words words;          /* borrowed from argv, like the others */
	/* the cluster */
	const char *kubeconfig, *context, *namespace, *system_namespace;
	bool all_namespaces;
	/* the controller's REST API */
	const char *server, *server_ca, *token_file;
	/* profile */
	const char *selector, *container, *entrypoint, *store, *name, *baseline;
	bool next_start;
	struct session_options session; /* CPUHotpaths where no profiler is given */
	int64_t pid, max_pods; /* 0: not given */
	bool dry_run, no_wait;
	enum plugin_format format;
	/* what is printed, and where files go */
	const char *output, *pod;
	bool json; /* also: format is PLUGIN_JSON */
	bool wide, watch, open, quiet, verbose;
};

/* ERR_INVALID when it cannot be understood; the message names the word. */
int plugin_options_parse(int argc, char **argv, struct plugin_args *out, struct err *e);

void plugin_options_print_help(const struct plugin_args *a, FILE *out);

/* One line for what plugin_options_parse() refused. */
void plugin_options_print_error(const struct plugin_args *a, const struct err *e, FILE *out);

/* option_program_complete() of the plugin; what it may return: ":files", ":sessions", ":targets", ":namespaces" or ":contexts". */
const char *plugin_options_complete(int argc, char *const argv[], FILE *out);

#endif
