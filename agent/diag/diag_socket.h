/* The file of a diagnostics socket: its name, and a connection to it that cannot be led elsewhere. Any thread. */
#ifndef DRDOTNET_DIAG_SOCKET_H
#define DRDOTNET_DIAG_SOCKET_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct diag_socket_name {
	pid_t inner_pid;
	uint64_t key; /* the process's start time (field 22 of its /proc/PID/stat) */
};

/* "dotnet-diagnostic-{pid}-{key}-socket". Pure. */
bool diag_socket_parse_name(const char *name, struct diag_socket_name *out);

/* Connects to the socket `name` in the folder `dirfd`. It must be a socket (no link), owned by `uid` or root ((uid_t)-1: any
 * owner), and the process that listens must be `pid` (0: any; a stale or foreign socket gives ERR_PROTOCOL). ERR_GONE: nobody
 * listens any more. Non-blocking; the descriptor is the caller's. */
int diag_socket_connect(int dirfd, const char *name, uid_t uid, pid_t pid, int64_t deadline_ms, struct err *e);

#endif
