/* Context: own thread.
 *
 * System calls are made directly: timer_create(3) of older glibcs lies in a library that the process need not have, and neither
 * opendir(3) nor timer_create(3) promises not to allocate. */
#include "profiler/thread_timers.h"

#include "profiler/linux_dirent.h"
#include "profiler/now.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TABLE_SIZE (2 * THREAD_TIMERS_MAX)
#define UNSEEN_MS 500 /* for threads that did not fit the table or cannot be looked at */
#define SETTLE_CPU_NS 1000000u /* a thread that has used this much since is past any handler */

struct kernel_sigevent { /* struct sigevent of the kernel's ABI, with the field that the libcs name differently */
	uint64_t value;
	int32_t signo, notify, tid;
	int32_t pad[11];
};
_Static_assert(sizeof(struct kernel_sigevent) == 64, "the kernel's size");

struct timer {
	int32_t tid, id;
	uint64_t cpu_ns; /* of the thread when its timer was deleted */
};

struct wish { /* for threads that have no timer yet */
	int signo;
	uint64_t period_ns; /* 0: none */
};

struct table {
	uint32_t count;
	bool full; /* there are threads that are not in it */
	struct timer timers[TABLE_SIZE]; /* open addressing by tid; tid 0: free */
};

static struct table tables[2];
static int now_in_use;

static struct timer *find(struct table *t, int32_t tid)
{
	uint32_t i = (uint32_t)tid * 2654435761u % TABLE_SIZE;

	while (t->timers[i].tid && t->timers[i].tid != tid)
		i = (i + 1) % TABLE_SIZE;
	return &t->timers[i];
}

static clockid_t clock_of(int32_t tid)
{
	return (clockid_t)(~(uint32_t)tid << 3 | 4 | 2); /* CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED */
}

static bool timer_make(int32_t tid, const struct wish *w, int32_t *id)
{
	uint64_t period_ns = w->period_ns;
	struct kernel_sigevent event = {.value = (uint64_t)tid, .signo = w->signo, .notify = 4 /* SIGEV_THREAD_ID */, .tid = tid};
	/* Threads start at different points of the period, so that equal loops are not sampled in step. */
	uint64_t first_ns = 1 + (uint32_t)tid * 2654435761u % period_ns;
	struct itimerspec spec = {
		.it_interval = {(time_t)(period_ns / 1000000000u), (long)(period_ns % 1000000000u)},
		.it_value = {(time_t)(first_ns / 1000000000u), (long)(first_ns % 1000000000u)},
	};

	if (syscall(SYS_timer_create, clock_of(tid), &event, id) < 0)
		return false;
	if (syscall(SYS_timer_settime, *id, 0, &spec, 0) == 0)
		return true;
	syscall(SYS_timer_delete, *id);
	return false;
}

/* Enters a thread into the new table with its timer of the old one, or as is wished. */
static bool take_thread(struct table *from, struct table *to, int32_t tid, const struct wish *w)
{
	struct timer *old = find(from, tid), *new = find(to, tid);

	if (new->tid)
		return false;
	if (to->count >= THREAD_TIMERS_MAX) {
		to->full = true;
		return false;
	}
	if (old->tid)
		*new = *old;
	else if (w->period_ns == 0 || timer_make(tid, w, &new->id))
		new->tid = tid;
	else
		return false;
	to->count++;
	return !old->tid;
}

static int32_t parse_tid(const char *name)
{
	int32_t tid = 0;

	for (; *name >= '0' && *name <= '9' && tid < INT32_MAX / 10; name++)
		tid = tid * 10 + (*name - '0');
	return *name ? 0 : tid;
}

static int take_threads(struct table *from, struct table *to, const struct wish *w)
{
	_Alignas(8) static char buf[8192];
	int32_t own = (int32_t)syscall(SYS_gettid);
	int added = 0;
	long n;

	int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	memset(to, 0, sizeof *to);
	while ((n = syscall(SYS_getdents64, fd, buf, sizeof buf)) > 0)
		for (long at = 0; at < n;) {
			const struct linux_dirent64 *d = (const struct linux_dirent64 *)(buf + at);
			int32_t tid = parse_tid(d->name);
			if (tid && tid != own)
				added += take_thread(from, to, tid, w);
			at += d->size;
		}
	close(fd);
	to->full = to->full || n < 0;
	return added;
}

int thread_timers_update(int signo, uint64_t period_ns)
{
	struct table *from = &tables[now_in_use], *to = &tables[!now_in_use];

	int added = take_threads(from, to, &(struct wish){signo, period_ns});
	if (added < 0)
		return -1;
	for (uint32_t i = 0; i < TABLE_SIZE; i++) {
		const struct timer *t = &from->timers[i];
		if (t->tid && !find(to, t->tid)->tid)
			syscall(SYS_timer_delete, t->id);
	}
	memset(from, 0, sizeof *from);
	now_in_use = !now_in_use;
	return added;
}

uint32_t thread_timers_count(void)
{
	return tables[now_in_use].count;
}

static bool thread_cpu(int32_t tid, uint64_t *ns)
{
	struct timespec t;

	if (clock_gettime(clock_of(tid), &t))
		return false;
	*ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	return true;
}

void thread_timers_delete_all(void)
{
	for (uint32_t i = 0; i < TABLE_SIZE; i++)
		if (tables[now_in_use].timers[i].tid)
			syscall(SYS_timer_delete, tables[now_in_use].timers[i].id);
}

/* 'S' of /proc/self/task/TID/stat: in a system call of its own, so in no handler of ours, which makes none that sleeps. */
static bool sleeps(int32_t tid, bool *unseen)
{
	char path[40] = "/proc/self/task/", digits[12], stat[64];
	size_t n = 0, len = 16;

	for (int32_t v = tid; v; v /= 10)
		digits[n++] = (char)('0' + v % 10);
	while (n)
		path[len++] = digits[--n];
	memcpy(path + len, "/stat", 6);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ESRCH))
		return true; /* ended */
	ssize_t got = fd < 0 ? -1 : read(fd, stat, sizeof stat - 1);
	if (fd >= 0)
		close(fd);
	*unseen = got <= 0; /* such as in a process that is out of descriptors */
	stat[got > 0 ? got : 0] = '\0';
	/* "TID (name) S ...": the name has at most 15 bytes, of any kind: the last bracket counts. */
	for (ssize_t i = got - 3; i >= 0; i--)
		if (stat[i] == ')')
			return stat[i + 2] == 'S';
	return false;
}

/* All threads, not only those that had a timer: the runtime sends the signal too. */
void thread_timers_mark(void)
{
	struct table *t = &tables[!now_in_use];

	bool all = take_threads(&tables[now_in_use], t, &(struct wish){0}) >= 0 && !t->full;
	now_in_use = !now_in_use;
	for (uint32_t i = 0; i < TABLE_SIZE; i++)
		if (t->timers[i].tid && !thread_cpu(t->timers[i].tid, &t->timers[i].cpu_ns))
			t->timers[i].cpu_ns = 0;
	t->full = !all;
}

/* A signal that was taken before its disposition changed may not have reached the handler's first instruction; the code must
 * stay until the thread has left it. Such a thread is runnable: it has passed when it is seen asleep or has used some CPU. */
static bool is_settled(const struct timer *t, bool *unseen)
{
	uint64_t now;

	return !thread_cpu(t->tid, &now) || now - t->cpu_ns >= SETTLE_CPU_NS || sleeps(t->tid, unseen);
}

void thread_timers_settle(void)
{
	struct table *t = &tables[now_in_use];
	int patience = UNSEEN_MS;
	bool all = false;

	if (t->full)
		poll(NULL, 0, UNSEEN_MS);
	while (!all) {
		all = true;
		for (uint32_t i = 0; i < TABLE_SIZE; i++) {
			if (t->timers[i].tid == 0 || t->timers[i].id < 0)
				continue;
			bool unseen = false;
			if (is_settled(&t->timers[i], &unseen) || (unseen && patience == 0))
				t->timers[i].id = -1;
			else
				all = false;
		}
		if (!all)
			poll(NULL, 0, 1);
		patience -= patience > 0;
	}
	memset(tables, 0, sizeof tables);
}
