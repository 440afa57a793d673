/* The signs of diseases on a heap, by what types are called (agent/symbols/type_pattern.h) and what lies below them: timers, cancellation
 * sources, load contexts, tracked entities, what a container's scopes will dispose of, handlers of events. Pure; any thread. */
#ifndef DRDOTNET_SURVIVORS_SIGNS_H
#define DRDOTNET_SURVIVORS_SIGNS_H

#include "agent/profilers/survivors/survivors_numbers.h"

void survivors_signs_of(const struct survivors *s, struct survivors_numbers *out);

#endif
