#include "common/base/fsio.h"

#include "common/base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int fsio_read(int dirfd, const char *path, size_t max_bytes, struct buf *out, struct err *e)
{
	buf_init(out, max_bytes);
	AUTO_FD int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_set_errno(e, errno, "cannot open %s", path);
	char chunk[16384];
	for (;;) {
		ssize_t n = read(fd, chunk, sizeof chunk);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_set_errno(e, errno, "cannot read %s", path);
		if (n == 0)
			return 0;
		if (buf_append(out, chunk, (size_t)n) < 0)
			return err_set(e, ERR_INVALID, 0, "%s is larger than %zu bytes", path, max_bytes);
	}
}

ssize_t fsio_read_small(int dirfd, const char *path, char *out, size_t size)
{
	AUTO_FD int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	size_t len = 0;
	while (len < size - 1) {
		ssize_t n = read(fd, out + len, size - 1 - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	if (len > 0 && out[len - 1] == '\n')
		len--;
	out[len] = '\0';
	return (ssize_t)len;
}

int fsio_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;
	while (len > 0) {
		ssize_t n = write(fd, p, len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int fsio_write_atomic(const char *path, const void *data, size_t len, mode_t mode, struct err *e)
{
	char temp[PATH_MAX];
	int n = snprintf(temp, sizeof temp, "%s.XXXXXX", path);
	if (n < 0 || (size_t)n >= sizeof temp)
		return err_set(e, ERR_INVALID, ENAMETOOLONG, "path is too long: %s", path);
	AUTO_FD int fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return err_set_errno(e, errno, "cannot create %s", temp);
	if (fchmod(fd, mode) < 0 || fsio_write_all(fd, data, len) < 0 || fsync(fd) < 0 || rename(temp, path) < 0) {
		int saved = errno;
		unlink(temp);
		return err_set_errno(e, saved, "cannot write %s", path);
	}
	return 0;
}

DIR *fsio_opendir_take(int fd)
{
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir && fd >= 0) {
		int saved = errno;
		close(fd);
		errno = saved;
	}
	return dir;
}

int fsio_mkdir_p(const char *path, mode_t mode, struct err *e)
{
	char partial[PATH_MAX];
	size_t len = strlen(path);
	if (len == 0 || len >= sizeof partial)
		return err_set(e, ERR_INVALID, ENAMETOOLONG, "not a usable path: '%s'", path);
	memcpy(partial, path, len + 1);
	for (size_t i = 1; i <= len; i++) {
		if (partial[i] != '/' && partial[i] != '\0')
			continue;
		char kept = partial[i];
		partial[i] = '\0';
		if (mkdir(partial, mode) < 0 && errno != EEXIST)
			return err_set_errno(e, errno, "cannot create folder %s", partial);
		partial[i] = kept;
	}
	return 0;
}
