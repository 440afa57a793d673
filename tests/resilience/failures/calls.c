#include "tests/resilience/failures/calls.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define SITE_DEPTH 20
#define LESS (-1) /* a way to fail: one byte only */

extern char __executable_start[], etext[];

static struct calls_log *log_now;
static bool noting;
static struct calls_plan plan_now;
static _Atomic bool counting;
static _Atomic uint32_t site_calls;
static void *outermost; /* frame of the test's caller */

void calls_begin(struct calls_log *log, bool note, const struct calls_plan *plan)
{
	log_now = log;
	noting = note;
	plan_now = *plan;
	outermost = *(void **)__builtin_frame_address(0);
	atomic_store(&site_calls, 0);
	atomic_store(&counting, true);
}

void calls_end(void)
{
	atomic_store(&counting, false);
}

/* FNV-1a over the return addresses that lie in this program, as offsets. The frame of a function that was called from elsewhere may
 * hold anything as its caller's frame, so the walk ends there. */
static uint64_t site_of(const char *name, void *const *frame)
{
	uint64_t hash = UINT64_C(14695981039346656037);
	for (; *name; name++)
		hash = (hash ^ (uint8_t)*name) * UINT64_C(1099511628211);
	for (int i = 0; i < SITE_DEPTH; i++) {
		const char *back = frame[1];
		if (back < __executable_start || back >= etext)
			break;
		hash = (hash ^ (uint64_t)(back - __executable_start)) * UINT64_C(1099511628211);
		void *const *next = frame[0];
		if (next <= frame || (const void *)next == outermost || (uintptr_t)next % sizeof(void *) != 0)
			break;
		frame = next;
	}
	return hash ? hash : 1;
}

/* 0: go on as ever; LESS; or the errno of the failure, which is set as well. */
static int decide(const char *name, bool memory, const int *ways, size_t way_count, void *const *frame)
{
	if (!atomic_load(&counting))
		return 0;
	uint64_t site = site_of(name, frame);
	if (noting) {
		uint32_t at = atomic_fetch_add(&log_now->count, 1);
		if (at < CALLS_MAX)
			log_now->calls[at] = (struct call){.name = name, .site = site, .ways = (unsigned)way_count, .memory = memory};
	}
	if (site != plan_now.site || atomic_fetch_add(&site_calls, 1) != plan_now.nth)
		return 0;
	int way = ways[plan_now.way % way_count];
	snprintf(log_now->way, sizeof log_now->way, "%s", way == LESS ? "a byte only" : strerrorname_np(way));
	atomic_store(&log_now->hit, true);
	if (way != LESS)
		errno = way;
	return way;
}

#define FAILED(name, memory, ...)                                                                                                     \
	({                                                                                                                            \
		static const int ways_[] = {__VA_ARGS__};                                                                             \
		decide(name, memory, ways_, sizeof ways_ / sizeof *ways_, __builtin_frame_address(0));                                \
	})

/* A call that returns `bad` and sets errno. */
#define CALL(type, name, params, arguments, bad, ...)                                                                                 \
	type failing_##name params;                                                                                                   \
	type failing_##name params                                                                                                    \
	{                                                                                                                             \
		return FAILED(#name, false, __VA_ARGS__) ? (bad) : name arguments;                                                    \
	}

/* One that allocates. */
#define MEMORY(type, name, params, arguments, bad)                                                                                    \
	type failing_##name params;                                                                                                   \
	type failing_##name params                                                                                                    \
	{                                                                                                                             \
		return FAILED(#name, true, ENOMEM) ? (bad) : name arguments;                                                          \
	}

/* One that returns its error. */
#define CODE(name, params, arguments, ...)                                                                                            \
	int failing_##name params;                                                                                                    \
	int failing_##name params                                                                                                     \
	{                                                                                                                             \
		int code = FAILED(#name, false, __VA_ARGS__);                                                                         \
		return code ? code : name arguments;                                                                                  \
	}

/* One that moves `len` bytes and may move fewer. */
#define MOVE(name, params, arguments, ...)                                                                                            \
	ssize_t failing_##name params;                                                                                                \
	ssize_t failing_##name params                                                                                                 \
	{                                                                                                                             \
		int way = FAILED(#name, false, LESS, __VA_ARGS__);                                                                    \
		if (way > 0)                                                                                                          \
			return -1;                                                                                                    \
		if (way == LESS && len > 1)                                                                                           \
			len = 1;                                                                                                      \
		return name arguments;                                                                                                \
	}

/* Memory --------------------------------------------------------------------------------------------------------------------- */
MEMORY(void *, malloc, (size_t size), (size), NULL)
MEMORY(void *, calloc, (size_t count, size_t size), (count, size), NULL)
MEMORY(void *, reallocarray, (void *p, size_t count, size_t size), (p, count, size), NULL)
MEMORY(char *, strdup, (const char *s), (s), NULL)
MEMORY(int, vasprintf, (char **out, const char *format, va_list list), (out, format, list), -1)
CALL(void *, mmap, (void *at, size_t len, int access, int flags, int fd, off_t offset), (at, len, access, flags, fd, offset), MAP_FAILED, ENOMEM,
	EPERM)

CALL(int, madvise, (void *at, size_t len, int advice), (at, len, advice), -1, EINVAL)

void *failing_mremap(void *at, size_t old_len, size_t len, int flags, ...);
void *failing_mremap(void *at, size_t old_len, size_t len, int flags, ...)
{
	return FAILED("mremap", false, ENOMEM) ? MAP_FAILED : mremap(at, old_len, len, flags);
}

/* Files ------------------------------------------------------------------------------------------------------------------------ */
CODE(posix_fallocate, (int fd, off_t offset, off_t len), (fd, offset, len), ENOSPC, EINTR)

static mode_t mode_of(int flags, va_list list)
{
	return flags & (O_CREAT | __O_TMPFILE) ? va_arg(list, mode_t) : 0;
}

int failing_open(const char *path, int flags, ...);
int failing_open(const char *path, int flags, ...)
{
	va_list list;
	va_start(list, flags);
	mode_t mode = mode_of(flags, list);
	va_end(list);
	return FAILED("open", false, EMFILE, ENOENT, EINTR) ? -1 : open(path, flags, mode);
}

int failing_openat(int folder, const char *path, int flags, ...);
int failing_openat(int folder, const char *path, int flags, ...)
{
	va_list list;
	va_start(list, flags);
	mode_t mode = mode_of(flags, list);
	va_end(list);
	return FAILED("openat", false, EMFILE, ENOENT, EACCES) ? -1 : openat(folder, path, flags, mode);
}

/* Linux has closed the file whatever it returns. */
int failing_close(int fd);
int failing_close(int fd)
{
	int way = FAILED("close", false, EIO), saved = errno;
	int done = close(fd);
	if (way)
		errno = saved;
	return way ? -1 : done;
}

int failing_fclose(FILE *f);
int failing_fclose(FILE *f)
{
	int way = FAILED("fclose", false, ENOSPC), done = fclose(f);
	if (way)
		errno = way;
	return way ? EOF : done;
}

MOVE(read, (int fd, void *to, size_t len), (fd, to, len), EIO, EINTR)
MOVE(pread, (int fd, void *to, size_t len, off_t at), (fd, to, len, at), EIO, EINTR)
/* The line of common/base/mem.c is noted: a test may have its standard error elsewhere. */
ssize_t failing_write(int fd, const void *from, size_t len);
ssize_t failing_write(int fd, const void *from, size_t len)
{
	if (fd == STDERR_FILENO && log_now && memmem(from, len, "msg=\"out of memory\"", 19))
		atomic_store(&log_now->said_memory, true);
	int way = FAILED("write", false, LESS, ENOSPC, EINTR);
	return way > 0 ? -1 : write(fd, from, way == LESS && len > 1 ? 1 : len);
}

CALL(DIR *, opendir, (const char *path), (path), NULL, EMFILE, ENOENT)
CALL(DIR *, fdopendir, (int fd), (fd), NULL, ENOMEM)
CALL(struct dirent *, readdir, (DIR *d), (d), NULL, EIO)
CALL(int, stat, (const char *path, struct stat *out), (path, out), -1, EACCES)
CALL(int, fstat, (int fd, struct stat *out), (fd, out), -1, EIO)
CALL(int, fstatat, (int fd, const char *path, struct stat *out, int flags), (fd, path, out, flags), -1, ENOENT, EACCES)
CALL(int, fstatvfs, (int fd, struct statvfs *out), (fd, out), -1, EIO)
CALL(int, faccessat, (int fd, const char *path, int mode, int flags), (fd, path, mode, flags), -1, EACCES)
CALL(int, access, (const char *path, int mode), (path, mode), -1, EACCES)
CALL(int, unlink, (const char *path), (path), -1, EIO)
CALL(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags), -1, EIO, ENOENT)
CALL(int, rmdir, (const char *path), (path), -1, EBUSY)
CALL(int, mkdir, (const char *path, mode_t mode), (path, mode), -1, ENOSPC, EEXIST)
CALL(int, mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode), -1, ENOSPC, EEXIST)
CALL(int, chmod, (const char *path, mode_t mode), (path, mode), -1, EPERM)
CALL(int, fchmod, (int fd, mode_t mode), (fd, mode), -1, EPERM)
CALL(int, fsetxattr, (int fd, const char *name, const void *value, size_t size, int flags), (fd, name, value, size, flags), -1, ENOTSUP, ENOSPC)
CALL(ssize_t, fgetxattr, (int fd, const char *name, void *value, size_t size), (fd, name, value, size), -1, ENODATA)
CALL(int, statvfs, (const char *path, struct statvfs *out), (path, out), -1, EIO)
CALL(int, fsync, (int fd), (fd), -1, EIO)
CALL(int, fdatasync, (int fd), (fd), -1, ENOSPC)
CALL(int, ftruncate, (int fd, off_t len), (fd, len), -1, ENOSPC)
CALL(int, memfd_create, (const char *name, unsigned flags), (name, flags), -1, EMFILE)
CALL(int, flock, (int fd, int what), (fd, what), -1, EWOULDBLOCK)
CALL(int, rename, (const char *from, const char *to), (from, to), -1, ENOSPC)
CALL(int, renameat, (int from_fd, const char *from, int to_fd, const char *to), (from_fd, from, to_fd, to), -1, ENOSPC)
CALL(ssize_t, readlink, (const char *path, char *out, size_t cap), (path, out, cap), -1, ENOENT)
CALL(ssize_t, readlinkat, (int fd, const char *path, char *out, size_t cap), (fd, path, out, cap), -1, ENOENT)
CALL(char *, realpath, (const char *path, char *out), (path, out), NULL, ENOENT)
CALL(char *, mkdtemp, (char *name), (name), NULL, ENOSPC)
CALL(int, mkostemp, (char *name, int flags), (name, flags), -1, ENOSPC)
CALL(FILE *, fopen, (const char *path, const char *mode), (path, mode), NULL, EMFILE)
CALL(FILE *, fdopen, (int fd, const char *mode), (fd, mode), NULL, ENOMEM)
CALL(char *, fgets, (char *to, int cap, FILE *f), (to, cap, f), NULL, EIO)
CALL(size_t, fread, (void *to, size_t size, size_t count, FILE *f), (to, size, count, f), 0, EIO)
CALL(size_t, fwrite, (const void *from, size_t size, size_t count, FILE *f), (from, size, count, f), 0, ENOSPC)
CALL(int, fflush, (FILE *f), (f), EOF, ENOSPC)
CALL(int, fseeko, (FILE *f, off_t at, int from), (f, at, from), -1, EIO)

/* Sockets, events ---------------------------------------------------------------------------------------------------------------- */
CALL(int, socket, (int family, int type, int protocol), (family, type, protocol), -1, EMFILE)
CALL(int, bind, (int fd, const struct sockaddr *to, socklen_t len), (fd, to, len), -1, EADDRINUSE)
CALL(int, listen, (int fd, int backlog), (fd, backlog), -1, EADDRINUSE)
CALL(int, accept4, (int fd, struct sockaddr *from, socklen_t *len, int flags), (fd, from, len, flags), -1, EMFILE, ECONNABORTED, EINTR)
CALL(int, connect, (int fd, const struct sockaddr *to, socklen_t len), (fd, to, len), -1, ECONNREFUSED, EAGAIN, EINTR)
CALL(int, getpeername, (int fd, struct sockaddr *of, socklen_t *len), (fd, of, len), -1, ENOBUFS)
CALL(int, getsockopt, (int fd, int level, int name, void *out, socklen_t *len), (fd, level, name, out, len), -1, ENOBUFS)
CALL(int, setsockopt, (int fd, int level, int name, const void *value, socklen_t len), (fd, level, name, value, len), -1, ENOPROTOOPT)
MOVE(send, (int fd, const void *from, size_t len, int flags), (fd, from, len, flags), EPIPE, EAGAIN, EINTR)
MOVE(recv, (int fd, void *to, size_t len, int flags), (fd, to, len, flags), ECONNRESET, EAGAIN, EINTR)
CALL(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags), -1, EPIPE, EAGAIN)
CALL(int, poll, (struct pollfd *fds, nfds_t count, int timeout_ms), (fds, count, timeout_ms), -1, EINTR, ENOMEM)
CALL(int, epoll_create1, (int flags), (flags), -1, EMFILE)
CALL(int, epoll_ctl, (int epoll, int what, int fd, struct epoll_event *event), (epoll, what, fd, event), -1, ENOSPC)
CALL(int, epoll_wait, (int epoll, struct epoll_event *out, int cap, int timeout_ms), (epoll, out, cap, timeout_ms), -1, EINTR)
CALL(int, eventfd, (unsigned value, int flags), (value, flags), -1, EMFILE)
CALL(int, eventfd_write, (int fd, eventfd_t value), (fd, value), -1, EAGAIN)
CALL(int, timerfd_create, (int clock, int flags), (clock, flags), -1, EMFILE)
CALL(int, timerfd_settime, (int fd, int flags, const struct itimerspec *to, struct itimerspec *was), (fd, flags, to, was), -1, ECANCELED)
CALL(int, signalfd, (int fd, const sigset_t *set, int flags), (fd, set, flags), -1, EMFILE)
CALL(int, inotify_init1, (int flags), (flags), -1, EMFILE)
CALL(int, inotify_add_watch, (int fd, const char *path, uint32_t mask), (fd, path, mask), -1, ENOSPC)
CODE(getaddrinfo, (const char *host, const char *port, const struct addrinfo *hints, struct addrinfo **out), (host, port, hints, out), EAI_AGAIN,
	EAI_MEMORY)
CODE(getnameinfo, (const struct sockaddr *of, socklen_t len, char *host, socklen_t host_cap, char *port, socklen_t port_cap, int flags),
	(of, len, host, host_cap, port, port_cap, flags), EAI_AGAIN)

/* Processes ------------------------------------------------------------------------------------------------------------------------ */
CALL(pid_t, fork, (void), (), -1, EAGAIN)
CALL(int, execvp, (const char *path, char *const argv[]), (path, argv), -1, ENOENT, EACCES)
CALL(pid_t, waitpid, (pid_t pid, int *status, int how), (pid, status, how), -1, EINTR)
CALL(int, pipe2, (int fds[2], int flags), (fds, flags), -1, EMFILE)

/* The rest ------------------------------------------------------------------------------------------------------------------------- */
CODE(pthread_create, (pthread_t *out, const pthread_attr_t *how, void *(*run)(void *), void *context), (out, how, run, context), EAGAIN)
CODE(clock_getcpuclockid, (pid_t pid, clockid_t *out), (pid, out), ESRCH)
CALL(void *, dlopen, (const char *path, int flags), (path, flags), NULL, ENOENT)
CALL(ssize_t, getrandom, (void *out, size_t len, unsigned flags), (out, len, flags), -1, EINTR, ENOSYS)
CALL(int, gethostname, (char *out, size_t cap), (out, cap), -1, ENAMETOOLONG)
CALL(int, getrlimit, (__rlimit_resource_t what, struct rlimit *out), (what, out), -1, EPERM)
CALL(int, setrlimit, (__rlimit_resource_t what, const struct rlimit *to), (what, to), -1, EPERM)

int failing_ioctl(int fd, unsigned long what, ...);
int failing_ioctl(int fd, unsigned long what, ...)
{
	va_list list;
	va_start(list, what);
	void *argument = va_arg(list, void *);
	va_end(list);
	return FAILED("ioctl", false, ENOTTY) ? -1 : ioctl(fd, what, argument);
}

long failing_syscall(long number, ...);
long failing_syscall(long number, ...)
{
	long a[6];
	va_list list;
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	return FAILED("syscall", false, EMFILE, EACCES, ENOSYS) ? -1 : syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
