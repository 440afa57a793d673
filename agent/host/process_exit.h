/* How a process ended that is not a child of ours: from its /proc entry while its parent has not waited for it, and from a descriptor of it after that
 * (Linux 6.15). Any thread. */
#ifndef DRDOTNET_PROCESS_EXIT_H
#define DRDOTNET_PROCESS_EXIT_H

#include "common/base/exit_status.h"

/* Of a process that has ended. `proc_fd`: its open /proc/PID; `pid_fd`: a pidfd; each may be -1. Not known: neither tells any more. */
struct exit_status process_exit_read(int proc_fd, int pid_fd);

/* The wait status in the text of /proc/PID/stat. -1: it is not of that format, the process has not ended as a whole, or we may not see it. Pure. */
int process_exit_parse_stat(const char *text);

#endif
