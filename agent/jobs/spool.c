#include "agent/jobs/spool.h"

#include "agent/jobs/spool_state.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define STATE_FILE "state.json"
#define STATE_MAX_BYTES (512 << 10)

struct spool {
	char *root, *jobs;
	int64_t quota_bytes;
};

/* Ids come from the controller and become folder names. */
static bool id_valid(const char *id)
{
	size_t n = strlen(id);
	if (n == 0 || n >= LINK_ID_SIZE || id[0] == '.')
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!isalnum((unsigned char)id[i]) && !strchr("-_.", id[i]))
			return false;
	}
	return true;
}

static char *job_path(const struct spool *s, const char *job_id, struct err *e)
{
	if (id_valid(job_id))
		return mem_printf("%s/%s", s->jobs, job_id);
	err_set(e, ERR_PROTOCOL, 0, "not a usable job id");
	return NULL;
}

struct spool *spool_new(const char *root, int64_t quota_bytes, struct err *e)
{
	struct spool *s = mem_alloc(sizeof *s);
	s->root = mem_strdup(root);
	s->jobs = mem_printf("%s/jobs", root);
	s->quota_bytes = quota_bytes;
	if (fsio_mkdir_p(s->jobs, 0700, e) == 0)
		return s;
	spool_free(s);
	return NULL;
}

void spool_free(struct spool *s)
{
	if (!s)
		return;
	free(s->root);
	free(s->jobs);
	free(s);
}

int spool_job_open(struct spool *s, const char *job_id, struct err *e)
{
	AUTO_FREE char *path = job_path(s, job_id, e);
	if (!path)
		return -1;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? err_set_errno(e, errno, "cannot open the job's folder %s", path) : fd;
}

static int blame(struct err *e)
{
	if (e && !e->reason)
		e->reason = reason_of_write_error(e->code);
	return -1;
}

/* Refused before anything is done to a process, not when its report is to be written. */
static int check_spool_room(struct spool *s, struct err *e)
{
	if (spool_used_bytes(s) >= s->quota_bytes)
		return err_set_reason(e, ERR_RETRY, REASON_SpoolFull, "the spool %s has reached its quota of %" PRId64 " bytes", s->root,
				      s->quota_bytes);
	struct statvfs fs;
	if (statvfs(s->jobs, &fs) < 0)
		return 0; /* what is wrong shows when the folder is made */
	if (fs.f_flag & ST_RDONLY)
		return err_set_reason(e, ERR_RETRY, REASON_SpoolUnusable, "the spool %s is on a file system that is read-only", s->root);
	int64_t free_bytes = (int64_t)(fs.f_bavail * fs.f_frsize);
	if (free_bytes < SPOOL_LEAST_FREE_BYTES)
		return err_set_reason(e, ERR_RETRY, REASON_SpoolFull, "the disk of the spool %s has %" PRId64 " bytes left", s->root, free_bytes);
	return 0;
}

/* 0: it is there now. errno otherwise. */
static int make_job_folder(struct spool *s, const char *path)
{
	if (mkdir(path, 0700) == 0 || errno == EEXIST)
		return 0;
	if (errno != ENOENT || fsio_mkdir_p(s->jobs, 0700, NULL) < 0)
		return -1;
	return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : -1;
}

int spool_job_create(struct spool *s, const char *job_id, struct err *e)
{
	AUTO_FREE char *path = job_path(s, job_id, e);
	if (!path || check_spool_room(s, e) < 0)
		return -1;
	if (make_job_folder(s, path) < 0) {
		err_set_errno(e, errno, "cannot make the job's folder %s", path);
		return blame(e);
	}
	int fd = spool_job_open(s, job_id, e);
	return fd < 0 ? blame(e) : fd;
}

int spool_job_save(struct spool *s, const char *job_id, const struct link_order *order, const struct link_job *job, struct err *e)
{
	AUTO_FREE char *path = job_path(s, job_id, e);
	AUTO_FREE char *text = path ? spool_state_encode(order, job, STATE_MAX_BYTES, e) : NULL;
	if (!text)
		return -1;
	AUTO_FREE char *file = mem_printf("%s/" STATE_FILE, path);
	return fsio_write_atomic(file, text, strlen(text), 0600, e) < 0 ? blame(e) : 0;
}

int spool_job_load(struct spool *s, const char *job_id, struct link_order *order, struct link_job *job, struct err *e)
{
	AUTO_FREE char *path = job_path(s, job_id, e);
	if (!path)
		return -1;
	AUTO_FREE char *file = mem_printf("%s/" STATE_FILE, path);
	AUTO_BUF struct buf text;
	if (fsio_read(AT_FDCWD, file, STATE_MAX_BYTES, &text, e) < 0)
		return -1;
	return spool_state_decode(buf_str(&text), text.len, order, job, e);
}

size_t spool_list(struct spool *s, char ***ids)
{
	size_t count = 0, cap = 0;
	*ids = NULL;
	AUTO_DIR DIR *dir = opendir(s->jobs);
	struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		if (!id_valid(entry->d_name))
			continue;
		GROW(*ids, count, cap);
		(*ids)[count++] = mem_strdup(entry->d_name);
	}
	return count;
}

static void remove_one(int dirfd, const char *name)
{
	if (unlinkat(dirfd, name, 0) < 0 && errno == EISDIR)
		unlinkat(dirfd, name, AT_REMOVEDIR);
}

/* Removes the files of one job's folder; there are no folders in it, but for an empty one that is not ours. */
static void remove_job_files(int dir_fd)
{
	AUTO_DIR DIR *dir = fsio_opendir_take(dir_fd);
	if (!dir)
		return;
	struct dirent *entry;
	while ((entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			remove_one(dirfd(dir), entry->d_name);
	}
}

void spool_job_remove(struct spool *s, const char *job_id)
{
	AUTO_FREE char *path = job_path(s, job_id, NULL);
	int fd = path ? spool_job_open(s, job_id, NULL) : -1;
	if (fd < 0) {
		if (path)
			unlink(path); /* no folder at all */
		return;
	}
	remove_job_files(fd);
	rmdir(path);
}

static int64_t folder_bytes(int dir_fd)
{
	AUTO_DIR DIR *dir = fsio_opendir_take(dir_fd);
	if (!dir)
		return 0;
	int64_t bytes = 0;
	struct dirent *entry;
	while ((entry = readdir(dir))) {
		struct stat st;
		if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
			bytes += st.st_size;
	}
	return bytes;
}

int64_t spool_used_bytes(struct spool *s)
{
	char **ids;
	size_t count = spool_list(s, &ids);
	int64_t bytes = 0;
	for (size_t i = 0; i < count; i++) {
		int fd = spool_job_open(s, ids[i], NULL);
		if (fd >= 0)
			bytes += folder_bytes(fd);
		free(ids[i]);
	}
	free(ids);
	return bytes;
}

int64_t spool_left_bytes(struct spool *s)
{
	int64_t left = s->quota_bytes - spool_used_bytes(s);
	return left > 0 ? left : 1;
}

int64_t spool_get_number(struct spool *s, const char *name)
{
	AUTO_FREE char *path = mem_printf("%s/%s", s->root, name);
	char text[32];
	return fsio_read_small(AT_FDCWD, path, text, sizeof text) > 0 ? strtoll(text, NULL, 10) : 0;
}

int spool_set_number(struct spool *s, const char *name, int64_t value, struct err *e)
{
	AUTO_FREE char *path = mem_printf("%s/%s", s->root, name);
	/* In its place and of a fixed width: the disk has the block already, so it may be full; and so few bytes are not torn. */
	char text[32];
	int n = snprintf(text, sizeof text, "%019" PRId64 "\n", value);
	AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && fsio_write_all(fd, text, (size_t)n) == 0 && fsync(fd) == 0)
		return 0;
	err_set_errno(e, errno, "cannot write %s", path);
	return blame(e);
}
