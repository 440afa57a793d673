/* Return addresses that the runtime has replaced by its own, to get hold of a thread when the method that it is in returns (a suspension for a
 * collection or new code): the sampler sees the signal by which the runtime does that first, and notes what stands there. Lock-free; small: a later
 * one takes the place of an earlier one. */
#ifndef DRDOTNET_HIJACKS_H
#define DRDOTNET_HIJACKS_H

#include <stdbool.h>
#include <stdint.h>

void hijacks_reset(void); /* own thread */
/* Signal handler: where on the stack, and what. */
void hijacks_note(uint64_t slot, uint64_t address);
/* Any context. 0: nothing was noted. What it gives may be wrong where two threads noted something at once: it is code that can be known, or not. */
uint64_t hijacks_find(uint64_t slot);
/* Whether nothing that calls stands before the address, which lies in code that is mapped from 8 bytes before: no call returns there. */
bool hijacks_is_one(uint64_t address);

#endif
