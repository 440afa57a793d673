#include "agent/attach/stage_sweep.h"

#include "agent/host/proc.h"
#include "agent/target/target_fs.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_FOLDER_ENTRIES 65536
#define MAX_DESCRIPTORS 1048576 /* of a process: what the kernel allows, unless it was told otherwise */
#define MAX_FILES 16 /* of a session's folder; we make two */
#define MAX_FOLDERS 64 /* at a time: more than killed agents leave; looking whether a library is mapped costs time */

static bool is_hex(const char *s, size_t count)
{
	return strspn(s, "0123456789abcdef") >= count;
}

static bool is_folder_name(const char *name)
{
	size_t n = sizeof STAGE_FOLDER_PREFIX - 1;
	return strncmp(name, STAGE_FOLDER_PREFIX, n) == 0 && strlen(name) == n + 16 && is_hex(name + n, 16);
}

static bool is_library_name(const char *name)
{
	static const char prefix[] = "libdrdotnet-";
	size_t n = sizeof prefix - 1;
	return strncmp(name, prefix, n) == 0 && strlen(name) == n + 16 + 3 && is_hex(name + n, 16) &&
	       strcmp(name + n + 16, ".so") == 0;
}

/* The last part of a path, of `len` bytes, of which the kernel says whether its file is deleted. */
static bool is_library_path(const char *path, size_t len)
{
	static const char deleted[] = " (deleted)";
	char text[PATH_MAX];
	if (len >= sizeof text)
		return false;
	memcpy(text, path, len);
	text[len] = '\0';
	size_t tail = sizeof deleted - 1;
	if (len > tail && strcmp(text + len - tail, deleted) == 0)
		text[len - tail] = '\0';
	const char *slash = strrchr(text, '/');
	return slash && is_library_name(slash + 1);
}

/* `library_name` NULL: any. */
static bool is_mapped(int proc_fd, const char *library_name)
{
	struct proc_lines lines;
	if (proc_fd < 0 || proc_lines_open(&lines, proc_fd, "maps") < 0)
		return false;
	bool mapped = false;
	const char *line;
	size_t len;
	while (!mapped && proc_lines_next(&lines, &line, &len)) {
		struct proc_map map;
		if (proc_parse_map_line(line, len, &map) == 0)
			mapped = library_name ? proc_map_is(&map, library_name) : is_library_path(map.path, map.path_len);
	}
	proc_lines_close(&lines);
	return mapped;
}

bool stage_library_mapped(const struct target *t, const char *library_name)
{
	AUTO_FD int proc_fd = target_open_proc(t, NULL);
	return is_mapped(proc_fd, library_name);
}

static bool holds_library(int proc_fd)
{
	AUTO_DIR DIR *dir = fsio_opendir_take(openat(proc_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	struct dirent *entry;
	bool holds = false;
	for (int seen = 0; dir && !holds && seen < MAX_DESCRIPTORS && (entry = readdir(dir)); seen++) {
		char path[PATH_MAX];
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, path, sizeof path);
		holds = len > 0 && is_library_path(path, (size_t)len);
	}
	return holds;
}

bool stage_library_serves(const struct target *t)
{
	AUTO_FD int proc_fd = t->mode == AGENT_MODE_HOST_PID ? target_open_proc(t, NULL) : -1;
	return is_mapped(proc_fd, NULL) && holds_library(proc_fd);
}

bool stage_library_gone(int library_fd)
{
	if (flock(library_fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		return false;
	flock(library_fd, LOCK_UN);
	return true;
}

/* The library's file, when the library holds it; -1: it does not. */
static int open_held(int dir_fd, const char *name)
{
	AUTO_FD int fd = is_library_name(name) ? target_fs_open_regular(dir_fd, name) : -1;
	return fd < 0 || stage_library_gone(fd) ? -1 : steal_fd(&fd);
}

/* What is mapped tells nothing where nothing is ever unmapped. */
static bool is_in_process(const struct target *t, int dir_fd, const char *library_name)
{
	AUTO_FD int held = open_held(dir_fd, library_name);
	return held >= 0 || (t->mode == AGENT_MODE_HOST_PID && !target_has_musl(t) && stage_library_mapped(t, library_name));
}

static DIR *read_folder(int dir_fd)
{
	return fsio_opendir_take(openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

/* Removes the files that a session makes; false when one must stay (its library is still in the process). */
static bool empty_folder(const struct target *t, int dir_fd)
{
	AUTO_DIR DIR *dir = read_folder(dir_fd);
	struct dirent *entry;
	for (int seen = 0; dir && seen < MAX_FILES && (entry = readdir(dir)); seen++) {
		if (is_library_name(entry->d_name) && is_in_process(t, dir_fd, entry->d_name))
			return false;
		if (is_library_name(entry->d_name) || strcmp(entry->d_name, "c") == 0)
			unlinkat(dir_fd, entry->d_name, 0);
	}
	return dir != NULL;
}

/* -1: it is not the agent's. */
static int open_folder(int tmp_fd, const char *name, struct stat *st)
{
	AUTO_FD int fd = target_fs_open_beneath(tmp_fd, name, O_RDONLY | O_DIRECTORY, 0);
	return fd < 0 || fstat(fd, st) < 0 || st->st_uid != geteuid() ? -1 : steal_fd(&fd);
}

/* The names of sessions' folders in the temporary folder, one after the other, for as long as the function wants more. */
static void each_folder(int tmp_fd, bool (*wants_more)(void *ctx, int tmp_fd, const char *name), void *ctx)
{
	AUTO_DIR DIR *dir = tmp_fd < 0 ? NULL : read_folder(tmp_fd);
	struct dirent *entry;
	for (int seen = 0, looked = 0; dir && seen < MAX_FOLDER_ENTRIES && looked < MAX_FOLDERS && (entry = readdir(dir)); seen++) {
		if (!is_folder_name(entry->d_name))
			continue;
		looked++;
		if (!wants_more(ctx, tmp_fd, entry->d_name))
			return;
	}
}

struct find_held {
	char mark[STAGE_MARK_DIGITS + 1];
	int fd;
};

static bool find_held(void *ctx, int tmp_fd, const char *name)
{
	struct find_held *f = ctx;
	struct stat st;
	if (strncmp(name + sizeof STAGE_FOLDER_PREFIX - 1, f->mark, STAGE_MARK_DIGITS) != 0)
		return true;
	AUTO_FD int fd = open_folder(tmp_fd, name, &st);
	AUTO_DIR DIR *dir = fd < 0 ? NULL : read_folder(fd);
	struct dirent *entry;
	for (int seen = 0; dir && f->fd < 0 && seen < MAX_FILES && (entry = readdir(dir)); seen++)
		f->fd = open_held(fd, entry->d_name);
	return f->fd < 0;
}

int stage_find_library(const struct target *t, int tmp_fd)
{
	struct find_held f = {.fd = -1};
	if (stage_mark(t, f.mark, NULL) == 0)
		each_folder(tmp_fd, find_held, &f);
	return f.fd;
}

enum swept { SWEPT_REMOVED, SWEPT_KEPT, SWEPT_NOT_OURS };

static enum swept sweep_folder(const struct target *t, int tmp_fd, const char *name, int64_t older_than_s)
{
	struct stat st;
	AUTO_FD int fd = open_folder(tmp_fd, name, &st);
	if (fd < 0)
		return SWEPT_NOT_OURS;
	/* Without an age there is no question: a file's time may be a moment ahead of time(). */
	if (older_than_s > 0 && time(NULL) - st.st_mtime < older_than_s)
		return SWEPT_NOT_OURS;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) /* its session lives */
		return SWEPT_NOT_OURS;
	return empty_folder(t, fd) && unlinkat(tmp_fd, name, AT_REMOVEDIR) == 0 ? SWEPT_REMOVED : SWEPT_KEPT;
}

struct sweep {
	const struct target *t;
	int64_t older_than_s;
	int removed, kept;
};

static bool sweep_if_stage(void *ctx, int tmp_fd, const char *name)
{
	struct sweep *s = ctx;
	enum swept swept = sweep_folder(s->t, tmp_fd, name, s->older_than_s);
	s->removed += swept == SWEPT_REMOVED;
	s->kept += swept == SWEPT_KEPT;
	return true;
}

int stage_sweep(const struct target *t, int64_t older_than_s, int *kept)
{
	struct sweep s = {.t = t, .older_than_s = older_than_s};
	AUTO_FD int tmp = target_open_tmp(t, NULL);
	each_folder(tmp, sweep_if_stage, &s);
	if (kept)
		*kept += s.kept;
	return s.removed;
}
