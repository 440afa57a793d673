/* What the kernel's control groups say of a process or a pod: identity from paths (containerd, CRI-O, Docker; cgroupfs and
 * systemd drivers; v1, v2, hybrid), CPU and memory figures. Paths are text of the node, not of the pod, where hostPID is used; a pod
 * with its own cgroup namespace may still show relative paths ("/../.."), which are not trusted. */
#ifndef DRDOTNET_CGROUP_H
#define DRDOTNET_CGROUP_H

#include "common/base/err.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cgroup_identity {
	char pod_uid[40];        /* with dashes; "" when not in a pod */
	char container_id[80];   /* hex; "" when not in a container */
};

/* From the text of /proc/PID/cgroup. Pure. */
void cgroup_parse_identity(const char *proc_cgroup_text, struct cgroup_identity *out);

struct cgroup_cpu {
	int64_t usage_ns;        /* -1: unknown (so are the others) */
	int64_t limit_millicores; /* the tightest quota of the container's group and its parents; 0: none */
	int64_t periods, throttled_periods, throttled_ns;
};
struct cgroup_memory {
	int64_t usage_bytes, limit_bytes; /* limit 0: none; -1: unknown. Usage is the working set (usage - inactive file) */
};

/* Whose group: a process's, found through /proc/PID/cgroup; or, where processes cannot be seen (pid 0: shared tmp mode), its container's, by
 * the names that the node gives to groups. Texts are borrowed; NULL: not known. */
struct cgroup_owner {
	pid_t pid;
	const char *pod_uid, *container_id;
};

/* Through the node's cgroup mounts. Unknown values are -1; no error. */
void cgroup_read_cpu(const char *proc_root, const struct cgroup_owner *o, struct cgroup_cpu *out);
void cgroup_read_memory(const char *proc_root, const struct cgroup_owner *o, struct cgroup_memory *out);

/* How many threads the group may still make, by its own and its parents' pids.max; INT64_MAX: no limit, or none that can be read. */
int64_t cgroup_threads_left(const char *proc_root, const struct cgroup_owner *o);

/* True when the group is frozen (`docker pause`, the freezer controller, cgroup.freeze). */
bool cgroup_is_frozen(const char *proc_root, const struct cgroup_owner *o);

/* CPU use (over window_ms, sleeping in between) and working set of pods by uid; entries of unknown pods stay -1. */
struct link_pod_usage;
void cgroup_pod_usage(const char *proc_root, struct link_pod_usage *pods, size_t count, int64_t window_ms);

#endif
