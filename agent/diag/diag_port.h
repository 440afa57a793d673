/* A port of ours that runtimes connect to as they start, and that they never wait for: the other direction of the diagnostics IPC
 * (dotnet/diagnostics documentation/design-docs/ipc-protocol.md, "Advertise"). Whoever listens there commands them, so the port lies in a folder that only
 * we can write; where we are root, processes of other users may connect. One thread. */
#ifndef DRDOTNET_DIAG_PORT_H
#define DRDOTNET_DIAG_PORT_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct diag_port {
	char *dir, *path; /* a folder of its own, and the socket in it */
	int fd;           /* listens; -1: closed */
};

int diag_port_open(struct diag_port *p, struct err *e);

/* Removes both; not the folder while some process has been given the port: its runtime goes on asking for it, and would obey whoever opened another there. */
void diag_port_close(struct diag_port *p);

/* The value of DOTNET_DiagnosticPorts for a process that is to come here; `before`: what it is already, or NULL. A new string. */
char *diag_port_variable(const struct diag_port *p, const char *before);

struct diag_visitor {
	int fd;    /* non-blocking, the caller's; closed, a runtime comes again at once */
	pid_t pid; /* as we see it */
	uid_t uid;
};

/* Who has connected. -1: nobody, or nobody that we see. */
int diag_port_accept(const struct diag_port *p, struct diag_visitor *out);

/* 0 when it says by the deadline that it is a runtime. */
int diag_port_await_advert(const struct diag_visitor *v, int64_t deadline_ms);

/* A process that has been given the port in its environment, and, with `dotnet`, whose runtime has begun to run code. 0: none that we may look into. */
pid_t diag_port_find_user(const struct diag_port *p, bool dotnet);

#endif
