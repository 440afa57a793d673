/* The way of a heap walk from the library to the agent: blocks in memory that both map. The agent makes and prefaults it and passes its
 * descriptor over the channel, so it costs the target no allocation, and its pages are not charged to the target's container. The
 * library fills a block and hands it on; the agent copies it out and gives it back. One writer, one reader; each may wait for the
 * other on the counter that the other moves (futex). No allocation, no I/O.
 *
 * The two do not trust each other's words: counters and lengths are checked at each step. */
#ifndef DRDOTNET_HEAP_RING_H
#define DRDOTNET_HEAP_RING_H

#include "common/proto/difference.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAP_RING_BLOCKS 32u
#define HEAP_RING_BLOCK_BYTES 65536u
#define HEAP_RING_HEAD_BYTES 4096u
#define HEAP_RING_BYTES (HEAP_RING_HEAD_BYTES + HEAP_RING_BLOCKS * HEAP_RING_BLOCK_BYTES)

struct heap_ring {
	_Atomic uint32_t written; /* blocks ever handed on; the library's */
	_Atomic uint32_t reading; /* the agent waits on `written`: wake it */
	uint32_t pad[14];
	_Atomic uint32_t taken;   /* blocks ever given back; the agent's */
	_Atomic uint32_t writing; /* the library waits on `taken`: wake it */
	_Atomic uint32_t refused; /* the agent takes no more */
	uint32_t pad2[13];
	uint32_t lengths[HEAP_RING_BLOCKS];
};

static inline uint8_t *heap_ring_block(struct heap_ring *r, uint32_t number)
{
	return (uint8_t *)r + HEAP_RING_HEAD_BYTES + (size_t)(number % HEAP_RING_BLOCKS) * HEAP_RING_BLOCK_BYTES;
}

/* Library. The block to fill, number `own` (blocks that it has handed on); NULL: all are full. */
static inline WRAPS uint8_t *heap_ring_free_block(struct heap_ring *r, uint32_t own)
{
	uint32_t taken = atomic_load_explicit(&r->taken, memory_order_acquire);

	return own - taken < HEAP_RING_BLOCKS ? heap_ring_block(r, own) : NULL;
}

/* Library. Hands on block `own`; true when the agent must be woken. */
static inline bool heap_ring_put(struct heap_ring *r, uint32_t own, uint32_t len)
{
	r->lengths[own % HEAP_RING_BLOCKS] = len;
	atomic_store(&r->written, own + 1);
	return atomic_exchange(&r->reading, 0) != 0;
}

/* Agent. The next block, number `own` (blocks that it has given back). 1: there it is; 0: none yet; -1: the writer's words are nonsense. */
static inline int heap_ring_next(struct heap_ring *r, uint32_t own, const uint8_t **data, uint32_t *len)
{
	uint32_t ready = atomic_load(&r->written) - own;

	if (ready == 0)
		return 0;
	*data = heap_ring_block(r, own);
	*len = *(volatile uint32_t *)&r->lengths[own % HEAP_RING_BLOCKS];
	return ready <= HEAP_RING_BLOCKS && *len <= HEAP_RING_BLOCK_BYTES ? 1 : -1;
}

/* Agent. Gives block `own` back; true when the library must be woken. */
static inline bool heap_ring_give_back(struct heap_ring *r, uint32_t own)
{
	atomic_store(&r->taken, own + 1);
	return atomic_exchange(&r->writing, 0) != 0;
}

#endif
