#include "agent/waits/wait_plan.h"

#define ALL_BELOW 1250         /* switches a second: of so many each has its stack */
#define BLIND_SWITCHES 20000.0 /* a second: a busy web application does so many */
#define STACKS_A_SECOND 2000   /* else, while they are recorded */
#define SWITCH_NS 1000         /* of a switch's two records; the kernel takes as long in the process's own time (tests/bench/overhead.py --ways waits) */
#define STACK_NS 2300          /* and of a copy of its stack */
#define SHARE_OF_CPU 0.005     /* of the process's CPU time that records may take ... */
#define LEAST_NS 1500000.0     /* ... or so much a second */
#define CYCLES 4               /* at least, in a session */
#define WINDOW_LEAST_NS 60000000
#define WINDOW_USUAL_NS 250000000
#define LOOK_LEAST_NS 15000000 /* between looks */
#define LOOK_SHARE 40          /* times as long as a look takes */

static int64_t least_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t most_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static double cost_ns(uint64_t period)
{
	return SWITCH_NS + STACK_NS / (double)period;
}

/* Of a second in which it uses so much CPU time. */
static double may_ns(double cpu_ns)
{
	return cpu_ns * SHARE_OF_CPU > LEAST_NS ? cpu_ns * SHARE_OF_CPU : LEAST_NS;
}

struct wait_plan wait_plan_make(double switches, double cpu_ns, int64_t duration_ns, bool full)
{
	struct wait_plan p = {.looks = full, .period = 1, .cycle_ns = WINDOW_USUAL_NS, .window_ns = WINDOW_USUAL_NS};
	if (switches <= ALL_BELOW)
		return p;
	p.looks = true;
	p.period = switches > STACKS_A_SECOND ? (uint64_t)(switches / STACKS_A_SECOND) | 1 : 1;
	double part = may_ns(cpu_ns) / (switches * cost_ns(p.period));
	if (part >= 1)
		return p;
	p.cycle_ns = least_of((int64_t)(WINDOW_USUAL_NS / part), most_of(duration_ns / CYCLES, WINDOW_LEAST_NS));
	p.window_ns = least_of(most_of((int64_t)(part * (double)p.cycle_ns), WINDOW_LEAST_NS), p.cycle_ns);
	return p;
}

int64_t wait_plan_excess_ns(const struct wait_plan *p, uint64_t switches, int64_t ns, int64_t cpu_ns)
{
	double seconds = (double)ns / 1e9;
	return seconds > 0 ? (int64_t)((double)switches * cost_ns(p->period) - seconds * may_ns((double)cpu_ns / seconds)) : 0;
}

struct wait_plan wait_plan_blind(int64_t duration_ns)
{
	return wait_plan_make(BLIND_SWITCHES, 1e9, duration_ns, false);
}

struct wait_plan wait_plan_looks_only(void)
{
	return (struct wait_plan){.looks = true, .period = 1};
}

int64_t wait_plan_opens_ns(const struct wait_plan *p, int64_t cycle_start_ns, uint64_t random)
{
	int64_t rest = p->cycle_ns - p->window_ns;
	return cycle_start_ns + (rest > 0 ? (int64_t)(random % (uint64_t)rest) : 0);
}

int64_t wait_plan_look_ns(int64_t cost_ns, uint64_t random)
{
	int64_t mean = most_of(LOOK_LEAST_NS, cost_ns * LOOK_SHARE);
	return mean / 2 + (int64_t)(random % (uint64_t)mean);
}

uint64_t wait_plan_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}
