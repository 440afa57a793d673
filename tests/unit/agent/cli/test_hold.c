/* A process that counts, held and let go. */
#include "agent/cli/hold.h"
#include "common/base/clock.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define LONG_MS 600000

static _Atomic int *count;
static pid_t pid;

static void set_up(void)
{
	count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	for (; pid == 0; usleep(1000))
		atomic_fetch_add(count, 1);
}

static void tear_down(void)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

TestSuite(hold, .init = set_up, .fini = tear_down, .timeout = 60);

static void expect_counting(void)
{
	int before = atomic_load(count);
	while (atomic_load(count) < before + 5)
		usleep(1000);
}

/* Once it has come to its next instruction. */
static void expect_still(void)
{
	int before;
	do {
		before = atomic_load(count);
		usleep(50000);
	} while (atomic_load(count) != before);
}

Test(hold, holds_until_it_is_released)
{
	struct hold h;
	cr_assert_eq(hold_start(&h, pid, LONG_MS, NULL), 0);
	expect_still();
	hold_release(&h);
	expect_counting();
}

Test(hold, is_no_longer_than_it_may_be)
{
	struct hold h;
	cr_assert_eq(hold_start(&h, pid, 100, NULL), 0);
	expect_counting();
	hold_release(&h);
}

Test(hold, ends_with_who_holds)
{
	pid_t holder = fork();
	if (holder == 0) {
		struct hold h;
		if (hold_start(&h, pid, LONG_MS, NULL) < 0)
			_exit(1);
		for (;;)
			pause();
	}
	expect_still();
	kill(holder, SIGKILL);
	expect_counting();
	waitpid(holder, NULL, 0);
}

Test(hold, a_signal_meanwhile_is_not_lost)
{
	struct hold h;
	int status = 0;
	cr_assert_eq(hold_start(&h, pid, LONG_MS, NULL), 0);
	expect_still();
	kill(pid, SIGTERM);
	hold_release(&h);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM, "status %x", status);
}

Test(hold, says_why_it_cannot)
{
	struct err e = ERR_INIT;
	struct hold h;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cr_expect_eq(hold_start(&h, pid, LONG_MS, &e), -1);
	cr_expect(strstr(e.message, strerror(ESRCH)), "%s", e.message);
}
