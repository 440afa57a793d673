/* A port of ours that runtimes connect to as they start, and wait at until they are let go: the other direction of the diagnostics IPC
 * (dotnet/diagnostics documentation/design-docs/ipc-protocol.md, "Advertise"). One thread. */
#ifndef DRDOTNET_DIAG_PORT_H
#define DRDOTNET_DIAG_PORT_H

#include "common/base/err.h"

#include <stdint.h>
#include <sys/types.h>

struct diag_port {
	char *dir, *path; /* a folder of its own, and the socket in it */
	int fd;           /* listens; -1: closed */
};

int diag_port_open(struct diag_port *p, struct err *e);
void diag_port_close(struct diag_port *p); /* removes both */

/* The value of DOTNET_DiagnosticPorts for a process that is to wait here; `before`: what it is already, or NULL. A new string. */
char *diag_port_variable(const struct diag_port *p, const char *before);

struct diag_visitor {
	int fd;            /* non-blocking, the caller's: one command can be sent; the runtime comes again after each */
	pid_t pid;         /* as we see it */
	uint8_t cookie[16]; /* the same each time that it comes */
};

/* Who has connected, and said by the deadline that it is a runtime. -1: nobody, or somebody else. */
int diag_port_accept(struct diag_port *p, int64_t deadline_ms, struct diag_visitor *out);

#endif
