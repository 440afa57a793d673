/* What a process's environment says of its runtime's diagnostics. The block is the process's own word at its start: good
 * for explaining why something does not work, for nothing else. Pure. */
#ifndef DRDOTNET_DIAG_ENV_H
#define DRDOTNET_DIAG_ENV_H

#include <stdbool.h>
#include <stddef.h>

/* The name of the setting that switches attaching off ("DOTNET_EnableDiagnostics_Profiler"), static; NULL: none does.
 * The older prefix COMPlus_ counts where DOTNET_ is not set; values are hexadecimal, as the runtime reads them. */
const char *diag_env_disabled(const char *block, size_t len);

/* The setting for which the runtime may be waiting at its start for a tool to resume it, static; NULL: it does not wait. */
const char *diag_env_suspends(const char *block, size_t len);

/* Does a profiler (an APM) start with the process, as its main one or for notifications only? */
bool diag_env_profiled(const char *block, size_t len);

/* The folder of the runtime's socket: TMPDIR when it is an absolute path, else "/tmp"; no slash at its end. -1 when
 * it does not fit. */
int diag_env_tmpdir(const char *block, size_t len, char *out, size_t size);

#endif
