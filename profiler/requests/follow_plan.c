/* Context: any. */
#include "profiler/requests/follow_plan.h"

#define MOST_TIMES 1000

void follow_plan_init(struct follow_plan *p, const struct follow_now *now)
{
	*p = (struct follow_plan){.since = *now, .credit_ns = FOLLOW_BURST_NS};
}

static struct follow_round round_until(const struct follow_plan *p, uint64_t end_ns)
{
	return (struct follow_round){
		.start_ns = p->since.ns,
		.end_ns = end_ns,
		.stands_for_ns = end_ns - p->since.ns,
		.after_rest = p->rested,
	};
}

/* The round before the rest, which ends now. */
static struct follow_round rested_round(const struct follow_plan *p, const struct follow_now *now)
{
	struct follow_round r = p->held;
	double times = (double)(now->cpu_ns - p->since.cpu_ns) / (double)p->held_cpu_ns;

	r.rest_ns = now->ns - r.end_ns;
	r.stands_for_ns += (uint64_t)((double)r.stands_for_ns * (times < MOST_TIMES ? times : MOST_TIMES));
	return r;
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
	return (int64_t)(now->followed - p->since.followed) * FOLLOW_COST_NS;
}

static bool is_round_over(const struct follow_plan *p, const struct follow_now *now)
{
	uint64_t length_ns = now->ns - p->since.ns;
	return length_ns >= (cost_of_round(p, now) > FOLLOW_BURST_NS ? FOLLOW_ROUND_LEAST_NS : FOLLOW_ROUND_NS);
}

enum follow_step follow_plan_step(struct follow_plan *p, const struct follow_now *now, struct follow_round *out)
{
	if (p->resting)
		return now->ns >= p->resume_ns ? FOLLOW_RESUME : FOLLOW_GO_ON;
	if (!is_round_over(p, now))
		return FOLLOW_GO_ON;
	*out = round_until(p, now->ns);
	int64_t cpu_ns = (int64_t)(now->cpu_ns - p->since.cpu_ns), cost_ns = cost_of_round(p, now);
	int64_t own_ns = cpu_ns - cost_ns > cpu_ns / 2 ? cpu_ns - cost_ns : cpu_ns / 2 + 1;
	uint64_t rest_ns = rest_after(p, now->ns - p->since.ns, own_ns, cost_ns);
	p->since = *now;
	p->rested = false;
	if (!rest_ns)
		return FOLLOW_ROUND;
	p->held = *out;
	p->held_cpu_ns = own_ns;
	p->resting = true;
	p->resume_ns = now->ns + rest_ns;
	return FOLLOW_REST;
}

void follow_plan_resumed(struct follow_plan *p, const struct follow_now *now, struct follow_round *out)
{
	*out = rested_round(p, now);
	p->since = *now;
	p->rested = true;
	p->resting = false;
}

void follow_plan_postpone(struct follow_plan *p, uint64_t ns)
{
	p->resume_ns += ns;
}

void follow_plan_end(const struct follow_plan *p, const struct follow_now *now, struct follow_round *out)
{
	*out = p->resting ? rested_round(p, now) : round_until(p, now->ns);
}
