#include "agent/cli/cli_options.h"

#include "common/api/reason.h"

#include <string.h>

#define FOR_PS (1u << CLI_PS)
#define FOR_RUN (1u << CLI_RUN)
#define FOR_DIFF (1u << CLI_DIFF)
#define FOR_SERVE (1u << CLI_SERVE)

#define TEXT(option, short_form, word, takers, field, words, text)                                                                      \
	{.name = option, .brief = short_form, .argument = word, .commands = (takers), .set = option_set_text,                           \
	 .at = offsetof(struct cli_args, field), .values = words, .help = text}
#define NUMBER(option, short_form, word, takers, field, from, to, text)                                                                 \
	{.name = option, .brief = short_form, .argument = word, .commands = (takers), .set = option_set_number,                         \
	 .at = offsetof(struct cli_args, field), .least = from, .most = to, .help = text}
#define SWITCH(option, short_form, takers, field, text)                                                                                 \
	{.name = option, .brief = short_form, .commands = (takers), .set = option_set_on, .at = offsetof(struct cli_args, field), .help = text}

static const struct option_row rows[] = {
	SESSION_OPTION_ROWS(FOR_RUN, struct cli_args, session),
	TEXT("--file", "-f", "FILE", FOR_RUN, file, ":files yaml yml json", "a ProfilingSession manifest (YAML or JSON); \"-\": standard input"),
	{.name = "--pid", .argument = "N", .commands = FOR_RUN, .set = option_set_number, .at = offsetof(struct cli_args, pid), .least = 1,
	 .most = 1 << 22, .values = ":processes", .help = "the process, by its id"},
	TEXT("--name", NULL, "TEXT", FOR_RUN, name, ":processes", "the process, by its entry assembly or a part of its command line"),
	TEXT("--baseline", NULL, "FILE", FOR_RUN, baseline, ":files json", "compare with this report.json, or the folder of one"),
	TEXT("--output", "-o", "DIR", FOR_RUN, output, ":folders", "the folder for the report (default: ./drdotnet-<name>-<time>)"),
	TEXT("--output", "-o", "FILE", FOR_DIFF, output, ":files", "write the comparison to this file (default: standard output)"),
	NUMBER("--port", "-p", "N", FOR_SERVE, port, 0, 65535, "the TCP port (default: any free one; it is printed)"),
	TEXT("--bind", NULL, "ADDRESS", FOR_SERVE, bind, "127.0.0.1 ::1 0.0.0.0", "the address to listen on (default: 127.0.0.1, this machine only)"),
	TEXT("--reports", NULL, "DIR", FOR_SERVE, reports, ":folders", "where sessions are kept (default: ~/.local/state/drdotnet/reports)"),
	TEXT("--token-file", NULL, "FILE", FOR_SERVE, token_file, ":files", "the file with the token; created if missing (default: a new token each time)"),
	NUMBER("--sessions", NULL, "N", FOR_SERVE, at_once, 1, 16, "sessions that run at the same time, 1 to 16 (default: 2)"),
	TEXT("--tls-cert", NULL, "FILE", FOR_SERVE, tls_cert, ":files", "serve TLS with this certificate (PEM, with its chain)"),
	TEXT("--tls-key", NULL, "FILE", FOR_SERVE, tls_key, ":files", "the certificate's key (PEM)"),
	SWITCH("--no-web-ui", NULL, FOR_SERVE, no_web_ui, "no web page, only the REST API (also: WEB_UI_ENABLED=false)"),
	SWITCH("--no-rest-api", NULL, FOR_SERVE, no_rest_api, "no REST API, so that nothing can be started (also: REST_API_ENABLED=false)"),
	SWITCH("--json", NULL, FOR_PS | FOR_RUN | FOR_DIFF, json, "print one JSON object instead of text"),
	SWITCH("--quiet", "-q", FOR_RUN, quiet, "no progress line"),
	SWITCH("--verbose", "-v", FOR_PS | FOR_RUN | FOR_SERVE, verbose, "log to standard error what is done"),
	{.name = "--help", .brief = "-h", .commands = FOR_PS | FOR_RUN | FOR_DIFF | FOR_SERVE, .set = option_set_last,
	 .at = offsetof(struct cli_args, command), .least = CLI_HELP, .help = "this help"},
};

static const struct option_command commands[] = {
	{"ps", CLI_PS, NULL, 0, 0, "drdotnet ps [--json]", "list the .NET processes of this machine and whether they can be profiled"},
	{"run", CLI_RUN, ":processes", 0, 2,
	 "drdotnet run --cpu|--memory|--leak|--strings|--allocations|--pauses [PROCESS] [30s] [options]\n"
	 "drdotnet run -f session.yaml [PROCESS] [options]\n\n"
	 "PROCESS: a process id, an entry assembly such as Checkout, or a part of the command line; may be omitted where one .NET process runs",
	 "profile a running .NET process and write the report"},
	{"diff", CLI_DIFF, ":files json", 2, 2, "drdotnet diff BEFORE AFTER [--json] [-o FILE]",
	 "compare two sessions of one profiler: report.json files, or their folders"},
	{"serve", CLI_SERVE, NULL, 0, 0, "drdotnet serve [--port N] [--reports DIR]",
	 "serve the web page and the REST API for the .NET processes of this machine, until Ctrl-C"},
};

static int usage_error(struct err *e, const char *text, const char *word)
{
	return err_set_reason(e, ERR_INVALID, REASON_InvalidSpec, "%s: %.80s", text, word);
}

/* Of `run 4711 30s` the process, and the time, which alone ends in a unit. */
static int take_run_word(struct cli_args *a, const char *word, struct err *e)
{
	bool number = *word && strspn(word, "0123456789") == strlen(word);
	int64_t seconds = number ? -1 : option_parse_duration(word);
	if (seconds > 0 && !a->session.duration_seconds) {
		a->session.duration_seconds = seconds;
		return 0;
	}
	if (!*word || strcmp(word, "-") == 0 || a->pid || a->name)
		return usage_error(e, "unexpected word", word);
	static const struct option_row pid = {.set = option_set_number, .at = offsetof(struct cli_args, pid), .least = 1, .most = 1 << 22};
	if (number)
		return option_set_number(&pid, "the process id", word, a, e);
	a->name = word;
	return 0;
}

static int take_word(void *args, const char *word, struct err *e)
{
	struct cli_args *a = args;
	if (a->command == CLI_RUN)
		return take_run_word(a, word, e);
	for (size_t i = 0; i < sizeof a->operands / sizeof *a->operands && a->command == CLI_DIFF; i++)
		if (!a->operands[i]) {
			a->operands[i] = word;
			return *word ? 0 : usage_error(e, "expected a report, found an empty word", word);
		}
	return usage_error(e, "unexpected word", word);
}

static int check_run(const struct cli_args *a, struct err *e)
{
	if (a->file && a->session.has_profiler)
		return usage_error(e, "give a manifest or a profiler, not both", session_options_symptom(a->session.profiler));
	if (!a->file && !a->session.has_profiler)
		return usage_error(e, "name the symptom",
				   "--cpu, --memory, --leak, --strings, --allocations or --pauses");
	if (a->pid && a->name)
		return usage_error(e, "give the process by its id or by its name, not both", a->name);
	return 0;
}

static int check_diff(const struct cli_args *a, struct err *e)
{
	return a->operands[1] ? 0 : usage_error(e, "give two reports to compare", "BEFORE AFTER");
}

static int check_serve(const struct cli_args *a, struct err *e)
{
	if (!a->tls_cert != !a->tls_key)
		return usage_error(e, "give the certificate and its key, or neither", "--tls-cert, --tls-key");
	if (a->no_web_ui && a->no_rest_api)
		return usage_error(e, "nothing is left to serve", "--no-web-ui, --no-rest-api");
	return 0;
}

static const struct option_program program = {
	.commands = commands,
	.command_count = sizeof commands / sizeof *commands,
	.options = {.rows = rows, .count = sizeof rows / sizeof *rows, .on_word = take_word},
};

/* What is wrong with a command line is wrong with the session that it describes. */
static int invalid(struct err *e)
{
	if (e && !e->reason)
		e->reason = REASON_InvalidSpec;
	return -1;
}

int cli_parse(int argc, char **argv, struct cli_args *out, struct err *e)
{
	*out = (struct cli_args){.command = CLI_WELCOME};
	const char *first = argc > 1 ? argv[1] : NULL;
	if (!first)
		return 0;
	out->command = CLI_HELP;
	if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "help") == 0)
		return 0;
	if (strcmp(first, "--version") == 0 || strcmp(first, OPTION_COMPLETE) == 0) {
		out->command = strcmp(first, "--version") == 0 ? CLI_VERSION : CLI_COMPLETE;
		return 0;
	}
	const struct option_command *c = option_program_find(&program, first, e);
	if (!c)
		return invalid(e);
	out->command = (enum cli_command)c->command;
	out->about = c->name;
	struct option_table t = option_program_table(&program, c);
	if (options_read_words(&t, argc, argv, 2, out, e) < 0)
		return invalid(e);
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
	option_program_print_commands(&program, out);
	fprintf(out, "\n  drdotnet                  the .NET processes of this machine, and what to do next\n"
		     "  drdotnet COMMAND --help   the command's options\n  drdotnet --version\n"
		     "\nexit status: 0 succeeded (or ended early by Ctrl-C, with a report), 1 the session failed, 2 wrong usage\n");
}

void cli_print_help(const char *about, FILE *out)
{
	const struct option_command *c = about ? option_program_find(&program, about, NULL) : NULL;
	if (!c) {
		print_program_help(out);
		return;
	}
	fprintf(out, "%s\n\n%s\n\noptions:\n", c->usage, c->help);
	struct option_table t = option_program_table(&program, c);
	options_print_help(&t, out);
}

const char *cli_complete(int argc, char *const argv[], FILE *out)
{
	return option_program_complete(&program, argc, argv, out);
}
