/* Context: own thread. */
#include "profiler/allocs/site_store.h"

#include "common/proto/channel.h"

#define RECORD_MOST (CHANNEL_MAX_DEPTH + 16) /* words; a longer one is skipped as well */

struct site_store site_store;

void site_store_reset(void)
{
	uint64_t discard[RECORD_MOST];

	while (sample_ring_take(&site_store.ring, discard, RECORD_MOST))
		;
	site_table_reset(&site_store.sites);
}
