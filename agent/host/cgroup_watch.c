#include "agent/host/cgroup_watch.h"

#include "agent/host/cgroup.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define WATCHED_EVENTS (IN_CREATE | IN_MOVED_TO | IN_ONLYDIR | IN_EXCL_UNLINK)
#define LEVELS_TO_KUBEPODS 2 /* "/kubelet.slice/kubepods.slice", "/kubelet/kubepods" */

struct watched {
	int id;
	char *path;
};

struct cgroup_watch {
	struct cgroup_dir top;
	int fd;
	struct watched *folders;
	size_t count, cap;
};

enum cgroup_place cgroup_watch_place(const char *below_mount, struct cgroup_identity *out)
{
	char line[CGROUP_PATH_MAX + 8];
	const char *name = strrchr(below_mount, '/');
	size_t levels = 0;
	snprintf(line, sizeof line, "0::%s", below_mount);
	cgroup_parse_identity(line, out);
	for (const char *c = below_mount; *c; c++)
		levels += *c == '/';
	if (out->pod_uid[0] && out->container_id[0])
		return name && strstr(name, out->container_id) ? CGROUP_PLACE_CONTAINER : CGROUP_PLACE_INSIDE;
	if (out->pod_uid[0]) {
		char parent[CGROUP_PATH_MAX];
		struct cgroup_identity up;
		snprintf(parent, sizeof parent, "0::%.*s", name ? (int)(name - below_mount) : 0, below_mount);
		cgroup_parse_identity(parent, &up);
		return up.pod_uid[0] ? CGROUP_PLACE_OTHER : CGROUP_PLACE_POD;
	}
	if (strstr(below_mount, "kubepods"))
		return CGROUP_PLACE_ABOVE;
	return levels < LEVELS_TO_KUBEPODS && (levels == 0 || strstr(below_mount, "kubelet")) ? CGROUP_PLACE_ABOVE : CGROUP_PLACE_OTHER;
}

bool cgroup_watch_holds_pods(const char *path)
{
	AUTO_DIR DIR *dir = opendir(path);
	struct dirent *entry;
	bool found = false;
	while (dir && !found && (entry = readdir(dir)))
		found = entry->d_type == DT_DIR && strstr(entry->d_name, "kubepods");
	return found;
}

/* A folder at the top may be the kubelet's cgroupRoot, whatever its name is. */
static bool is_root_of_pods(const struct cgroup_watch *w, const char *path)
{
	const char *below = path + strlen(w->top.mount);
	return below[0] && !strchr(below + 1, '/') && cgroup_watch_holds_pods(path);
}

static void watch_folder(struct cgroup_watch *w, const char *path, cgroup_watch_fn *fn, void *ctx);

/* Whatever is found at a path: watched, or told of. `fn` NULL: what is there at the beginning. */
static void take_folder(struct cgroup_watch *w, const char *path, cgroup_watch_fn *fn, void *ctx)
{
	struct cgroup_identity id;
	struct cgroup_dir dir = w->top;
	switch (cgroup_watch_place(path + strlen(w->top.mount), &id)) {
	case CGROUP_PLACE_ABOVE:
	case CGROUP_PLACE_POD:
		watch_folder(w, path, fn, ctx);
		break;
	case CGROUP_PLACE_CONTAINER:
		if (fn && snprintf(dir.path, sizeof dir.path, "%s", path) < (int)sizeof dir.path)
			fn(ctx, &dir, id.pod_uid, id.container_id);
		break;
	case CGROUP_PLACE_OTHER:
		if (is_root_of_pods(w, path))
			watch_folder(w, path, fn, ctx);
		break;
	case CGROUP_PLACE_INSIDE:
		break;
	}
}

/* The watch comes before the list, so that nothing falls in between; what falls into both is told twice. */
static void watch_folder(struct cgroup_watch *w, const char *path, cgroup_watch_fn *fn, void *ctx)
{
	int id = w->count < CGROUP_WATCH_MAX ? inotify_add_watch(w->fd, path, WATCHED_EVENTS) : -1;
	if (id < 0)
		return;
	size_t at = 0;
	while (at < w->count && w->folders[at].id != id)
		at++;
	if (at == w->count) {
		GROW(w->folders, w->count, w->cap);
		w->folders[w->count++] = (struct watched){id, mem_strdup(path)};
	}
	AUTO_DIR DIR *dir = opendir(path);
	struct dirent *entry;
	char below[CGROUP_PATH_MAX];
	while (dir && (entry = readdir(dir))) {
		if (entry->d_type == DT_DIR && entry->d_name[0] != '.' && snprintf(below, sizeof below, "%s/%s", path, entry->d_name) < (int)sizeof below)
			take_folder(w, below, fn, ctx);
	}
}

struct cgroup_watch *cgroup_watch_open(const char *proc_root, struct err *e)
{
	struct cgroup_watch *w = mem_alloc(sizeof *w);
	w->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (w->fd < 0)
		err_set_errno(e, errno, "inotify");
	else if (!cgroup_dir_of(proc_root, getpid(), "perf_event", &w->top))
		err_set(e, ERR_NOT_FOUND, 0, "the hierarchy of control groups that perf events go by cannot be seen");
	else
		watch_folder(w, w->top.mount, NULL, NULL);
	if (w->count)
		return w;
	cgroup_watch_close(w);
	return NULL;
}

void cgroup_watch_close(struct cgroup_watch *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < w->count; i++)
		free(w->folders[i].path);
	free(w->folders);
	cleanup_fd(&w->fd);
	free(w);
}

int cgroup_watch_fd(const struct cgroup_watch *w)
{
	return w->fd;
}

static struct watched *find_watched(struct cgroup_watch *w, int id)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->folders[i].id == id)
			return &w->folders[i];
	return NULL;
}

static void handle_group_event(struct cgroup_watch *w, const struct inotify_event *event, cgroup_watch_fn *fn, void *ctx)
{
	struct watched *at = find_watched(w, event->wd);
	char path[CGROUP_PATH_MAX];
	if (event->mask & IN_Q_OVERFLOW) /* what has appeared meanwhile is not its beginning any more */
		watch_folder(w, w->top.mount, NULL, NULL);
	if (!at)
		return;
	if (event->mask & IN_IGNORED) {
		free(at->path);
		*at = w->folders[--w->count];
	} else if (event->mask & IN_ISDIR && event->len && snprintf(path, sizeof path, "%s/%s", at->path, event->name) < (int)sizeof path) {
		take_folder(w, path, fn, ctx);
	}
}

void cgroup_watch_step(struct cgroup_watch *w, cgroup_watch_fn *fn, void *ctx)
{
	char data[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n;
	while ((n = read(w->fd, data, sizeof data)) > 0) {
		for (ssize_t at = 0; at + (ssize_t)sizeof(struct inotify_event) <= n;) {
			const struct inotify_event *event = (const struct inotify_event *)(data + at);
			handle_group_event(w, event, fn, ctx);
			at += (ssize_t)(sizeof *event + event->len);
		}
	}
}
