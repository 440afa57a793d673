/* Where a walk writes: the ring that the agent passed (common/proto/heap_ring.h), with the walk's end in view: the time when it must be
 * over, and whether the agent still reads. Whoever walks at the moment: own thread, or the CLR callbacks of one collection, while own
 * thread waits for it. */
#ifndef DRDOTNET_HEAP_SINK_H
#define DRDOTNET_HEAP_SINK_H

#include "common/proto/heap_frames.h"
#include "common/proto/heap_ring.h"
#include "common/proto/heap_stream.h"

struct heap_sink {
	struct heap_writer w; /* first */
	struct heap_ring *ring; /* NULL: what is written is forgotten (a probe) */
	uint32_t own;           /* blocks handed on in this session */
	uint8_t *block;
	uint64_t deadline_ns;   /* CLOCK_MONOTONIC */
	int agent_fd;           /* its hang-up: nobody reads */
	enum heap_walk_status status; /* why there is no more room */
};

/* Own thread. Takes the descriptor over. Returns 0 or an errno. */
int heap_sink_map_take(struct heap_sink *s, int fd);
void heap_sink_unmap(struct heap_sink *s);

/* Begins a stream. `scratch`: HEAP_RING_BLOCK_BYTES for a probe, else NULL. */
bool heap_sink_begin(struct heap_sink *s, uint64_t deadline_ns, uint8_t *scratch);
/* Hands on what stands in the last block. */
void heap_sink_end(struct heap_sink *s);
/* false, and status LATE, when the time is over. */
bool heap_sink_in_time(struct heap_sink *s);

#endif
