/* Preloaded into a target: the profiler library cannot open /proc/self/mem, and where NO_MEMORY says "pipe", has no pipe either.
 * gcc -shared -fPIC no_memory.c -ldl */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((visibility("default"))) int open(const char *path, int flags, ...)
{
	va_list list;

	va_start(list, flags);
	int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(list, int) : 0;
	va_end(list);
	if (strcmp(path, "/proc/self/mem") == 0) {
		errno = EACCES;
		return -1;
	}
	return openat(AT_FDCWD, path, flags, mode);
}

__attribute__((visibility("default"))) long syscall(long number, ...)
{
	static long (*real)(long, ...);
	const char *what = getenv("NO_MEMORY");
	long a[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_pipe2 && what && strcmp(what, "pipe") == 0) {
		errno = EMFILE;
		return -1;
	}
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
