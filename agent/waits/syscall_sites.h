/* Whether a thread that lost its CPU was in a system call: the instruction before the one where it goes on is read from the process, once for each place.
 * One thread. */
#ifndef DRDOTNET_SYSCALL_SITES_H
#define DRDOTNET_SYSCALL_SITES_H

#include "agent/locks/process_memory.h"

#include <stdbool.h>
#include <stdint.h>

#define SYSCALL_SITES 1024 /* a power of two */

struct syscall_sites { /* zeroed: empty */
	struct {
		uint64_t ip;
		bool call;
	} sites[SYSCALL_SITES];
};

/* True, too, where it cannot be read. */
bool syscall_sites_has(struct syscall_sites *s, const struct process_memory *m, uint64_t ip);

#endif
