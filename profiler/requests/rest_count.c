/* Context: any. */
#include "profiler/requests/rest_count.h"

#define AS_MANY 50 /* a round may differ by one of so many, and by some that begin as it does */
#define SOME 64

void rest_count_begin(struct rest_count *c, uint64_t all, uint64_t followed)
{
	if (!c->wrong)
		*c = (struct rest_count){.runs = true, .told = all - followed, .round = all - followed, .round_followed = followed};
}

void rest_count_end(struct rest_count *c)
{
	c->runs = false;
}

void rest_count_round(struct rest_count *c, uint64_t all, uint64_t followed)
{
	c->round = all - followed;
	c->round_followed = followed;
}

static bool is_of_others(const struct rest_count *c, uint64_t all, uint64_t followed)
{
	int64_t off = (int64_t)(all - followed - c->round);

	return (uint64_t)(off < 0 ? -off : off) > SOME + (followed - c->round_followed) / AS_MANY;
}

uint64_t rest_count_told(struct rest_count *c, uint64_t all, uint64_t followed, bool in_round)
{
	int64_t since = (int64_t)(all - followed - c->told);

	if (in_round && is_of_others(c, all, followed)) {
		c->wrong = true;
		c->runs = false;
		return REST_NOT_COUNTED;
	}
	c->told = all - followed;
	return since > 0 ? (uint64_t)since : 0;
}
