/* The runtime's diagnostics IPC protocol (dotnet/diagnostics documentation/design-docs/ipc-protocol.md): one command per
 * connection over a unix socket; header 20 bytes: "DOTNET_IPC_V1\0", u16 size, u8 command set, u8 command, u16 0.
 * The other end is hostile: replies are bounded, every wait has a deadline (monotonic ms). Any thread; no state. */
#ifndef DRDOTNET_DIAG_IPC_H
#define DRDOTNET_DIAG_IPC_H

#include "agent/target/target.h"
#include "common/base/buf.h"
#include "common/base/err.h"

#include <stdint.h>

struct diag_process_info { /* ProcessInfo3, or 2 for older runtimes; strings owned */
	int64_t pid;
	char *command_line, *os, *arch, *entrypoint, *runtime_version, *rid;
};
void diag_process_info_fini(struct diag_process_info *i);

/* Connects to the target's socket (by tmp_outer + base name of socket_path, through a directory descriptor: no length limit, no
 * symlink followed, must be a socket). Where the pid is known the peer's pid must be it (ERR_PROTOCOL otherwise). Returns the fd. */
int diag_ipc_connect(const struct target *t, int64_t deadline_ms, struct err *e);

/* The same in the open folder `tmp_fd`, which the target's temporary folder was when it was opened. */
int diag_ipc_connect_in(int tmp_fd, const struct target *t, int64_t deadline_ms, struct err *e);

/* The variables of the process's environment that say something of its runtime, as an environ block (agent/diag/diag_env.h) into *out, which
 * is initialised here in every case. The fd is used up. */
int diag_ipc_environment(int fd, struct buf *out, int64_t deadline_ms, struct err *e);

/* AttachProfiler. The HRESULT of a refusal is in e->code with its reason: 0x8013136A ProfilerAlreadyActive, ... The fd is used up. */
int diag_ipc_attach(int fd, const uint8_t clsid[16], const char *library_inner_path, const uint8_t *client_data, size_t client_len,
		    int64_t attach_timeout_ms, int64_t deadline_ms, struct err *e);

#endif
