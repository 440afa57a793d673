/* The local command: the agent's profilers on a process of this machine, without any cluster. */
#include "agent/cli/cli_completion.h"
#include "agent/cli/cli_diff.h"
#include "agent/cli/cli_options.h"
#include "agent/cli/cli_processes.h"
#include "agent/cli/cli_rules.h"
#include "agent/cli/cli_run.h"
#include "agent/serve/serve.h"
#include "common/base/crypto.h"
#include "common/base/log.h"

#include <stdio.h>
#include <string.h>

static int complete(int argc, char **argv)
{
	const char *others = cli_complete(argc, argv, stdout);
	if (others && strcmp(others, ":processes") == 0)
		cli_processes_complete(argv[argc - 1], stdout);
	else if (others)
		printf("%s\n", others);
	return CLI_OK;
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
		return cli_processes_welcome(&args);
	case CLI_HELP:
		cli_print_help(&args, stdout);
		return CLI_OK;
	case CLI_VERSION:
		printf("drdotnet %s\n", DRDOTNET_VERSION);
		return CLI_OK;
	case CLI_COMPLETE:
		return complete(argc, argv);
	case CLI_PS:
		return cli_processes_list(&args);
	case CLI_RUN:
		return cli_run(&args);
	case CLI_DIFF:
		return cli_diff(&args);
	case CLI_EXPLAIN:
		return cli_explain(&args);
	case CLI_RULES:
		return cli_rules(&args);
	case CLI_SERVE:
		return serve_run(&args);
	case CLI_COMPLETION:
		fputs(cli_completion_script(args.words.at[0]), stdout);
		return CLI_OK;
	}
	return CLI_USAGE;
}
