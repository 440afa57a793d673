/* Where libdrdotnet.so is: beside the executable, as DRDOTNET_LIBRARY says, or where `make install` puts it: ../lib/drdotnet from the
 * executable. Any thread. */
#ifndef DRDOTNET_CLI_LIBRARY_H
#define DRDOTNET_CLI_LIBRARY_H

#include "common/base/err.h"

/* The path (free it), or NULL: ERR_NOT_FOUND with the places that were tried. */
char *cli_library_find(struct err *e);

/* The same for an executable at `exe` and a value of the variable (NULL: not set). */
char *cli_library_find_from(const char *exe, const char *variable, struct err *e);

#endif
