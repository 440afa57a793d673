/* What one round of counted samples stands for. Pure. */
#ifndef DRDOTNET_ALLOC_ROUND_H
#define DRDOTNET_ALLOC_ROUND_H

#include "common/proto/channel_allocs.h"

#define ALLOC_ROUND_NS 100000000u /* of sampling, at least, between two rounds of counts */

/* The round that ends now: `counted_ns` is when the one before ended, `sampling_ns` since when samples are taken. It stands for all of the time
 * since the one before. But one that was cut short, by the session's end or a rest, stands for itself only: a few samples would be
 * multiplied by a lot. sampled_ns 0: there is nothing to tell. */
struct channel_alloc_round alloc_round_of(uint64_t counted_ns, uint64_t sampling_ns, uint64_t now_ns);

#endif
