#include "agent/cli_options.h"

#include "common/api/reason.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FOR_PS 1u
#define FOR_RUN 2u
#define FOR_DIFF 4u
#define FOR_SERVE 8u

typedef bool option_fn(struct cli_args *a, const char *value); /* false: the value is wrong */

struct option_row {
	const char *name;     /* "--pid" */
	const char *brief;    /* "-f", or NULL */
	const char *argument; /* "FILE" in the help; NULL: takes none */
	unsigned commands;
	option_fn *take;
	const char *help;
	const char *expected; /* of the value, for the error */
};

int64_t cli_parse_duration(const char *text)
{
	static const struct {
		const char *unit;
		int64_t seconds;
	} units[] = {{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}};
	char *end;
	errno = 0;
	long v = strtol(text, &end, 10);
	if (end == text || errno || v < 1 || v > 3600 || !(*text >= '0' && *text <= '9'))
		return -1;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (strcmp(end, units[i].unit) == 0)
			return v * units[i].seconds <= 3600 ? v * units[i].seconds : -1;
	return -1;
}

static bool take_number(const char *text, int64_t least, int64_t most, int64_t *out)
{
	char *end;
	errno = 0;
	long long v = strtoll(text, &end, 10);
	if (end == text || *end || errno || v < least || v > most)
		return false;
	*out = v;
	return true;
}

static bool take_file(struct cli_args *a, const char *v)
{
	a->file = v;
	return *v;
}

static bool take_output(struct cli_args *a, const char *v)
{
	a->output = v;
	return *v;
}

static bool take_name(struct cli_args *a, const char *v)
{
	a->name = v;
	return *v;
}

static bool take_pid(struct cli_args *a, const char *v)
{
	return take_number(v, 1, 1 << 22, &a->pid);
}

static bool take_profiler(struct cli_args *a, const char *v)
{
	a->has_profiler = true;
	return profiler_kind_parse(v, &a->profiler) >= 0;
}

static bool take_duration(struct cli_args *a, const char *v)
{
	a->duration_seconds = cli_parse_duration(v);
	return a->duration_seconds > 0;
}

static bool take_frequency(struct cli_args *a, const char *v)
{
	return take_number(v, 1, 999, &a->frequency_hertz);
}

static bool take_roots(struct cli_args *a, const char *v)
{
	a->has_roots = true;
	return heap_roots_parse(v, &a->roots) == 0;
}

static bool take_walks(struct cli_args *a, const char *v)
{
	return take_number(v, 2, 10, &a->walks);
}

static bool take_pause_budget(struct cli_args *a, const char *v)
{
	return take_number(v, 1, 60000, &a->pause_budget_ms);
}

static bool take_reveal(struct cli_args *a, const char *v)
{
	(void)v;
	return a->reveal = true;
}

static bool take_baseline(struct cli_args *a, const char *v)
{
	a->baseline = v;
	return *v;
}

static bool take_json(struct cli_args *a, const char *v)
{
	(void)v;
	return a->json = true;
}

static bool take_quiet(struct cli_args *a, const char *v)
{
	(void)v;
	return a->quiet = true;
}

static bool take_verbose(struct cli_args *a, const char *v)
{
	(void)v;
	return a->verbose = true;
}

#define TAKE_TEXT(field)                                              \
	static bool take_##field(struct cli_args *a, const char *v) \
	{                                                             \
		a->field = v;                                         \
		return *v;                                            \
	}
TAKE_TEXT(bind)
TAKE_TEXT(reports)
TAKE_TEXT(token_file)
TAKE_TEXT(tls_cert)
TAKE_TEXT(tls_key)

static bool take_port(struct cli_args *a, const char *v)
{
	return take_number(v, 0, 65535, &a->port);
}

static bool take_at_once(struct cli_args *a, const char *v)
{
	return take_number(v, 1, 16, &a->at_once);
}

static bool take_no_web_ui(struct cli_args *a, const char *v)
{
	(void)v;
	return a->no_web_ui = true;
}

static bool take_no_rest_api(struct cli_args *a, const char *v)
{
	(void)v;
	return a->no_rest_api = true;
}

static bool take_help(struct cli_args *a, const char *v)
{
	(void)v;
	a->command = CLI_HELP;
	return true;
}

static const struct option_row options[] = {
	{"--file", "-f", "FILE", FOR_RUN, take_file, "the ProfilingSession manifest (YAML or JSON); \"-\": standard input", "a file"},
	{"--profiler", NULL, "NAME", FOR_RUN, take_profiler, "the profiler, instead of a manifest:\n" PROFILER_NAMES, PROFILER_NAMES},
	{"--pid", NULL, "N", FOR_RUN, take_pid, "the process, by its id", "a process id"},
	{"--name", NULL, "TEXT", FOR_RUN, take_name, "the process, by its entry assembly or a part of its command line", "a text"},
	{"--duration", NULL, "TIME", FOR_RUN, take_duration,
	 "how long: 30s, 2m; at most 1h (default: the manifest's, or the profiler's own)\n"
	 "not for GCSurvivors and DuplicatedStrings, which look once",
	 "a time of 1s to 1h, such as 30s"},
	{"--frequency", NULL, "HERTZ", FOR_RUN, take_frequency, "CPUHotpaths: samples per second of CPU time, 1 to 999 (99)", "a number from 1 to 999"},
	{"--roots", NULL, "WAY", FOR_RUN, take_roots,
	 "GCSurvivors, MemoryLeak: how the roots are found: Exact (a forced\ncollection), NoCollection, or Auto: what the pause budget allows (Auto)",
	 "Auto, Exact or NoCollection"},
	{"--walks", NULL, "N", FOR_RUN, take_walks, "MemoryLeak: how often the heap is walked, 2 to 10 (2)", "a number from 2 to 10"},
	{"--pause-budget", NULL, "MILLISECONDS", FOR_RUN, take_pause_budget,
	 "the longest stop of the process, 1 to 60000 (500 for profilers that walk\nthe heap, else 200)",
	 "a number from 1 to 60000"},
	{"--reveal", NULL, NULL, FOR_RUN, take_reveal, "show contents of its memory that reports redact otherwise", NULL},
	{"--baseline", NULL, "FILE", FOR_RUN, take_baseline, "compare with this report.json, or the folder of one", "a file"},
	{"--output", "-o", "DIR", FOR_RUN, take_output, "where the reports go (default: ./drdotnet-<name>-<time>)", "a folder"},
	{"--output", "-o", "FILE", FOR_DIFF, take_output, "write the comparison into this file (default: standard output)", "a file"},
	{"--port", "-p", "N", FOR_SERVE, take_port, "the TCP port (default: any free one; it is printed)", "a port, 0 to 65535"},
	{"--bind", NULL, "ADDRESS", FOR_SERVE, take_bind, "the address to listen on (default: 127.0.0.1, this machine only)", "an address"},
	{"--reports", NULL, "DIR", FOR_SERVE, take_reports, "where sessions are kept (default: ~/.local/state/drdotnet/reports)", "a folder"},
	{"--token-file", NULL, "FILE", FOR_SERVE, take_token_file, "the file with the token; made if it is not there (default: a new token each time)",
	 "a file"},
	{"--sessions", NULL, "N", FOR_SERVE, take_at_once, "sessions that run at the same time, 1 to 16 (default: 2)", "a number from 1 to 16"},
	{"--tls-cert", NULL, "FILE", FOR_SERVE, take_tls_cert, "speak TLS, with this certificate (PEM, with its chain)", "a file"},
	{"--tls-key", NULL, "FILE", FOR_SERVE, take_tls_key, "the certificate's key (PEM)", "a file"},
	{"--no-web-ui", NULL, NULL, FOR_SERVE, take_no_web_ui, "no web page, only the REST API (also: WEB_UI_ENABLED=false)", NULL},
	{"--no-rest-api", NULL, NULL, FOR_SERVE, take_no_rest_api, "no REST API, so that nothing can be started (also: REST_API_ENABLED=false)", NULL},
	{"--json", NULL, NULL, FOR_PS | FOR_RUN | FOR_DIFF, take_json, "print one JSON object instead of text", NULL},
	{"--quiet", "-q", NULL, FOR_RUN, take_quiet, "no progress line", NULL},
	{"--verbose", "-v", NULL, FOR_PS | FOR_RUN | FOR_SERVE, take_verbose, "log what is done on standard error", NULL},
	{"--help", "-h", NULL, FOR_PS | FOR_RUN | FOR_DIFF | FOR_SERVE, take_help, "this help", NULL},
};
#define OPTION_COUNT (sizeof options / sizeof *options)

static const struct command_row {
	const char *name;
	enum cli_command command;
	unsigned bit;
	const char *usage, *help;
} commands[] = {
	{"ps", CLI_PS, FOR_PS, "drdotnet ps [--json]", "list the .NET processes of this machine and whether they can be profiled"},
	{"run", CLI_RUN, FOR_RUN, "drdotnet run -f session.yaml | --profiler NAME [--pid N | --name TEXT] [-o DIR] [--json]",
	 "profile a running .NET process and write the reports"},
	{"diff", CLI_DIFF, FOR_DIFF, "drdotnet diff BEFORE AFTER [--json] [-o FILE]",
	 "compare two sessions of one profiler: report.json files, or their folders"},
	{"serve", CLI_SERVE, FOR_SERVE, "drdotnet serve [--port N] [--reports DIR]",
	 "serve the web page and the REST API for the .NET processes of this machine, until Ctrl-C"},
};
#define COMMAND_COUNT (sizeof commands / sizeof *commands)

static const struct command_row *find_command(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (name && strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static const struct option_row *find_option(const char *word, size_t len, unsigned bit)
{
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		const struct option_row *o = &options[i];
		if (!(o->commands & bit))
			continue;
		if ((strlen(o->name) == len && memcmp(o->name, word, len) == 0) ||
		    (o->brief && strlen(o->brief) == len && memcmp(o->brief, word, len) == 0))
			return o;
	}
	return NULL;
}

static int usage_error(struct err *e, const char *text, const char *word)
{
	return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec, "%s: %.80s", text, word);
}

/* One option at argv[*i]: "--name value", "--name=value" or "-f value". */
static int parse_option(const struct command_row *c, int argc, char **argv, int *i, struct cli_args *out, struct err *e)
{
	const char *word = argv[*i], *equals = strchr(word, '=');
	size_t len = equals ? (size_t)(equals - word) : strlen(word);
	const struct option_row *o = find_option(word, len, c->bit);
	if (!o)
		return usage_error(e, "unknown option", word);
	const char *value = equals ? equals + 1 : NULL;
	if (!o->argument && value)
		return usage_error(e, "this option takes no value", word);
	if (o->argument && !value) {
		if (*i + 1 >= argc)
			return usage_error(e, "this option needs a value", word);
		value = argv[++*i];
	}
	if (!o->take(out, value))
		return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec, "%s: expected %s, found \"%.80s\"", o->name, o->expected, value);
	return 0;
}

static int check_run(const struct cli_args *a, struct err *e)
{
	if (a->file && a->has_profiler)
		return usage_error(e, "give a manifest or a profiler, not both", "--file, --profiler");
	if (!a->file && !a->has_profiler)
		return usage_error(e, "say what to run", "--file FILE or --profiler NAME");
	if (a->pid && a->name)
		return usage_error(e, "give the process by its id or by its name, not both", "--pid, --name");
	return 0;
}

/* A word that is no option: the reports of `diff`. */
static int take_operand(struct cli_args *a, const char *word, struct err *e)
{
	for (size_t i = 0; i < sizeof a->operands / sizeof *a->operands && a->command == CLI_DIFF; i++)
		if (!a->operands[i]) {
			a->operands[i] = word;
			return *word ? 0 : usage_error(e, "expected a report, found an empty word", word);
		}
	return usage_error(e, "unexpected word", word);
}

static int check_diff(const struct cli_args *a, struct err *e)
{
	return a->operands[1] ? 0 : usage_error(e, "give two reports to compare", "BEFORE AFTER");
}

static int check_serve(const struct cli_args *a, struct err *e)
{
	if (!a->tls_cert != !a->tls_key)
		return usage_error(e, "give the certificate and its key, or none of them", "--tls-cert, --tls-key");
	if (a->no_web_ui && a->no_rest_api)
		return usage_error(e, "nothing is left to serve", "--no-web-ui, --no-rest-api");
	return 0;
}

int cli_parse(int argc, char **argv, struct cli_args *out, struct err *e)
{
	*out = (struct cli_args){.command = CLI_HELP};
	const char *first = argc > 1 ? argv[1] : NULL;
	if (!first)
		return usage_error(e, "a command is missing", "ps, run, diff or serve");
	if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "help") == 0)
		return 0;
	if (strcmp(first, "--version") == 0 || strcmp(first, "--completion-words") == 0) {
		out->command = strcmp(first, "--version") == 0 ? CLI_VERSION : CLI_WORDS;
		out->about = argc > 2 ? argv[2] : NULL;
		return 0;
	}
	const struct command_row *c = find_command(first);
	if (!c)
		return usage_error(e, "unknown command", first);
	out->command = c->command;
	out->about = c->name;
	for (int i = 2; i < argc && out->command != CLI_HELP; i++) {
		if (argv[i][0] != '-' || argv[i][1] == '\0') {
			if (take_operand(out, argv[i], e) < 0)
				return -1;
			continue;
		}
		if (parse_option(c, argc, argv, &i, out, e) < 0)
			return -1;
	}
	switch (out->command) {
	case CLI_RUN:
		return check_run(out, e);
	case CLI_DIFF:
		return check_diff(out, e);
	case CLI_SERVE:
		return check_serve(out, e);
	default:
		return 0;
	}
}

static void print_program_help(FILE *out)
{
	fprintf(out, "Dr-Dotnet profiles running .NET processes, without preparing or restarting them.\n\ncommands:\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		fprintf(out, "  %-12s %s\n", commands[i].name, commands[i].help);
	fprintf(out, "\n  drdotnet COMMAND --help   the command's options\n  drdotnet --version\n"
		     "\nexit status: 0 done (or ended early by Ctrl-C, with a report), 1 the session failed, 2 wrong usage\n");
}

/* Further lines of the help stand below its first one. */
static void print_option(FILE *out, const char *left, const char *help)
{
	for (const char *line = help; *line; left = "") {
		size_t len = strcspn(line, "\n");
		fprintf(out, "  %-27s %.*s\n", left, (int)len, line);
		line += len + (line[len] == '\n');
	}
}

void cli_print_help(const char *about, FILE *out)
{
	const struct command_row *c = find_command(about);
	if (!c) {
		print_program_help(out);
		return;
	}
	fprintf(out, "%s\n%s\n\noptions:\n", c->usage, c->help);
	for (size_t i = 0; i < OPTION_COUNT; i++) {
		const struct option_row *o = &options[i];
		if (!(o->commands & c->bit))
			continue;
		char left[64];
		snprintf(left, sizeof left, "%s%s%s%s%s", o->brief ? o->brief : "", o->brief ? ", " : "", o->name, o->argument ? " " : "",
			 o->argument ? o->argument : "");
		print_option(out, left, o->help);
	}
}

void cli_print_words(const char *about, FILE *out)
{
	const struct command_row *c = find_command(about);
	for (size_t i = 0; !c && i < COMMAND_COUNT; i++)
		fprintf(out, "%s\n", commands[i].name);
	if (!c)
		fprintf(out, "--help\n--version\n");
	for (size_t i = 0; c && i < OPTION_COUNT; i++)
		if (options[i].commands & c->bit)
			fprintf(out, "%s\n", options[i].name);
}
