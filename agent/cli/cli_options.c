#include "agent/cli/cli_options.h"

#include "agent/cli/cli_completion.h"
#include "common/api/reason.h"

#include <string.h>

#define FOR_PS (1u << CLI_PS)
#define FOR_RUN (1u << CLI_RUN)
#define FOR_DIFF (1u << CLI_DIFF)
#define FOR_SERVE (1u << CLI_SERVE)

#define ARGS struct cli_args
#define MAX_PID (1 << 22)

static const struct option_row rows[] = {
	SESSION_OPTION_ROWS(FOR_RUN, ARGS, session),
	{.help = "options"},
	OPTION_TEXT(ARGS, file, "--file", "FILE", "a ProfilingSession manifest (YAML or JSON) instead of a symptom; \"-\": standard input",
		    .brief = "-f", .commands = FOR_RUN, .values = ":files yaml yml json"),
	OPTION_NUMBER(ARGS, pid, "--pid", "N", 1, MAX_PID, "the process, by its id", .commands = FOR_RUN, .values = ":processes"),
	OPTION_TEXT(ARGS, name, "--name", "TEXT", "the process, by its entry assembly or a part of its command line", .commands = FOR_RUN,
		    .values = ":processes"),
	OPTION_TEXT(ARGS, baseline, "--baseline", "FILE", "compare with this report.json, or the folder of one", .commands = FOR_RUN,
		    .values = ":files json"),
	OPTION_TEXT(ARGS, rules, "--rules", "DIR", "judge by the rules of this folder, too (see docs/catalogue.md)", .commands = FOR_RUN,
		    .values = ":folders"),
	OPTION_TEXT(ARGS, output, "--output", "DIR", "the folder for the report (default: ./drdotnet-<name>-<time>)", .brief = "-o",
		    .commands = FOR_RUN, .values = ":folders"),
	OPTION_TEXT(ARGS, output, "--output", "FILE", "write the comparison to this file (default: standard output)", .brief = "-o",
		    .commands = FOR_DIFF, .values = ":files"),
	OPTION_NUMBER(ARGS, port, "--port", "N", 0, 65535, "the TCP port (default: any free one; it is printed)", .brief = "-p", .commands = FOR_SERVE),
	OPTION_TEXT(ARGS, bind, "--bind", "ADDRESS", "the address to listen on (default: 127.0.0.1, this machine only)", .commands = FOR_SERVE,
		    .values = "127.0.0.1 ::1 0.0.0.0"),
	OPTION_TEXT(ARGS, reports, "--reports", "DIR", "where sessions are kept (default: ~/.local/state/drdotnet/reports)", .commands = FOR_SERVE,
		    .values = ":folders"),
	OPTION_TEXT(ARGS, token_file, "--token-file", "FILE", "the file with the token; created if missing (default: a new token each time)",
		    .commands = FOR_SERVE, .values = ":files"),
	OPTION_NUMBER(ARGS, at_once, "--sessions", "N", 1, 16, "sessions that run at the same time, 1 to 16 (default: 2)", .commands = FOR_SERVE),
	OPTION_TEXT(ARGS, tls_cert, "--tls-cert", "FILE", "serve TLS with this certificate (PEM, with its chain)", .commands = FOR_SERVE,
		    .values = ":files"),
	OPTION_TEXT(ARGS, tls_key, "--tls-key", "FILE", "the certificate's key (PEM)", .commands = FOR_SERVE, .values = ":files"),
	OPTION_SWITCH(ARGS, no_web_ui, "--no-web-ui", "no web page, only the REST API (also: WEB_UI_ENABLED=false)", .commands = FOR_SERVE),
	OPTION_SWITCH(ARGS, no_rest_api, "--no-rest-api", "no REST API, so that nothing can be started (also: REST_API_ENABLED=false)",
		      .commands = FOR_SERVE),
	OPTION_SWITCH(ARGS, json, "--json", "print one JSON object instead of text", .commands = FOR_PS | FOR_RUN | FOR_DIFF),
	OPTION_SWITCH(ARGS, quiet, "--quiet", "no progress line", .brief = "-q", .commands = FOR_RUN),
	OPTION_SWITCH(ARGS, verbose, "--verbose", "log to standard error what is done", .brief = "-v", .commands = FOR_PS | FOR_RUN | FOR_SERVE),
	OPTION_LAST(ARGS, command, "--help", CLI_HELP, "this help", .brief = "-h"),
};

static int mark_invalid_spec(struct err *e, const char *text, const char *word)
{
	return err_set(e, ERR_INVALID, 0, "%s: %.80s", text, word);
}

/* Of `run 4711 30s` the process, and the time, which alone ends in a unit. */
static int read_run_word(struct cli_args *a, const char *word, struct err *e)
{
	static const struct option_row pid = {.at = offsetof(ARGS, pid), .least = 1, .most = MAX_PID};
	bool number = strspn(word, "0123456789") == strlen(word);
	int64_t seconds = number ? -1 : option_parse_duration(word);
	if (seconds > 0 && !a->session.duration_seconds) {
		a->session.duration_seconds = seconds;
		return 0;
	}
	if (strcmp(word, "-") == 0)
		return mark_invalid_spec(e, "unexpected word", word);
	if (a->pid || a->name)
		return mark_invalid_spec(e, "only one process can be profiled: unexpected word", word);
	if (number)
		return option_set_number(&pid, "the process id", word, a, e);
	a->name = word;
	return 0;
}

/* The first .NET process would be the SDK's own. */
static int check_start(char *const *start, struct err *e)
{
	static const char *const kinds[] = {"run", "test", "tool", "watch"};
	const char *slash = start[0] ? strrchr(start[0], '/') : NULL, *name = slash ? slash + 1 : start[0];

	if (!name)
		return err_set(e, ERR_INVALID, 0, "the command to start must follow \"--\"");
	for (size_t i = 0; strcmp(name, "dotnet") == 0 && start[1] && i < sizeof kinds / sizeof *kinds; i++)
		if (strcmp(start[1], kinds[i]) == 0)
			return err_set(e, ERR_INVALID, 0,
				       "\"dotnet %s\" is a command of the SDK, which would be profiled itself: start the application, such as \"dotnet "
				       "bin/Release/net10.0/App.dll\"",
				       kinds[i]);
	return 0;
}

static int check_run(void *args, struct err *e)
{
	struct cli_args *a = args;
	for (size_t i = 0; i < a->words.count; i++)
		if (read_run_word(a, a->words.at[i], e) < 0)
			return -1;
	if (a->file && a->session.has_profiler)
		return mark_invalid_spec(e, "give a manifest or a profiler, not both", profiler_kind_words(a->session.profiler)->option);
	if (a->start && (a->pid || a->name))
		return mark_invalid_spec(e, "give a process that runs, or the command to start, not both", a->start[0] ? a->start[0] : "--");
	if (a->start && check_start(a->start, e) < 0)
		return -1;
	if (a->pid && a->name)
		return mark_invalid_spec(e, "give the process by its id or by its name, not both", a->name);
	return 0;
}

static int check_serve(void *args, struct err *e)
{
	const struct cli_args *a = args;
	if (!a->tls_cert != !a->tls_key)
		return mark_invalid_spec(e, "give the certificate and its key, or neither", "--tls-cert, --tls-key");
	if (a->no_web_ui && a->no_rest_api)
		return mark_invalid_spec(e, "nothing is left to serve", "--no-web-ui, --no-rest-api");
	return 0;
}

static int check_completion(void *args, struct err *e)
{
	const struct cli_args *a = args;
	return cli_completion_script(a->words.at[0]) ? 0 : option_expected("the shell", CLI_SHELLS, a->words.at[0], e);
}

#define EXIT_STATUS "exit status: 0 succeeded (or ended early by Ctrl-C, with a report), 1 the session failed, or there was no process\n" \
		    "for it, 2 wrong usage"

static const struct option_command commands[] = {
	{"ps", CLI_PS, NULL, 0, 0, "ps [--json]", "list the .NET processes of this machine and whether they can be profiled", NULL, NULL},
	{"run", CLI_RUN, ":processes", 0, 2, "run [SYMPTOM] PROCESS [TIME] [options]\nrun -f session.yaml PROCESS [options]\n"
	 "run [SYMPTOM] [TIME] [options] -- COMMAND [ARGUMENT...]",
	 "profile a .NET process and write the report",
	 "  SYMPTOM   one of the options below\n"
	 "  PROCESS   a process id, an entry assembly such as Checkout, or a part of the command line;\n"
	 "            with a SYMPTOM it may be omitted where only one .NET process runs\n"
	 "  TIME      how long, such as 30s or 2m\n"
	 "  COMMAND   is started, and profiled from its beginning; the exit status is its own\n\n"
	 "  drdotnet run 4711                      where does process 4711 spend its CPU time?\n"
	 "  drdotnet run --leak Checkout 5m        what grows in Checkout?\n"
	 "  drdotnet run --memory 4711 -o after --baseline before\n"
	 "  drdotnet run -o report -- dotnet Checkout.dll --port 8080\n\n"
	 EXIT_STATUS, check_run},
	{"diff", CLI_DIFF, ":files json", 2, 2, "diff BEFORE AFTER [--json] [-o FILE]",
	 "compare two sessions of one profiler: report.json files, or their folders", NULL, NULL},
	{"explain", CLI_EXPLAIN, NULL, 1, 1, "explain FINDING", "explain a finding, such as RetryStorm", NULL, NULL},
	{"rules", CLI_RULES, ":files yaml json", 1, 3, "rules list\nrules numbers PROFILER\nrules check FOLDER\nrules test RULE REPORT",
	 "the catalogue of findings, and rules of your own",
	 "  list      the findings of the catalogue\n"
	 "  numbers   what rules of that profiler can judge\n"
	 "  check     whether the rule files of a folder are sound\n"
	 "  test      what a rule, or the rule of a file, says of a report.json", NULL},
	{"serve", CLI_SERVE, NULL, 0, 0, "serve [--port N] [--reports DIR]",
	 "serve the web page and the REST API for the .NET processes of this machine, until Ctrl-C", NULL, check_serve},
	{"completion", CLI_COMPLETION, CLI_SHELLS, 1, 1, "completion bash|zsh|fish", "print the script that makes a shell complete drdotnet's words",
	 "  bash   source <(drdotnet completion bash)      in ~/.bashrc\n"
	 "  zsh    source <(drdotnet completion zsh)       in ~/.zshrc, after compinit\n"
	 "  fish   drdotnet completion fish | source       in ~/.config/fish/config.fish", check_completion},
};

static const struct option_program program = {
	.name = "drdotnet",
	.about = "Dr-Dotnet profiles running .NET processes, without preparing or restarting them.",
	.details = "  drdotnet                  the .NET processes of this machine, and what to do next\n"
		   "  drdotnet COMMAND --help   the command's options\n  drdotnet --version\n\n" EXIT_STATUS,
	.commands = commands,
	.command_count = sizeof commands / sizeof *commands,
	.options = {.rows = rows, .count = sizeof rows / sizeof *rows, .words_at = offsetof(ARGS, words)},
};

int cli_parse(int argc, char **argv, struct cli_args *out, struct err *e)
{
	*out = (struct cli_args){0};
	for (int i = 2; i < argc && strcmp(argv[1], "run") == 0 && !out->start; i++)
		if (strcmp(argv[i], "--") == 0) {
			out->start = &argv[i + 1];
			argc = i;
		}
	int command = option_program_read(&program, argc, argv, out, &out->about, e);
	/* What is wrong with a command line is wrong with the session that it describes. */
	if (command < 0 && e && !e->reason)
		e->reason = REASON_InvalidSpec;
	if (command >= 0)
		out->command = (enum cli_command)command;
	return command < 0 ? -1 : 0;
}

void cli_print_help(const struct cli_args *a, FILE *out)
{
	option_program_print_help(&program, a->about, out);
}

void cli_print_usage_error(const struct cli_args *a, const struct err *e, FILE *out)
{
	options_print_error(program.name, a->about ? a->about->name : NULL, e, out);
}

const char *cli_complete(int argc, char *const argv[], FILE *out)
{
	return option_program_complete(&program, argc, argv, out);
}
