#include "agent/cli/cli_diff.h"

#include "agent/cli/cli_output.h"
#include "common/report/report_diff_file.h"

int cli_diff(const struct cli_args *a)
{
	struct err e = ERR_INIT;
	if (report_diff_files(a->words.at[0], a->words.at[1], a->json, a->output, stdout, &e) == 0)
		return CLI_OK;
	cli_output_error(stdout, stderr, a->json, &e);
	return e.kind == ERR_INVALID ? CLI_USAGE : CLI_FAILED;
}
