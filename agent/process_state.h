/* Whether a process runs at all: one that is stopped, frozen, traced or being dumped cannot answer, and whoever holds it must
 * not be disturbed. Reads /proc and the control groups only. Any thread. */
#ifndef DRDOTNET_PROCESS_STATE_H
#define DRDOTNET_PROCESS_STATE_H

#include "agent/proc.h"
#include "common/base/err.h"

/* 0, or -1 with BeingDebugged or ProcessStopped (ERR_RETRY: it passes). `status` is that of this process. */
int process_state_check(const char *proc_root, pid_t pid, const struct proc_status *status, struct err *e);

#endif
