/* Preloaded into a target: once the file SLOW_LOCK_FLAG is there, the next lock that the profiler library takes on a thread of the
 * application lasts SLOW_LOCK_MS, and the file goes: the runtime's callback, and who waits for its end, stands for so long.
 * gcc -shared -fPIC slow_lock.c -ldl */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

typedef int lock_fn(pthread_mutex_t *);

static const char *flag;
static struct timespec pause_for;
static lock_fn *real;

__attribute__((constructor)) static void begin(void)
{
	const char *ms = getenv("SLOW_LOCK_MS");
	long value = ms ? strtol(ms, NULL, 10) : 0;

	real = (lock_fn *)dlsym(RTLD_NEXT, "pthread_mutex_lock");
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

__attribute__((visibility("default"))) int pthread_mutex_lock(pthread_mutex_t *m)
{
	if (!real)
		real = (lock_fn *)dlsym(RTLD_NEXT, "pthread_mutex_lock");
	if (flag && access(flag, F_OK) == 0 && of_the_library(__builtin_return_address(0)) && unlink(flag) == 0)
		nanosleep(&pause_for, NULL);
	return real(m);
}
