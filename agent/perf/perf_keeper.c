#include "agent/perf/perf_keeper.h"

#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_MS 400
#define QUIET_LOOKS 4 /* one after the other, and the events are disabled */

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static int by_number(const void *a, const void *b)
{
	return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

static void close_between(int after, int before)
{
	if (after + 1 < before && syscall(SYS_close_range, (unsigned)after + 1, (unsigned)before - 1, 0) < 0)
		for (int fd = after + 1; fd < before; fd++)
			close(fd);
}

/* child process, a copy of one thread of many: system calls only. `events`: in order. */
static void close_others(const int *events, size_t count, int limit)
{
	int last = -1;
	for (size_t i = 0; i < count; i++) {
		close_between(last, events[i]);
		last = events[i];
	}
	close_between(last, limit);
}

/* child process. Returns when the events are to be disabled, or nobody else has them. */
static void watch_beats(const uint32_t *beats, pid_t parent)
{
	uint32_t last = __atomic_load_n(beats, __ATOMIC_RELAXED);
	for (int quiet = 0; quiet < QUIET_LOOKS && getppid() == parent;) {
		poll(NULL, 0, LOOK_MS);
		uint32_t now = __atomic_load_n(beats, __ATOMIC_RELAXED);
		quiet = now == last ? quiet + 1 : 0;
		last = now;
	}
}

static _Noreturn void run_keeper(const uint32_t *beats, pid_t parent, const int *events, size_t count, int limit)
{
	setsid(); /* out of reach of the terminal's Ctrl-Z */
	prctl(PR_SET_NAME, "drdotnet-keeper");
	close_others(events, count, limit);
	watch_beats(beats, parent);
	for (size_t i = 0; i < count; i++)
		ioctl(events[i], PERF_EVENT_IOC_DISABLE, 0);
	_exit(0);
}

static int descriptor_limit(void)
{
	struct rlimit r;
	return getrlimit(RLIMIT_NOFILE, &r) == 0 && r.rlim_cur < 1 << 20 ? (int)r.rlim_cur : 1 << 20;
}

/* No signal that is meant for this process reaches the child. */
static pid_t fork_silent(void)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid_t pid = fork();
	if (pid != 0)
		pthread_sigmask(SIG_SETMASK, &before, NULL);
	return pid;
}

int perf_keeper_start(struct perf_keeper *k, const int *events, size_t count, struct err *e)
{
	*k = (struct perf_keeper){0};
	void *beats = mmap(NULL, sizeof *k->beats, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (beats == MAP_FAILED)
		return err_set_errno(e, errno, "memory for the keeper of perf events");
	k->beats = beats;
	AUTO_FREE int *ordered = mem_calloc(count + 1, sizeof *ordered);
	memcpy(ordered, events, count * sizeof *ordered);
	qsort(ordered, count, sizeof *ordered, by_number);
	int limit = descriptor_limit();
	pid_t parent = getpid();
	k->pid = fork_silent();
	if (k->pid == 0)
		run_keeper(k->beats, parent, ordered, count, limit);
	int number = errno;
	if (k->pid > 0)
		return 0;
	k->pid = 0;
	perf_keeper_end(k);
	return err_set_reason(e, ERR_DENIED, REASON_PerfEventsForbidden,
			      "the process that ends perf events when this one is stopped cannot be started (RLIMIT_NPROC, pids.max): %s", strerror(number));
}

void perf_keeper_end(struct perf_keeper *k)
{
	if (k->pid > 0) {
		kill(k->pid, SIGKILL);
		while (waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (k->beats)
		munmap(k->beats, sizeof *k->beats);
	*k = (struct perf_keeper){0};
}

void perf_keeper_beat(struct perf_keeper *k, const int *events, size_t count)
{
	if (k->pid > 0) {
		__atomic_fetch_add(k->beats, 1, __ATOMIC_RELAXED);
		if (waitpid(k->pid, NULL, WNOHANG) == 0)
			return;
		k->pid = 0;
	}
	perf_keeper_end(k);
	if (perf_keeper_start(k, events, count, NULL) < 0)
		return; /* the next beat tries again */
	for (size_t i = 0; i < count; i++)
		ioctl(events[i], PERF_EVENT_IOC_ENABLE, 0);
}
