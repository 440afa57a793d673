/* The local command: the agent's profilers on a process of this machine, without any cluster. */
#include "agent/cli/cli_completion.h"
#include "agent/cli/cli_diff.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_output.h"
#include "agent/cli/cli_run.h"
#include "agent/cli/ps.h"
#include "agent/serve/serve.h"
#include "common/base/clock.h"
#include "common/base/crypto.h"
#include "common/base/log.h"

#include <stdio.h>
#include <string.h>

static int find_processes(struct target_list *out, struct err *e)
{
	struct discover_options o = {
		.mode = AGENT_MODE_HOST_PID,
		.proc_root = "/proc",
		.query_runtime = true,
		.deadline_ms = clock_mono_ms() + 5000,
	};
	return discover_targets(&o, out, e);
}

/* The names of processes, and their ids. */
static void print_process_words(const char *beginning, FILE *out)
{
	struct target_list list = {0};
	if (find_processes(&list, NULL) == 0)
		ps_print_words(&list, beginning, out);
	target_list_fini(&list);
}

static int complete(int argc, char **argv)
{
	const char *others = cli_complete(argc, argv, stdout);
	if (others && strcmp(others, ":processes") == 0)
		print_process_words(argv[argc - 1], stdout);
	else if (others)
		printf("%s\n", others);
	return CLI_OK;
}

static int list_processes(const struct cli_args *a)
{
	struct target_list list = {0};
	struct err e = ERR_INIT;
	int status = CLI_OK;
	if (find_processes(&list, &e) < 0) {
		cli_output_error(stdout, stderr, a->json, &e);
		status = CLI_FAILED;
	} else if (ps_print(&list, a->json, stdout) < 0) {
		status = CLI_FAILED;
	}
	target_list_fini(&list);
	return status;
}

static void print_next_commands(FILE *out)
{
	fputs("\nprofile one of them, by its id or its name:\n"
	      "  drdotnet run --cpu PROCESS       where does the CPU time go?\n"
	      "  drdotnet run --memory PROCESS    what fills the heap, and what retains it?\n"
	      "  drdotnet run --help              other symptoms, and all options\n",
	      out);
}

static int welcome(const struct cli_args *a)
{
	int status = list_processes(a);
	if (status == CLI_OK)
		print_next_commands(stdout);
	return status;
}

int main(int argc, char **argv)
{
	crypto_stay();
	struct cli_args args;
	struct err e = ERR_INIT;
	if (cli_parse(argc, argv, &args, &e) < 0) {
		cli_print_usage_error(&args, &e, stderr);
		return CLI_USAGE;
	}
	log_configure(args.verbose ? LOG_LEVEL_DEBUG : LOG_LEVEL_ERROR, LOG_FORMAT_TEXT);
	switch (args.command) {
	case CLI_WELCOME:
		return welcome(&args);
	case CLI_HELP:
		cli_print_help(&args, stdout);
		return CLI_OK;
	case CLI_VERSION:
		printf("drdotnet %s\n", DRDOTNET_VERSION);
		return CLI_OK;
	case CLI_COMPLETE:
		return complete(argc, argv);
	case CLI_PS:
		return list_processes(&args);
	case CLI_RUN:
		return cli_run(&args);
	case CLI_DIFF:
		return cli_diff(&args);
	case CLI_SERVE:
		return serve_run(&args);
	case CLI_COMPLETION:
		fputs(cli_completion_script(args.words.at[0]), stdout);
		return CLI_OK;
	}
	return CLI_USAGE;
}
