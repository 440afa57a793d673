#include "agent/locks/thread_wait.h"

#include "common/api/reason.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

Test(thread_wait, a_system_call_has_its_number_and_the_registers)
{
	struct thread_wait t;
	cr_assert_eq(thread_wait_parse_syscall("202 0x7f10 0x189 0x0 0x0 0x0 0xffffffff 0x7ffdaa10 0x7f22bb31\n", &t), 0);
	cr_assert_eq(t.system_call, 202);
	cr_assert_eq(t.sp, 0x7ffdaa10u);
	cr_assert_eq(t.ip, 0x7f22bb31u);
	cr_assert_not(t.timed);
	cr_assert_eq(thread_wait_parse_syscall("202 0x7f10 0x189 0x0 0x7ffd1000 0x0 0xffffffff 0x7ffdaa10 0x7f22bb31\n", &t), 0);
	cr_assert(t.timed);
	cr_assert_eq(thread_wait_parse_syscall("7 0x7f10 0x1 0x0 0x7ffd1000 0x0 0x0 0x7ffdaa10 0x7f22bb31\n", &t), 0);
	cr_assert_not(t.timed, "only a futex's fourth argument is that");
}

Test(thread_wait, a_thread_in_no_call_or_running_has_none)
{
	struct thread_wait t;
	cr_assert_eq(thread_wait_parse_syscall("-1 0x7ffdaa10 0x7f22bb31\n", &t), 0);
	cr_assert_eq(t.system_call, -1);
	cr_assert_eq(t.sp, 0x7ffdaa10u);
	cr_assert_eq(thread_wait_parse_syscall("running\n", &t), 0);
	cr_assert_eq(t.system_call, -1);
	cr_assert_eq(t.sp, 0);
}

Test(thread_wait, other_texts_are_refused)
{
	static const char *const texts[] = {"", "x", "202", "202 0x1 0x2", "-1", "-1 0x1", "202 0x1 0x2 0x3 0x4 0x5 0x6 0x7"};
	struct thread_wait t;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		cr_assert_eq(thread_wait_parse_syscall(texts[i], &t), -1, "%s", texts[i]);
}

Test(thread_wait, a_process_that_has_ended_has_no_threads)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	siginfo_t info;
	cr_assert_eq(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	char path[64];
	snprintf(path, sizeof path, "/proc/%d", (int)pid);
	int fd = open(path, O_RDONLY | O_DIRECTORY);
	struct thread_wait *list = NULL;
	bool more;
	cr_expect_eq(thread_wait_list(fd, &list, &more), 0);
	free(list);
	close(fd);
	waitpid(pid, NULL, 0);
}

Test(thread_wait, the_scheduler_tells_how_often_a_thread_ran)
{
	struct thread_times times;
	cr_assert_eq(thread_wait_parse_schedstat("1849323 22100 57\n", &times), 0);
	cr_assert(times.run_ns == 1849323 && times.delay_ns == 22100 && times.ran == 57);
	cr_assert_eq(thread_wait_parse_schedstat("1849323 22100", &times), -1);
	cr_assert_eq(thread_wait_parse_schedstat("", &times), -1);
}

Test(thread_wait, a_thread_of_a_process_is_asked_for_little)
{
	int task_fd = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct thread_wait t;
	struct thread_times times = {0};
	cr_assert_eq(thread_wait_times(task_fd, getpid(), &times), 0);
	cr_assert(times.ran > 0);
	cr_assert_eq(thread_wait_call(task_fd, getpid(), &t), 0);
	cr_assert_eq(thread_wait_times(task_fd, 1 << 30, &times), -1);
	cr_assert_eq(thread_wait_call(task_fd, 1 << 30, &t), -1);
	close(task_fd);
}

/* Of this process, with so many descriptors to open below the first that is free. */
static int list_with_descriptors(int proc_fd, int more)
{
	struct thread_wait *list = NULL;
	struct rlimit before, now;
	bool full;
	int free_fd = dup(proc_fd);
	close(free_fd);
	getrlimit(RLIMIT_NOFILE, &before);
	now = (struct rlimit){(rlim_t)(free_fd + more), before.rlim_max};
	setrlimit(RLIMIT_NOFILE, &now);
	ssize_t count = thread_wait_list(proc_fd, &list, &full);
	int why = count < 0 ? errno : 0;
	setrlimit(RLIMIT_NOFILE, &before);
	cr_expect(count >= 1 || why, "no thread, and nothing that speaks of it");
	free(list);
	return why;
}

Test(thread_wait, without_descriptors_of_our_own_no_thread_is_called_ended)
{
	struct err e = ERR_INIT;
	int proc_fd = open("/proc/self", O_RDONLY | O_DIRECTORY);
	cr_expect_eq(list_with_descriptors(proc_fd, 0), EMFILE);
	cr_expect_eq(list_with_descriptors(proc_fd, 1), EMFILE, "enough for the list, not for its threads");
	cr_expect_eq(list_with_descriptors(proc_fd, 8), 0);
	close(proc_fd);
	cr_assert_eq(thread_wait_explain(EMFILE, &e), -1);
	cr_expect_str_eq(e.reason, REASON_AgentLimitReached);
	cr_expect_str_eq(e.message, "the process's threads could not be looked at: the agent may open no more descriptors (its RLIMIT_NOFILE)");
}

Test(thread_wait, what_a_refusal_means)
{
	static const struct {
		int errnum;
		const char *reason;
	} refusals[] = {{ENFILE, REASON_AgentLimitReached}, {ENOMEM, REASON_AgentLimitReached}, {EACCES, REASON_PermissionDenied}, {EIO, REASON_InternalError}};
	for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
		struct err e = ERR_INIT;
		cr_assert_eq(thread_wait_explain(refusals[i].errnum, &e), -1);
		cr_expect_str_eq(e.reason, refusals[i].reason);
	}
	cr_expect_eq(thread_wait_explain(ENOENT, NULL), 0, "the process has ended");
	cr_expect_eq(thread_wait_explain(ESRCH, NULL), 0);
}
