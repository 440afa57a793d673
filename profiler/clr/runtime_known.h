/* Which runtimes are known from within. What no interface tells (the handles, the statics of generic types) is read from the runtime's own
 * tables, as they are laid out in the versions that were measured; in a later one they may lie otherwise, so there they are left alone and what
 * documented interfaces tell goes on. Pure. */
#ifndef DRDOTNET_RUNTIME_KNOWN_H
#define DRDOTNET_RUNTIME_KNOWN_H

#include "common/proto/runtime_versions.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether its tables may be read. */
static inline bool runtime_known(uint16_t major)
{
	return major >= RUNTIME_OLDEST && major <= RUNTIME_NEWEST;
}

/* Whether its heap may be walked from object to object at the end of a collection: where there is no interface for it. */
static inline bool runtime_sweepable(uint16_t major)
{
	return major == RUNTIME_OLDEST;
}

#endif
