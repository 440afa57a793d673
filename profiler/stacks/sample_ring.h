/* Samples on their way from signal handlers to the library's thread: a ring of words, many producers, one consumer, lock-free.
 * What does not fit is counted. Zeroed memory is an empty ring.
 *
 * A record is a header word (its length + 1, 0 while it is being written) and that many words. A producer reserves by moving
 * `head`, writes, then publishes the header; the consumer stops at the first unpublished header and zeroes what it took. */
#ifndef DRDOTNET_SAMPLE_RING_H
#define DRDOTNET_SAMPLE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SAMPLE_RING_WORDS (1u << 15) /* 256 KiB: some 400 samples of usual depth; it is emptied every 50 ms */

struct sample_ring {
	_Atomic uint64_t head, tail, dropped;
	_Atomic uint64_t words[SAMPLE_RING_WORDS];
};

/* Signal handler. Two parts, so that a record needs not be put together first. false: full, counted. */
bool sample_ring_put(struct sample_ring *r, const uint64_t *a, size_t a_len, const uint64_t *b, size_t b_len);
size_t sample_ring_used(struct sample_ring *r); /* any context: words, more or less */
/* Own thread. The record's length, 0 when there is none; a record longer than `cap` is skipped and counted. */
size_t sample_ring_take(struct sample_ring *r, uint64_t *out, size_t cap);

#endif
