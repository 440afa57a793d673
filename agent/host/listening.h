/* Whether a process listens on a TCP port: the sockets of its network namespace (/proc/PID/net/tcp, tcp6) that are among its descriptors. */
#ifndef DRDOTNET_LISTENING_H
#define DRDOTNET_LISTENING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* By an open /proc/PID: the lowest port; 0: it listens on none, or that cannot be seen. */
int listening_port(int proc_fd);

/* One line of those files: true for a socket that listens. Pure. */
bool listening_parse_line(const char *line, size_t len, int *port, uint64_t *inode);

#endif
