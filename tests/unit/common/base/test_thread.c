#include "common/base/thread.h"

#include "common/base/clock.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

struct seen {
	char name[16];
	size_t stack_bytes;
	sigset_t blocked;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool done;
};

static void *look(void *arg)
{
	struct seen *s = arg;
	pthread_attr_t attr;
	void *stack;
	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &stack, &s->stack_bytes);
	pthread_attr_destroy(&attr);
	pthread_getname_np(pthread_self(), s->name, sizeof s->name);
	pthread_sigmask(SIG_BLOCK, NULL, &s->blocked);
	pthread_mutex_lock(&s->lock);
	s->done = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->lock);
	return s;
}

static void check(const struct seen *s)
{
	cr_expect_str_eq(s->name, "a-thread");
	cr_expect_eq(sigismember(&s->blocked, SIGTERM), 1, "signals are for the main thread");
	cr_expect_eq(sigismember(&s->blocked, SIGSEGV), 0, "a fault is the thread's own");
}

Test(thread, has_a_name_a_stack_and_no_signals)
{
	struct seen s = {.lock = PTHREAD_MUTEX_INITIALIZER};
	sigset_t before, after;
	pthread_t thread;
	void *result = NULL;
	struct err e = ERR_INIT;
	thread_cond_init(&s.changed);
	pthread_sigmask(SIG_BLOCK, NULL, &before);
	cr_assert_eq(thread_start(&thread, "a-thread", 1 << 20, look, &s, &e), 0, "%s", e.message);
	pthread_sigmask(SIG_BLOCK, NULL, &after);
	cr_assert_eq(pthread_join(thread, &result), 0);
	cr_expect_eq(result, &s);
	check(&s);
	cr_expect(s.stack_bytes >= 1 << 20 && s.stack_bytes < 2 << 20, "%zu", s.stack_bytes);
	cr_expect_eq(sigismember(&before, SIGTERM), sigismember(&after, SIGTERM), "the starter blocks what it did before");
}

Test(thread, nobody_need_join)
{
	static struct seen s = {.lock = PTHREAD_MUTEX_INITIALIZER};
	thread_cond_init(&s.changed);
	cr_assert_eq(thread_start(NULL, "a-thread", THREAD_STACK_USUAL, look, &s, NULL), 0);
	pthread_mutex_lock(&s.lock);
	while (!s.done)
		cr_assert_eq(thread_cond_wait_until(&s.changed, &s.lock, INT64_MAX), 0);
	pthread_mutex_unlock(&s.lock);
	check(&s);
}

Test(thread, too_large_a_stack_is_an_error)
{
	struct err e = ERR_INIT;
	pthread_t thread;
	cr_assert_eq(thread_start(&thread, "giant", (size_t)1 << 60, look, NULL, &e), -1);
	cr_expect(strstr(e.message, "\"giant\""), "%s", e.message);
}

Test(thread, waits_end_by_the_clock)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond;
	thread_cond_init(&cond);
	int64_t until_ms = clock_mono_ms() + 20;
	pthread_mutex_lock(&lock);
	int rc;
	while ((rc = thread_cond_wait_until(&cond, &lock, until_ms)) == 0)
		;
	pthread_mutex_unlock(&lock);
	cr_expect_eq(rc, ETIMEDOUT);
	cr_expect(clock_mono_ms() >= until_ms);
}
