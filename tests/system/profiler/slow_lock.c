/* Preloaded into a target: once the file SLOW_LOCK_FLAG is there, the next question for its thread's id that the profiler library asks on a thread of the
 * application, as it does in each collection, lasts SLOW_LOCK_MS, and the file goes: the runtime's callback, and who waits for its end, stands for so long.
 * gcc -shared -fPIC slow_lock.c -ldl */
#include <dlfcn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef long syscall_fn(long number, ...);

static const char *flag;
static struct timespec pause_for;
static syscall_fn *real;

__attribute__((constructor)) static void begin(void)
{
	const char *ms = getenv("SLOW_LOCK_MS");
	long value = ms ? strtol(ms, NULL, 10) : 0;

	real = (syscall_fn *)dlsym(RTLD_NEXT, "syscall");
	pause_for = (struct timespec){value / 1000, value % 1000 * 1000000};
	flag = getenv("SLOW_LOCK_FLAG");
}

static int of_the_library(const void *caller)
{
	char name[16] = "";
	Dl_info found;

	prctl(PR_GET_NAME, name);
	return strcmp(name, "drdotnet") != 0 && dladdr(caller, &found) && found.dli_fname && strstr(found.dli_fname, "libdrdotnet");
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
		real = (syscall_fn *)dlsym(RTLD_NEXT, "syscall");
	if (number == SYS_gettid && flag && access(flag, F_OK) == 0 && of_the_library(__builtin_return_address(0)) && unlink(flag) == 0)
		nanosleep(&pause_for, NULL);
	return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
