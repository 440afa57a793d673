/* Whether a process runs at all: one that is stopped, frozen, traced or being dumped cannot answer, and whoever holds it must
 * not be disturbed. Reads /proc and the control groups only. Any thread. */
#ifndef DRDOTNET_PROCESS_STATE_H
#define DRDOTNET_PROCESS_STATE_H

#include "agent/host/proc.h"
#include "common/base/err.h"

/* 0, or -1 with BeingDebugged or ProcessStopped (ERR_RETRY: it passes). `status` is that of this process; one that we trace ourselves runs on soon. */
int process_state_check(const char *proc_root, pid_t pid, const struct proc_status *status, struct err *e);

/* False when the .NET runtime still waits at its start: the finalizer's thread, which it makes before any managed code runs, is not
 * there (seen with .NET 8, 9 and 10). True when that cannot be told. Bounded. */
bool process_state_runtime_runs(int proc_fd);

#endif
