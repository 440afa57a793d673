/* `drdotnet run`: one session on a local process. One thread; signals INT, TERM and HUP are taken as "end early". */
#ifndef DRDOTNET_CLI_RUN_H
#define DRDOTNET_CLI_RUN_H

#include "agent/cli/cli_options.h"
#include "agent/session/session.h"

/* Returns the exit status. */
int cli_run(const struct cli_args *a);

#endif
