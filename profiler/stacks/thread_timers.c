/* Context: own thread.
 *
 * System calls are made directly: timer_create(3) of older glibcs lies in a library that the process need not have, and neither
 * opendir(3) nor timer_create(3) promises not to allocate. */
#include "profiler/stacks/thread_timers.h"

#include "common/proto/difference.h"
#include "profiler/base/linux_dirent.h"
#include "profiler/base/now.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define THREADS_MAX 8192       /* that are known */
#define LOOK_NS 250000000u     /* between two looks at who uses CPU, where not all threads have a timer */
#define NO_TIMER (-1)
#define SETTLE_MS 2000
#define SETTLE_CPU 1000u       /* a thread that has used so many units since is past any handler */
#define CPU_UNIT_SHIFT 10      /* of struct thread: 1,024 ns */

struct kernel_sigevent { /* struct sigevent of the kernel's ABI, with the field that the libcs name differently */
	uint64_t value;
	int32_t signo, notify, tid;
	int32_t pad[11];
};
_Static_assert(sizeof(struct kernel_sigevent) == 64, "the kernel's size");

struct thread {
	int32_t tid, timer;
	uint32_t cpu; /* that it had used at the last look; differences count, so it may pass its end */
	bool ran;     /* between the last two looks */
};

struct list { /* in the kernel's order, which stays: new threads come at the end */
	uint32_t count;
	bool full;   /* there are threads that are not in it: more than it has room for */
	bool unread; /* the kernel's list was not to be had, as in a process that is out of descriptors */
	struct thread threads[THREADS_MAX];
};

static struct list lists[2];
static int now_in_use;
static uint32_t timers; /* that there are */
static uint64_t look_ns;
static struct thread_timers_missed missed;

struct wish {
	int signo;
	uint64_t period_ns;
};

/* Threads ----------------------------------------------------------------------------------------------------------------------- */

static clockid_t clock_of(int32_t tid)
{
	return (clockid_t)(~(uint32_t)tid << 3 | 4 | 2); /* CPUCLOCK_PERTHREAD_MASK | CPUCLOCK_SCHED */
}

static bool read_thread_cpu(int32_t tid, uint32_t *out)
{
	struct timespec t;

	if (clock_gettime(clock_of(tid), &t))
		return false;
	*out = (uint32_t)(((uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec) >> CPU_UNIT_SHIFT);
	return true;
}

static int32_t parse_tid(const char *name)
{
	int32_t tid = 0;

	for (; *name >= '0' && *name <= '9' && tid < INT32_MAX / 10; name++)
		tid = tid * 10 + (*name - '0');
	return *name ? 0 : tid;
}

/* In the list before: as a rule next to the one that was found last. */
static struct thread *find_listed_thread(struct list *from, uint32_t *at, int32_t tid)
{
	for (uint32_t i = 0; i < from->count; i++) {
		uint32_t k = (*at + i) % from->count;
		if (from->threads[k].tid != tid)
			continue;
		*at = k + 1;
		return &from->threads[k];
	}
	return NULL;
}

/* Timers ------------------------------------------------------------------------------------------------------------------------ */

static bool timer_make(struct thread *t, const struct wish *w)
{
	uint64_t period_ns = w->period_ns;
	struct kernel_sigevent event = {.value = (uint64_t)t->tid, .signo = w->signo, .notify = 4 /* SIGEV_THREAD_ID */, .tid = t->tid};
	/* Threads start at different points of the period, so that equal loops are not sampled in step. */
	uint64_t first_ns = 1 + (uint64_t)t->tid * 2654435761u % period_ns;
	struct itimerspec spec = {
		.it_interval = {(time_t)(period_ns / 1000000000u), (long)(period_ns % 1000000000u)},
		.it_value = {(time_t)(first_ns / 1000000000u), (long)(first_ns % 1000000000u)},
	};
	int32_t id;

	if (timers >= THREAD_TIMERS_MAX || syscall(SYS_timer_create, clock_of(t->tid), &event, &id) < 0)
		return false;
	if (syscall(SYS_timer_settime, id, 0, &spec, 0) < 0) {
		syscall(SYS_timer_delete, id);
		return false;
	}
	t->timer = id;
	timers++;
	return true;
}

static void timer_delete_of(struct thread *t)
{
	if (t->timer == NO_TIMER)
		return;
	syscall(SYS_timer_delete, t->timer);
	t->timer = NO_TIMER;
	timers--; /* no wrap: each was made */
}

/* The list of threads ---------------------------------------------------------------------------------------------------------- */

/* With what was known of it: a timer moves. Returns whether it is a new thread. */
static bool take_thread(struct list *from, uint32_t *at, struct list *to, int32_t tid, const struct wish *w)
{
	if (to->count == THREADS_MAX) {
		to->full = true;
		return false;
	}
	struct thread *old = find_listed_thread(from, at, tid), *t = &to->threads[to->count++];
	*t = old ? *old : (struct thread){.tid = tid, .timer = NO_TIMER};
	if (old)
		old->timer = NO_TIMER;
	else if (read_thread_cpu(tid, &t->cpu) && w)
		timer_make(t, w);
	return !old;
}

/* All threads but this one; new ones with a timer, where it is wished for and to be had. Returns how many are new, -1: they cannot be read. */
static int list_threads(struct list *from, struct list *to, const struct wish *w)
{
	_Alignas(8) static char buf[8192];
	int32_t own = (int32_t)syscall(SYS_gettid);
	uint32_t at = 0;
	int added = 0;
	long n;

	int fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	to->count = 0;
	to->full = to->unread = false;
	while ((n = syscall(SYS_getdents64, fd, buf, sizeof buf)) > 0)
		for (long i = 0; i < n;) {
			const struct linux_dirent64 *d = (const struct linux_dirent64 *)(buf + i);
			int32_t tid = parse_tid(d->name);
			if (tid && tid != own)
				added += take_thread(from, &at, to, tid, w);
			i += d->size;
		}
	close(fd);
	to->unread = n < 0;
	return added;
}

static void look_who_runs(struct list *l)
{
	for (uint32_t i = 0; i < l->count; i++) {
		struct thread *t = &l->threads[i];
		uint32_t cpu = t->cpu;
		read_thread_cpu(t->tid, &cpu);
		t->ran = cpu != t->cpu;
		if (t->timer == NO_TIMER)
			missed.cpu_ns += difference(cpu, t->cpu) << CPU_UNIT_SHIFT;
		t->cpu = cpu;
	}
}

/* Who has no timer and runs gets one; when there are no more, that of a thread which does not run. */
static void give_timers(struct list *l, const struct wish *w)
{
	uint32_t running = 0, at = 0;

	for (uint32_t i = 0; i < l->count; i++) {
		struct thread *t = &l->threads[i];
		if (!t->ran || t->timer != NO_TIMER || timer_make(t, w))
			continue;
		while (at < l->count && (l->threads[at].ran || l->threads[at].timer == NO_TIMER))
			at++;
		if (at < l->count)
			timer_delete_of(&l->threads[at]);
		running += at == l->count || !timer_make(t, w);
	}
	if (running > missed.threads)
		missed.threads = running;
}

static bool all_have_timers(const struct list *l)
{
	for (uint32_t i = 0; i < l->count; i++)
		if (l->threads[i].timer == NO_TIMER)
			return false;
	return true;
}

int thread_timers_update(int signo, uint64_t period_ns)
{
	struct list *from = &lists[now_in_use], *to = &lists[!now_in_use];
	const struct wish w = {signo, period_ns};
	uint64_t now = now_ns();

	int added = list_threads(from, to, &w);
	if (added < 0)
		return -1;
	for (uint32_t i = 0; i < from->count; i++)
		timer_delete_of(&from->threads[i]); /* of threads that have ended */
	now_in_use = !now_in_use;
	missed.unknown |= to->full || to->unread;
	if (difference(now, look_ns) >= LOOK_NS && !all_have_timers(to)) {
		look_who_runs(to);
		give_timers(to, &w);
		look_ns = now;
	}
	return added;
}

uint32_t thread_timers_count(void)
{
	return timers;
}

struct thread_timers_missed thread_timers_missed(void)
{
	return missed;
}

void thread_timers_delete_all(void)
{
	struct list *l = &lists[now_in_use];

	for (uint32_t i = 0; i < l->count; i++)
		timer_delete_of(&l->threads[i]);
}

void thread_timers_reset(void)
{
	lists[0].count = lists[1].count = 0;
	look_ns = 0;
	missed = (struct thread_timers_missed){0};
}

/* Whether threads have left the handler ------------------------------------------------------------------------------------------ */

/* The beginning of /proc/self/task/TID/NAME. Returns its length; 0: the thread has ended; -1: it cannot be seen. */
static ssize_t read_task_file(int32_t tid, const char *name, char *out, size_t cap)
{
	char path[48] = "/proc/self/task/", digits[12];
	size_t n = 0, len = 16;

	for (int32_t v = tid; v; v /= 10)
		digits[n++] = (char)('0' + v % 10);
	while (n)
		path[len++] = digits[--n];
	memcpy(path + len, name, strlen(name) + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH ? 0 : -1;
	ssize_t got = read(fd, out, cap - 1);
	if (got < 0 && errno == ESRCH)
		got = 0;
	close(fd);
	out[got > 0 ? got : 0] = '\0';
	return got;
}

enum seen { SEEN_PAST, SEEN_ELSEWHERE, SEEN_NOT };

/* Past: asleep in a system call of its own, so in no handler of ours, which makes none that sleeps. What sleeps otherwise ('D', when it waits for
 * memory that has to be read from a disk) may be in one; the kernel knows by which call it came, if by any. */
static enum seen inspect_thread(int32_t tid)
{
	char text[64];
	ssize_t got = read_task_file(tid, "/stat", text, sizeof text), i = got - 3;

	if (got <= 0)
		return got == 0 ? SEEN_PAST : SEEN_NOT;
	/* "TID (name) S ...": the name has at most 15 bytes, of any kind: the last bracket counts. */
	while (i >= 0 && text[i] != ')')
		i--;
	if (i < 0 || text[i + 2] != 'D')
		return i >= 0 && text[i + 2] == 'S' ? SEEN_PAST : SEEN_ELSEWHERE;
	got = read_task_file(tid, "/syscall", text, sizeof text); /* "running", "-1 ..." */
	return got > 0 && text[0] >= '0' && text[0] <= '9' ? SEEN_PAST : SEEN_ELSEWHERE;
}

/* All threads, not only those that had a timer: the runtime sends the signal too. */
void thread_timers_mark(void)
{
	bool seen = list_threads(&lists[now_in_use], &lists[!now_in_use], NULL) >= 0;

	now_in_use ^= seen;
	struct list *l = &lists[now_in_use];
	for (uint32_t i = 0; i < l->count; i++)
		if (!read_thread_cpu(l->threads[i].tid, &l->threads[i].cpu))
			l->threads[i].tid = 0;
	l->unread = l->unread || !seen;
}

/* A signal that was taken before its disposition changed may not have reached the handler's first instruction; the code must
 * stay until the thread has left it. Such a thread is runnable: it has passed when it is seen asleep or has used some CPU. */
static enum seen inspect_thread_again(const struct thread *t)
{
	uint32_t now;

	return t->tid == 0 || !read_thread_cpu(t->tid, &now) || difference(now, t->cpu) >= SETTLE_CPU ? SEEN_PAST : inspect_thread(t->tid);
}

/* Threads that cannot be seen have had the whole time: this one has run again and again meanwhile, so the scheduler has had its turn for
 * a thread that is runnable, too. */
bool thread_timers_settle(void)
{
	struct list *l = &lists[now_in_use];
	uint64_t until_ns = now_ns() + SETTLE_MS * (uint64_t)1000000;
	uint32_t elsewhere, unseen;

	do {
		elsewhere = 0;
		unseen = l->unread;
		for (uint32_t i = 0; i < l->count; i++) {
			enum seen seen = inspect_thread_again(&l->threads[i]);
			if (seen == SEEN_PAST)
				l->threads[i].tid = 0;
			elsewhere += seen == SEEN_ELSEWHERE;
			unseen += seen == SEEN_NOT;
		}
		if (elsewhere || unseen)
			poll(NULL, 0, 1);
	} while ((elsewhere || unseen) && now_ns() < until_ns);
	return !elsewhere && !l->full;
}
