/* Context: own thread. */
#include "profiler/allocs/alloc_round.h"

#include "common/proto/difference.h"

struct channel_alloc_round alloc_round_of(uint64_t counted_ns, uint64_t sampling_ns, uint64_t now_ns)
{
	uint64_t since = sampling_ns > counted_ns ? sampling_ns : counted_ns, sampled = now_ns > since ? now_ns - since : 0;
	uint64_t covered = sampled < ALLOC_ROUND_NS ? sampled : difference(now_ns, counted_ns);

	return (struct channel_alloc_round){.time_ns = (int64_t)now_ns, .covered_ns = covered, .sampled_ns = sampled};
}
