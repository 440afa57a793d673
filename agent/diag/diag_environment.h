/* A process's environment as its runtime tells it: the block that follows the OK reply to GetProcessEnvironment. It comes in pieces of any
 * size, may be megabytes and holds the application's secrets: only the variables that say something of the runtime (CORECLR_, DOTNET_,
 * COMPlus_) are kept, for agent/diag/diag_env.h. Pure; no I/O.
 *
 *   block    u32 count of variables | per variable: a string (diag_codec.h) "NAME=value" */
#ifndef DRDOTNET_DIAG_ENVIRONMENT_H
#define DRDOTNET_DIAG_ENVIRONMENT_H

#include "common/base/buf.h"
#include "common/base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DIAG_ENVIRONMENT_MAX (16u << 20)      /* Linux gives a program 6 MB at most for it, here in UTF-16 */
#define DIAG_ENVIRONMENT_KEPT_MAX (64u << 10) /* what comes then is dropped, a variable at a time */
#define DIAG_ENVIRONMENT_VALUE_MAX 4096       /* of one variable; what is longer is cut */

struct diag_environment {
	struct buf kept;     /* "A=1\0B=2\0"; characters that are not ASCII are '?' */
	struct buf variable; /* the one under way */
	size_t missing;      /* bytes of the block that have not come */
	uint32_t variables, units; /* still to come: of the block, of the variable */
	uint8_t word[4];     /* a number or a unit whose bytes come one after the other */
	size_t have;
	enum { DIAG_ENVIRONMENT_COUNT, DIAG_ENVIRONMENT_LENGTH, DIAG_ENVIRONMENT_UNITS, DIAG_ENVIRONMENT_END } at;
	bool ended;          /* the variable's NUL has come */
};

/* For a block of `size` bytes, as the reply announces it. ERR_PROTOCOL when that cannot be one; *x is set in every case. */
int diag_environment_init(struct diag_environment *x, uint32_t size, struct err *e);
void diag_environment_fini(struct diag_environment *x);

/* The next bytes, no more than are missing. ERR_PROTOCOL when they contradict the block's size. The block is whole when none is missing. */
int diag_environment_feed(struct diag_environment *x, const uint8_t *data, size_t len, struct err *e);

#endif
