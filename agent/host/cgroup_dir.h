/* The folder of a control group on this machine: which hierarchy has a controller, where it is mounted, and how a
 * process's path in /proc/PID/cgroup becomes a folder there. Any thread. */
#ifndef DRDOTNET_CGROUP_DIR_H
#define DRDOTNET_CGROUP_DIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CGROUP_PATH_MAX 1024

struct cgroup_dir {
	bool v2;
	char mount[CGROUP_PATH_MAX]; /* walking up ends here */
	char path[CGROUP_PATH_MAX];  /* of the process's group; begins with `mount` */
};

/* The group of `pid` in the hierarchy of this v1 controller ("cpu", "memory", "freezer", "perf_event"), else in v2's. */
bool cgroup_dir_of(const char *proc_root, pid_t pid, const char *controller, struct cgroup_dir *out);

/* The groups of pods in that hierarchy, by their uids, in one walk below the mount; `path` is "" where none was found. */
struct link_pod_usage;
void cgroup_dirs_of_pods(const char *proc_root, const char *controller, const struct link_pod_usage *pods, size_t count,
			 struct cgroup_dir *out);

/* Goes from a pod's group to that of its container (64 hex digits); false: there is none. */
bool cgroup_dir_enter_container(struct cgroup_dir *d, const char *container_id);

/* Goes up to the group of the container that this group is of; stays where no name on the way is a container's. */
void cgroup_dir_leave_for_container(struct cgroup_dir *d);

/* Whether the kernel lists the process as one of this very group. */
bool cgroup_dir_lists(const struct cgroup_dir *d, pid_t pid);

/* Goes to the parent; false at the mount's root. */
bool cgroup_dir_up(struct cgroup_dir *d);

/* The number in a file of the group ("max" gives INT64_MAX); -1: not there. */
int64_t cgroup_dir_number(const struct cgroup_dir *d, const char *file);

/* The number behind "key " in a file of such lines (cpu.stat, memory.stat); -1: not there. */
int64_t cgroup_dir_keyed(const struct cgroup_dir *d, const char *file, const char *key);

/* Of this one group (in cgroup.c), -1: unknown. The quota (hierarchy of "cpu") in thousandths of a CPU, 0: none; CPU time used (of
 * "cpuacct"); memory used without cold file pages (of "memory"); its limit, 0: none. */
int64_t cgroup_dir_quota_millicores(const struct cgroup_dir *d);
int64_t cgroup_dir_usage_ns(const struct cgroup_dir *d);
int64_t cgroup_dir_working_set(const struct cgroup_dir *d);
int64_t cgroup_dir_memory_limit(const struct cgroup_dir *d);

/* Pure parts, shown for their tests. */
int64_t cgroup_parse_number(const char *text);
int64_t cgroup_parse_keyed(const char *text, const char *key);
/* v2's cpu.max ("<quota> <period>", "max 100000") in thousandths of a CPU; 0: none; -1: strange. */
int64_t cgroup_parse_cpu_max(const char *text);
/* The path of the line of /proc/PID/cgroup that has the v1 controller (NULL: the v2 line) into out; false: no such line. */
bool cgroup_parse_line_path(const char *text, const char *controller, char *out, size_t size);
/* Where `group` (as in /proc/PID/cgroup) lies when `root` of the hierarchy is mounted: "" or "/..." below the mount; false
 * when it is not below it. */
bool cgroup_below_root(const char *group, const char *root, char *out, size_t size);

#endif
