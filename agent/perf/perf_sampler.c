#include "agent/perf/perf_sampler.h"

#include "agent/perf/perf_group.h"
#include "agent/perf/perf_keeper.h"
#include "agent/perf/perf_leave.h"
#include "agent/perf/perf_opener.h"
#include "agent/perf/perf_permission.h"
#include "agent/perf/perf_ring.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#define RING_MIN_BYTES (16 * 1024)
#define RECORDS_BYTES (128 * 1024) /* 4,096 switches */
#define APART_EVENTS 4096 /* of threads: with more the records share the ring of the stacks */
#define MAX_EVENTS 65536

struct cpu_ring {
	int cpu;
	int fd; /* the event that owns the ring; also in `events` */
	enum perf_part part;
	struct perf_ring ring;
	struct perf_leave leave; /* PERF_WAY_CPU */
};

struct perf_sampler {
	enum perf_way way;
	pid_t pid;
	struct perf_opener opener;
	struct perf_group group; /* PERF_WAY_CPU: what the kernel samples */
	int64_t started_ns;
	int epoll_fd;
	int *events;
	size_t event_count, event_cap;
	struct cpu_ring *rings;
	size_t ring_count, ring_cap;
	uint32_t *tids; /* PERF_WAY_THREAD: threads that have events, own or inherited; unsorted */
	size_t tid_count, tid_cap;
	struct perf_sampler_stats stats;
	struct perf_bounce bounce;
	struct perf_keeper keeper; /* PERF_WAY_THREAD */
	pthread_mutex_t lock;      /* no event begins again after the stop, which another thread may call */
	bool stopped;
};

struct drain {
	struct perf_sampler *s;
	struct cpu_ring *ring;
	perf_sample_fn *on_sample;
	perf_comm_fn *on_comm;
	perf_switch_fn *on_switch;
	void *ctx;
};

static void keep_event(struct perf_sampler *s, int fd)
{
	GROW(s->events, s->event_count, s->event_cap);
	s->events[s->event_count++] = fd;
}

/* rings --------------------------------------------------------------------------------------------------------- */

/* The first ring decides the size for all: where the locked memory is short, half as much, down to RING_MIN_BYTES. */
static int map_ring(struct perf_sampler *s, struct cpu_ring *r, struct err *e)
{
	struct err inner = ERR_INIT;
	while (perf_ring_map(&r->ring, r->fd, s->opener.ring_bytes, &inner) < 0) {
		if (inner.kind != ERR_DENIED || s->opener.ring_bytes <= RING_MIN_BYTES)
			return err_set_reason(e, ERR_DENIED, REASON_PerfEventsForbidden,
					      "the locked memory for perf rings is used up (kernel.perf_event_mlock_kb, RLIMIT_MEMLOCK): %s",
					      inner.message);
		s->opener.ring_bytes /= 2;
		inner = (struct err)ERR_INIT;
	}
	return 0;
}

static int add_ring(struct perf_sampler *s, int cpu, int fd, struct err *e)
{
	struct cpu_ring r = {.cpu = cpu, .fd = fd, .part = s->opener.part};
	if (map_ring(s, &r, e) < 0)
		return -1;
	perf_leave_init(&r.leave, &s->opener);
	/* Edge-triggered: the event of a thread that has ended would be ready for ever. */
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET};
	if (epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, fd, &ev) < 0) {
		perf_ring_unmap(&r.ring);
		return err_set_errno(e, errno, "watching a perf event");
	}
	GROW(s->rings, s->ring_count, s->ring_cap);
	s->rings[s->ring_count++] = r;
	return 0;
}

static struct cpu_ring *find_ring(struct perf_sampler *s, int cpu)
{
	for (size_t i = 0; i < s->ring_count; i++)
		if (s->rings[i].cpu == cpu && s->rings[i].part == s->opener.part)
			return &s->rings[i];
	return NULL;
}

static void drop_last(struct perf_sampler *s)
{
	perf_ring_unmap(&s->rings[--s->ring_count].ring);
	close(s->events[--s->event_count]);
}

/* the two ways -------------------------------------------------------------------------------------------------- */

/* One event of `tid` (-1: every process) on `cpu`, writing into that CPU's ring. 1: open; 0: the CPU is off line or the thread
 * has ended; -1: refused, with errno in *errnum or the error set. */
static int try_event(struct perf_sampler *s, pid_t tid, int cpu, int *errnum, struct err *e)
{
	AUTO_FD int fd = perf_opener_open(&s->opener, tid, cpu);
	if (fd < 0) {
		*errnum = errno;
		return errno == ENODEV || errno == ESRCH ? 0 : -1;
	}
	struct cpu_ring *r = find_ring(s, cpu);
	if (r && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd) < 0) {
		err_set_errno(e, errno, "sharing a perf ring");
		return -1;
	}
	if (!r && add_ring(s, cpu, fd, e) < 0)
		return -1;
	keep_event(s, steal_fd(&fd));
	return 1;
}

/* Where the first ring had to be made smaller, its event was opened to wake us too late. */
static int add_event(struct perf_sampler *s, pid_t tid, int cpu, int *errnum, struct err *e)
{
	size_t wanted;
	int r;
	do {
		wanted = s->opener.ring_bytes;
		r = try_event(s, tid, cpu, errnum, e);
		if (s->opener.ring_bytes < wanted && r == 1)
			drop_last(s);
	} while (s->opener.ring_bytes < wanted && r == 1);
	return r;
}

/* Of a CPU's switches the records, which must not be lost, have a ring of their own. */
static int add_records(struct perf_sampler *s, pid_t tid, int cpu, int *errnum, struct err *e)
{
	size_t ring_bytes = s->opener.ring_bytes;
	s->opener.part = PERF_PART_RECORDS;
	s->opener.ring_bytes = ring_bytes < RECORDS_BYTES ? ring_bytes : RECORDS_BYTES;
	int r = add_event(s, tid, cpu, errnum, e);
	s->opener.part = PERF_PART_STACKS;
	s->opener.ring_bytes = ring_bytes;
	return r;
}

static int open_cpus(struct perf_sampler *s, pid_t tid, int *errnum, struct err *e)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	for (int cpu = 0; cpu < cpus; cpu++) {
		if (s->event_count >= MAX_EVENTS)
			return err_set_reason(e, ERR_DENIED, REASON_PerfEventsForbidden,
					      "more than %d perf events would be needed; CAP_PERFMON needs one for each CPU", MAX_EVENTS);
		if (add_event(s, tid, cpu, errnum, e) < 0)
			return -1;
		if (s->opener.part == PERF_PART_STACKS && add_records(s, tid, cpu, errnum, e) < 0)
			return -1;
	}
	return 0;
}

static bool knows_tid(const struct perf_sampler *s, uint32_t tid)
{
	for (size_t i = 0; i < s->tid_count; i++)
		if (s->tids[i] == tid)
			return true;
	return false;
}

static void learn_tid(struct perf_sampler *s, uint32_t tid)
{
	if (knows_tid(s, tid))
		return;
	GROW(s->tids, s->tid_count, s->tid_cap);
	s->tids[s->tid_count++] = tid;
}

/* Opens events for the threads that are there and do not have any yet. Returns how many, or -1. */
static int open_threads(struct perf_sampler *s, int proc_fd, int *errnum, struct err *e)
{
	int dir_fd = openat(proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_DIR DIR *dir = fsio_opendir_take(dir_fd);
	if (!dir && errno != ENOENT && errno != ESRCH)
		return err_set_errno(e, errno, "cannot list the process's threads");
	if (!dir)
		return err_set_reason(e, ERR_GONE, REASON_ProcessExited, "the process has ended");
	int opened = 0;
	for (struct dirent *d; (d = readdir(dir));) {
		uint32_t tid = (uint32_t)strtoul(d->d_name, NULL, 10);
		if (!tid || knows_tid(s, tid))
			continue;
		learn_tid(s, tid);
		if (open_cpus(s, (pid_t)tid, errnum, e) < 0)
			return -1;
		opened++;
	}
	return opened;
}

static void on_early_record(void *ctx, const struct perf_record *r)
{
	struct perf_sampler *s = ctx;
	if (r->kind == PERF_KIND_FORK && r->u.fork.pid == (uint32_t)s->pid)
		learn_tid(s, r->u.fork.tid);
}

/* Threads that were born while the others' events were opened have either inherited theirs (a FORK record says so) or have
 * none: look again until nobody is missing. The first milliseconds' samples are read over meanwhile. */
static int follow_threads(struct perf_sampler *s, int proc_fd, int *errnum, struct err *e)
{
	for (int round = 0; round < 8; round++) {
		int opened = open_threads(s, proc_fd, errnum, e);
		if (opened < 0)
			return -1;
		if (opened == 0)
			break;
		for (size_t i = 0; i < s->ring_count; i++)
			s->stats.malformed += perf_ring_read(&s->rings[i].ring, &s->bounce, on_early_record, s);
	}
	return 0;
}

static int open_way(struct perf_sampler *s, const struct perf_sampler_options *o, int *errnum, struct err *e)
{
	if (s->way == PERF_WAY_CPU)
		return open_cpus(s, -1, errnum, e);
	return follow_threads(s, o->proc_fd, errnum, e);
}

/* life ---------------------------------------------------------------------------------------------------------- */

static bool has_few_threads(const struct perf_sampler_options *o)
{
	struct stat task; /* proc(5): a folder for each thread is in it, and a link to it each of them */
	return fstatat(o->proc_fd, "task", &task, 0) == 0 && (long)task.st_nlink * sysconf(_SC_NPROCESSORS_CONF) <= APART_EVENTS;
}

static struct perf_sampler *new_sampler(const struct perf_sampler_options *o, enum perf_way way, struct perf_group *group)
{
	struct perf_sampler *s = mem_alloc(sizeof *s);
	s->way = way;
	s->pid = o->pid;
	s->group = perf_group_take(group);
	if (o->switches)
		perf_opener_init_switches(&s->opener, o->switches);
	else
		perf_opener_init(&s->opener, o->frequency_hertz, o->kernel_chains, o->stacks);
	s->opener.follow_threads = way == PERF_WAY_THREAD;
	s->opener.part = o->switches && (way == PERF_WAY_CPU || has_few_threads(o)) ? PERF_PART_STACKS : PERF_PART_BOTH;
	s->opener.group_fd = s->group.fd;
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	pthread_mutex_init(&s->lock, NULL);
	return s;
}

static void drop_all(struct perf_sampler *s)
{
	for (size_t i = 0; i < s->ring_count; i++)
		perf_ring_unmap(&s->rings[i].ring);
	for (size_t i = 0; i < s->event_count; i++)
		close(s->events[i]);
	s->ring_count = s->event_count = s->tid_count = 0;
}

static bool open_all(struct perf_sampler *s, const struct perf_sampler_options *o, int *errnum, struct err *e)
{
	size_t ring_bytes = s->opener.ring_bytes;
	struct err apart = ERR_INIT;
	if (s->opener.part == PERF_PART_STACKS) {
		if (open_way(s, o, errnum, &apart) == 0 && s->ring_count > 0)
			return true;
		drop_all(s); /* descriptors or locked memory may be short */
		s->opener.part = PERF_PART_BOTH;
		s->opener.ring_bytes = ring_bytes;
		*errnum = 0;
	}
	return open_way(s, o, errnum, e) == 0 && s->ring_count > 0;
}

/* What ends them is there before they begin, or as soon as they are all there. */
static int begin_events(struct perf_sampler *s, struct err *e)
{
	if (s->way == PERF_WAY_THREAD)
		return perf_keeper_start(&s->keeper, s->events, s->event_count, e);
	for (size_t i = 0; i < s->ring_count; i++)
		if (ioctl(s->rings[i].fd, PERF_EVENT_IOC_REFRESH, s->rings[i].leave.limit) < 0)
			return err_set_errno(e, errno, "enabling a perf event");
	return 0;
}

/* Takes the group, which may be none. */
static struct perf_sampler *open_with(const struct perf_sampler_options *o, enum perf_way way, struct perf_group *group, struct err *e)
{
	struct perf_sampler *s = new_sampler(o, way, group);
	struct err inner = ERR_INIT;
	int errnum = 0;
	int64_t started_ns = clock_mono_ns();
	if (open_all(s, o, &errnum, &inner) && begin_events(s, &inner) == 0) {
		/* The first event of a group, or of a thread, makes the kernel wait for all CPUs before it is there. */
		s->started_ns = way == PERF_WAY_CPU && !perf_sampler_filtered(s) ? started_ns : clock_mono_ns();
		return s;
	}
	perf_sampler_close(s);
	if (inner.kind == ERR_NONE && errnum == ESRCH)
		err_set_reason(e, ERR_GONE, REASON_ProcessExited, "the process has ended");
	else if (inner.kind == ERR_NONE) {
		struct perf_permission p;
		perf_permission_read("/proc", &p);
		perf_permission_explain(&p, errnum, e);
	} else if (e) {
		*e = inner;
	}
	return NULL;
}

struct perf_sampler *perf_sampler_open(const struct perf_sampler_options *o, struct err *e)
{
	struct perf_sampler *s = NULL;
	struct perf_group group = PERF_GROUP_NONE;
	if (o->group && !perf_group_open_dir(&group, o->group)) {
		err_set_errno(e, errno, "cannot open the control group %s", o->group->path);
		return NULL;
	}
	if (o->group)
		return open_with(o, PERF_WAY_CPU, &group, e);
	if (!o->only_thread_way && !o->every_process && perf_group_open(&group, "/proc", o->pid))
		s = open_with(o, PERF_WAY_CPU, &group, NULL);
	if (!s && o->switches) /* those of all processes would fill the rings */
		s = open_with(o, PERF_WAY_THREAD, &group, NULL);
	if (!s && !o->only_thread_way)
		s = open_with(o, PERF_WAY_CPU, &group, NULL);
	return s ? s : open_with(o, PERF_WAY_THREAD, &group, e);
}

void perf_sampler_close(struct perf_sampler *s)
{
	if (!s)
		return;
	drop_all(s);
	if (s->epoll_fd >= 0)
		close(s->epoll_fd);
	perf_keeper_end(&s->keeper);
	pthread_mutex_destroy(&s->lock);
	perf_group_close(&s->group);
	free(s->rings);
	free(s->events);
	free(s->tids);
	free(s);
}

enum perf_way perf_sampler_way(const struct perf_sampler *s)
{
	return s->way;
}

bool perf_sampler_kernel(const struct perf_sampler *s)
{
	return s->opener.kernel;
}

bool perf_sampler_filtered(const struct perf_sampler *s)
{
	return s->group.fd >= 0;
}

bool perf_sampler_left_group(const struct perf_sampler *s)
{
	return perf_group_left(&s->group, "/proc", s->pid);
}

unsigned perf_sampler_max_depth(const struct perf_sampler *s)
{
	return s->opener.max_stack;
}

int64_t perf_sampler_started_ns(const struct perf_sampler *s)
{
	return s->started_ns;
}

size_t perf_sampler_event_count(const struct perf_sampler *s)
{
	return s->event_count;
}

int perf_sampler_fd(const struct perf_sampler *s)
{
	return s->epoll_fd;
}

static void on_record(void *ctx, const struct perf_record *r)
{
	struct drain *d = ctx;
	struct perf_sampler_stats *stats = &d->s->stats;
	uint32_t pid = (uint32_t)d->s->pid;
	bool all = pid == 0;
	switch (r->kind) {
	case PERF_KIND_TALLY:
		perf_leave_overflow(&d->ring->leave);
		break;
	case PERF_KIND_SAMPLE:
		perf_leave_overflow(&d->ring->leave);
		if (r->u.sample.pid != pid && !all) {
			stats->other_samples++;
			break;
		}
		stats->samples++;
		d->on_sample(d->ctx, &r->u.sample);
		break;
	case PERF_KIND_COMM:
		if ((r->u.comm.pid == pid || all) && d->on_comm)
			d->on_comm(d->ctx, r->u.comm.tid, r->u.comm.comm);
		break;
	case PERF_KIND_SWITCH:
		if (r->u.change.pid != pid || !d->on_switch)
			break;
		stats->switches++;
		d->on_switch(d->ctx, &r->u.change);
		break;
	case PERF_KIND_LOST:
		perf_leave_lost(&d->ring->leave, r->u.lost);
		*(d->ring->part == PERF_PART_STACKS ? &stats->lost_stacks : &stats->lost) += r->u.lost;
		break;
	case PERF_KIND_THROTTLE:
		stats->throttled++;
		break;
	case PERF_KIND_FORK:
	case PERF_KIND_OTHER:
		break;
	}
}

/* The rings have been read: the events may go on, or begin. */
static void give_leave(struct perf_sampler *s)
{
	pthread_mutex_lock(&s->lock);
	for (size_t i = 0; i < s->ring_count && s->way == PERF_WAY_CPU && !s->stopped; i++) {
		int due = perf_leave_due(&s->rings[i].leave, clock_mono_ns());
		if (due)
			ioctl(s->rings[i].fd, PERF_EVENT_IOC_REFRESH, due);
	}
	if (s->way == PERF_WAY_THREAD && !s->stopped)
		perf_keeper_beat(&s->keeper, s->events, s->event_count);
	pthread_mutex_unlock(&s->lock);
}

void perf_sampler_drain(struct perf_sampler *s, perf_sample_fn *on_sample, perf_comm_fn *on_comm, perf_switch_fn *on_switch, void *ctx)
{
	struct drain d = {.s = s, .on_sample = on_sample, .on_comm = on_comm, .on_switch = on_switch, .ctx = ctx};
	struct epoll_event ready[16];
	while (epoll_wait(s->epoll_fd, ready, 16, 0) == 16)
		; /* the edges are used up: all rings are read now */
	for (size_t i = 0; i < s->ring_count; i++) {
		d.ring = &s->rings[i];
		s->stats.malformed += perf_ring_read(&s->rings[i].ring, &s->bounce, on_record, &d);
	}
	give_leave(s);
}

void perf_sampler_stop(struct perf_sampler *s)
{
	pthread_mutex_lock(&s->lock);
	s->stopped = true;
	for (size_t i = 0; i < s->event_count; i++)
		ioctl(s->events[i], PERF_EVENT_IOC_DISABLE, 0);
	pthread_mutex_unlock(&s->lock);
}

const struct perf_sampler_stats *perf_sampler_stats(const struct perf_sampler *s)
{
	return &s->stats;
}
