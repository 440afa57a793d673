/* The reader's side of a perf event's ring buffer (perf_event_open(2), "MMAP layout"; the order of loads and stores is in
 * the kernel's kernel/events/ring_buffer.c). The kernel writes, one thread of ours reads. */
#ifndef DRDOTNET_PERF_RING_H
#define DRDOTNET_PERF_RING_H

#include "agent/perf/perf_record.h"
#include "common/base/err.h"

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#define PERF_RECORD_MAX_BYTES 65536 /* a record's size field has 16 bits */

struct perf_ring {
	struct perf_event_mmap_page *page; /* NULL: not mapped */
	uint8_t *data;
	size_t data_bytes; /* a power of two */
	size_t map_bytes;
};

/* Where a record that crosses the ring's end is put together; one serves all rings of a thread. */
struct perf_bounce {
	uint64_t words[PERF_RECORD_MAX_BYTES / 8];
	size_t used; /* bytes of the record that is in it */
};

typedef void perf_ring_fn(void *ctx, const struct perf_record *r);

/* Maps the ring of the event `fd`. ERR_DENIED (EPERM): the locked memory that this user may have is used up. */
int perf_ring_map(struct perf_ring *r, int fd, size_t data_bytes, struct err *e);
void perf_ring_unmap(struct perf_ring *r); /* takes zeroed structs */

/* Hands over each record that is there and frees its room. The ring's own bytes cannot be overwritten here (the kernel maps them for
 * reading): it does that itself as it goes round. They are in no core dump, and cleared before another process gets them. Returns how many
 * records were malformed (the rest of the ring is then given up, since there is no way to find the next record). */
size_t perf_ring_read(struct perf_ring *r, struct perf_bounce *bounce, perf_ring_fn *fn, void *ctx);

#endif
