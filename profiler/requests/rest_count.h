/* How many requests came while nobody was followed, and how many of those in flight are not: by a count of all and by what was followed. The count is taken for
 * what it is while it tells of as many as are followed in each round. Pure. */
#ifndef DRDOTNET_REST_COUNT_H
#define DRDOTNET_REST_COUNT_H

#include <stdbool.h>
#include <stdint.h>

#define REST_NOT_COUNTED UINT64_MAX

struct rest_look {
	uint64_t ns;
	uint64_t all, in_flight;           /* that began so far, since any beginning; of them */
	uint64_t followed, followed_ended; /* that began and were followed, since the session began; of those */
};

struct rest_count {
	bool runs, wrong;      /* wrong: the count is of other requests */
	bool met;              /* `others` is known */
	uint64_t others;       /* in flight at the first rest, and not of this session */
	uint64_t rest_ns;      /* when the rest began: the count does some milliseconds later */
	uint64_t told;         /* of the last rest; REST_NOT_COUNTED */
	struct rest_look last; /* the beginning of what runs: the count in a rest, or a round */
};

/* A rest began at `rest_ns`, and requests are counted from now on. Not if they were wrongly before. */
void rest_count_begin(struct rest_count *c, const struct rest_look *l, uint64_t rest_ns);
void rest_count_end(struct rest_count *c);
/* A round has begun after a rest; the same at the end of a rest for good. */
void rest_count_round(struct rest_count *c, const struct rest_look *l);
/* A round is over: how many came in the rest before it; REST_NOT_COUNTED, where it tells of others than the count does, too. */
uint64_t rest_count_told(struct rest_count *c, const struct rest_look *l);
/* How many are in flight that began unfollowed, or whose end will not be told; REST_NOT_COUNTED. */
uint64_t rest_count_in_flight(const struct rest_count *c, const struct rest_look *l, bool in_round);

#endif
