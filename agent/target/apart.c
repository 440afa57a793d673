#include "agent/target/apart.h"

#include "agent/host/proc.h"
#include "agent/host/work_budget.h"
#include "common/api/reason.h"
#include "common/base/clock.h"
#include "common/base/fsio.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STACK_BYTES (1024 * 1024)
#define SLICE_MS 500 /* of waiting */
#define COMPUTES_PERCENT 1 /* of a slice: who reads what a file system lets go of byte by byte does not compute as much */
#define COMPUTING_MS (10 * 60 * 1000) /* at most, after the last word */

struct apart {
	pthread_t thread; /* joined when it is done, detached when it is given up */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* monotonic */
	apart_fn *fn;
	void *ctx;
	void (*release)(void *ctx);
	void (*turn)(void *ctx);
	int64_t patience_ms, patient_until_ms, computing_until_ms;
	int64_t looked_ms; /* by its caller, with what the clocks said then: */
	struct apart_clocks {
		int64_t cpu_ns, ready_ns;
	} clocks;
	pid_t tid; /* 0: its thread has not had a CPU yet */
	bool done, given_up, dropped;
	atomic_bool stop; /* given up: what its thread reads of the pod from now on, it does not read */
	char place[APART_PLACE_SIZE];
};

/* The places that calls hang in; a place may stand here more than once. */
static struct {
	pthread_mutex_t lock;
	char places[APART_MAX_HANGING][APART_PLACE_SIZE];
	size_t count;
} hanging = {.lock = PTHREAD_MUTEX_INITIALIZER};

void apart_place(const struct target *t, char place[APART_PLACE_SIZE])
{
	if (t->pod_uid)
		snprintf(place, APART_PLACE_SIZE, "pod %s", t->pod_uid);
	else if (t->container_id)
		snprintf(place, APART_PLACE_SIZE, "container %s", t->container_id);
	else if (t->shared_folder)
		snprintf(place, APART_PLACE_SIZE, "folder %s", t->shared_folder);
	else
		snprintf(place, APART_PLACE_SIZE, "process %d since %llu", (int)t->pid, (unsigned long long)t->start_time);
}

size_t apart_hanging(void)
{
	pthread_mutex_lock(&hanging.lock);
	size_t count = hanging.count;
	pthread_mutex_unlock(&hanging.lock);
	return count;
}

static void add_hanging(const char *place)
{
	pthread_mutex_lock(&hanging.lock);
	if (hanging.count < APART_MAX_HANGING)
		memcpy(hanging.places[hanging.count++], place, APART_PLACE_SIZE);
	pthread_mutex_unlock(&hanging.lock);
}

static void remove_hanging(const char *place)
{
	pthread_mutex_lock(&hanging.lock);
	for (size_t i = 0; i < hanging.count; i++) {
		if (strcmp(hanging.places[i], place) == 0) {
			memcpy(hanging.places[i], hanging.places[--hanging.count], APART_PLACE_SIZE);
			break;
		}
	}
	pthread_mutex_unlock(&hanging.lock);
}

static int refuse_hanging(const char *place, struct err *e)
{
	bool here = false;
	pthread_mutex_lock(&hanging.lock);
	for (size_t i = 0; i < hanging.count; i++)
		here |= strcmp(hanging.places[i], place) == 0;
	bool full = hanging.count == APART_MAX_HANGING;
	pthread_mutex_unlock(&hanging.lock);
	if (here)
		return err_set_reason(e, ERR_RETRY, REASON_ProcessUnresponsive,
				      "an earlier look into its files or memory has not returned yet: a file system of the container does not answer");
	if (full)
		return err_set_reason(e, ERR_RETRY, REASON_ProcessUnresponsive,
				      "looks into %d containers of this node have not returned; no further one is tried", APART_MAX_HANGING);
	return 0;
}

static void be_patient(struct apart *a, int64_t patience_ms)
{
	int64_t now_ms = clock_mono_ms();
	a->patience_ms = patience_ms;
	a->patient_until_ms = now_ms + patience_ms;
	a->computing_until_ms = now_ms + COMPUTING_MS;
}

static struct apart *apart_new(const char *place, apart_fn *fn, void *ctx, void (*release)(void *ctx), int64_t patience_ms)
{
	struct apart *a = mem_alloc(sizeof *a);
	*a = (struct apart){.fn = fn, .ctx = ctx, .release = release};
	be_patient(a, patience_ms);
	snprintf(a->place, sizeof a->place, "%s", place);
	pthread_mutex_init(&a->lock, NULL);
	thread_cond_init(&a->changed);
	return a;
}

static void apart_free(struct apart *a)
{
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	free(a);
}

/* Whoever comes last, the thread or its caller, cleans up. */
static void *run_apart_thread(void *arg)
{
	struct apart *a = arg;
	pthread_mutex_lock(&a->lock);
	a->tid = gettid();
	pthread_mutex_unlock(&a->lock);
	work_thread_begin(&a->stop);
	a->fn(a, a->ctx);
	pthread_mutex_lock(&a->lock);
	bool last = a->given_up;
	a->done = true;
	pthread_cond_signal(&a->changed);
	pthread_mutex_unlock(&a->lock);
	if (!last)
		return NULL;
	if (!a->dropped)
		LOG_INFO("apart", "a call that hung has returned", LOG_S("place", a->place));
	remove_hanging(a->place);
	a->release(a->ctx);
	apart_free(a);
	return NULL;
}

/* 0: not known, or it has ended. */
static int64_t cpu_ns_of(const struct apart *a)
{
	clockid_t clock;
	struct timespec t;
	if (pthread_getcpuclockid(a->thread, &clock) != 0 || clock_gettime(clock, &t) < 0)
		return 0;
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* How long it has waited for a CPU so far; *is_ready: it waits for one now, or runs. */
static int64_t ready_ns_of(const struct apart *a, bool *is_ready)
{
	char path[64], text[1024];
	struct proc_stat stat;
	*is_ready = !a->tid;
	if (!a->tid)
		return 0;
	snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)a->tid);
	*is_ready = fsio_read_small(AT_FDCWD, path, text, sizeof text) > 0 && proc_parse_stat(text, &stat) == 0 && stat.state == 'R';
	snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", (int)a->tid);
	int64_t ns = fsio_read_small(AT_FDCWD, path, text, sizeof text) > 0 ? proc_parse_schedstat(text) : 0;
	return ns > 0 ? ns : 0;
}

int64_t apart_until_ms(const struct apart_signs *s, int64_t now_ms, int64_t patience_ms, int64_t until_ms)
{
	int64_t later_ms = until_ms + s->ready_ns / 1000000;
	if (s->ran_ns >= s->passed_ms * 1000000 / 100 * COMPUTES_PERCENT)
		later_ms = now_ms + patience_ms;
	else if (s->is_ready && later_ms < now_ms + SLICE_MS)
		later_ms = now_ms + SLICE_MS;
	return later_ms > until_ms ? later_ms : until_ms;
}

static void look_whether_it_computes(struct apart *a, int64_t now_ms)
{
	struct apart_clocks *c = &a->clocks;
	struct apart_signs s = {.passed_ms = now_ms - a->looked_ms};
	struct apart_clocks now = {cpu_ns_of(a), ready_ns_of(a, &s.is_ready)};
	s.ran_ns = now.cpu_ns - c->cpu_ns;
	s.ready_ns = now.ready_ns - c->ready_ns;
	int64_t until_ms = apart_until_ms(&s, now_ms, a->patience_ms, a->patient_until_ms);
	until_ms = until_ms < a->computing_until_ms ? until_ms : a->computing_until_ms;
	a->patient_until_ms = a->patient_until_ms > until_ms ? a->patient_until_ms : until_ms;
	*c = now;
	a->looked_ms = now_ms;
}

/* How long until it is looked at next. With the lock held. */
static int64_t slice_end_ms(const struct apart *a)
{
	return a->patient_until_ms < a->looked_ms + SLICE_MS ? a->patient_until_ms : a->looked_ms + SLICE_MS;
}

/* After a slice of waiting. With the lock held. */
static void end_slice(struct apart *a, int64_t now_ms)
{
	int64_t until_ms = slice_end_ms(a);
	if (now_ms > until_ms + SLICE_MS) /* we could not run ourselves, so the call could not either */
		a->patient_until_ms += now_ms - until_ms;
	if (!a->done)
		look_whether_it_computes(a, now_ms);
	if (!a->done && a->turn)
		a->turn(a->ctx);
}

/* With the lock held: before the thread can take it off, and end. */
static void give_up(struct apart *a)
{
	a->given_up = true;
	atomic_store(&a->stop, true);
	add_hanging(a->place);
	pthread_detach(a->thread);
}

/* True when it is done; else it is given up from now on. */
static bool wait_done(struct apart *a)
{
	pthread_mutex_lock(&a->lock);
	while (!a->done && clock_mono_ms() < a->patient_until_ms) {
		thread_cond_wait_until(&a->changed, &a->lock, slice_end_ms(a));
		end_slice(a, clock_mono_ms());
	}
	bool done = a->done;
	if (!done)
		give_up(a);
	pthread_mutex_unlock(&a->lock);
	return done;
}

struct apart *apart_begin(const char *place, apart_fn *fn, void *ctx, void (*release)(void *ctx), int64_t patience_ms, struct err *e)
{
	if (refuse_hanging(place, e) < 0) {
		release(ctx);
		return NULL;
	}
	struct apart *a = apart_new(place, fn, ctx, release, patience_ms);
	if (thread_start(&a->thread, "apart", STACK_BYTES, run_apart_thread, a, e) < 0) {
		apart_free(a);
		release(ctx);
		return NULL;
	}
	a->looked_ms = clock_mono_ms();
	a->clocks = (struct apart_clocks){.cpu_ns = cpu_ns_of(a)};
	return a;
}

static int has_hung(const char *place, struct err *e)
{
	LOG_WARN("apart", "a call into a pod hangs; it is left alone", LOG_S("place", place), LOG_I("hanging", (int64_t)apart_hanging()));
	return err_set_reason(e, ERR_TIMEOUT, REASON_ProcessUnresponsive,
			      "a look into its files or memory does not return: a file system of the container does not answer");
}

static void finish_apart(struct apart *a)
{
	pthread_join(a->thread, NULL);
	apart_free(a);
}

int apart_run(const char *place, apart_fn *fn, void *ctx, void (*release)(void *ctx), int64_t patience_ms, struct err *e)
{
	struct apart *a = apart_begin(place, fn, ctx, release, patience_ms, e);
	if (!a)
		return -1;
	if (!wait_done(a))
		return has_hung(place, e);
	finish_apart(a);
	return 0;
}

int apart_poll(struct apart *a, struct err *e)
{
	char place[APART_PLACE_SIZE];
	pthread_mutex_lock(&a->lock);
	int64_t now_ms = clock_mono_ms();
	memcpy(place, a->place, sizeof place);
	if (!a->done && now_ms >= slice_end_ms(a))
		end_slice(a, now_ms);
	bool done = a->done, hangs = !done && now_ms >= a->patient_until_ms;
	if (hangs)
		give_up(a);
	pthread_mutex_unlock(&a->lock); /* who has given up knows nothing of it any more */
	if (hangs)
		return has_hung(place, e);
	if (done)
		finish_apart(a);
	return done;
}

void apart_drop(struct apart *a)
{
	if (!a)
		return;
	pthread_mutex_lock(&a->lock);
	bool done = a->done;
	a->dropped = true;
	if (!done)
		give_up(a);
	pthread_mutex_unlock(&a->lock);
	if (!done)
		return;
	a->release(a->ctx);
	finish_apart(a);
}

void apart_alive(struct apart *a, int64_t patience_ms)
{
	pthread_mutex_lock(&a->lock);
	be_patient(a, patience_ms);
	pthread_mutex_unlock(&a->lock);
}

void apart_meanwhile(struct apart *a, void (*turn)(void *ctx))
{
	pthread_mutex_lock(&a->lock);
	a->turn = turn;
	pthread_mutex_unlock(&a->lock);
}

bool apart_hold(struct apart *a)
{
	pthread_mutex_lock(&a->lock);
	if (!a->given_up)
		return true;
	pthread_mutex_unlock(&a->lock);
	return false;
}

void apart_let_go(struct apart *a)
{
	pthread_mutex_unlock(&a->lock);
}
