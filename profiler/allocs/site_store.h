/* The memory of whoever counts by site: new sites and names on their way to the library's thread, and the counts. One at a time (profiler/feeds.h). */
#ifndef DRDOTNET_SITE_STORE_H
#define DRDOTNET_SITE_STORE_H

#include "profiler/allocs/site_table.h"
#include "profiler/stacks/sample_ring.h"

struct site_store {
	struct sample_ring ring;
	struct site_table sites;
};
extern struct site_store site_store;

/* Own thread, while nobody counts. */
void site_store_reset(void);

#endif
