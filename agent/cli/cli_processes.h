/* The .NET processes of this machine, for people who look for one. */
#ifndef DRDOTNET_CLI_PROCESSES_H
#define DRDOTNET_CLI_PROCESSES_H

#include "agent/cli/cli_options.h"

/* `drdotnet ps`. Returns the program's exit status, as the others do. */
int cli_processes_list(const struct cli_args *a);

/* `drdotnet` alone: the processes, and what to do next. */
int cli_processes_welcome(const struct cli_args *a);

/* `drdotnet run` alone: what is missing, the processes to choose from and the commands for one. */
int cli_processes_explain(const struct cli_args *a);

/* For the shell's completion: the names of processes and their ids that begin so. */
void cli_processes_complete(const char *beginning, FILE *out);

#endif
