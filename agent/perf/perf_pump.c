#include "agent/perf/perf_pump.h"

#include "agent/perf/pending_samples.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/mem.h"
#include "common/base/thread.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#define IDLE_MS 100
#define FIRST_MS 5 /* until there is a first sample */
#define MAX_NAMES 1024
#define MAX_SWITCHES (1u << 20)
#define STALL_NS 1000000000 /* without a turn: twice what a ring holds */
#define RECORD_MS 1 /* a record is in its ring so long after the time that it bears */

struct thread_name {
	uint32_t tid;
	char comm[16];
};

struct perf_pump {
	struct perf_sampler *sampler;
	pthread_t thread;
	int stop_fd, ready_fd;
	bool stopped; /* the thread has ended */
	int64_t cpu_ns;
	pthread_mutex_t lock; /* of what follows */
	struct pending_samples coming;
	struct thread_name *names;
	size_t name_count, name_cap;
	struct perf_switch *switches;
	size_t switch_count, switch_cap;
	uint64_t dropped, dropped_switches, missing, stalls;
	int64_t stalled_ns;
	int64_t turn_ns;    /* of the last drain's end */
	int64_t drained_ns; /* what bears an earlier time has been read */
	/* the taker's */
	struct pending_samples taken;
};

static void on_sample(void *ctx, const struct perf_sample *s)
{
	struct perf_pump *p = ctx;
	pthread_mutex_lock(&p->lock);
	p->dropped += !pending_samples_add(&p->coming, s);
	pthread_mutex_unlock(&p->lock);
}

static void keep_thread_name(void *ctx, uint32_t tid, const char *comm)
{
	struct perf_pump *p = ctx;
	pthread_mutex_lock(&p->lock);
	if (p->name_count < MAX_NAMES) {
		GROW(p->names, p->name_count, p->name_cap);
		struct thread_name *n = &p->names[p->name_count++];
		*n = (struct thread_name){.tid = tid};
		memcpy(n->comm, comm, strnlen(comm, sizeof n->comm - 1));
	}
	pthread_mutex_unlock(&p->lock);
}

static void keep_switch(void *ctx, const struct perf_switch *x)
{
	struct perf_pump *p = ctx;
	pthread_mutex_lock(&p->lock);
	if (p->switch_count < MAX_SWITCHES) {
		GROW(p->switches, p->switch_count, p->switch_cap);
		p->switches[p->switch_count++] = *x;
	} else {
		p->dropped_switches++;
	}
	pthread_mutex_unlock(&p->lock);
}

static void drain_sampler(struct perf_pump *p)
{
	int64_t now_ns = clock_mono_ns(), before_ns = now_ns - RECORD_MS * 1000000;
	perf_sampler_drain(p->sampler, on_sample, keep_thread_name, keep_switch, p);
	const struct perf_sampler_stats *stats = perf_sampler_stats(p->sampler);
	pthread_mutex_lock(&p->lock);
	p->drained_ns = before_ns;
	if (now_ns - p->turn_ns > STALL_NS) { /* this thread did not run */
		p->stalled_ns += now_ns - p->turn_ns;
		p->stalls++;
	}
	p->turn_ns = clock_mono_ns();
	p->missing = stats->lost + stats->malformed + p->dropped_switches + p->stalls;
	pthread_mutex_unlock(&p->lock);
}

/* Whether there is anything, and much. */
static bool pump_has_samples(struct perf_pump *p, bool *much)
{
	pthread_mutex_lock(&p->lock);
	bool any = p->coming.count > 0;
	*much = pending_samples_half_full(&p->coming) || p->switch_count > MAX_SWITCHES / 4;
	pthread_mutex_unlock(&p->lock);
	return any;
}

static void *run_pump(void *arg)
{
	struct perf_pump *p = arg;
	bool any = false, much = false;
	for (;;) {
		struct pollfd f[] = {{.fd = p->stop_fd, .events = POLLIN}, {.fd = perf_sampler_fd(p->sampler), .events = POLLIN}};
		int n = poll(f, 2, any ? IDLE_MS : FIRST_MS);
		bool last = n > 0 && f[0].revents;
		drain_sampler(p);
		any |= pump_has_samples(p, &much);
		if (much)
			eventfd_write(p->ready_fd, 1);
		if (last)
			break;
	}
	struct timespec t = {0};
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	p->cpu_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
	return NULL;
}

struct perf_pump *perf_pump_start(struct perf_sampler *s, struct err *e)
{
	struct perf_pump *p = mem_alloc(sizeof *p);
	p->sampler = s;
	p->turn_ns = clock_mono_ns();
	p->stopped = true;
	pthread_mutex_init(&p->lock, NULL);
	p->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	p->ready_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int rc = p->stop_fd < 0 || p->ready_fd < 0 ? err_set_errno(e, errno, "eventfd") :
						     thread_start(&p->thread, "perf", THREAD_STACK_USUAL, run_pump, p, e);
	p->stopped = rc < 0;
	if (rc == 0)
		return p;
	perf_pump_free(p);
	return NULL;
}

int perf_pump_fd(const struct perf_pump *p)
{
	return p->ready_fd;
}

void perf_pump_take(struct perf_pump *p, perf_sample_fn *sample, perf_comm_fn *comm, void *ctx)
{
	eventfd_t count;
	eventfd_read(p->ready_fd, &count);
	pthread_mutex_lock(&p->lock);
	struct pending_samples swap = p->coming;
	struct thread_name *names = p->names;
	size_t name_count = p->name_count;
	p->coming = p->taken;
	p->taken = swap;
	p->names = NULL;
	p->name_count = p->name_cap = 0;
	pthread_mutex_unlock(&p->lock);
	for (size_t i = 0; i < name_count; i++)
		comm(ctx, names[i].tid, names[i].comm);
	for (size_t i = 0; i < p->taken.count; i++)
		sample(ctx, &p->taken.samples[i]);
	pending_samples_clear(&p->taken);
	free(names);
}

size_t perf_pump_take_switches(struct perf_pump *p, struct perf_switch **list, int64_t *until_ns, uint64_t *missing)
{
	pthread_mutex_lock(&p->lock);
	size_t count = p->switch_count;
	*list = p->switches;
	*until_ns = p->drained_ns;
	*missing = p->missing;
	p->switches = NULL;
	p->switch_count = p->switch_cap = 0;
	pthread_mutex_unlock(&p->lock);
	return count;
}

void perf_pump_stop(struct perf_pump *p)
{
	if (!p || p->stopped)
		return;
	eventfd_write(p->stop_fd, 1);
	pthread_join(p->thread, NULL);
	p->stopped = true;
}

int64_t perf_pump_cpu_ns(const struct perf_pump *p)
{
	return p->cpu_ns;
}

int64_t perf_pump_stalled_ns(const struct perf_pump *p)
{
	return p->stalled_ns;
}

uint64_t perf_pump_dropped(const struct perf_pump *p)
{
	return p->dropped;
}

uint64_t perf_pump_dropped_switches(const struct perf_pump *p)
{
	return p->dropped_switches;
}

void perf_pump_free(struct perf_pump *p)
{
	if (!p)
		return;
	perf_pump_stop(p);
	pending_samples_fini(&p->coming);
	pending_samples_fini(&p->taken);
	free(p->names);
	free(p->switches);
	cleanup_fd(&p->stop_fd);
	cleanup_fd(&p->ready_fd);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
