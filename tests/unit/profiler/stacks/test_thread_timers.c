#include "profiler/stacks/thread_timers.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIGNO (SIGRTMIN + 3)
#define PERIOD_NS 10000000u
#define SLEEPERS (THREAD_TIMERS_MAX + 100)

static _Atomic unsigned signals;
static _Atomic bool over, in_vfork;
static _Atomic unsigned started;
static int sleep_pipe[2];

static void on_signal(int signo)
{
	(void)signo;
	atomic_fetch_add(&signals, 1);
}

static void *sleep_on(void *unused)
{
	char c;

	atomic_fetch_add(&started, 1);
	while (read(sleep_pipe[0], &c, 1) < 0)
		;
	return unused;
}

static void *spin(void *unused)
{
	atomic_fetch_add(&started, 1);
	while (!atomic_load(&over))
		;
	return unused;
}

static void start(pthread_t *thread, void *(*run)(void *))
{
	pthread_attr_t small;

	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * 1024);
	cr_assert_eq(pthread_create(thread, &small, run, NULL), 0);
	pthread_attr_destroy(&small);
}

static void begin(void)
{
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	cr_assert_eq(sigaction(SIGNO, &a, NULL), 0);
	cr_assert_eq(pipe(sleep_pipe), 0);
	thread_timers_reset();
}

/* Room is for fewer threads than there are; the one that uses CPU is the last. */
Test(thread_timers, who_runs_has_a_timer)
{
	static pthread_t sleepers[SLEEPERS], spinner;

	begin();
	start(&sleepers[0], sleep_on);
	uint32_t others = (uint32_t)thread_timers_update(SIGNO, PERIOD_NS) - 1; /* of the test's frame */
	for (unsigned i = 1; i < SLEEPERS; i++)
		start(&sleepers[i], sleep_on);
	start(&spinner, spin);
	while (atomic_load(&started) < SLEEPERS + 1)
		usleep(1000);
	int added = thread_timers_update(SIGNO, PERIOD_NS);
	cr_expect_eq(added, SLEEPERS, "%d", added);
	cr_expect_eq(thread_timers_count(), THREAD_TIMERS_MAX);
	while (atomic_load(&signals) < 3) { /* the test's time limit is the bound */
		thread_timers_update(SIGNO, PERIOD_NS);
		usleep(50000);
	}
	struct thread_timers_missed missed = thread_timers_missed();
	cr_expect(missed.threads == 0 && missed.cpu_ns > 0 && !missed.unknown, "%u %llu", missed.threads, (unsigned long long)missed.cpu_ns);
	atomic_store(&over, true);
	close(sleep_pipe[1]);
	for (unsigned i = 0; i < SLEEPERS; i++)
		pthread_join(sleepers[i], NULL);
	pthread_join(spinner, NULL);
	do /* the kernel lists a thread that was joined for a moment more */
		cr_assert_eq(thread_timers_update(SIGNO, PERIOD_NS), 0);
	while (thread_timers_count() > others);
	thread_timers_delete_all();
	cr_expect_eq(thread_timers_count(), 0);
}

static int wait_for_a_byte(void *unused)
{
	char c;

	(void)unused;
	atomic_store(&in_vfork, true);
	while (syscall(SYS_read, sleep_pipe[0], &c, 1) < 0)
		;
	return 0;
}

/* A thread that waits for its child to go on is in an uninterruptible sleep ('D'), by a system call. Not by vfork(2), which is a fork(2) under
 * ThreadSanitizer. */
static void *wait_in_vfork(void *unused)
{
	static _Alignas(16) char stack[64 * 1024];

	pid_t child = clone(wait_for_a_byte, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	cr_assert_gt(child, 0);
	waitpid(child, NULL, 0);
	return unused;
}

Test(thread_timers, a_thread_in_a_system_call_is_settled)
{
	pthread_t thread;

	begin();
	start(&thread, wait_in_vfork);
	while (!atomic_load(&in_vfork))
		usleep(1000);
	thread_timers_update(SIGNO, PERIOD_NS);
	thread_timers_delete_all();
	thread_timers_mark();
	cr_expect(thread_timers_settle());
	cr_expect_eq(write(sleep_pipe[1], "x", 1), 1);
	pthread_join(thread, NULL);
}

static int to_debugged[2], from_debugged[2];

static void *tell_and_spin(void *unused)
{
	int32_t tid = (int32_t)syscall(SYS_gettid);

	cr_assert_eq(write(from_debugged[1], &tid, sizeof tid), sizeof tid);
	return spin(unused);
}

static void be_debugged(void)
{
	pthread_t thread;
	char c;

	start(&thread, tell_and_spin);
	cr_assert_eq(read(to_debugged[0], &c, 1), 1);
	thread_timers_mark();
	bool settled = thread_timers_settle();
	cr_assert_eq(write(from_debugged[1], &settled, sizeof settled), sizeof settled);
	pause();
}

/* What is held where it runs, by a debugger, may be anywhere: waiting for it has a bound. */
Test(thread_timers, a_thread_that_does_not_go_on_is_not_settled)
{
	bool settled = true;
	int32_t tid;
	int status;

	cr_assert(pipe(to_debugged) == 0 && pipe(from_debugged) == 0);
	pid_t child = fork();
	if (child == 0)
		be_debugged();
	cr_assert_eq(read(from_debugged[0], &tid, sizeof tid), sizeof tid);
	cr_assert_eq(ptrace(PTRACE_SEIZE, tid, NULL, NULL), 0);
	cr_assert_eq(ptrace(PTRACE_INTERRUPT, tid, NULL, NULL), 0);
	cr_assert_eq(waitpid(tid, &status, __WALL), tid);
	cr_assert_eq(write(to_debugged[1], "x", 1), 1);
	cr_assert_eq(read(from_debugged[0], &settled, sizeof settled), sizeof settled);
	cr_expect_not(settled);
	kill(child, SIGKILL);
	waitpid(tid, &status, __WALL); /* before the process: its end is told when its threads have been asked for */
	waitpid(child, &status, 0);
}
