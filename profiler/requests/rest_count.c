/* Context: any. */
#include "profiler/requests/rest_count.h"

#include "common/proto/difference.h"

#define AS_MANY 50 /* a round may differ by one of so many, and by some that begin as it does */
#define SOME 64

static uint64_t least_zero(int64_t n)
{
	return n > 0 ? (uint64_t)n : 0;
}

static WRAPS int64_t unfollowed_since(const struct rest_count *c, const struct rest_look *l)
{
	return (int64_t)(l->all - c->last.all - (l->followed - c->last.followed));
}

WRAPS void rest_count_begin(struct rest_count *c, const struct rest_look *l, uint64_t rest_ns)
{
	if (c->wrong)
		return;
	if (!c->met)
		c->others = least_zero((int64_t)(l->in_flight - (l->followed - l->followed_ended)));
	c->met = c->runs = true;
	c->rest_ns = rest_ns;
	c->told = REST_NOT_COUNTED;
	c->last = *l;
}

void rest_count_end(struct rest_count *c)
{
	c->runs = false;
}

void rest_count_round(struct rest_count *c, const struct rest_look *l)
{
	double counted_ns = (double)difference(l->ns, c->last.ns), all_ns = (double)difference(l->ns, c->rest_ns);

	c->told = counted_ns > 0 ? (uint64_t)((double)least_zero(unfollowed_since(c, l)) * all_ns / counted_ns + 0.5) : REST_NOT_COUNTED;
	c->last = *l;
}

uint64_t rest_count_told(struct rest_count *c, const struct rest_look *l)
{
	int64_t off = unfollowed_since(c, l);

	if ((uint64_t)(off < 0 ? -off : off) > SOME + difference(l->followed, c->last.followed) / AS_MANY) {
		c->wrong = true;
		c->runs = false;
	}
	return c->wrong ? REST_NOT_COUNTED : c->told;
}

WRAPS uint64_t rest_count_in_flight(const struct rest_count *c, const struct rest_look *l, bool in_round)
{
	uint64_t of_round = l->followed - c->last.followed - (l->followed_ended - c->last.followed_ended);

	return c->runs ? least_zero((int64_t)(l->in_flight - c->others - (in_round ? of_round : 0))) : REST_NOT_COUNTED;
}
