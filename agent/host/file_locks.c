#include "agent/host/file_locks.h"

#include "common/base/cleanup.h"
#include "common/base/fsio.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DESCRIPTORS 4096 /* looked at */
#define FILES 256        /* of them */
#define LINE_BYTES 128
#define FIELDS 9
#define PENDING_BYTE 0x40000000u
#define RESERVED_BYTE (PENDING_BYTE + 1)
#define SHM_WRITE_BYTE 120u

/* "lock:	3: POSIX  ADVISORY  WRITE 4711 fe:00:264212 1073741825 1073741825" */
bool file_locks_parse_line(const char *line, size_t len)
{
	char text[LINE_BYTES], *field[FIELDS], *at = text, *save = NULL;
	size_t n = 0;
	if (len >= sizeof text)
		return false;
	memcpy(text, line, len);
	text[len] = '\0';
	for (char *word; n < FIELDS && (word = strtok_r(at, " \t", &save)); at = NULL)
		field[n++] = word;
	if (n != FIELDS || strcmp(field[0], "lock:") != 0 || strcmp(field[2], "POSIX") != 0 || strcmp(field[4], "WRITE") != 0)
		return false;
	unsigned long long start = strtoull(field[7], NULL, 10);
	return start == RESERVED_BYTE || start == PENDING_BYTE || start == SHM_WRITE_BYTE;
}

static bool ends_with(const char *s, size_t len, const char *with)
{
	size_t n = strlen(with);
	return len >= n && memcmp(s + len - n, with, n) == 0;
}

/* Not of sockets and such, and of no assembly. */
static bool may_be_database(int fds, const char *name)
{
	char path[512];
	ssize_t len = readlinkat(fds, name, path, sizeof path);
	return len > 0 && path[0] == '/' && !ends_with(path, (size_t)len, ".dll") && !ends_with(path, (size_t)len, ".so");
}

static bool has_lock(int proc_fd, const char *name)
{
	char path[64], text[1024];
	snprintf(path, sizeof path, "fdinfo/%.20s", name);
	if (fsio_read_small(proc_fd, path, text, sizeof text) <= 0)
		return false;
	for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
		end = strchrnul(line, '\n');
		if (file_locks_parse_line(line, (size_t)(end - line)))
			return true;
	}
	return false;
}

bool file_locks_database(int proc_fd)
{
	int fds = openat(proc_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_DIR DIR *dir = fsio_opendir_take(fds);
	struct dirent *d;
	int files = 0;
	for (int i = 0; dir && i < DESCRIPTORS && files < FILES && (d = readdir(dir)); i++) {
		if (d->d_name[0] == '.' || !may_be_database(dirfd(dir), d->d_name))
			continue;
		if (has_lock(proc_fd, d->d_name))
			return true;
		files++;
	}
	return false;
}
