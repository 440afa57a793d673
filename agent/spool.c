#include "agent/spool.h"

#include "agent/spool_state.h"
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

int spool_job_create(struct spool *s, const char *job_id, struct err *e)
{
	AUTO_FREE char *path = job_path(s, job_id, e);
	if (!path)
		return -1;
	if (spool_used_bytes(s) >= s->quota_bytes)
		return err_set_reason(e, ERR_RETRY, REASON_SpoolFull, "the spool %s has reached its quota of %" PRId64 " bytes", s->root,
				      s->quota_bytes);
	if (mkdir(path, 0700) < 0 && errno != EEXIST) {
		if (errno == ENOSPC || errno == EDQUOT)
			return err_set_reason(e, ERR_RETRY, REASON_SpoolFull, "no space for the job's folder %s", path);
		return err_set_errno(e, errno, "cannot make the job's folder %s", path);
	}
	return spool_job_open(s, job_id, e);
}

int spool_job_save(struct spool *s, const char *job_id, const struct link_order *order, const struct link_job *job, struct err *e)
{
	AUTO_FREE char *path = job_path(s, job_id, e);
	AUTO_FREE char *text = path ? spool_state_encode(order, job, STATE_MAX_BYTES, e) : NULL;
	if (!text)
		return -1;
	AUTO_FREE char *file = mem_printf("%s/" STATE_FILE, path);
	return fsio_write_atomic(file, text, strlen(text), 0600, e);
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

/* Removes the files of one job's folder; there are no folders in it. */
static void remove_files(int dir_fd)
{
	AUTO_DIR DIR *dir = fdopendir(dir_fd);
	if (!dir) {
		close(dir_fd);
		return;
	}
	struct dirent *entry;
	while ((entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(dirfd(dir), entry->d_name, 0);
	}
}

void spool_job_remove(struct spool *s, const char *job_id)
{
	AUTO_FREE char *path = job_path(s, job_id, NULL);
	int fd = path ? spool_job_open(s, job_id, NULL) : -1;
	if (fd < 0)
		return;
	remove_files(fd);
	rmdir(path);
}

static int64_t folder_bytes(int dir_fd)
{
	AUTO_DIR DIR *dir = fdopendir(dir_fd);
	if (!dir) {
		close(dir_fd);
		return 0;
	}
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

int64_t spool_get_number(struct spool *s, const char *name)
{
	AUTO_FREE char *path = mem_printf("%s/%s", s->root, name);
	char text[32];
	return fsio_read_small(AT_FDCWD, path, text, sizeof text) > 0 ? strtoll(text, NULL, 10) : 0;
}

int spool_set_number(struct spool *s, const char *name, int64_t value, struct err *e)
{
	AUTO_FREE char *path = mem_printf("%s/%s", s->root, name);
	char text[32];
	int n = snprintf(text, sizeof text, "%" PRId64 "\n", value);
	return fsio_write_atomic(path, text, (size_t)n, 0600, e);
}
