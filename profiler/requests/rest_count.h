/* How many requests came while nobody was followed: by a count of all that began and by how many of them were followed. The count is taken for what it is while
 * it tells of as many as are followed in each round. Pure. */
#ifndef DRDOTNET_REST_COUNT_H
#define DRDOTNET_REST_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#define REST_NOT_COUNTED UINT64_MAX

struct rest_count {
	bool runs, wrong;        /* wrong: the count is of other requests */
	uint64_t told;           /* of those that were not followed */
	uint64_t round;          /* of those, at the beginning of the round that runs */
	uint64_t round_followed; /* and of the others */
};

/* `all` that began so far and `followed` of them, each since a beginning of its own; while requests are followed. Not if it was wrong before. */
void rest_count_begin(struct rest_count *c, uint64_t all, uint64_t followed);
void rest_count_end(struct rest_count *c);
/* A round has begun after a rest. */
void rest_count_round(struct rest_count *c, uint64_t all, uint64_t followed);
/* A round is over (`in_round`: it is held against the count), or a rest: how many that were not followed began since the last time; REST_NOT_COUNTED. */
uint64_t rest_count_told(struct rest_count *c, uint64_t all, uint64_t followed, bool in_round);

#endif
