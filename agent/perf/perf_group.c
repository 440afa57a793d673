#include "agent/perf/perf_group.h"

#include "common/base/cleanup.h"
#include "common/base/fsio.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static bool is_threaded(const struct cgroup_dir *d)
{
	char path[CGROUP_PATH_MAX + 16], type[32];
	snprintf(path, sizeof path, "%s/cgroup.type", d->path);
	return fsio_read_small(AT_FDCWD, path, type, sizeof type) > 0 && strncmp(type, "threaded", 8) == 0;
}

/* The group where the kernel lists the process. In a threaded group of v2 is the main thread alone, and maybe others elsewhere: the
 * process is in the one that all these lie in. */
static bool find_own(const char *proc_root, pid_t pid, struct cgroup_dir *out)
{
	if (!cgroup_dir_of(proc_root, pid, "perf_event", out))
		return false;
	while (is_threaded(out) && cgroup_dir_up(out))
		;
	return cgroup_dir_lists(out, pid);
}

bool perf_group_open(struct perf_group *g, const char *proc_root, pid_t pid)
{
	*g = (struct perf_group)PERF_GROUP_NONE;
	if (!find_own(proc_root, pid, &g->dir))
		return false;
	cgroup_dir_leave_for_container(&g->dir);
	if (strcmp(g->dir.path, g->dir.mount) != 0)
		g->fd = open(g->dir.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return g->fd >= 0;
}

bool perf_group_open_dir(struct perf_group *g, const struct cgroup_dir *dir)
{
	*g = (struct perf_group){.fd = open(dir->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .dir = *dir};
	return g->fd >= 0;
}

struct perf_group perf_group_take(struct perf_group *g)
{
	struct perf_group taken = *g;
	g->fd = -1;
	return taken;
}

bool perf_group_left(const struct perf_group *g, const char *proc_root, pid_t pid)
{
	struct cgroup_dir now;
	size_t n = strlen(g->dir.path);
	if (g->fd < 0 || !find_own(proc_root, pid, &now))
		return false;
	return strncmp(now.path, g->dir.path, n) != 0 || (now.path[n] && now.path[n] != '/');
}

void perf_group_close(struct perf_group *g)
{
	cleanup_fd(&g->fd);
}
