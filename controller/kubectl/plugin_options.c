#include "controller/kubectl/plugin_options.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define FOR(command) (1u << (command))
#define CLUSTER (~0u)
#define NAMED (~FOR(PLUGIN_DOCTOR))
#define REST (FOR(PLUGIN_PROFILE) | FOR(PLUGIN_REPORT) | FOR(PLUGIN_PS) | FOR(PLUGIN_DIFF))
#define PROFILE FOR(PLUGIN_PROFILE)
#define LISTS (FOR(PLUGIN_LS) | FOR(PLUGIN_TRIGGERS))

enum kind { KIND_TEXT, KIND_NUMBER, KIND_DURATION, KIND_FLAG, KIND_FORMAT, KIND_DRY_RUN, KIND_PROFILER, KIND_PROFILER_FLAG, KIND_ROOTS, KIND_HELP };

struct row {
	const char *name, *brief, *argument; /* argument NULL: takes none */
	unsigned commands;
	enum kind kind;
	size_t at;
	int64_t least, most; /* of a number; the profiler of a KIND_PROFILER_FLAG stands in `least` */
	const char *help;
};

#define AT(field) offsetof(struct plugin_args, field)
static const struct row rows[] = {
	{"--cpu", NULL, NULL, PROFILE, KIND_PROFILER_FLAG, AT(profiler), PROFILER_CPU_HOTPATHS, 0, "where does the CPU time go? (CPUHotpaths; the default)"},
	{"--memory", NULL, NULL, PROFILE, KIND_PROFILER_FLAG, AT(profiler), PROFILER_GC_SURVIVORS, 0, "what fills the heap, and who holds it? (GCSurvivors)"},
	{"--leak", NULL, NULL, PROFILE, KIND_PROFILER_FLAG, AT(profiler), PROFILER_MEMORY_LEAK, 0, "what grows? (MemoryLeak)"},
	{"--strings", NULL, NULL, PROFILE, KIND_PROFILER_FLAG, AT(profiler), PROFILER_DUPLICATED_STRINGS, 0,
	 "what do equal strings cost? (DuplicatedStrings)"},
	{"--allocations", NULL, NULL, PROFILE, KIND_PROFILER_FLAG, AT(profiler), PROFILER_ALLOCATIONS, 0, "who allocates? (Allocations)"},
	{"--pauses", NULL, NULL, PROFILE, KIND_PROFILER_FLAG, AT(profiler), PROFILER_RUNTIME_PAUSES, 0,
	 "which pauses did the runtime make, and why? (RuntimePauses)"},
	{"--profiler", NULL, "NAME", PROFILE, KIND_PROFILER, AT(profiler), 0, 0, "the profiler by its name, as above"},
	{"--duration", NULL, "TIME", PROFILE, KIND_DURATION, AT(duration_seconds), 0, 0,
	 "how long: 30s, 2m; at most 1h; also as the last word; not for --memory and --strings"},
	{"--frequency", NULL, "HERTZ", PROFILE, KIND_NUMBER, AT(frequency_hertz), 1, 999, "--cpu: samples per second of CPU time, 1 to 999 (99)"},
	{"--roots", NULL, "WAY", PROFILE, KIND_ROOTS, AT(roots), 0, 0, "--memory, --leak: Exact (a forced collection), NoCollection or Auto (Auto)"},
	{"--walks", NULL, "N", PROFILE, KIND_NUMBER, AT(walks), 2, 10, "--leak: how often the heap is walked, 2 to 10 (2)"},
	{"--pause-budget", NULL, "MS", PROFILE, KIND_NUMBER, AT(pause_budget_ms), 1, 60000, "the longest stop of the application in milliseconds"},
	{"--reveal", NULL, NULL, PROFILE, KIND_FLAG, AT(reveal), 0, 0, "show contents of its memory; needs the right of this name"},
	{"--baseline", NULL, "SESSION", PROFILE, KIND_TEXT, AT(baseline), 0, 0, "compare with this finished session of the same profiler"},
	{"--selector", "-l", "LABELS", PROFILE, KIND_TEXT, AT(selector), 0, 0, "the pods by their labels, as kubectl takes them, instead of TARGET"},
	{"--container", "-c", "NAME", PROFILE, KIND_TEXT, AT(container), 0, 0, "the container, where several run .NET"},
	{"--pid", NULL, "N", PROFILE, KIND_NUMBER, AT(pid), 1, 1 << 22, "the process, by its id in the container"},
	{"--entrypoint", NULL, "NAME", PROFILE, KIND_TEXT, AT(entrypoint), 0, 0, "the process, by its entry assembly"},
	{"--max-pods", NULL, "N", PROFILE, KIND_NUMBER, AT(max_pods), 1, 20, "how many pods, the busiest first (1)"},
	{"--store", NULL, "NAME", PROFILE, KIND_TEXT, AT(store), 0, 0, "where the reports go, by the installation's name for it (default)"},
	{"--name", NULL, "NAME", PROFILE, KIND_TEXT, AT(name), 0, 0, "the session's name (made from the target)"},
	{"--no-wait", NULL, NULL, PROFILE, KIND_FLAG, AT(no_wait), 0, 0, "create the session, print its name and leave"},
	{"--output", NULL, "DIR", PROFILE, KIND_TEXT, AT(output), 0, 0, "download the reports into this folder"},
	{"--dry-run", NULL, NULL, PROFILE, KIND_DRY_RUN, AT(dry_run), 0, 0, "print the manifest and do nothing"},
	{NULL, "-o", "yaml|json", PROFILE, KIND_FORMAT, AT(json), 0, 0, "print the session (with --dry-run: the manifest) in this form"},
	{"--output", "-o", "DIR", FOR(PLUGIN_REPORT), KIND_TEXT, AT(output), 0, 0, "the folder for the reports (default: ./NAME)"},
	{"--pod", NULL, "NAME", FOR(PLUGIN_REPORT) | FOR(PLUGIN_DIFF), KIND_TEXT, AT(pod), 0, 0, "of this pod only (diff: in both sessions)"},
	{"--open", NULL, NULL, FOR(PLUGIN_REPORT), KIND_FLAG, AT(open), 0, 0, "print only the path of report.html, for a browser"},
	{"--output", "-o", "FILE", FOR(PLUGIN_DIFF), KIND_TEXT, AT(output), 0, 0, "write the comparison into this file"},
	{"--all-namespaces", "-A", NULL, LISTS | FOR(PLUGIN_PS), KIND_FLAG, AT(all_namespaces), 0, 0, "of all namespaces"},
	{"--watch", "-w", NULL, LISTS, KIND_FLAG, AT(watch), 0, 0, "go on and print each change, until Ctrl-C"},
	{"--wide", NULL, NULL, LISTS, KIND_FLAG, AT(wide), 0, 0, "with the diagnosis and other wide columns"},
	{"--json", NULL, NULL, FOR(PLUGIN_DOCTOR) | FOR(PLUGIN_DIFF) | FOR(PLUGIN_PS) | LISTS | PROFILE, KIND_FLAG, AT(json), 0, 0, "print JSON"},
	{"--quiet", "-q", NULL, PROFILE, KIND_FLAG, AT(quiet), 0, 0, "no progress"},
	{"--server", NULL, "URL", REST, KIND_TEXT, AT(server), 0, 0, "the controller's REST API (DRDOTNET_SERVER; else by kubectl port-forward)"},
	{"--server-ca", NULL, "FILE", REST, KIND_TEXT, AT(server_ca), 0, 0, "authority of its certificate (default: the system's)"},
	{"--token-file", NULL, "FILE", REST, KIND_TEXT, AT(token_file), 0, 0, "a bearer token for it (default: the kubeconfig's)"},
	{"--namespace", "-n", "NAME", NAMED, KIND_TEXT, AT(namespace), 0, 0, "the namespace (default: the context's)"},
	{"--system-namespace", NULL, "NAME", CLUSTER, KIND_TEXT, AT(system_namespace), 0, 0, "where Dr-Dotnet is installed (drdotnet-system)"},
	{"--kubeconfig", NULL, "FILE", CLUSTER, KIND_TEXT, AT(kubeconfig), 0, 0, "the kubeconfig (default: KUBECONFIG, ~/.kube/config)"},
	{"--context", NULL, "NAME", CLUSTER, KIND_TEXT, AT(context), 0, 0, "its context (default: the current one)"},
	{"--verbose", "-v", NULL, CLUSTER, KIND_FLAG, AT(verbose), 0, 0, "log what is done on standard error"},
	{"--help", "-h", NULL, CLUSTER, KIND_HELP, 0, 0, 0, "this help"},
};
#define ROW_COUNT (sizeof rows / sizeof *rows)

static const struct command_row {
	const char *name;
	enum plugin_command command;
	size_t least, most; /* words */
	const char *usage, *help;
} commands[] = {
	{"profile", PLUGIN_PROFILE, 0, 2,
	 "profile TARGET [--cpu | --memory | --leak | --strings | --allocations | --pauses] [30s] [options]\n"
	 "TARGET: deploy/NAME, sts/NAME, ds/NAME, rs/NAME, job/NAME, svc/NAME, pod/NAME or a pod's name; or -l LABELS",
	 "profile a running .NET application and print the diagnosis"},
	{"ls", PLUGIN_LS, 0, 0, "ls [-A] [--watch] [--wide]", "list sessions"},
	{"report", PLUGIN_REPORT, 1, 1, "report SESSION [-o DIR] [--pod POD] [--open]", "download a session's reports"},
	{"ps", PLUGIN_PS, 0, 0, "ps [-n NAMESPACE | -A]", "list .NET processes and whether they can be profiled"},
	{"cancel", PLUGIN_CANCEL, 1, PLUGIN_OPERANDS, "cancel SESSION...", "end sessions early; their reports stay"},
	{"delete", PLUGIN_DELETE, 1, PLUGIN_OPERANDS, "delete SESSION...", "delete sessions; running ones end"},
	{"diff", PLUGIN_DIFF, 2, 2,
	 "diff BEFORE AFTER [--json] [-o FILE]\nBEFORE, AFTER: names of sessions, or report.json files and their folders (with a '/')",
	 "compare two sessions"},
	{"triggers", PLUGIN_TRIGGERS, 0, 0, "triggers [-A] [--watch]", "list what starts sessions by itself"},
	{"doctor", PLUGIN_DOCTOR, 0, 0, "doctor [--json]", "check the installation"},
};
#define COMMAND_COUNT (sizeof commands / sizeof *commands)

static const char *const profiler_words[] = {
	[PROFILER_CPU_HOTPATHS] = "cpu",	   [PROFILER_GC_SURVIVORS] = "memory",	  [PROFILER_MEMORY_LEAK] = "leak",
	[PROFILER_DUPLICATED_STRINGS] = "strings", [PROFILER_ALLOCATIONS] = "allocations", [PROFILER_RUNTIME_PAUSES] = "pauses",
};

const char *plugin_options_profiler(enum profiler_kind kind)
{
	return profiler_words[kind];
}

int64_t plugin_options_duration(const char *text)
{
	static const struct {
		const char *unit;
		int64_t seconds;
	} units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}};
	char *end;
	if (!(*text >= '0' && *text <= '9'))
		return -1;
	errno = 0;
	long v = strtol(text, &end, 10);
	if (errno || v < 1 || v > 3600)
		return -1;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(end, units[i].unit) == 0)
			return v * units[i].seconds <= 3600 ? v * units[i].seconds : -1;
	return -1;
}

static const struct command_row *find_command(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (name && strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static bool is_word(const char *name, const char *word, size_t len)
{
	return name && strlen(name) == len && memcmp(name, word, len) == 0;
}

static const struct row *find_row(const char *word, size_t len, enum plugin_command command)
{
	for (size_t i = 0; i < ROW_COUNT; i++)
		if ((rows[i].commands & FOR(command)) && (is_word(rows[i].name, word, len) || is_word(rows[i].brief, word, len)))
			return &rows[i];
	return NULL;
}

static const char *shown_name(const struct row *r)
{
	return r->name ? r->name : r->brief;
}

static int take_number(const struct row *r, const char *value, int64_t *out, struct err *e)
{
	char *end;
	errno = 0;
	long long v = strtoll(value, &end, 10);
	if (end == value || *end || errno || v < r->least || v > r->most)
		return err_set(e, ERR_INVALID, 0, "%s: expected a number from %lld to %lld, found \"%.80s\"", shown_name(r), (long long)r->least,
			       (long long)r->most, value);
	*out = v;
	return 0;
}

static int take_duration(const char *what, const char *value, int64_t *out, struct err *e)
{
	*out = plugin_options_duration(value);
	return *out > 0 ? 0 : err_set(e, ERR_INVALID, 0, "%s: expected a time of 1s to 1h, such as 30s, found \"%.80s\"", what, value);
}

static int take_format(struct plugin_args *a, const char *value, struct err *e)
{
	a->json = strcmp(value, "json") == 0;
	return a->json || strcmp(value, "yaml") == 0 ? 0 : err_set(e, ERR_INVALID, 0, "-o: expected yaml or json, found \"%.80s\"", value);
}

static int take_profiler(struct plugin_args *a, const char *value, struct err *e)
{
	if (profiler_kind_parse(value, &a->profiler) == 0)
		return 0;
	return err_set(e, ERR_INVALID, 0, "--profiler: expected " PROFILER_NAMES ", found \"%.80s\"", value);
}

static int take_roots(struct plugin_args *a, const char *value, struct err *e)
{
	a->has_roots = true;
	if (heap_roots_parse(value, &a->roots) == 0)
		return 0;
	return err_set(e, ERR_INVALID, 0, "--roots: expected Auto, Exact or NoCollection, found \"%.80s\"", value);
}

static int take(const struct row *r, const char *value, struct plugin_args *a, struct err *e)
{
	void *at = (char *)a + r->at;
	switch (r->kind) {
	case KIND_TEXT:
		*(const char **)at = value;
		return *value ? 0 : err_set(e, ERR_INVALID, 0, "%s: must not be empty", shown_name(r));
	case KIND_NUMBER:
		return take_number(r, value, at, e);
	case KIND_DURATION:
		return take_duration(r->name, value, at, e);
	case KIND_FLAG:
		*(bool *)at = true;
		return 0;
	case KIND_FORMAT:
		return take_format(a, value, e);
	case KIND_DRY_RUN:
		a->dry_run = true;
		return !value || strcmp(value, "client") == 0 ? 0 : err_set(e, ERR_INVALID, 0, "--dry-run: only client is known");
	case KIND_PROFILER:
		return take_profiler(a, value, e);
	case KIND_PROFILER_FLAG:
		a->profiler = (enum profiler_kind)r->least;
		return 0;
	case KIND_ROOTS:
		return take_roots(a, value, e);
	case KIND_HELP:
		a->command = PLUGIN_HELP;
		return 0;
	}
	return 0;
}

/* One option at argv[*i]: "--name value", "--name=value" or "-f value". */
static int parse_option(int argc, char **argv, int *i, struct plugin_args *a, struct err *e)
{
	const char *word = argv[*i], *equals = strchr(word, '=');
	const struct row *r = find_row(word, equals ? (size_t)(equals - word) : strlen(word), a->command);
	if (!r)
		return err_set(e, ERR_INVALID, 0, "unknown option: %.80s", word);
	const char *value = equals ? equals + 1 : NULL;
	if (!r->argument && value && r->kind != KIND_DRY_RUN)
		return err_set(e, ERR_INVALID, 0, "this option takes no value: %.80s", word);
	if (r->argument && !value && *i + 1 >= argc)
		return err_set(e, ERR_INVALID, 0, "this option needs a value: %.80s", word);
	if (r->argument && !value)
		value = argv[++*i];
	return take(r, value, a, e);
}

/* What only some profilers take. */
static int check_settings(const struct plugin_args *a, struct err *e)
{
	const struct {
		const char *option, *setting;
		bool there;
	} given[] = {
		{"--frequency", "frequencyHertz", a->frequency_hertz != 0},
		{"--roots", "roots", a->has_roots},
		{"--walks", "walks", a->walks != 0},
	};
	for (size_t i = 0; i < sizeof given / sizeof *given; i++)
		if (given[i].there && !profiler_has_setting(a->profiler, given[i].setting))
			return err_set(e, ERR_INVALID, 0, "%s: %s does not take it; leave it out", given[i].option, profiler_kind_name(a->profiler));
	if (a->duration_seconds && profiler_takes_one_look(a->profiler))
		return err_set(e, ERR_INVALID, 0, "%s takes one look at the heap and no duration: leave it out", profiler_kind_name(a->profiler));
	return 0;
}

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
	if (a->duration_seconds)
		return err_set(e, ERR_INVALID, 0, "the duration is given twice: %.80s", a->operands[targets]);
	return take_duration("the duration", a->operands[targets], &a->duration_seconds, e);
}

static int check_profile(struct plugin_args *a, struct err *e)
{
	return check_words(a, e) < 0 ? -1 : check_settings(a, e);
}

static int check(const struct command_row *c, struct plugin_args *a, struct err *e)
{
	if (a->operand_count > c->most)
		return err_set(e, ERR_INVALID, 0, "unexpected word: %.80s", a->operands[c->most]);
	if (a->operand_count < c->least)
		return err_set(e, ERR_INVALID, 0, "a word is missing: kubectl drdotnet %.*s", (int)strcspn(c->usage, "\n"), c->usage);
	if (a->all_namespaces && a->namespace)
		return err_set(e, ERR_INVALID, 0, "give -n or -A, not both");
	return c->command == PLUGIN_PROFILE ? check_profile(a, e) : 0;
}

static int parse_words(const struct command_row *c, int argc, char **argv, struct plugin_args *out, struct err *e)
{
	for (int i = 2; i < argc && out->command != PLUGIN_HELP; i++) {
		if (argv[i][0] == '-' && argv[i][1]) {
			if (parse_option(argc, argv, &i, out, e) < 0)
				return -1;
		} else if (!argv[i][0] || out->operand_count == PLUGIN_OPERANDS) {
			return err_set(e, ERR_INVALID, 0, "%s", argv[i][0] ? "too many words" : "a word is empty");
		} else {
			out->operands[out->operand_count++] = argv[i];
		}
	}
	return out->command == PLUGIN_HELP ? 0 : check(c, out, e);
}

int plugin_options_parse(int argc, char **argv, struct plugin_args *out, struct err *e)
{
	*out = (struct plugin_args){.command = PLUGIN_HELP, .system_namespace = "drdotnet-system", .profiler = PROFILER_CPU_HOTPATHS};
	const char *first = argc > 1 ? argv[1] : NULL;
	if (!first || strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "help") == 0)
		return first ? 0 : err_set(e, ERR_INVALID, 0, "a command is missing, such as profile, ls or doctor");
	if (strcmp(first, "--version") == 0 || strcmp(first, "version") == 0) {
		out->command = PLUGIN_VERSION;
		return 0;
	}
	if (strcmp(first, "--completion-words") == 0) {
		out->command = PLUGIN_WORDS;
		out->about = argc > 2 ? argv[2] : NULL;
		return 0;
	}
	const struct command_row *c = find_command(first);
	if (!c)
		return err_set(e, ERR_INVALID, 0, "unknown command: %.80s", first);
	out->command = c->command;
	out->about = c->name;
	return parse_words(c, argc, argv, out, e);
}

static void print_program_help(FILE *out)
{
	fprintf(out, "Dr-Dotnet on this cluster: profiles running .NET applications, without preparing or restarting them.\n\ncommands:\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].help);
	fprintf(out, "\n  kubectl drdotnet COMMAND --help   the command's options\n  kubectl drdotnet --version\n"
		     "\nexit status: 0 done, 1 the session or a check failed, 2 wrong usage\n");
}

void plugin_options_print_help(const char *about, FILE *out)
{
	const struct command_row *c = find_command(about);
	if (!c) {
		print_program_help(out);
		return;
	}
	fprintf(out, "kubectl drdotnet %s\n%s\n\noptions:\n", c->usage, c->help);
	for (size_t i = 0; i < ROW_COUNT; i++) {
		const struct row *r = &rows[i];
		if (!(r->commands & FOR(c->command)))
			continue;
		char left[64];
		snprintf(left, sizeof left, "%s%s%s%s%s", r->brief ? r->brief : "", r->brief && r->name ? ", " : "", r->name ? r->name : "",
			 r->argument ? " " : "", r->argument ? r->argument : "");
		fprintf(out, "  %-28s %s\n", left, r->help);
	}
}

void plugin_options_print_words(const char *about, FILE *out)
{
	const struct command_row *c = find_command(about);
	for (size_t i = 0; !c && i < COMMAND_COUNT; i++)
		fprintf(out, "%s\n", commands[i].name);
	if (!c)
		fprintf(out, "--help\n--version\n");
	for (size_t i = 0; c && i < ROW_COUNT; i++)
		if (rows[i].name && (rows[i].commands & FOR(c->command)))
			fprintf(out, "%s\n", rows[i].name);
}
