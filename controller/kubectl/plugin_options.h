/* The command line of `kubectl drdotnet`, driven by one table: parsing, --help and the words of the shell's completion. Pure but for
 * plugin_options_print_*. */
#ifndef DRDOTNET_PLUGIN_OPTIONS_H
#define DRDOTNET_PLUGIN_OPTIONS_H

#include "common/api/session_spec.h"
#include "common/base/err.h"

#include <stdio.h>

/* What the program exits with. */
enum plugin_exit {
	PLUGIN_OK = 0,     /* also: ended early by Ctrl-C, with a diagnosis */
	PLUGIN_FAILED = 1, /* the session failed, a check of the doctor failed, or something could not be reached */
	PLUGIN_USAGE = 2,  /* the command line is wrong */
};

enum plugin_command {
	PLUGIN_HELP,       /* also of a command: see `about` */
	PLUGIN_VERSION,
	PLUGIN_WORDS,      /* words for the completion of the command `about` */
	PLUGIN_PROFILE,
	PLUGIN_LS,
	PLUGIN_REPORT,
	PLUGIN_PS,
	PLUGIN_CANCEL,
	PLUGIN_DELETE,
	PLUGIN_DIFF,
	PLUGIN_TRIGGERS,
	PLUGIN_DOCTOR,
};

#define PLUGIN_OPERANDS 16

struct plugin_args {
	enum plugin_command command;
	const char *about;          /* the command's name or NULL: the program; borrowed from argv, like the others */
	const char *operands[PLUGIN_OPERANDS];
	size_t operand_count;
	/* the cluster */
	const char *kubeconfig, *context, *namespace, *system_namespace;
	bool all_namespaces;
	/* the controller's REST API */
	const char *server, *server_ca, *token_file;
	/* profile */
	const char *selector, *container, *entrypoint, *store, *name, *baseline;
	enum profiler_kind profiler;
	enum heap_roots roots;
	int64_t pid, max_pods, frequency_hertz, duration_seconds, walks, pause_budget_ms; /* 0: not given */
	bool has_roots, reveal, dry_run, no_wait;
	/* what is printed, and where files go */
	const char *output, *pod;
	bool json, wide, watch, open, quiet, verbose;
};

/* ERR_INVALID when it cannot be understood; the message names the word. */
int plugin_options_parse(int argc, char **argv, struct plugin_args *out, struct err *e);

/* "30", "30s", "2m", "1h" to seconds, 1..3600; -1 otherwise. */
int64_t plugin_options_duration(const char *text);

/* "cpu": what a profiler is called on the command line and in the names of sessions. */
const char *plugin_options_profiler(enum profiler_kind kind);

void plugin_options_print_help(const char *about, FILE *out);
void plugin_options_print_words(const char *about, FILE *out);

#endif
