/* Which process does the command line mean? Pure. */
#ifndef DRDOTNET_CLI_TARGET_H
#define DRDOTNET_CLI_TARGET_H

#include "agent/target/target.h"

/* `name` NULL: the only one. Else the processes with this entry assembly; when there are none, those whose command line holds the text; each
 * first as it is written, then in upper or lower case. Returns the index or -1: ERR_NOT_FOUND (NoDotnetProcess, ProcessNotFound), ERR_INVALID
 * (AmbiguousProcess: the message lists them), or the reason why the only one cannot be profiled. */
ssize_t cli_target_choose(const struct target_list *l, const char *name, struct err *e);

/* The same for a session; where it goes without a library or runtime (enum target_without), one that lacks it will do, if it is the only one. */
ssize_t cli_target_choose_for(unsigned without, struct target_list *l, const char *name, struct err *e);

#endif
