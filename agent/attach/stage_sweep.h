/* What other sessions have left in a target, or still use there. */
#ifndef DRDOTNET_STAGE_SWEEP_H
#define DRDOTNET_STAGE_SWEEP_H

#include "agent/attach/stage.h"

/* True while a file whose base name is `library_name` is mapped in the process (host PID mode only). */
bool stage_library_mapped(const struct target *t, const char *library_name);

/* True while a session of ours, of another agent or of the local command, is under way in the process: a library is mapped and holds its own
 * file (host PID mode only; profiler/base/own_file.c). One that is mapped and holds nothing has come and gone: musl unmaps none. */
bool stage_library_serves(const struct target *t);

/* The file of a library of another session that is still in the process and holds it locked (profiler/base/own_file.c), in the target's
 * temporary folder; -1: none is known. stage_library_gone() says of it whether the library has left meanwhile. */
int stage_find_library(const struct target *t, int tmp_fd);
bool stage_library_gone(int library_fd);

/* Removes session folders that a killed agent left behind in this target's temporary folder: older than `older_than_s`,
 * without a library that is still there. Returns how many; *kept (may be NULL) counts on for each that no session uses and that cannot be removed yet. */
int stage_sweep(const struct target *t, int64_t older_than_s, int *kept);

#endif
