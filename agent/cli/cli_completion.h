/* The scripts of deploy/completion, which make a shell ask `drdotnet --complete` for words. */
#ifndef DRDOTNET_CLI_COMPLETION_H
#define DRDOTNET_CLI_COMPLETION_H

#define CLI_SHELLS "bash zsh fish"

/* NULL: none of CLI_SHELLS. Static storage. */
const char *cli_completion_script(const char *shell);

#endif
