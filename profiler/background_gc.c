/* Context: CLR callback (the attach) and own thread: never both at once. System calls are made directly: opendir(3) allocates. */
#include "profiler/background_gc.h"

#include "profiler/linux_dirent.h"
#include "profiler/text.h"

#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TASKS "/proc/self/task"
#define NAME ".NET BGC\n"

static bool is_it(const char *tid)
{
	char path[64], name[sizeof NAME];
	struct text t = {.data = path, .cap = sizeof path - 1};

	text_puts(&t, TASKS "/");
	text_puts(&t, tid);
	text_puts(&t, "/comm");
	path[t.len] = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, name, sizeof name);
	if (fd >= 0)
		close(fd);
	return n == sizeof NAME - 1 && memcmp(name, NAME, sizeof NAME - 1) == 0;
}

bool background_gc_possible(void)
{
	_Alignas(8) static char buf[8192];
	bool found = false;
	long n = -1;

	int tasks = open(TASKS, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (tasks >= 0 && !found && (n = syscall(SYS_getdents64, tasks, buf, sizeof buf)) > 0)
		for (long at = 0; at < n && !found; at += ((const struct linux_dirent64 *)(buf + at))->size) {
			const struct linux_dirent64 *d = (const struct linux_dirent64 *)(buf + at);
			found = d->name[0] != '.' && is_it(d->name);
		}
	if (tasks >= 0)
		close(tasks);
	return found || n < 0;
}
