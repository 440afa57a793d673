/* Context: CLR callback and own thread. */
#include "profiler/base/own_file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Older glibcs have it in a library of its own, which a process that loads libraries has. */
extern __typeof__(dlopen) dlopen __attribute__((weak));

static int fd = -1;
/* The linker's: where the library begins. */
extern char __ehdr_start[] __attribute__((visibility("hidden")));

static int copy_if_own(struct dl_phdr_info *object, size_t size, void *ctx)
{
	char *out = ctx;
	size_t len = strlen(object->dlpi_name);

	(void)size;
	if (object->dlpi_addr != (uintptr_t)__ehdr_start)
		return 0;
	if (len < PATH_MAX)
		memcpy(out, object->dlpi_name, len + 1);
	return 1;
}

/* O_NONBLOCK: whatever may stand in the file's place by now. */
static int open_library(const char *name)
{
	return open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

/* `path` has the library's on entry. */
static int open_beside(char *path, const char *socket_path, size_t len)
{
	const char *name = path;
	size_t folder = 0;

	for (const char *p = path; *p; p++)
		if (*p == '/')
			name = p + 1;
	for (size_t i = 0; socket_path && i < len; i++)
		if (socket_path[i] == '/')
			folder = i + 1;
	size_t name_len = strlen(name);
	if (!folder || folder + name_len >= PATH_MAX)
		return -1;
	memmove(path + folder, name, name_len + 1);
	memcpy(path, socket_path, folder);
	return open_library(path);
}

void own_file_lock(const char *socket_path, size_t len)
{
	static char path[PATH_MAX];

	own_file_unlock();
	path[0] = '\0';
	dl_iterate_phdr(copy_if_own, path);
	fd = open_beside(path, socket_path, len);
	if (fd < 0) { /* not ours to stage: tests put it elsewhere */
		path[0] = '\0';
		dl_iterate_phdr(copy_if_own, path);
		fd = open_library(path);
	}
	if (fd >= 0)
		syscall(SYS_flock, fd, LOCK_SH | LOCK_NB);
}

/* Said, and not left to close(): a child of the application that was forked meanwhile shares the lock. */
void own_file_unlock(void)
{
	if (fd >= 0) {
		syscall(SYS_flock, fd, LOCK_UN);
		close(fd);
	}
	fd = -1;
}

/* Not within dl_iterate_phdr(3), which holds a lock of the loader. It finds what is loaded by its name: the file may be gone. */
bool own_file_keep(void)
{
	static char path[PATH_MAX];

	path[0] = '\0';
	dl_iterate_phdr(copy_if_own, path);
	return path[0] && dlopen && dlopen(path, RTLD_NOW | RTLD_NOLOAD);
}
