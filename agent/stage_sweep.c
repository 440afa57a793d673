#include "agent/proc.h"
#include "agent/stage.h"
#include "agent/target_fs.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAX_FOLDER_ENTRIES 65536
#define MAX_FILES 16 /* of a session's folder; we make two */
#define MAX_FOLDERS 64 /* at a time: more than killed agents leave; looking whether a library is mapped costs time */

bool stage_library_mapped(const struct target *t, const char *library_name)
{
	AUTO_FD int proc_fd = target_open_proc(t, NULL);
	struct proc_lines lines;
	if (proc_fd < 0 || proc_lines_open(&lines, proc_fd, "maps") < 0)
		return false;
	bool mapped = false;
	const char *line;
	size_t len;
	while (!mapped && proc_lines_next(&lines, &line, &len)) {
		struct proc_map map;
		mapped = proc_parse_map_line(line, len, &map) == 0 && proc_map_is(&map, library_name);
	}
	proc_lines_close(&lines);
	return mapped;
}

static bool is_hex(const char *s, size_t count)
{
	return strspn(s, "0123456789abcdef") >= count;
}

static bool is_folder_name(const char *name)
{
	static const char prefix[] = ".drdotnet-";
	size_t n = sizeof prefix - 1;
	return strncmp(name, prefix, n) == 0 && strlen(name) == n + 16 && is_hex(name + n, 16);
}

static bool is_library_name(const char *name)
{
	static const char prefix[] = "libdrdotnet-";
	size_t n = sizeof prefix - 1;
	return strncmp(name, prefix, n) == 0 && strlen(name) == n + 16 + 3 && is_hex(name + n, 16) &&
	       strcmp(name + n + 16, ".so") == 0;
}

/* Removes the files that a session makes; false when one must stay (its library is still mapped). */
static bool empty_folder(const struct target *t, int dir_fd)
{
	int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_DIR DIR *dir = fsio_opendir_take(copy);
	struct dirent *entry;
	for (int seen = 0; dir && seen < MAX_FILES && (entry = readdir(dir)); seen++) {
		if (is_library_name(entry->d_name) && t->mode == AGENT_MODE_HOST_PID && stage_library_mapped(t, entry->d_name))
			return false;
		if (is_library_name(entry->d_name) || strcmp(entry->d_name, "c") == 0)
			unlinkat(dir_fd, entry->d_name, 0);
	}
	return dir != NULL;
}

enum swept { SWEPT_REMOVED, SWEPT_KEPT, SWEPT_NOT_OURS };

static enum swept sweep_folder(const struct target *t, int tmp_fd, const char *name, int64_t older_than_s)
{
	AUTO_FD int fd = target_fs_open_beneath(tmp_fd, name, O_RDONLY | O_DIRECTORY, 0);
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_uid != geteuid())
		return SWEPT_NOT_OURS;
	/* Without an age there is no question: a file's time may be a moment ahead of time(). */
	if (older_than_s > 0 && time(NULL) - st.st_mtime < older_than_s)
		return SWEPT_NOT_OURS;
	if (flock(fd, LOCK_EX | LOCK_NB) < 0) /* its session lives */
		return SWEPT_NOT_OURS;
	return empty_folder(t, fd) && unlinkat(tmp_fd, name, AT_REMOVEDIR) == 0 ? SWEPT_REMOVED : SWEPT_KEPT;
}

int stage_sweep(const struct target *t, int64_t older_than_s, int *kept)
{
	AUTO_FD int tmp = target_open_tmp(t, NULL);
	int copy = tmp < 0 ? -1 : openat(tmp, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_DIR DIR *dir = fsio_opendir_take(copy);
	struct dirent *entry;
	int removed = 0, looked = 0;
	for (int seen = 0; dir && seen < MAX_FOLDER_ENTRIES && looked < MAX_FOLDERS && (entry = readdir(dir)); seen++) {
		if (!is_folder_name(entry->d_name))
			continue;
		looked++;
		enum swept swept = sweep_folder(t, tmp, entry->d_name, older_than_s);
		removed += swept == SWEPT_REMOVED;
		if (kept)
			*kept += swept == SWEPT_KEPT;
	}
	return removed;
}
