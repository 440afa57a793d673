/* The stack of the calling thread, a managed one inside a callback of the runtime: by what is known of its code (caller_walk.h) where the
 * map of stacks knows the thread's; else, for a new thread and for code that is met for the first time, by the runtime's own way, which has managed
 * frames only and takes several times as long. CLR callback: no lock, no allocation. */
#ifndef DRDOTNET_OWN_STACK_H
#define DRDOTNET_OWN_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Own thread, before the first take. Needs COR_ENABLE_STACK_SNAPSHOT in the event mask from then on. */
void own_stack_prepare(void *info);
/* Own thread, now and then: reads the process's mappings anew when a take asked for it. */
void own_stack_tick(void);

struct own_stack {
	size_t depth;
	bool more;       /* there would be others */
	bool incomplete; /* callers may be missing: some code was not known, and the runtime would not tell */
};

/* Addresses, leaf first, all of them places that a call returns to. At most `cap`; depth 0: none to be had. */
struct own_stack own_stack_take(uint64_t *ips, size_t cap);

#endif
