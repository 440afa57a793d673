/* The exceptions that are on their way from their throw to a catch block, by thread: each thread has a short stack of them, which it alone uses. Fixed
 * memory; a thread whose place another one has taken loses what it had. CLR callback; lock-free. */
#ifndef DRDOTNET_THROW_SLOTS_H
#define DRDOTNET_THROW_SLOTS_H

#include <stdbool.h>
#include <stdint.h>

struct throw_slot {
	uint64_t site;   /* what was thrown */
	uint64_t cpu_ns; /* CPU time of the thread when it was; 0: not asked for */
};

/* An exception sets out. */
void throw_slots_push(uintptr_t thread, struct throw_slot thrown);
/* The newest of the thread, which has arrived. false: none is known. */
bool throw_slots_pop(uintptr_t thread, struct throw_slot *out);
/* Whether the thread has thrown since exceptions are told of: where it then catches one that is not on its way, it has thrown an old one again. */
bool throw_slots_threw(uintptr_t thread);
/* Own thread, before exceptions are told of again: what set out before is not waited for any more, as its arrival may not have been told of. */
void throw_slots_begin(void);

#endif
