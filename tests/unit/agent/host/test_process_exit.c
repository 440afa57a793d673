#include "agent/host/process_exit.h"
#include "agent/host/proc.h"
#include "common/base/cleanup.h"

#include <criterion/criterion.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BEFORE(state, threads) "7 (a) b) " state " 3 1 1 0 -1 4194304 1 0 2 0 11 22 0 0 20 0 " threads " 0 12345 0 0 18446744073709551615"
#define BETWEEN " 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0"

Test(process_exit, reads_the_status_of_a_process_that_has_ended)
{
	static const struct {
		const char *text;
		int status;
	} rows[] = {
		{BEFORE("Z", "1") BETWEEN " 134", 134},	 {BEFORE("X", "0") BETWEEN " 768", 768}, {BEFORE("R", "1") BETWEEN " 134", -1},
		{BEFORE("Z", "2") BETWEEN " 134", -1},	 {BEFORE("Z", "1") BETWEEN, -1},	 {BEFORE("Z", "1"), -1},
		{BEFORE("Z", "1") BETWEEN " 65536", -1}, {BEFORE("Z", "1") BETWEEN " -1", -1},	 {"", -1},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(process_exit_parse_stat(rows[i].text), rows[i].status, "%zu: %d", i, process_exit_parse_stat(rows[i].text));
}

/* Ends by a signal, or with a code; what is known of it before its parent waits for it, and after. */
static void check_end(int signal, int code, int64_t wanted, const char *name)
{
	pid_t pid = fork();
	if (pid == 0 && signal)
		raise(signal);
	if (pid == 0)
		_exit(code);
	AUTO_FD int pid_fd = (int)syscall(SYS_pidfd_open, pid, 0), proc_fd = proc_open(PROC_ROOT, pid);
	struct pollfd ended = {.fd = pid_fd, .events = POLLIN};
	cr_assert_eq(poll(&ended, 1, 30000), 1);
	struct exit_status s = process_exit_read(proc_fd, -1);
	cr_expect(s.known, "its parent has not waited for it");
	cr_expect_eq(s.code, wanted);
	cr_expect_eq(waitpid(pid, NULL, 0), pid);
	cr_expect_not(process_exit_read(proc_fd, -1).known);
	s = process_exit_read(proc_fd, pid_fd);
	if (!s.known)
		return; /* a kernel before 6.15 */
	cr_expect_eq(s.code, wanted);
	cr_expect_str_eq(s.signal ? s.signal : "", name);
}

Test(process_exit, of_processes)
{
	check_end(0, 0, 0, "");
	check_end(0, 134, 134, "");
	check_end(SIGKILL, 0, 137, "SIGKILL");
	cr_expect_not(process_exit_read(-1, -1).known);
}

Test(process_exit, a_process_that_runs_has_not_ended)
{
	AUTO_FD int pid_fd = (int)syscall(SYS_pidfd_open, getpid(), 0), proc_fd = proc_open(PROC_ROOT, getpid());
	cr_expect_not(process_exit_read(proc_fd, pid_fd).known);
}
