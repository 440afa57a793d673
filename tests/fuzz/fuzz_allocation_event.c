/* The payloads of the runtime's events about allocations. The first byte chooses the event, the second its version. */
#include "profiler/allocs/allocation_event.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint32_t ids[] = {ALLOCATION_SAMPLED, ALLOCATION_TICK, 1};
	struct allocation_event a;

	if (size < 2)
		return 0;
	if (!allocation_event_read(ids[data[0] % 3], data[1], data + 2, size - 2, &a))
		return 0;
	if (a.kind > ALLOCATION_PINNED || a.size > INT64_MAX || a.name < data || a.name + 2 * a.name_units + 2 > data + size)
		abort();
	for (size_t i = 0; i < a.name_units; i++)
		if (!a.name[2 * i] && !a.name[2 * i + 1])
			abort();
	return 0;
}
