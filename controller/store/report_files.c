#include "controller/store/report_files.h"

#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <limits.h>
#include <openssl/rand.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TEMPORARY_PREFIX ".upload-t"
#define MAX_LEVELS 10
#define PLACE_ATTEMPTS 5

int report_files_open(int dir_fd, const char *path, int flags)
{
	struct open_how how = {.flags = (uint64_t)(flags | O_CLOEXEC), .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
	return (int)syscall(SYS_openat2, dir_fd, path, &how, sizeof how);
}

int report_files_create_temporary(int dir_fd, char *name, size_t size)
{
	unsigned long long number;
	RAND_bytes((unsigned char *)&number, sizeof number);
	snprintf(name, size, TEMPORARY_PREFIX "%016llx", number);
	int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		name[0] = '\0';
	return fd;
}

/* The folders above the key's last segment. */
static int make_folders(int dir_fd, const char *key)
{
	char partial[PATH_MAX];
	if (strlen(key) >= sizeof partial) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (const char *slash = strchr(key, '/'); slash; slash = strchr(slash + 1, '/')) {
		memcpy(partial, key, (size_t)(slash - key));
		partial[slash - key] = '\0';
		if (mkdirat(dir_fd, partial, 0700) < 0 && errno != EEXIST)
			return -1;
	}
	return 0;
}

int report_files_place(int dir_fd, const char *temp_name, const char *key)
{
	for (int i = 0; i < PLACE_ATTEMPTS; i++) {
		if (make_folders(dir_fd, key) == 0 && renameat(dir_fd, temp_name, dir_fd, key) == 0)
			return 0;
		if (errno != ENOENT) /* an expiry in another thread may take the new, empty folders away */
			return -1;
	}
	return -1;
}

int64_t report_files_size_of(int dir_fd, const char *path)
{
	struct stat st;
	return fstatat(dir_fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) ? st.st_size : 0;
}

/* One walk serves counting, expiry and removal. */
struct walk {
	int64_t older_than;   /* files changed before (seconds) are removed; INT64_MIN: none, INT64_MAX: all */
	int64_t bytes;        /* of what was met (none removed) or removed */
	int removed;
};

static void walk_dir(int fd, struct walk *w, int level);

static void walk_entry(int fd, const char *name, struct walk *w, int level)
{
	struct stat st;
	if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISDIR(st.st_mode)) {
		int child = level < MAX_LEVELS ? report_files_open(fd, name, O_RDONLY | O_DIRECTORY) : -1;
		if (child >= 0)
			walk_dir(child, w, level + 1);
		if (w->older_than != INT64_MIN)
			unlinkat(fd, name, AT_REMOVEDIR); /* only an empty one goes */
		return;
	}
	bool counts = w->older_than == INT64_MIN;
	if (!counts && st.st_mtime < w->older_than && unlinkat(fd, name, 0) == 0) {
		w->removed++;
		counts = true;
	}
	if (counts)
		w->bytes += st.st_size;
}

static void walk_dir(int fd, struct walk *w, int level)
{
	AUTO_DIR DIR *dir = fsio_opendir_take(fd);
	struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		if (entry->d_name[0] != '.')
			walk_entry(dirfd(dir), entry->d_name, w, level);
	}
}

static int64_t walk_path(int dir_fd, const char *path, struct walk *w)
{
	int fd = report_files_open(dir_fd, path, O_RDONLY | O_DIRECTORY);
	if (fd >= 0)
		walk_dir(fd, w, 0);
	return w->bytes;
}


static int64_t tree_size(int dir_fd, const char *path)
{
	struct walk w = {.older_than = INT64_MIN};
	return walk_path(dir_fd, path, &w);
}

int64_t report_files_size(int dir_fd)
{
	return tree_size(dir_fd, ".");
}

int64_t report_files_remove_older(int dir_fd, int64_t mtime_seconds, int *removed)
{
	struct walk w = {.older_than = mtime_seconds};
	walk_path(dir_fd, ".", &w);
	*removed = w.removed;
	return w.bytes;
}

int64_t report_files_remove_tree(int dir_fd, const char *path)
{
	struct walk w = {.older_than = INT64_MAX};
	walk_path(dir_fd, path, &w);
	unlinkat(dir_fd, path, AT_REMOVEDIR);
	return w.bytes;
}

void report_files_remove_temporary(int dir_fd)
{
	AUTO_DIR DIR *dir = fsio_opendir_take(report_files_open(dir_fd, ".", O_RDONLY | O_DIRECTORY));
	struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		if (strncmp(entry->d_name, TEMPORARY_PREFIX, strlen(TEMPORARY_PREFIX)) == 0)
			unlinkat(dir_fd, entry->d_name, 0);
	}
}

/* Shares of namespaces ---------------------------------------------------------------------------------------------------- */

struct share {
	char name[NAME_MAX + 1];
	int64_t bytes;
	bool spent; /* nothing more is to be removed here */
};

struct shares {
	struct share *items;
	size_t count, cap;
};

/* Of each namespace; `coming` bytes are about to be those of the key's. */
static void measure_shares(int dir_fd, const char *key, int64_t coming, struct shares *s)
{
	AUTO_DIR DIR *dir = fsio_opendir_take(report_files_open(dir_fd, ".", O_RDONLY | O_DIRECTORY));
	struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		size_t len = strlen(entry->d_name);
		if (entry->d_name[0] == '.')
			continue;
		GROW(s->items, s->count, s->cap);
		struct share *n = &s->items[s->count++];
		*n = (struct share){.bytes = tree_size(dir_fd, entry->d_name)};
		memcpy(n->name, entry->d_name, len + 1);
		if (strncmp(key, n->name, len) == 0 && key[len] == '/')
			n->bytes += coming;
	}
}

static struct share *largest_share(struct shares *s)
{
	struct share *largest = NULL;
	for (size_t i = 0; i < s->count; i++) {
		if (!s->items[i].spent && (!largest || s->items[i].bytes > largest->bytes))
			largest = &s->items[i];
	}
	return largest;
}

/* The session folder of a namespace that changed longest ago, but for the one that the key is of. false: there is none. */
static bool find_oldest(int dir_fd, const char *namespace, const char *key, char path[PATH_MAX])
{
	AUTO_DIR DIR *dir = fsio_opendir_take(report_files_open(dir_fd, namespace, O_RDONLY | O_DIRECTORY));
	struct dirent *entry;
	int64_t oldest = INT64_MAX;
	while (dir && (entry = readdir(dir))) {
		struct stat st;
		char here[PATH_MAX];
		int len = snprintf(here, sizeof here, "%s/%s", namespace, entry->d_name);
		if (entry->d_name[0] == '.' || (strncmp(key, here, (size_t)len) == 0 && key[len] == '/'))
			continue;
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_mtime >= oldest)
			continue;
		oldest = st.st_mtime;
		memcpy(path, here, (size_t)len + 1);
	}
	return oldest != INT64_MAX;
}

static int64_t remove_oldest(int dir_fd, struct share *n, const char *key)
{
	char path[PATH_MAX];
	int64_t bytes = find_oldest(dir_fd, n->name, key, path) ? report_files_remove_tree(dir_fd, path) : 0;
	n->bytes -= bytes;
	n->spent = bytes == 0; /* or what is there cannot be removed */
	return bytes;
}

int64_t report_files_make_room(int dir_fd, const char *key, int64_t coming, int64_t need)
{
	struct shares s = {0};
	int64_t freed = 0;
	measure_shares(dir_fd, key, coming, &s);
	for (struct share *n; freed < need && (n = largest_share(&s));)
		freed += remove_oldest(dir_fd, n, key);
	free(s.items);
	return freed;
}
