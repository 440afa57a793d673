#include "agent/discover/shared_tmp.h"

#include "agent/target/target_fs.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/log.h"
#include "common/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define FOLDER_MODE 01777
#define MAX_ENTRIES 8192
#define OPENED_LATE "user.drdotnet.opened" /* of a folder of root's, which nobody else may write to */
#define SECONDS_SIZE 24
/* kubelet sets the mode once more after it made the folder: attribute changes are looked at, too. */
#define WATCHED (IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_ONLYDIR | IN_EXCL_UNLINK)

bool shared_tmp_wants_repair(uid_t owner, mode_t mode)
{
	mode_t bits = mode & 07777;
	return owner == 0 && S_ISDIR(mode) && (bits == 0755 || bits == 0750 || bits == 0775 || bits == 0770 || bits == 0777);
}

static bool names_pod_uid(const char *s)
{
	return strlen(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' &&
	       strspn(s, "0123456789abcdef-") == 36;
}

/* It stays with the folder, whatever becomes of this agent. */
static void note_opened(int fd)
{
	char text[SECONDS_SIZE];
	int len = snprintf(text, sizeof text, "%lld", (long long)(clock_wall_ms() / 1000));
	if (fsetxattr(fd, OPENED_LATE, text, (size_t)len, 0) < 0)
		LOG_DEBUG("shared-tmp", "cannot keep when a folder was opened", LOG_S("error", strerror(errno)));
}

int64_t shared_tmp_opened_late(int folder_fd)
{
	char text[SECONDS_SIZE];
	ssize_t len = fgetxattr(folder_fd, OPENED_LATE, text, sizeof text - 1);
	if (len <= 0)
		return 0;
	text[len] = '\0';
	int64_t seconds = strtoll(text, NULL, 10);
	return seconds > 0 && seconds <= clock_wall_ms() / 1000 ? seconds : 0;
}

static int repair_fd(struct shared_tmp *s, int fd, const char *name)
{
	struct stat st;
	if (fstat(fd, &st) < 0 || !shared_tmp_wants_repair(st.st_uid, st.st_mode))
		return 0;
	if (fchmod(fd, FOLDER_MODE) < 0) {
		LOG_WARN("shared-tmp", "cannot open a pod's folder to its user", LOG_S("folder", name), LOG_S("error", strerror(errno)));
		return 0;
	}
	if (s->late && !(st.st_mode & S_IWOTH))
		note_opened(fd);
	s->repaired++;
	return 1;
}

static struct shared_tmp_watch *find_pod_watch(struct shared_tmp *s, int id)
{
	for (size_t i = 0; i < s->pod_count; i++) {
		if (s->pods[i].id == id)
			return &s->pods[i];
	}
	return NULL;
}

/* Watches the folder of a pod that has one per container. */
static void watch_pod(struct shared_tmp *s, int fd, const char *name)
{
	char path[TARGET_FD_PATH_SIZE];
	if (s->pod_count == SHARED_TMP_MAX_PODS)
		return;
	int id = inotify_add_watch(s->inotify_fd, target_fd_path(fd, path), WATCHED);
	if (id < 0 || find_pod_watch(s, id))
		return;
	struct shared_tmp_watch *w = &s->pods[s->pod_count++];
	w->id = id;
	memcpy(w->name, name, strlen(name) + 1);
}

static int handle_name(struct shared_tmp *s, int folder_fd, const char *name, bool in_parent);

static int scan(struct shared_tmp *s, int folder_fd, bool in_parent)
{
	int copy = openat(folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_DIR DIR *dir = fsio_opendir_take(copy);
	struct dirent *entry;
	int repaired = 0;
	for (int seen = 0; dir && seen < MAX_ENTRIES && (entry = readdir(dir)); seen++) {
		if (entry->d_name[0] != '.')
			repaired += handle_name(s, folder_fd, entry->d_name, in_parent);
	}
	return repaired;
}

/* One entry of the parent or of a pod's folder. The watch comes before the scan, so that nothing falls in between. */
static int handle_name(struct shared_tmp *s, int folder_fd, const char *name, bool in_parent)
{
	AUTO_FD int fd = target_fs_open_beneath(folder_fd, name, O_RDONLY | O_DIRECTORY, 0);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != 0)
		return 0;
	if (!in_parent || !names_pod_uid(name))
		return repair_fd(s, fd, name);
	watch_pod(s, fd, name);
	return scan(s, fd, false);
}

/* All that is there, however long it has been. */
static int scan_late(struct shared_tmp *s)
{
	s->late = true;
	int repaired = scan(s, s->parent_fd, true);
	s->late = false;
	return repaired;
}

static int open_parent(struct shared_tmp *s, const char *parent, struct err *e)
{
	s->parent_fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	if (s->parent_fd < 0 || fstat(s->parent_fd, &st) < 0)
		return err_set_errno(e, errno, "cannot open the shared folder %s", parent);
	if ((st.st_mode & 07777) != FOLDER_MODE && st.st_uid == geteuid() && fchmod(s->parent_fd, FOLDER_MODE) < 0)
		return err_set_errno(e, errno, "cannot set the mode of the shared folder %s", parent);
	return 0;
}

int shared_tmp_make(const char *parent, struct err *e)
{
	if (access(parent, F_OK) == 0) {
		struct shared_tmp s = {.inotify_fd = -1};
		int r = open_parent(&s, parent, e);
		cleanup_fd(&s.parent_fd);
		return r;
	}
	AUTO_FREE char *made = mem_printf("%s.XXXXXX", parent);
	if (mkdtemp(made) && chmod(made, FOLDER_MODE) == 0 && rename(made, parent) == 0)
		return 0;
	err_set_errno(e, errno, "cannot make the shared folder %s", parent);
	rmdir(made);
	return -1;
}

int shared_tmp_init(struct shared_tmp *s, const char *parent, struct err *e)
{
	memset(s, 0, sizeof *s);
	s->parent_fd = s->inotify_fd = -1;
	if (open_parent(s, parent, e) < 0)
		return -1;
	s->inotify_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	char path[TARGET_FD_PATH_SIZE];
	if (s->inotify_fd >= 0)
		s->parent_watch = inotify_add_watch(s->inotify_fd, target_fd_path(s->parent_fd, path), WATCHED);
	if (s->inotify_fd < 0 || s->parent_watch < 0)
		return err_set_errno(e, errno, "cannot watch the shared folder %s", parent);
	scan_late(s);
	return 0;
}

void shared_tmp_fini(struct shared_tmp *s)
{
	if (!s)
		return;
	cleanup_fd(&s->inotify_fd);
	cleanup_fd(&s->parent_fd);
	s->inotify_fd = s->parent_fd = -1;
	s->pod_count = 0;
}

int shared_tmp_fd(const struct shared_tmp *s)
{
	return s->inotify_fd;
}

static void forget_pod(struct shared_tmp *s, int id)
{
	struct shared_tmp_watch *w = find_pod_watch(s, id);
	if (w)
		*w = s->pods[--s->pod_count];
}

static int handle_event(struct shared_tmp *s, const struct inotify_event *event)
{
	if (event->mask & IN_Q_OVERFLOW) {
		s->overflows++;
		return scan_late(s);
	}
	if (event->mask & IN_IGNORED) {
		forget_pod(s, event->wd);
		return 0;
	}
	if (event->len == 0 || !(event->mask & IN_ISDIR))
		return 0;
	if (event->wd == s->parent_watch)
		return handle_name(s, s->parent_fd, event->name, true);
	struct shared_tmp_watch *pod = find_pod_watch(s, event->wd);
	AUTO_FD int fd = pod ? target_fs_open_beneath(s->parent_fd, pod->name, O_RDONLY | O_DIRECTORY, 0) : -1;
	return fd < 0 ? 0 : handle_name(s, fd, event->name, false);
}

int shared_tmp_step(struct shared_tmp *s)
{
	char data[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
	int repaired = 0;
	ssize_t n = read(s->inotify_fd, data, sizeof data);
	for (ssize_t at = 0; n > 0 && at + (ssize_t)sizeof(struct inotify_event) <= n;) {
		const struct inotify_event *event = (const struct inotify_event *)(data + at);
		repaired += handle_event(s, event);
		at += (ssize_t)(sizeof *event + event->len);
	}
	return repaired;
}
