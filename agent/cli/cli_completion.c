#include "agent/cli/cli_completion.h"

#include "common/base/embed.h"
#include "common/base/options.h"

EMBED_FILE(".rodata.cli_completion", cli_completion_bash, "deploy/completion/drdotnet.bash");
EMBED_FILE(".rodata.cli_completion", cli_completion_zsh, "deploy/completion/_drdotnet");
EMBED_FILE(".rodata.cli_completion", cli_completion_fish, "deploy/completion/drdotnet.fish");

const char *cli_completion_script(const char *shell)
{
	const char *const scripts[] = {cli_completion_bash, cli_completion_zsh, cli_completion_fish};
	int index = option_find_word(CLI_SHELLS, shell);
	return index < 0 ? NULL : scripts[index];
}
