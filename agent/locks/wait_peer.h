/* Which machine a thread waits for that sleeps in a call on a TCP socket: by the descriptor in its system call, and the kernel's table of connections. One
 * thread. */
#ifndef DRDOTNET_WAIT_PEER_H
#define DRDOTNET_WAIT_PEER_H

#include "agent/locks/process_memory.h"
#include "agent/locks/thread_wait.h"

#define WAIT_PEER_BYTES 64

/* "10.0.3.7:5432", "[fd00::7]:5432"; "": it waits for something else, or that is not known. */
void wait_peer_of(const struct process_memory *m, int proc_fd, const struct thread_wait *t, char out[WAIT_PEER_BYTES]);

/* A line of /proc/net/tcp or tcp6 (proc(5)): the other end, "" where there is none (it listens). 0: it is no line of a connection; else its inode. Pure. */
uint64_t wait_peer_parse_line(const char *line, char out[WAIT_PEER_BYTES]);

#endif
