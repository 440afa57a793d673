/* `drdotnet diff`: two reports on disk compared. One thread. */
#ifndef DRDOTNET_CLI_DIFF_H
#define DRDOTNET_CLI_DIFF_H

#include "agent/cli/cli_options.h"

/* Returns the exit status. */
int cli_diff(const struct cli_args *a);

#endif
