/* What the kernel says of the CPU that a process and its container have used between two moments. */
#ifndef DRDOTNET_CPU_ACCOUNT_H
#define DRDOTNET_CPU_ACCOUNT_H

#include "agent/stacks/capture.h"
#include "agent/host/cgroup.h"
#include "agent/target/target.h"

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct cpu_account {
	const struct target *target; /* borrowed */
	clockid_t clock;
	bool has_clock;
	int64_t process_begin_ns, process_last_ns;
	struct cgroup_cpu cgroup_begin, cgroup_last;
};

/* The target stays until the last update. Where its process cannot be seen (shared tmp mode), the container's own figures remain. */
void cpu_account_init(struct cpu_account *a, const struct target *t);
void cpu_account_begin(struct cpu_account *a);
/* From the process's first moment on; `group`: its container's then, whose unknown figures were 0. In place of cpu_account_begin(). */
void cpu_account_begin_at_birth(struct cpu_account *a, const struct cgroup_cpu *group);

/* Reads again; what cannot be read any more (the process ended) keeps its last value. */
void cpu_account_update(struct cpu_account *a);

/* Writes the differences between begin and the last update; unknown ones as -1. */
void cpu_account_report(const struct cpu_account *a, struct cpu_capture *c);

/* Is this still the group that it was? A deleted pod's is gone, and its last process is in one without limits: a container's own limit can be
 * changed, but not be taken away. Pure. */
bool cpu_account_same_group(const struct cgroup_cpu *begin, const struct cgroup_cpu *now);

#endif
