/* The words of sessions for somebody who gave options and has neither a cluster nor a manifest. Pure; any thread. */
#ifndef DRDOTNET_CLI_WORDS_H
#define DRDOTNET_CLI_WORDS_H

#include "common/base/buf.h"

/* Appends a message, diagnosis or summary: fields of a spec become options, and "the agent" is this command. */
void cli_words_put(const char *text, struct buf *out);

/* reason_remedy() in these words. NULL: there is none. Static storage. */
const char *cli_words_remedy(const char *reason);

#endif
