/* The control group whose processes the kernel is to sample (PERF_FLAG_PID_CGROUP), so that registers and stacks of other containers do
 * not come into our rings: the group of the process's container, which holds those below it, or the group that it is in. Any thread. */
#ifndef DRDOTNET_PERF_GROUP_H
#define DRDOTNET_PERF_GROUP_H

#include "agent/host/cgroup_dir.h"

struct perf_group {
	int fd; /* its folder; -1: none */
	struct cgroup_dir dir;
};
#define PERF_GROUP_NONE {.fd = -1}

/* False, and none: the process is in the root's group, or the folder of its group is not to be seen from here, or it is not
 * certain that this is it (the kernel must list the process there). */
bool perf_group_open(struct perf_group *g, const char *proc_root, pid_t pid);

/* The group of this folder, whatever is in it. */
bool perf_group_open_dir(struct perf_group *g, const struct cgroup_dir *dir);

/* Gives it away; *g is none afterwards. */
struct perf_group perf_group_take(struct perf_group *g);

/* Whether the process, which runs yet, is now outside of the group. */
bool perf_group_left(const struct perf_group *g, const char *proc_root, pid_t pid);

void perf_group_close(struct perf_group *g);

#endif
