/* Context: CLR callback and own thread. */
#include "profiler/own_file.h"

#include <fcntl.h>
#include <link.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

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

void own_file_unlock(void)
{
	if (fd >= 0)
		close(fd);
	fd = -1;
}
