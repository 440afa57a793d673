/* Context: any. */
#include "profiler/requests/follow_plan.h"

#include "common/proto/difference.h"

void follow_plan_init(struct follow_plan *p, const struct follow_now *now)
{
	*p = (struct follow_plan){.since = *now, .credit_ns = FOLLOW_BURST_NS};
}

/* How long the debt takes to be paid back at the rate of this round; 0: there is none. */
static uint64_t rest_after(struct follow_plan *p, uint64_t length, int64_t own_cpu_ns, int64_t cost_ns)
{
	int64_t of_cpu = own_cpu_ns / (int64_t)FOLLOW_PART, always = (int64_t)(length / FOLLOW_ALWAYS_PART), allowed = (of_cpu > always ? of_cpu : always) + 1;

	p->credit_ns += allowed - cost_ns;
	if (p->credit_ns > FOLLOW_BURST_NS)
		p->credit_ns = FOLLOW_BURST_NS;
	if (p->credit_ns >= 0)
		return 0;
	double rest_ns = (double)-p->credit_ns * (double)length / (double)allowed;
	p->credit_ns = 0;
	return rest_ns < FOLLOW_LONGEST_REST_NS ? (uint64_t)rest_ns + 1 : FOLLOW_LONGEST_REST_NS;
}

static int64_t cost_of_round(const struct follow_plan *p, const struct follow_now *now)
{
	return (int64_t)difference(now->followed, p->since.followed) * FOLLOW_COST_NS;
}

/* Of what was followed since then. */
static int64_t own_cpu_since(const struct follow_now *then, const struct follow_now *now)
{
	int64_t cpu_ns = (int64_t)difference(now->cpu_ns, then->cpu_ns), cost_ns = (int64_t)difference(now->followed, then->followed) * FOLLOW_COST_OF_MANY_NS;

	return cpu_ns - cost_ns > cpu_ns / 2 ? cpu_ns - cost_ns : cpu_ns / 2;
}

/* By what was followed after it had settled, if that was as much again. */
static uint64_t own_cpu_of_round(const struct follow_plan *p, const struct follow_now *now)
{
	uint64_t settled = difference(now->followed, p->settled.followed);

	if (!p->settled.ns || settled < FOLLOW_SETTLED)
		return (uint64_t)own_cpu_since(&p->since, now);
	return (uint64_t)((double)own_cpu_since(&p->settled, now) * (double)difference(now->followed, p->since.followed) / (double)settled);
}

static struct follow_round round_until(const struct follow_plan *p, const struct follow_now *now)
{
	return (struct follow_round){
		.rest_ns = p->rest_ns,
		.rest_cpu_ns = p->rest_cpu_ns,
		.start_ns = p->since.ns,
		.end_ns = now->ns,
		.own_cpu_ns = own_cpu_of_round(p, now),
		.followed = difference(now->followed, p->since.followed),
	};
}

bool follow_plan_asks(const struct follow_plan *p, const struct follow_now *now)
{
	uint64_t length_ns = difference(now->ns, p->since.ns);
	int64_t cost_ns = cost_of_round(p, now);

	return !p->resting && length_ns >= FOLLOW_ROUND_LEAST_NS && length_ns < FOLLOW_ROUND_NS && cost_ns > FOLLOW_BURST_NS && cost_ns <= FOLLOW_DEAREST_NS;
}

static bool is_round_over(const struct follow_plan *p, const struct follow_now *now)
{
	if (follow_plan_asks(p, now))
		return !now->slow;
	return difference(now->ns, p->since.ns) >= (cost_of_round(p, now) > FOLLOW_BURST_NS ? FOLLOW_ROUND_LEAST_NS : FOLLOW_ROUND_NS);
}

static void begin_round(struct follow_plan *p, const struct follow_now *now, uint64_t rest_ns, uint64_t rest_cpu_ns)
{
	p->since = *now;
	p->settled = (struct follow_now){0};
	p->rest_ns = rest_ns;
	p->rest_cpu_ns = rest_cpu_ns;
}

/* true: its cost asks for a rest. */
static bool close_round(struct follow_plan *p, const struct follow_now *now, struct follow_round *out)
{
	*out = round_until(p, now);
	uint64_t rest_ns = rest_after(p, difference(now->ns, p->since.ns), (int64_t)out->own_cpu_ns, cost_of_round(p, now));

	begin_round(p, now, 0, 0);
	p->resume_ns = now->ns + rest_ns;
	return rest_ns > 0;
}

enum follow_step follow_plan_step(struct follow_plan *p, const struct follow_now *now, struct follow_round *out)
{
	if (p->resting)
		return now->ns >= p->resume_ns ? FOLLOW_RESUME : FOLLOW_GO_ON;
	if (!p->settled.ns && difference(now->followed, p->since.followed) >= FOLLOW_SETTLED)
		p->settled = *now;
	if (!is_round_over(p, now))
		return FOLLOW_GO_ON;
	p->resting = close_round(p, now, out);
	return p->resting ? FOLLOW_REST : FOLLOW_ROUND;
}

void follow_plan_break(struct follow_plan *p, const struct follow_now *then, struct follow_round *out)
{
	close_round(p, then, out);
	p->resting = true;
}

void follow_plan_resumed(struct follow_plan *p, const struct follow_now *now)
{
	begin_round(p, now, difference(now->ns, p->since.ns), difference(now->cpu_ns, p->since.cpu_ns));
	p->resting = false;
}

bool follow_plan_counts(const struct follow_round *r)
{
	return r->own_cpu_ns >= r->followed * FOLLOW_COUNTED_NS;
}

void follow_plan_postpone(struct follow_plan *p, uint64_t ns)
{
	p->resume_ns += ns;
}

void follow_plan_end(const struct follow_plan *p, const struct follow_now *now, struct follow_round *out)
{
	*out = round_until(p, now);
	if (p->resting)
		*out = (struct follow_round){difference(now->ns, p->since.ns), difference(now->cpu_ns, p->since.cpu_ns), now->ns, now->ns, 0, 0};
}
