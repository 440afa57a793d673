/* Preloaded into a program (LD_PRELOAD), this gives it a machine of its own: a clock that is wrong or is set under way, and a disk that takes
 * its time. Nothing of the real machine is touched.
 *
 * ILL_CLOCK_FILE: a file with a number of seconds that the wall clock is ahead; read each time, so that a test can set the clock.
 * ILL_FSYNC_MS: how long each fsync and fdatasync takes. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t ahead_s(void)
{
	const char *path = getenv("ILL_CLOCK_FILE");
	char text[32] = "";
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return 0;
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	return n > 0 ? strtol(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int rc = (int)syscall(SYS_clock_gettime, id, ts);
	if (rc == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		ts->tv_sec += ahead_s();
	return rc;
}

time_t time(time_t *out)
{
	struct timespec ts;
	clock_gettime(CLOCK_REALTIME, &ts);
	if (out)
		*out = ts.tv_sec;
	return ts.tv_sec;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec ts;
	(void)zone;
	clock_gettime(CLOCK_REALTIME, &ts);
	*tv = (struct timeval){ts.tv_sec, ts.tv_nsec / 1000};
	return 0;
}

static void be_slow(void)
{
	const char *ms = getenv("ILL_FSYNC_MS");
	if (ms)
		usleep((useconds_t)atoi(ms) * 1000);
}

int fsync(int fd)
{
	be_slow();
	return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	be_slow();
	return (int)syscall(SYS_fdatasync, fd);
}
