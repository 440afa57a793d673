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

/* O_NONBLOCK: whatever may stand in the file's place by now. */
static int open_if_own(struct dl_phdr_info *object, size_t size, void *ctx)
{
	int *out = ctx;

	(void)size;
	if (object->dlpi_addr != (uintptr_t)__ehdr_start)
		return 0;
	*out = open(object->dlpi_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	return 1;
}

void own_file_lock(void)
{
	own_file_unlock();
	dl_iterate_phdr(open_if_own, &fd);
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

/* Not within dl_iterate_phdr(3), which holds a lock of the loader. It finds what is loaded by its name: the file may be gone. */
bool own_file_keep(void)
{
	static char path[PATH_MAX];

	path[0] = '\0';
	dl_iterate_phdr(copy_if_own, path);
	return path[0] && dlopen && dlopen(path, RTLD_NOW | RTLD_NOLOAD);
}
