/* Context: CLR callback (site_store_enter) and own thread. */
#include "profiler/allocs/site_store.h"

#include "common/proto/difference.h"

#include <string.h>

#define COUNTS_OF_FRAME ((CHANNEL_MAX_PAYLOAD - 24) / CHANNEL_ALLOC_COUNT_SIZE / 2)

struct site_store site_store;

struct site_slot *site_store_enter(uint64_t site, uint64_t type, uint64_t who, const uint64_t *ips, size_t depth)
{
	uint64_t head[SITE_HEAD_WORDS] = {RECORD_SITE, site, type, who};

	return sample_ring_put(&site_store.ring, head, SITE_HEAD_WORDS, ips, depth) ? site_table_enter(&site_store.sites, site) : NULL;
}

/* Own thread ------------------------------------------------------------------------------------------------------------------ */

void site_store_reset(void)
{
	uint64_t discard[SITE_RECORD_WORDS];

	while (sample_ring_take(&site_store.ring, discard, SITE_RECORD_WORDS))
		;
	site_table_reset(&site_store.sites);
	site_store.taken = 0;
}

static void put_site(struct wire_writer *w, const uint64_t *record, size_t len)
{
	struct channel_alloc_site s = {
		.site = record[1],
		.type = record[2],
		.tid = (uint32_t)(record[3] >> 32),
		.flags = (uint16_t)record[3],
		.depth = (uint16_t)difference(len, SITE_HEAD_WORDS),
	};

	memcpy(s.ips, record + SITE_HEAD_WORDS, s.depth * sizeof *s.ips);
	channel_put_alloc_site(w, &s);
}

/* A frame of sites is open while `w` is there; other records go between frames. */
void site_store_send_new(struct channel_io *io, uint16_t type, void (*put_other)(struct channel_io *io, const uint64_t *record))
{
	uint64_t record[SITE_RECORD_WORDS];
	struct wire_writer *w = NULL;
	size_t len;

	while ((len = sample_ring_take(&site_store.ring, record, SITE_RECORD_WORDS))) {
		bool is_site = record[0] == RECORD_SITE;
		if (w && (!is_site || difference(w->cap, w->pos) < CHANNEL_ALLOC_SITE_MAX)) {
			if (!channel_io_end(io))
				return; /* the channel is lost */
			w = NULL;
		}
		if (!is_site) {
			put_other(io, record);
			continue;
		}
		if (!w)
			w = channel_io_begin(io, type);
		put_site(w, record, len);
	}
	if (w)
		channel_io_end(io);
}

uint64_t site_store_send_counts(struct channel_io *io, uint16_t type, const struct channel_alloc_round *round)
{
	static struct site_sums sums[COUNTS_OF_FRAME];
	uint64_t before = site_store.taken;
	uint32_t at = 0;
	size_t count;

	while ((count = site_table_take(&site_store.sites, &at, sums, COUNTS_OF_FRAME))) {
		struct wire_writer *w = channel_io_begin(io, type);
		channel_put_alloc_round(w, round);
		for (size_t i = 0; i < count; i++) {
			struct channel_alloc_count c = {sums[i].site, sums[i].samples, sums[i].size, sums[i].amount};
			channel_put_alloc_count(w, &c);
			site_store.taken += c.samples;
		}
		channel_io_end(io);
	}
	return difference(site_store.taken, before);
}
