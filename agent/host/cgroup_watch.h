/* New control groups of pods' containers, as they appear: watches on the folders of the hierarchy that perf events go by, down to the pods'. Nothing
 * is polled. One thread owns it. */
#ifndef DRDOTNET_CGROUP_WATCH_H
#define DRDOTNET_CGROUP_WATCH_H

#include "agent/host/cgroup_dir.h"
#include "common/base/err.h"

#include <stdbool.h>

#define CGROUP_WATCH_MAX 4096 /* folders: kubepods, its classes and pods */

struct cgroup_watch;

/* A container's group that was not there before. */
typedef void cgroup_watch_fn(void *ctx, const struct cgroup_dir *dir, const char *pod_uid, const char *container_id);

/* Containers that are there already are not told of. NULL: the hierarchy cannot be seen from here. */
struct cgroup_watch *cgroup_watch_open(const char *proc_root, struct err *e);
void cgroup_watch_close(struct cgroup_watch *w);

int cgroup_watch_fd(const struct cgroup_watch *w); /* readable: something has appeared */
void cgroup_watch_step(struct cgroup_watch *w, cgroup_watch_fn *fn, void *ctx);

/* What a folder of the hierarchy is, by its path below the mount. Pure. */
enum cgroup_place {
	CGROUP_PLACE_OTHER,     /* no pod is below it */
	CGROUP_PLACE_ABOVE,     /* pods are below it, or may be */
	CGROUP_PLACE_POD,
	CGROUP_PLACE_CONTAINER, /* of a pod */
	CGROUP_PLACE_INSIDE,    /* made by the container itself */
};
struct cgroup_identity;
enum cgroup_place cgroup_watch_place(const char *below_mount, struct cgroup_identity *out);

/* Whether the groups of all pods are right below this folder. */
bool cgroup_watch_holds_pods(const char *path);

#endif
