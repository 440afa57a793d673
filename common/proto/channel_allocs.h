/* Frames of the Allocations profiler (docs/channel-protocol.md). No allocation, no I/O, no state. */
#ifndef DRDOTNET_CHANNEL_ALLOCS_H
#define DRDOTNET_CHANNEL_ALLOCS_H

#include "common/proto/channel.h"

/* ALLOCS_START: u32 event: 303 AllocationSampled, 10 AllocationTick; 0: the better one of this runtime. ALLOCS_STOP: empty. Both are answered
 * by ALLOCS_STATE (after the last ALLOCS_COUNTS, when stopping) or ERROR:
 * u32 event, u32 running, u64 taken, u64 dropped, u64 their objects' bytes, u64 their amounts, u64 malformed, u64 covered, u64 sampled (ns). */
struct channel_allocs_state {
	uint32_t event, running;
	uint64_t taken;                                 /* samples */
	uint64_t dropped, dropped_size, dropped_amount; /* there was no room for a new site */
	uint64_t malformed;                             /* events that could not be read */
	uint64_t covered_ns, sampled_ns;                /* of all rounds */
};

/* ALLOCS_TYPES: records up to the payload's end: u64 type, text name in the metadata's words. A type may come again. */
struct channel_alloc_type {
	uint64_t type;
	struct channel_text name;
};

enum channel_alloc_flag {
	CHANNEL_ALLOC_TRUNCATED = 1, /* deeper than CHANNEL_MAX_DEPTH */
	CHANNEL_ALLOC_LARGE = 2,     /* on the large object heap */
	CHANNEL_ALLOC_PINNED = 4,    /* on the pinned object heap */
	CHANNEL_ALLOC_INCOMPLETE = 8, /* callers may be missing from the stack */
	CHANNEL_ALLOC_BOXED = 16,     /* a value that became an object */
};

/* ALLOCS_SITES: who allocates what, objects of about one size: records up to the payload's end: u64 site, u64 type, u32 inner tid, u16 flags,
 * u16 depth, depth x u64 address that a call returns to, leaf first. A site may come again, and after its first counts. */
struct channel_alloc_site {
	uint64_t site, type;
	uint32_t tid;
	uint16_t flags, depth;
	uint64_t ips[CHANNEL_MAX_DEPTH];
};
#define CHANNEL_ALLOC_SITE_MAX (24 + CHANNEL_MAX_DEPTH * 8) /* bytes of a record */

/* ALLOCS_COUNTS: i64 time (CLOCK_MONOTONIC), u64 covered, u64 sampled (nanoseconds: what was counted during `sampled` of the time stands for all of
 * `covered`, the time since the counts before; where sampling was cut short, only for itself), then records up to the payload's end, what came since
 * the last counts of the site: u64 site, u64 samples, u64 bytes of the objects, u64 amounts (of ticks: bytes since the tick before; else 0). */
struct channel_alloc_round {
	int64_t time_ns;
	uint64_t covered_ns, sampled_ns; /* 0 < sampled <= covered */
};

struct channel_alloc_count {
	uint64_t site, samples, size, amount;
};
#define CHANNEL_ALLOC_COUNT_SIZE 32

void channel_put_allocs_state(struct wire_writer *w, const struct channel_allocs_state *v);
bool channel_get_allocs_state(const struct channel_frame *f, struct channel_allocs_state *v);
void channel_put_alloc_type(struct wire_writer *w, const struct channel_alloc_type *v);
bool channel_get_alloc_type(struct wire_reader *r, struct channel_alloc_type *v); /* the next; false at a bad one */
void channel_put_alloc_site(struct wire_writer *w, const struct channel_alloc_site *v);
bool channel_get_alloc_site(struct wire_reader *r, struct channel_alloc_site *v); /* the next; false at a bad one */
void channel_put_alloc_round(struct wire_writer *w, const struct channel_alloc_round *v);
bool channel_get_alloc_round(struct wire_reader *r, struct channel_alloc_round *v); /* of the beginning of ALLOCS_COUNTS */
void channel_put_alloc_count(struct wire_writer *w, const struct channel_alloc_count *v);
bool channel_get_alloc_count(struct wire_reader *r, struct channel_alloc_count *v); /* the next, after the round; false at a bad one */

#endif
