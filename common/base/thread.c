#include "common/base/thread.h"

#include "common/base/mem.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>

struct start {
	const char *name;
	void *(*run)(void *arg);
	void *arg;
};

/* The thread names itself: one that nobody joins may be over before another could do it. */
static void *run_named(void *arg)
{
	struct start s = *(struct start *)arg;
	free(arg);
	pthread_setname_np(pthread_self(), s.name);
	return s.run(s.arg);
}

/* A thread inherits what is blocked when it is made. */
static void block_signals(sigset_t *before)
{
	static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT};
	sigset_t others;
	sigfillset(&others);
	for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
		sigdelset(&others, faults[i]);
	pthread_sigmask(SIG_BLOCK, &others, before);
}

int thread_start(pthread_t *out, const char *name, size_t stack_bytes, void *(*run)(void *arg), void *arg, struct err *e)
{
	struct start *s = mem_alloc(sizeof *s);
	*s = (struct start){name, run, arg};
	pthread_attr_t attr;
	pthread_attr_init(&attr);
	if (stack_bytes)
		pthread_attr_setstacksize(&attr, stack_bytes);
	if (!out)
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigset_t before;
	pthread_t ignored;
	block_signals(&before);
	int rc = pthread_create(out ? out : &ignored, &attr, run_named, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (rc == 0)
		return 0;
	free(s);
	return err_set_errno(e, rc, "cannot start the thread \"%s\"", name);
}

void thread_cond_init(pthread_cond_t *cond)
{
	pthread_condattr_t attr;
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(cond, &attr);
	pthread_condattr_destroy(&attr);
}

int thread_cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t mono_ms)
{
	if (mono_ms == INT64_MAX)
		return pthread_cond_wait(cond, lock);
	struct timespec until = {.tv_sec = mono_ms / 1000, .tv_nsec = mono_ms % 1000 * 1000000};
	return pthread_cond_timedwait(cond, lock, &until);
}
