/* Preloaded into a target: while the file SLOW_WALK_FLAG is there, the profiler library's walks of the heap take longer than anybody could
 * have predicted. The file says how: "each MS [TIMES]": each block of what is written wakes its reader only after so long, and after so many the
 * file goes; "clock MS [TIMES]": the same of each look at the clock, as on a machine where others have the processor; "until 0": the next block
 * does until the file is gone, and makes one with ".met" at its name's end. The application stands meanwhile. "once MS" is "each MS 1".
 * gcc -shared -fPIC slow_walk.c -ldl */
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const char *flag;
static long (*real)(long, ...);

__attribute__((constructor)) static void begin(void)
{
	real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	flag = getenv("SLOW_WALK_FLAG");
}

static int of_the_library(const void *caller)
{
	Dl_info found;

	return dladdr(caller, &found) && found.dli_fname && strstr(found.dli_fname, "libdrdotnet");
}

static void wait_until_gone(void)
{
	char path[4096];

	snprintf(path, sizeof path, "%s.met", flag);
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0)
		close(fd);
	while (access(flag, F_OK) == 0)
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

static void wait_as_told(int at_clock)
{
	static long met;
	char how[8] = "";
	long ms = 0, times = 0;
	FILE *f = flag ? fopen(flag, "re") : NULL;

	if (!f)
		return;
	int told = fscanf(f, "%7s %ld %ld", how, &ms, &times);
	fclose(f);
	if (told >= 2 && !at_clock && strcmp(how, "until") == 0) {
		wait_until_gone();
		return;
	}
	if (told < 2 || (strcmp(how, "clock") == 0) != at_clock)
		return;
	if (strcmp(how, "once") == 0)
		times = 1;
	if (times && ++met >= times) {
		met = 0;
		unlink(flag);
	}
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

__attribute__((visibility("default"))) long syscall(long number, ...)
{
	long a[6];
	va_list list;

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_futex && a[1] == FUTEX_WAKE && of_the_library(__builtin_return_address(0)))
		wait_as_told(0);
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, struct timespec *t)
{
	if (flag && clock == CLOCK_MONOTONIC && of_the_library(__builtin_return_address(0)))
		wait_as_told(1);
	return (int)(real ? real(SYS_clock_gettime, clock, t) : -1);
}
