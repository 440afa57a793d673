#include "controller/kubectl/plugin_options.h"

#include <string.h>

#define FOR(command) (1u << (command))
#define NAMED (~FOR(PLUGIN_DOCTOR))
#define REST (FOR(PLUGIN_PROFILE) | FOR(PLUGIN_REPORT) | FOR(PLUGIN_PS) | FOR(PLUGIN_DIFF))
#define PROFILE FOR(PLUGIN_PROFILE)
#define LISTS (FOR(PLUGIN_LS) | FOR(PLUGIN_TRIGGERS))

static int set_format(const struct option_row *row, const char *name, const char *value, void *args, struct err *e)
{
	(void)row;
	struct plugin_args *a = args;
	a->json = strcmp(value, "json") == 0;
	return a->json || strcmp(value, "yaml") == 0 ? 0 : err_set(e, ERR_INVALID, 0, "%s: expected yaml or json, found \"%.80s\"", name, value);
}

static int set_dry_run(const struct option_row *row, const char *name, const char *value, void *args, struct err *e)
{
	(void)row;
	((struct plugin_args *)args)->dry_run = true;
	return !value || strcmp(value, "client") == 0 ? 0 : err_set(e, ERR_INVALID, 0, "%s: only client is known", name);
}

#define TEXT(option, short_form, word, takers, field, words, text)                                                                      \
	{.name = option, .brief = short_form, .argument = word, .commands = (takers), .set = option_set_text,                           \
	 .at = offsetof(struct plugin_args, field), .values = words, .help = text}
#define NUMBER(option, word, takers, field, from, to, text)                                                                             \
	{.name = option, .argument = word, .commands = (takers), .set = option_set_number, .at = offsetof(struct plugin_args, field),  \
	 .least = from, .most = to, .help = text}
#define SWITCH(option, short_form, takers, field, text)                                                                                 \
	{.name = option, .brief = short_form, .commands = (takers), .set = option_set_on, .at = offsetof(struct plugin_args, field), .help = text}

static const struct option_row rows[] = {
	SESSION_OPTION_ROWS(PROFILE, struct plugin_args, session),
	TEXT("--baseline", NULL, "SESSION", PROFILE, baseline, ":sessions", "compare with this finished session of the same profiler"),
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
	{.brief = "-o", .argument = "yaml|json", .commands = PROFILE, .set = set_format,
	 .help = "print the session (with --dry-run: the manifest) in this format"},
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
	TEXT("--namespace", "-n", "NAME", NAMED, namespace, ":namespaces", "the namespace (default: the context's)"),
	TEXT("--system-namespace", NULL, "NAME", 0, system_namespace, ":namespaces", "where Dr-Dotnet is installed (default: drdotnet-system)"),
	TEXT("--kubeconfig", NULL, "FILE", 0, kubeconfig, ":files", "the kubeconfig (default: KUBECONFIG, ~/.kube/config)"),
	TEXT("--context", NULL, "NAME", 0, context, ":contexts", "its context (default: the current one)"),
	SWITCH("--verbose", "-v", 0, verbose, "log to standard error what is done"),
	{.name = "--help", .brief = "-h", .set = option_set_last, .at = offsetof(struct plugin_args, command), .least = PLUGIN_HELP, .help = "this help"},
};

static const struct option_command commands[] = {
	{"profile", PLUGIN_PROFILE, ":targets", 0, 2,
	 "profile TARGET [--cpu | --memory | --leak | --strings | --allocations | --pauses] [30s] [options]\n"
	 "TARGET: deploy/NAME, sts/NAME, ds/NAME, rs/NAME, job/NAME, svc/NAME, pod/NAME or a pod's name; or -l LABELS",
	 "profile a running .NET application and print the diagnosis"},
	{"ls", PLUGIN_LS, NULL, 0, 0, "ls [-A] [--watch] [--wide]", "list sessions"},
	{"report", PLUGIN_REPORT, ":sessions", 1, 1, "report SESSION [-o DIR] [--pod POD] [--open]", "download a session's reports"},
	{"ps", PLUGIN_PS, NULL, 0, 0, "ps [-n NAMESPACE | -A]", "list .NET processes and whether they can be profiled"},
	{"cancel", PLUGIN_CANCEL, ":sessions", 1, PLUGIN_OPERANDS, "cancel SESSION...", "end sessions early; their reports stay"},
	{"delete", PLUGIN_DELETE, ":sessions", 1, PLUGIN_OPERANDS, "delete SESSION...", "delete sessions; running ones end"},
	{"diff", PLUGIN_DIFF, ":sessions", 2, 2,
	 "diff BEFORE AFTER [--json] [-o FILE]\nBEFORE, AFTER: names of sessions, or report.json files and their folders (with a '/')",
	 "compare two sessions"},
	{"triggers", PLUGIN_TRIGGERS, NULL, 0, 0, "triggers [-A] [--watch]", "list what starts sessions by itself"},
	{"doctor", PLUGIN_DOCTOR, NULL, 0, 0, "doctor [--json]", "check the installation"},
};

/* Of `profile TARGET 30s` the time; with -l it is the only word. */
static int check_words(struct plugin_args *a, struct err *e)
{
	size_t targets = a->selector ? 0 : 1;
	if (a->operand_count < targets)
		return err_set(e, ERR_INVALID, 0, "say what to profile: deploy/NAME, a pod's name, or -l LABELS");
	if (a->operand_count > targets + 1)
		return err_set(e, ERR_INVALID, 0, "give TARGET or -l LABELS, not both: %.80s", a->operands[0]);
	if (a->pid && a->entrypoint)
		return err_set(e, ERR_INVALID, 0, "give the process by --pid or by --entrypoint, not both");
	if (a->operand_count == targets)
		return 0;
	if (a->session.duration_seconds)
		return err_set(e, ERR_INVALID, 0, "the duration is given twice: %.80s", a->operands[targets]);
	static const struct option_row duration = {.at = offsetof(struct plugin_args, session.duration_seconds)};
	return option_set_duration(&duration, "the duration", a->operands[targets], a, e);
}

static int check_profile(struct plugin_args *a, struct err *e)
{
	return check_words(a, e) < 0 ? -1 : session_options_check(&a->session, a->session.profiler, e);
}

static int check(const struct option_command *c, struct plugin_args *a, struct err *e)
{
	if (a->operand_count > c->most)
		return err_set(e, ERR_INVALID, 0, "unexpected word: %.80s", a->operands[c->most]);
	if (a->operand_count < c->least)
		return err_set(e, ERR_INVALID, 0, "a word is missing: kubectl drdotnet %.*s", (int)strcspn(c->usage, "\n"), c->usage);
	if (a->all_namespaces && a->namespace)
		return err_set(e, ERR_INVALID, 0, "give -n or -A, not both");
	return c->command == PLUGIN_PROFILE ? check_profile(a, e) : 0;
}

static int take_word(void *args, const char *word, struct err *e)
{
	struct plugin_args *a = args;
	if (!*word || a->operand_count == PLUGIN_OPERANDS)
		return err_set(e, ERR_INVALID, 0, "%s", *word ? "too many words" : "a word is empty");
	a->operands[a->operand_count++] = word;
	return 0;
}

static const struct option_program program = {
	.commands = commands,
	.command_count = sizeof commands / sizeof *commands,
	.options = {.rows = rows, .count = sizeof rows / sizeof *rows, .on_word = take_word},
};

int plugin_options_parse(int argc, char **argv, struct plugin_args *out, struct err *e)
{
	*out = (struct plugin_args){.command = PLUGIN_HELP, .system_namespace = "drdotnet-system"};
	const char *first = argc > 1 ? argv[1] : NULL;
	if (!first || strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "help") == 0)
		return first ? 0 : err_set(e, ERR_INVALID, 0, "a command is missing, such as profile, ls or doctor");
	if (strcmp(first, "--version") == 0 || strcmp(first, "version") == 0) {
		out->command = PLUGIN_VERSION;
		return 0;
	}
	if (strcmp(first, OPTION_COMPLETE) == 0) {
		out->command = PLUGIN_COMPLETE;
		return 0;
	}
	const struct option_command *c = option_program_find(&program, first, e);
	if (!c)
		return -1;
	out->command = (enum plugin_command)c->command;
	out->about = c->name;
	struct option_table t = option_program_table(&program, c);
	int rc = options_read_words(&t, argc, argv, 2, out, e);
	return rc ? (rc < 0 ? -1 : 0) : check(c, out, e);
}

static void print_program_help(FILE *out)
{
	fprintf(out, "Dr-Dotnet on this cluster: profiles running .NET applications, without preparing or restarting them.\n\ncommands:\n");
	option_program_print_commands(&program, out);
	fprintf(out, "\n  kubectl drdotnet COMMAND --help   the command's options\n  kubectl drdotnet --version\n"
		     "\nexit status: 0 done, 1 the session or a check failed, 2 wrong usage\n");
}

void plugin_options_print_help(const char *about, FILE *out)
{
	const struct option_command *c = about ? option_program_find(&program, about, NULL) : NULL;
	if (!c) {
		print_program_help(out);
		return;
	}
	fprintf(out, "kubectl drdotnet %s\n%s\n\noptions:\n", c->usage, c->help);
	struct option_table t = option_program_table(&program, c);
	options_print_help(&t, out);
}

const char *plugin_options_complete(int argc, char *const argv[], FILE *out)
{
	return option_program_complete(&program, argc, argv, out);
}
