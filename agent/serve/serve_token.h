/* The token that requests to the local server must send. Any thread. */
#ifndef DRDOTNET_SERVE_TOKEN_H
#define DRDOTNET_SERVE_TOKEN_H

#include "common/base/err.h"

#include <stdbool.h>

#define SERVE_TOKEN_LEAST 16 /* characters of a token from a file */

/* A new random one, or what `file` has (made with a new one, 0600, when it is not there). NULL: ERR_INVALID for a file whose token is too short
 * or has other characters than a header may have. */
char *serve_token_get(const char *file, struct err *e);

/* Takes the same time for each token of one length. */
bool serve_token_equal(const char *token, const char *sent);

#endif
