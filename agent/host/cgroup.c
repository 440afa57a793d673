#include "agent/host/cgroup.h"

#include "agent/host/cgroup_dir.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"
#include "common/link/link_msg.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define V1_NO_LIMIT (INT64_C(1) << 62) /* v1 writes "no limit" as a number near INT64_MAX */

static int64_t scaled_limit(int64_t v, int64_t factor)
{
	return v < 0 || v > INT64_MAX / factor ? -1 : v * factor;
}

int64_t cgroup_dir_quota_millicores(const struct cgroup_dir *d)
{
	if (!d->v2) {
		int64_t quota = cgroup_dir_number(d, "cpu.cfs_quota_us"); /* -1: none */
		int64_t period = cgroup_dir_number(d, "cpu.cfs_period_us");
		return quota > 0 && period > 0 ? scaled_limit(quota, 1000) / period : 0;
	}
	char path[CGROUP_PATH_MAX + 16], text[64];
	snprintf(path, sizeof path, "%s/cpu.max", d->path);
	if (fsio_read_small(AT_FDCWD, path, text, sizeof text) < 0)
		return 0; /* the root has none */
	int64_t v = cgroup_parse_cpu_max(text);
	return v > 0 ? v : 0;
}

static void read_throttling(const struct cgroup_dir *d, struct cgroup_cpu *out)
{
	out->periods = cgroup_dir_keyed(d, "cpu.stat", "nr_periods");
	out->throttled_periods = cgroup_dir_keyed(d, "cpu.stat", "nr_throttled");
	out->throttled_ns = d->v2 ? scaled_limit(cgroup_dir_keyed(d, "cpu.stat", "throttled_usec"), 1000)
				  : cgroup_dir_keyed(d, "cpu.stat", "throttled_time");
}

int64_t cgroup_dir_usage_ns(const struct cgroup_dir *cpuacct)
{
	return cpuacct->v2 ? scaled_limit(cgroup_dir_keyed(cpuacct, "cpu.stat", "usage_usec"), 1000)
			   : cgroup_dir_number(cpuacct, "cpuacct.usage");
}

static bool find_dir(const char *proc_root, const struct cgroup_owner *o, const char *controller, struct cgroup_dir *out)
{
	if (o->pid > 0)
		return cgroup_dir_of(proc_root, o->pid, controller, out);
	struct link_pod_usage pod;
	if (!o->pod_uid || !o->container_id || snprintf(pod.pod_uid, sizeof pod.pod_uid, "%s", o->pod_uid) >= (int)sizeof pod.pod_uid)
		return false;
	cgroup_dirs_of_pods(proc_root, controller, &pod, 1, out);
	return cgroup_dir_enter_container(out, o->container_id);
}

void cgroup_read_cpu(const char *proc_root, const struct cgroup_owner *o, struct cgroup_cpu *out)
{
	*out = (struct cgroup_cpu){-1, -1, -1, -1, -1};
	struct cgroup_dir d;
	if (find_dir(proc_root, o, "cpuacct", &d))
		out->usage_ns = cgroup_dir_usage_ns(&d);
	if (!find_dir(proc_root, o, "cpu", &d))
		return;
	/* Throttling is counted where the quota is: at the group with the tightest one. */
	struct cgroup_dir tightest = d;
	out->limit_millicores = 0;
	do {
		int64_t quota = cgroup_dir_quota_millicores(&d);
		if (quota > 0 && (out->limit_millicores == 0 || quota < out->limit_millicores)) {
			out->limit_millicores = quota;
			tightest = d;
		}
	} while (cgroup_dir_up(&d));
	read_throttling(&tightest, out);
}

int64_t cgroup_dir_working_set(const struct cgroup_dir *d)
{
	int64_t usage = cgroup_dir_number(d, d->v2 ? "memory.current" : "memory.usage_in_bytes");
	int64_t cold = cgroup_dir_keyed(d, "memory.stat", d->v2 ? "inactive_file" : "total_inactive_file");
	return usage < 0 || cold < 0 ? usage : usage > cold ? usage - cold : 0;
}

int64_t cgroup_dir_memory_limit(const struct cgroup_dir *d)
{
	int64_t limit = cgroup_dir_number(d, d->v2 ? "memory.max" : "memory.limit_in_bytes");
	return limit < V1_NO_LIMIT ? limit : 0;
}

void cgroup_read_memory(const char *proc_root, const struct cgroup_owner *o, struct cgroup_memory *out)
{
	*out = (struct cgroup_memory){.usage_bytes = -1, .limit_bytes = -1};
	struct cgroup_dir d;
	if (!find_dir(proc_root, o, "memory", &d))
		return;
	int64_t used = cgroup_dir_working_set(&d);
	if (used < 0 && access(d.path, F_OK) < 0) /* the group has gone: that no limit can be read does not say that there is none */
		return;
	*out = (struct cgroup_memory){.usage_bytes = used, .limit_bytes = 0};
	int64_t least_room = INT64_MAX;
	do {
		int64_t limit = cgroup_dir_memory_limit(&d);
		int64_t usage = limit > 0 ? cgroup_dir_working_set(&d) : -1;
		if (usage >= 0 && limit - usage < least_room) {
			least_room = limit - usage;
			*out = (struct cgroup_memory){.usage_bytes = usage, .limit_bytes = limit};
		}
	} while (cgroup_dir_up(&d));
}

int64_t cgroup_threads_left(const char *proc_root, const struct cgroup_owner *o)
{
	struct cgroup_dir d;
	int64_t least = INT64_MAX;
	if (!find_dir(proc_root, o, "pids", &d))
		return least;
	do {
		int64_t most = cgroup_dir_number(&d, "pids.max"), now = cgroup_dir_number(&d, "pids.current");
		if (most >= 0 && most < INT64_MAX && now >= 0 && most - now < least)
			least = most > now ? most - now : 0;
	} while (cgroup_dir_up(&d));
	return least;
}

bool cgroup_is_frozen(const char *proc_root, const struct cgroup_owner *o)
{
	struct cgroup_dir d;
	if (!find_dir(proc_root, o, "freezer", &d))
		return false;
	if (d.v2)
		return cgroup_dir_keyed(&d, "cgroup.events", "frozen") == 1;
	/* v1: "freezer.self_freezing" or a parent's; both are numbers. */
	return cgroup_dir_number(&d, "freezer.self_freezing") == 1 || cgroup_dir_number(&d, "freezer.parent_freezing") == 1;
}

void cgroup_pod_usage(const char *proc_root, struct link_pod_usage *pods, size_t count, int64_t window_ms)
{
	AUTO_FREE struct cgroup_dir *cpu = mem_calloc(count + 1, sizeof *cpu);
	AUTO_FREE struct cgroup_dir *memory = mem_calloc(count + 1, sizeof *memory);
	AUTO_FREE int64_t *before_ns = mem_calloc(count + 1, sizeof *before_ns);
	cgroup_dirs_of_pods(proc_root, "cpuacct", pods, count, cpu);
	cgroup_dirs_of_pods(proc_root, "memory", pods, count, memory);
	int64_t began_ns = clock_mono_ns();
	for (size_t i = 0; i < count; i++) {
		pods[i].memory_bytes = memory[i].path[0] ? cgroup_dir_working_set(&memory[i]) : -1;
		before_ns[i] = cpu[i].path[0] ? cgroup_dir_usage_ns(&cpu[i]) : -1;
	}
	clock_sleep_until_ms(began_ns / 1000000 + window_ms);
	int64_t elapsed_ns = clock_mono_ns() - began_ns;
	for (size_t i = 0; i < count; i++) {
		int64_t now_ns = before_ns[i] < 0 ? -1 : cgroup_dir_usage_ns(&cpu[i]);
		pods[i].cpu_millicores = before_ns[i] < 0 || now_ns < before_ns[i] || elapsed_ns <= 0
						 ? -1
						 : (now_ns - before_ns[i]) * 1000 / elapsed_ns;
	}
}
