#include "agent/session/session_delay.h"

#define DELAY_PROC_ROOT "/proc"

static void read_delay_group(const struct target *t, struct cgroup_cpu *out)
{
	struct cgroup_owner group = target_cgroup(t);
	cgroup_read_cpu(DELAY_PROC_ROOT, &group, out);
}

static int64_t delay_between(int64_t begin, int64_t end)
{
	return begin >= 0 && end >= begin ? end - begin : -1;
}

void session_delay_begin(struct session_delay *d, const struct target *t, int proc_fd)
{
	run_delay_begin(&d->threads, proc_fd);
	read_delay_group(t, &d->group);
	d->node_ns = run_delay_node_pressure(DELAY_PROC_ROOT);
	d->begun = true;
}

void session_delay_end(struct session_delay *d, const struct target *t, int proc_fd, struct session_facts *out)
{
	struct cgroup_cpu group = {-1, -1, -1, -1, -1};
	out->run_delay_ns = out->node_pressure_ns = out->throttled_ns = -1;
	if (d->begun) {
		read_delay_group(t, &group);
		out->run_delay_ns = run_delay_since(&d->threads, proc_fd);
		out->node_pressure_ns = delay_between(d->node_ns, run_delay_node_pressure(DELAY_PROC_ROOT));
		out->throttled_ns = delay_between(d->group.throttled_ns, group.throttled_ns);
	}
	run_delay_fini(&d->threads);
	*d = (struct session_delay){0};
}
