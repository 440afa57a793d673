/* The liveness probe without a port: a unix socket that answers each connection with a line or two and closes. One thread. */
#ifndef DRDOTNET_HEALTH_SOCKET_H
#define DRDOTNET_HEALTH_SOCKET_H

#include "common/base/err.h"

#include <stddef.h>

/* Listens at `path` (0600; a stale socket is replaced). Returns the descriptor, not blocking. */
int health_socket_listen(const char *path, struct err *e);

/* Answers everybody who waits. */
void health_socket_answer(int fd, const char *line);

/* The probe: connects, reads the line (within two seconds). 0 when it begins with "ok". */
int health_socket_probe(const char *path, char *line, size_t size, struct err *e);

#endif
