/* When each dynamic method (DynamicMethod, expression trees) was compiled. Their ids are used again after a collection, so that a
 * name is right only for samples taken after its start. Bounded: the oldest of a neighbourhood makes room, and then every
 * method that is not in the table counts as started when the youngest forgotten one did: a name may be lost, never wrong. */
#ifndef DRDOTNET_DYNAMIC_STARTS_H
#define DRDOTNET_DYNAMIC_STARTS_H

#include "profiler/clr/cor_abi.h"

void dynamic_starts_reset(void);
void dynamic_starts_put(cor_id function, uint64_t start_ns); /* CLR callback, any thread */
uint64_t dynamic_starts_get(cor_id function);                /* own thread; 0: before the attach */

#endif
