/* LD_PRELOADed into a process that the profiler library is loaded into: lets one call that the library makes fail. The file that
 * $LIBRARY_CALLS names is shared with the test: it says which call (by place in the library and number) fails and how, and it learns what
 * calls there were. Calls of others, and those that a signal handler or a callback makes, are passed on at once. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PLACES 128
#define EVERY UINT64_MAX

struct place {
	uint64_t at;    /* return address in the library; 0: free */
	uint64_t calls; /* of this session */
	char name[24];
};

static struct shared {
	uint64_t fail_at, nth, error; /* written by the test; fail_at 0: nothing fails; nth EVERY: all calls of that place do */
	_Atomic uint64_t hits;
	struct place places[PLACES];
} *shared;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void map_shared(void)
{
	const char *path = getenv("LIBRARY_CALLS");
	int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC) : -1;
	void *p = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p != MAP_FAILED)
		shared = p;
	if (fd >= 0)
		syscall(SYS_close, fd);
}

/* The errno that this call fails with, or 0. */
static int failure(const char *name, const char *back)
{
	Dl_info of;
	int error = 0;
	if (!shared || !dladdr(back, &of) || !of.dli_fname || !strstr(of.dli_fname, "libdrdotnet"))
		return 0;
	uint64_t at = (uint64_t)(back - (const char *)of.dli_fbase);
	pthread_mutex_lock(&lock);
	for (int i = 0; i < PLACES; i++) {
		struct place *p = &shared->places[i];
		if (p->at && p->at != at)
			continue;
		p->at = at;
		snprintf(p->name, sizeof p->name, "%s", name);
		if (at == shared->fail_at && (shared->nth == EVERY || shared->nth == p->calls)) {
			error = (int)shared->error;
			atomic_fetch_add(&shared->hits, 1);
		}
		p->calls++;
		break;
	}
	pthread_mutex_unlock(&lock);
	return error;
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

/* A call that returns -1 and sets errno. */
#define CALL(type, name, params, arguments)                                                                                           \
	type name params                                                                                                              \
	{                                                                                                                             \
		int error = failure(#name, __builtin_return_address(0));                                                              \
		if (!error)                                                                                                           \
			return NEXT(name) arguments;                                                                                  \
		errno = error;                                                                                                        \
		return -1;                                                                                                            \
	}

CALL(int, socket, (int family, int type, int protocol), (family, type, protocol))
CALL(int, connect, (int fd, const struct sockaddr *to, socklen_t len), (fd, to, len))
CALL(ssize_t, send, (int fd, const void *from, size_t len, int flags), (fd, from, len, flags))
CALL(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags))
CALL(ssize_t, read, (int fd, void *to, size_t len), (fd, to, len))
CALL(ssize_t, write, (int fd, const void *from, size_t len), (fd, from, len))
CALL(int, eventfd, (unsigned value, int flags), (value, flags))
CALL(int, madvise, (void *at, size_t len, int advice), (at, len, advice))
CALL(int, poll, (struct pollfd *fds, nfds_t count, int timeout_ms), (fds, count, timeout_ms))

int open(const char *path, int flags, ...)
{
	va_list list;
	va_start(list, flags);
	mode_t mode = va_arg(list, mode_t);
	va_end(list);
	int error = failure("open", __builtin_return_address(0));
	if (!error)
		return NEXT(open)(path, flags, mode);
	errno = error;
	return -1;
}

int prctl(int what, ...)
{
	unsigned long a[4];
	va_list list;
	va_start(list, what);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(list, unsigned long);
	va_end(list);
	int error = failure("prctl", __builtin_return_address(0));
	if (!error)
		return ((int (*)(int, ...))dlsym(RTLD_NEXT, "prctl"))(what, a[0], a[1], a[2], a[3]);
	errno = error;
	return -1;
}

long syscall(long number, ...)
{
	long a[6];
	va_list list;
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	static long (*real)(long, ...);
	if (!real)
		real = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	int error = number == SYS_gettid || number == SYS_timer_delete ? 0 : failure("syscall", __builtin_return_address(0));
	if (!error)
		return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	errno = error;
	return -1;
}

int pthread_create(pthread_t *out, const pthread_attr_t *how, void *(*run)(void *), void *context)
{
	int error = failure("pthread_create", __builtin_return_address(0));
	return error ? error : NEXT(pthread_create)(out, how, run, context);
}

int pthread_attr_init(pthread_attr_t *a)
{
	int error = failure("pthread_attr_init", __builtin_return_address(0));
	return error ? error : NEXT(pthread_attr_init)(a);
}
