#include "agent/stacks/cpu_account.h"

#include <sys/resource.h>
#include <unistd.h>

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t;
	if (clock_gettime(clock, &t) < 0)
		return -1;
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void read_group(const struct cpu_account *a, struct cgroup_cpu *out)
{
	struct cgroup_owner group = target_cgroup(a->target);
	cgroup_read_cpu("/proc", &group, out);
}

void cpu_account_init(struct cpu_account *a, const struct target *t)
{
	*a = (struct cpu_account){.target = t, .process_begin_ns = -1, .process_last_ns = -1};
	a->cgroup_begin = a->cgroup_last = (struct cgroup_cpu){-1, -1, -1, -1, -1};
	a->has_clock = t->pid > 0 && clock_getcpuclockid(t->pid, &a->clock) == 0;
}

void cpu_account_begin(struct cpu_account *a)
{
	if (a->has_clock)
		a->process_begin_ns = a->process_last_ns = clock_ns(a->clock);
	read_group(a, &a->cgroup_begin);
	a->cgroup_last = a->cgroup_begin;
}

void cpu_account_begin_at_birth(struct cpu_account *a, const struct cgroup_cpu *group)
{
	cpu_account_begin(a);
	a->cgroup_begin = *group;
	a->process_begin_ns = a->has_clock ? 0 : -1;
	int64_t *const figures[] = {&a->cgroup_begin.usage_ns, &a->cgroup_begin.periods, &a->cgroup_begin.throttled_periods, &a->cgroup_begin.throttled_ns};
	for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
		*figures[i] = *figures[i] < 0 ? 0 : *figures[i];
}

bool cpu_account_same_group(const struct cgroup_cpu *begin, const struct cgroup_cpu *now)
{
	bool unlimited = begin->limit_millicores > 0 && now->limit_millicores <= 0;
	return now->usage_ns >= 0 && !unlimited;
}

void cpu_account_update(struct cpu_account *a)
{
	int64_t now_ns = a->has_clock ? clock_ns(a->clock) : -1;
	if (now_ns > a->process_last_ns)
		a->process_last_ns = now_ns;
	struct cgroup_cpu now;
	read_group(a, &now);
	if (cpu_account_same_group(&a->cgroup_begin, &now))
		a->cgroup_last = now;
}

void cpu_account_report(const struct cpu_account *a, struct cpu_capture *c)
{
	const struct cgroup_cpu *begin = &a->cgroup_begin, *last = &a->cgroup_last;
	bool cgroup = begin->usage_ns >= 0 && begin->periods >= 0 && last->periods >= begin->periods;
	c->process_cpu_ns = a->process_begin_ns >= 0 ? a->process_last_ns - a->process_begin_ns : -1;
	c->cpu_limit_millicores = last->limit_millicores;
	c->node_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	c->total_periods = cgroup ? last->periods - begin->periods : -1;
	c->throttled_periods = cgroup ? last->throttled_periods - begin->throttled_periods : -1;
	c->throttled_ns = cgroup ? last->throttled_ns - begin->throttled_ns : -1;
}
