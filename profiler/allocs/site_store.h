/* The memory of whoever counts by site, and its way to the agent: new sites and names on their way to the library's thread, and the counts. One at a time
 * (profiler/feeds.h). */
#ifndef DRDOTNET_SITE_STORE_H
#define DRDOTNET_SITE_STORE_H

#include "common/proto/channel_allocs.h"
#include "profiler/allocs/site_table.h"
#include "profiler/base/channel_io.h"
#include "profiler/stacks/sample_ring.h"

/* Records of the ring begin with four words. A site: 1, site, its type, tid << 32 | flags, addresses. Of whoever counts: 0, and what it likes. */
enum { SITE_HEAD_WORDS = 4, SITE_RECORD_WORDS = SITE_HEAD_WORDS + CHANNEL_MAX_DEPTH };
enum { RECORD_OTHER, RECORD_SITE };

struct site_store {
	struct sample_ring ring;
	struct site_table sites;
	uint64_t taken; /* own thread: that were counted and sent */
};
extern struct site_store site_store;

/* CLR callback. Tells of a site that site_table_find() does not know, and enters it. NULL: there was no room. */
struct site_slot *site_store_enter(uint64_t site, uint64_t type, uint64_t who, const uint64_t *ips, size_t depth);

/* Own thread, while nobody counts. */
void site_store_reset(void);

/* Own thread: what is new since the last time, sites in frames of that type; `put_other` sends a record of type RECORD_OTHER in a frame of its own. */
void site_store_send_new(struct channel_io *io, uint16_t type, void (*put_other)(struct channel_io *io, const uint64_t *record));
/* Own thread: what was counted, in frames of that type. Returns how many that were. */
uint64_t site_store_send_counts(struct channel_io *io, uint16_t type, const struct channel_alloc_round *round);

#endif
