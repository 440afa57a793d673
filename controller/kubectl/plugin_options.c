#include "controller/kubectl/plugin_options.h"

#include <string.h>

#define FOR(command) (1u << (command))
#define REST (FOR(PLUGIN_PROFILE) | FOR(PLUGIN_REPORT) | FOR(PLUGIN_PS) | FOR(PLUGIN_DIFF))
#define PROFILE FOR(PLUGIN_PROFILE)
#define LISTS (FOR(PLUGIN_LS) | FOR(PLUGIN_TRIGGERS))

static int set_dry_run(const struct option_row *row, const char *name, const char *value, void *args, struct err *e)
{
	(void)row;
	((struct plugin_args *)args)->dry_run = true;
	return !value || strcmp(value, "client") == 0 ? 0 : err_set(e, ERR_INVALID, 0, "%s: only client is known", name);
}

#define ARGS struct plugin_args
#define TEXT(option, short_form, word, takers, field, words, text) \
	OPTION_TEXT(ARGS, field, option, word, text, .brief = short_form, .commands = (takers), .values = words)
#define NUMBER(option, word, takers, field, from, to, text) OPTION_NUMBER(ARGS, field, option, word, from, to, text, .commands = (takers))
#define SWITCH(option, short_form, takers, field, text) OPTION_SWITCH(ARGS, field, option, text, .brief = short_form, .commands = (takers))

static const struct option_row rows[] = {
	SESSION_OPTION_ROWS(PROFILE, ARGS, session),
	{.help = "options"},
	TEXT("--baseline", NULL, "SESSION", PROFILE, baseline, ":sessions", "compare with this finished session of the same profiler"),
	SWITCH("--next-start", NULL, PROFILE, next_start,
	       "CPUHotpaths: wait for the next container of the target to start, and profile\nit from its first instruction"),
	TEXT("--selector", "-l", "LABELS", PROFILE, selector, NULL, "the pods by their labels, as kubectl takes them, instead of TARGET"),
	TEXT("--container", "-c", "NAME", PROFILE, container, NULL, "the container, where several run .NET"),
	NUMBER("--pid", "N", PROFILE, pid, 1, 1 << 22, "the process, by its id in the container"),
	TEXT("--entrypoint", NULL, "NAME", PROFILE, entrypoint, NULL, "the process, by its entry assembly"),
	NUMBER("--max-pods", "N", PROFILE, max_pods, 1, 20, "how many pods, the busiest first (default: 1)"),
	TEXT("--store", NULL, "NAME", PROFILE, store, NULL, "where the reports go, by the installation's name for it (default: default)"),
	TEXT("--name", NULL, "NAME", PROFILE, name, NULL, "the session's name (default: made from the target)"),
	SWITCH("--no-wait", NULL, PROFILE, no_wait, "create the session, print its name and exit"),
	TEXT("--output", NULL, "DIR", PROFILE, output, ":files", "download the reports into this folder"),
	{.name = "--dry-run", .argument = "[=client]", .commands = PROFILE, .set = set_dry_run, .help = "print the manifest and create nothing"},
	OPTION_WORD(ARGS, format, NULL, "yaml|json", "yaml json", "print the session (with --dry-run: the manifest) in this format", .brief = "-o",
		    .least = PLUGIN_YAML, .commands = PROFILE),
	TEXT("--output", "-o", "DIR", FOR(PLUGIN_REPORT), output, ":files", "the folder for the reports (default: ./NAME)"),
	TEXT("--pod", NULL, "NAME", FOR(PLUGIN_REPORT) | FOR(PLUGIN_DIFF), pod, NULL, "of this pod only (diff: in both sessions)"),
	SWITCH("--open", NULL, FOR(PLUGIN_REPORT), open, "print only the path of report.html, for a browser"),
	TEXT("--output", "-o", "FILE", FOR(PLUGIN_DIFF), output, ":files", "write the comparison to this file"),
	SWITCH("--all-namespaces", "-A", LISTS | FOR(PLUGIN_PS), all_namespaces, "in all namespaces"),
	SWITCH("--watch", "-w", LISTS, watch, "keep printing each change, until Ctrl-C"),
	SWITCH("--wide", NULL, LISTS, wide, "with the diagnosis and other wide columns"),
	SWITCH("--json", NULL, FOR(PLUGIN_DOCTOR) | FOR(PLUGIN_DIFF) | FOR(PLUGIN_PS) | LISTS | PROFILE, json, "print JSON"),
	SWITCH("--quiet", "-q", PROFILE, quiet, "no progress"),
	TEXT("--server", NULL, "URL", REST, server, NULL, "the controller's REST API (DRDOTNET_SERVER; default: by kubectl port-forward)"),
	TEXT("--server-ca", NULL, "FILE", REST, server_ca, ":files", "authority of its certificate (default: the system's)"),
	TEXT("--token-file", NULL, "FILE", REST, token_file, ":files", "a bearer token for it (default: the kubeconfig's)"),
	TEXT("--namespace", "-n", "NAME", 0, namespace, ":namespaces", "the namespace (default: the context's)"),
	TEXT("--system-namespace", NULL, "NAME", 0, system_namespace, ":namespaces", "where Dr-Dotnet is installed (default: drdotnet-system)"),
	TEXT("--kubeconfig", NULL, "FILE", 0, kubeconfig, ":files", "the kubeconfig (default: KUBECONFIG, ~/.kube/config)"),
	TEXT("--context", NULL, "NAME", 0, context, ":contexts", "its context (default: the current one)"),
	SWITCH("--verbose", "-v", 0, verbose, "log to standard error what is done"),
	OPTION_LAST(ARGS, command, "--help", PLUGIN_HELP, "this help", .brief = "-h"),
};

/* Of `profile TARGET 30s` the time; with -l it is the only word. */
static int check_words(struct plugin_args *a, struct err *e)
{
	size_t targets = a->selector ? 0 : 1;
	if (a->words.count < targets)
		return err_set(e, ERR_INVALID, 0, "say what to profile: deploy/NAME, a pod's name, or -l LABELS");
	if (a->words.count > targets + 1)
		return err_set(e, ERR_INVALID, 0, "give TARGET or -l LABELS, not both: %.80s", a->words.at[0]);
	if (a->pid && a->entrypoint)
		return err_set(e, ERR_INVALID, 0, "give the process by --pid or by --entrypoint, not both");
	if (a->words.count == targets)
		return 0;
	if (a->session.duration_seconds)
		return err_set(e, ERR_INVALID, 0, "the duration is given twice: %.80s", a->words.at[targets]);
	static const struct option_row duration = {.at = offsetof(struct plugin_args, session.duration_seconds)};
	return option_set_duration(&duration, "the duration", a->words.at[targets], a, e);
}

static int check_profile(void *args, struct err *e)
{
	struct plugin_args *a = args;
	return check_words(a, e) < 0 ? -1 : session_options_check(&a->session, a->session.profiler, e);
}

static int check_namespaces(void *args, struct err *e)
{
	const struct plugin_args *a = args;
	return a->all_namespaces && a->namespace ? err_set(e, ERR_INVALID, 0, "give -n or -A, not both") : 0;
}

#define EXIT_STATUS "exit status: 0 done, 1 the session or a check failed, 2 wrong usage"

static const struct option_command commands[] = {
	{"profile", PLUGIN_PROFILE, ":targets", 0, 2, "profile TARGET [SYMPTOM] [TIME] [options]",
	 "profile a running .NET application and print the diagnosis",
	 "  TARGET    deploy/NAME, sts/NAME, ds/NAME, rs/NAME, job/NAME, svc/NAME, pod/NAME or a pod's name; or -l LABELS\n"
	 "  SYMPTOM   one of the options below\n"
	 "  TIME      how long, such as 30s or 2m\n\n"
	 "  kubectl drdotnet profile deploy/checkout --cpu 30s -n shop\n"
	 "  kubectl drdotnet profile -l app=checkout --leak 5m --max-pods 3\n\n" EXIT_STATUS, check_profile},
	{"ls", PLUGIN_LS, NULL, 0, 0, "ls [-A] [--watch] [--wide]", "list sessions", NULL, check_namespaces},
	{"report", PLUGIN_REPORT, ":sessions", 1, 1, "report SESSION [-o DIR] [--pod POD] [--open]", "download a session's reports", NULL, NULL},
	{"ps", PLUGIN_PS, NULL, 0, 0, "ps [-n NAMESPACE | -A]", "list .NET processes and whether they can be profiled", NULL, check_namespaces},
	{"cancel", PLUGIN_CANCEL, ":sessions", 1, PLUGIN_OPERANDS, "cancel SESSION...", "end sessions early; their reports stay", NULL, NULL},
	{"delete", PLUGIN_DELETE, ":sessions", 1, PLUGIN_OPERANDS, "delete SESSION...", "delete sessions; running ones end", NULL, NULL},
	{"diff", PLUGIN_DIFF, ":sessions", 2, 2, "diff BEFORE AFTER [--json] [-o FILE]", "compare two sessions",
	 "BEFORE, AFTER: names of sessions, or report.json files and their folders (with a '/')", NULL},
	{"triggers", PLUGIN_TRIGGERS, NULL, 0, 0, "triggers [-A] [--watch]", "list what starts sessions by itself", NULL, check_namespaces},
	{"doctor", PLUGIN_DOCTOR, NULL, 0, 0, "doctor [-n NAMESPACE] [--json]", "check the installation, and your rights in a namespace", NULL, NULL},
};

static const struct option_program program = {
	.name = "kubectl drdotnet",
	.about = "Dr-Dotnet on this cluster: profiles running .NET applications, without preparing or restarting them.",
	.details = "  kubectl drdotnet COMMAND --help   the command's options\n  kubectl drdotnet --version\n\n" EXIT_STATUS,
	.commands = commands,
	.command_count = sizeof commands / sizeof *commands,
	.options = {.rows = rows, .count = sizeof rows / sizeof *rows, .words_at = offsetof(ARGS, words)},
};

int plugin_options_parse(int argc, char **argv, struct plugin_args *out, struct err *e)
{
	*out = (struct plugin_args){.system_namespace = "drdotnet-system"};
	int command = option_program_read(&program, argc, argv, out, &out->about, e);
	out->command = command > OPTION_ALONE ? (enum plugin_command)command : PLUGIN_HELP;
	out->json = out->json || out->format == PLUGIN_JSON;
	return command < 0 ? -1 : 0;
}

void plugin_options_print_help(const struct plugin_args *a, FILE *out)
{
	option_program_print_help(&program, a->about, out);
}

void plugin_options_print_error(const struct plugin_args *a, const struct err *e, FILE *out)
{
	options_print_error(program.name, a->about ? a->about->name : NULL, e, out);
}

const char *plugin_options_complete(int argc, char *const argv[], FILE *out)
{
	return option_program_complete(&program, argc, argv, out);
}
