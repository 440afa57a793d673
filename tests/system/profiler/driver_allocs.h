/* The driver's command `allocs`: samples of allocations by type, each with the first stack that came. */
#ifndef DRDOTNET_DRIVER_ALLOCS_H
#define DRDOTNET_DRIVER_ALLOCS_H

#include "agent/attach/profiler_channel.h"

#include <jansson.h>

/* `event`: of the runtime; 0: its best. NULL: see *e. */
json_t *driver_allocs(struct profiler_channel *ch, uint32_t event, double seconds, struct err *e);

#endif
