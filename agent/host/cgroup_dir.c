#include "agent/host/cgroup_dir.h"

#include "agent/host/cgroup.h"
#include "agent/host/proc.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/link/link_msg.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX 16384
#define SEARCH_DEPTH 6      /* kubelet.slice / kubepods / qos / pod / container */
#define SEARCH_FOLDERS 20000

int64_t cgroup_parse_number(const char *text)
{
	if (strncmp(text, "max", 3) == 0)
		return INT64_MAX;
	char *end;
	unsigned long long v = strtoull(text, &end, 10);
	if (end == text || *text == '-')
		return -1;
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

int64_t cgroup_parse_keyed(const char *text, const char *key)
{
	size_t n = strlen(key);
	for (const char *line = text; *line;) {
		if (strncmp(line, key, n) == 0 && line[n] == ' ')
			return cgroup_parse_number(line + n + 1);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	return -1;
}

int64_t cgroup_parse_cpu_max(const char *text)
{
	int64_t quota = cgroup_parse_number(text);
	const char *blank = strchr(text, ' ');
	int64_t period = blank ? cgroup_parse_number(blank + 1) : -1;
	if (quota < 0 || period <= 0)
		return -1;
	return quota == INT64_MAX ? 0 : quota > INT64_MAX / 1000 ? -1 : quota * 1000 / period;
}

static bool lists(const char *names, size_t len, const char *wanted)
{
	size_t n = strlen(wanted);
	for (const char *p = names, *end = names + len; p < end;) {
		const char *stop = memchr(p, ',', (size_t)(end - p));
		if (!stop)
			stop = end;
		if ((size_t)(stop - p) == n && memcmp(p, wanted, n) == 0)
			return true;
		p = stop + 1;
	}
	return false;
}

bool cgroup_parse_line_path(const char *text, const char *controller, char *out, size_t size)
{
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n");
		const char *names = memchr(line, ':', len);
		const char *path = names ? memchr(names + 1, ':', len - (size_t)(names + 1 - line)) : NULL;
		if (path) {
			size_t names_len = (size_t)(path - names - 1), n = len - (size_t)(path + 1 - line);
			bool hit = controller ? lists(names + 1, names_len, controller) : names_len == 0 && strncmp(line, "0:", 2) == 0;
			if (hit && n < size) {
				memcpy(out, path + 1, n);
				out[n] = '\0';
				return true;
			}
		}
		line += len + (line[len] == '\n');
	}
	return false;
}

bool cgroup_below_root(const char *group, const char *root, char *out, size_t size)
{
	size_t n = strcmp(root, "/") == 0 ? 0 : strlen(root);
	if (strncmp(group, root, n) != 0 || (group[n] != '/' && group[n] != '\0') || strstr(group + n, "/.."))
		return false;
	const char *rest = strcmp(group + n, "/") == 0 ? "" : group + n;
	return snprintf(out, size, "%s", rest) < (int)size;
}

/* The mount of the v1 controller, or of v2 when `controller` is NULL. */
static bool find_mount(const char *proc_root, const char *controller, struct proc_mount *out)
{
	char path[512];
	struct proc_lines lines;
	if (snprintf(path, sizeof path, "%s/self/mountinfo", proc_root) >= (int)sizeof path ||
	    proc_lines_open(&lines, AT_FDCWD, path) < 0)
		return false;
	const char *line, *wanted = controller ? "cgroup" : "cgroup2";
	size_t len;
	bool found = false;
	while (!found && proc_lines_next(&lines, &line, &len)) {
		found = proc_parse_mount_line(line, len, out) == 0 && strcmp(out->fs_type, wanted) == 0 &&
			(!controller || lists(out->super_options, strlen(out->super_options), controller));
	}
	proc_lines_close(&lines);
	return found;
}

enum walk { WALK_DEEPER, WALK_SKIP, WALK_STOP };

struct walker {
	enum walk (*visit)(void *ctx, const char *path, size_t mount_len);
	void *ctx;
	size_t mount_len;
	int folders_left;
};

/* Visits the folders below `path`, which ends at the one where the visitor stopped. Bounded. */
static bool walk_below(struct walker *w, char *path, size_t size, int depth)
{
	AUTO_DIR DIR *dir = opendir(path);
	struct dirent *entry;
	size_t len = strlen(path);
	while (dir && depth > 0 && w->folders_left > 0 && (entry = readdir(dir))) {
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
			continue;
		w->folders_left--;
		enum walk next = WALK_SKIP;
		if (snprintf(path + len, size - len, "/%s", entry->d_name) < (int)(size - len))
			next = w->visit(w->ctx, path, w->mount_len);
		if (next == WALK_STOP || (next == WALK_DEEPER && walk_below(w, path, size, depth - 1)))
			return true;
		path[len] = '\0';
	}
	return false;
}

static enum walk stop_at_suffix(void *ctx, const char *path, size_t mount_len)
{
	size_t n = strlen(path + mount_len), m = strlen(ctx);
	return n >= m && strcmp(path + mount_len + n - m, ctx) == 0 ? WALK_STOP : WALK_DEEPER;
}

struct pod_search {
	const struct link_pod_usage *pods;
	size_t count;
	struct cgroup_dir *out;
};

static enum walk note_pod(void *ctx, const char *path, size_t mount_len)
{
	struct pod_search *s = ctx;
	char line[CGROUP_PATH_MAX + 8];
	struct cgroup_identity id;
	snprintf(line, sizeof line, "0::%s", path + mount_len);
	cgroup_parse_identity(line, &id);
	for (size_t i = 0; id.pod_uid[0] && i < s->count; i++) {
		if (strcmp(id.pod_uid, s->pods[i].pod_uid) == 0)
			snprintf(s->out[i].path, sizeof s->out[i].path, "%s", path);
	}
	return id.pod_uid[0] ? WALK_SKIP : WALK_DEEPER;
}

/* Sets up *out at the mount; gives the hierarchy's root as the mount shows it. */
static bool open_hierarchy(const char *proc_root, const char *controller, struct cgroup_dir *out, struct proc_mount *mount)
{
	out->v2 = !find_mount(proc_root, controller, mount);
	if (out->v2 && !find_mount(proc_root, NULL, mount))
		return false;
	snprintf(out->mount, sizeof out->mount, "%s", mount->point);
	memcpy(out->path, out->mount, sizeof out->path);
	return true;
}

bool cgroup_dir_of(const char *proc_root, pid_t pid, const char *controller, struct cgroup_dir *out)
{
	char text[TEXT_MAX], group[CGROUP_PATH_MAX], below[CGROUP_PATH_MAX];
	struct proc_mount mount;
	AUTO_FD int proc_fd = proc_open(proc_root, pid);
	if (proc_fd < 0 || fsio_read_small(proc_fd, "cgroup", text, sizeof text) < 0 ||
	    !open_hierarchy(proc_root, controller, out, &mount) ||
	    !cgroup_parse_line_path(text, out->v2 ? NULL : controller, group, sizeof group))
		return false;
	size_t len = strlen(out->mount);
	if (cgroup_below_root(group, mount.root, below, sizeof below))
		return snprintf(out->path + len, sizeof out->path - len, "%s", below) < (int)(sizeof out->path - len);
	/* The agent has a cgroup namespace of its own: only the end of the path is good, and must be looked for. */
	const char *tail = group;
	while (strncmp(tail, "/..", 3) == 0)
		tail += 3;
	struct walker w = {stop_at_suffix, (char *)tail, len, SEARCH_FOLDERS};
	return tail != group && *tail == '/' && tail[1] && walk_below(&w, out->path, sizeof out->path, SEARCH_DEPTH);
}

void cgroup_dirs_of_pods(const char *proc_root, const char *controller, const struct link_pod_usage *pods, size_t count,
			 struct cgroup_dir *out)
{
	struct cgroup_dir top;
	struct proc_mount mount;
	bool any = open_hierarchy(proc_root, controller, &top, &mount);
	for (size_t i = 0; i < count; i++) {
		out[i].v2 = any && top.v2;
		out[i].path[0] = '\0';
		snprintf(out[i].mount, sizeof out[i].mount, "%s", any ? top.mount : "");
	}
	struct pod_search search = {pods, count, out};
	struct walker w = {note_pod, &search, any ? strlen(top.mount) : 0, SEARCH_FOLDERS};
	if (any)
		walk_below(&w, top.path, sizeof top.path, SEARCH_DEPTH);
}

/* "<id>", "cri-containerd-<id>.scope", "crio-<id>.scope"; not "crio-conmon-<id>.scope", its supervisor. */
static bool is_of_container(const char *name, const char *id)
{
	const char *at = strstr(name, id);
	return at && !strstr(name, "conmon") && (at == name || at[-1] == '-') && (!at[strlen(id)] || strcmp(at + strlen(id), ".scope") == 0);
}

bool cgroup_dir_enter_container(struct cgroup_dir *d, const char *container_id)
{
	size_t len = strlen(d->path);
	AUTO_DIR DIR *dir = len ? opendir(d->path) : NULL;
	struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		if (entry->d_type == DT_DIR && is_of_container(entry->d_name, container_id))
			return snprintf(d->path + len, sizeof d->path - len, "/%s", entry->d_name) < (int)(sizeof d->path - len);
	}
	return false;
}

void cgroup_dir_leave_for_container(struct cgroup_dir *d)
{
	char line[CGROUP_PATH_MAX + 8];
	struct cgroup_identity id;
	snprintf(line, sizeof line, "0::%s", d->path + strlen(d->mount));
	cgroup_parse_identity(line, &id);
	struct cgroup_dir up = *d;
	for (const char *name; id.container_id[0] && (name = strrchr(up.path + strlen(up.mount), '/')); cgroup_dir_up(&up)) {
		if (is_of_container(name + 1, id.container_id)) {
			*d = up;
			return;
		}
	}
}

bool cgroup_dir_lists(const struct cgroup_dir *d, pid_t pid)
{
	char path[CGROUP_PATH_MAX + 16];
	struct proc_lines lines;
	snprintf(path, sizeof path, "%s/cgroup.procs", d->path);
	if (proc_lines_open(&lines, AT_FDCWD, path) < 0)
		return false;
	const char *line;
	size_t len;
	bool found = false;
	while (!found && proc_lines_next(&lines, &line, &len)) {
		char number[24];
		found = snprintf(number, sizeof number, "%.*s", (int)len, line) < (int)sizeof number && cgroup_parse_number(number) == pid;
	}
	proc_lines_close(&lines);
	return found;
}

bool cgroup_dir_up(struct cgroup_dir *d)
{
	size_t mount_len = strlen(d->mount);
	char *slash = strrchr(d->path + mount_len, '/');
	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

static bool read_cgroup_file(const struct cgroup_dir *d, const char *file, char *out, size_t size)
{
	char path[CGROUP_PATH_MAX + 64];
	return snprintf(path, sizeof path, "%s/%s", d->path, file) < (int)sizeof path &&
	       fsio_read_small(AT_FDCWD, path, out, size) >= 0;
}

int64_t cgroup_dir_number(const struct cgroup_dir *d, const char *file)
{
	char text[64];
	return read_cgroup_file(d, file, text, sizeof text) ? cgroup_parse_number(text) : -1;
}

int64_t cgroup_dir_keyed(const struct cgroup_dir *d, const char *file, const char *key)
{
	char text[TEXT_MAX];
	return read_cgroup_file(d, file, text, sizeof text) ? cgroup_parse_keyed(text, key) : -1;
}
