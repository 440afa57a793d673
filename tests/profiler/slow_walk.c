/* Preloaded into a target: while the file SLOW_WALK_FLAG is there, the profiler library's walks of the heap take longer than anybody could
 * have predicted. The file says how: "each MS": each block of what is written wakes its reader only after so long; "once MS": the next one
 * does, and the file goes. The application stands meanwhile. gcc -shared -fPIC slow_walk.c -ldl */
#include <dlfcn.h>
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

static void wait_as_told(void)
{
	char how[8] = "";
	long ms = 0;
	FILE *f = flag ? fopen(flag, "re") : NULL;

	if (!f)
		return;
	int told = fscanf(f, "%7s %ld", how, &ms);
	fclose(f);
	if (told != 2 || (strcmp(how, "once") == 0 && unlink(flag) < 0))
		return;
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
		wait_as_told();
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
