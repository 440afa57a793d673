/* as_pid PID PROGRAM ARGS...: runs the program as the process with this number, as if the number had come round again. 75: it is in use. */
#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: as_pid PID PROGRAM ARGS...\n");
		return 2;
	}
	pid_t wanted = atoi(argv[1]);
	struct clone_args how = {.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&wanted, .set_tid_size = 1};
	long child = syscall(SYS_clone3, &how, sizeof how);
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		execvp(argv[2], argv + 2);
		_exit(127);
	}
	if (child < 0) {
		perror("clone3");
		return errno == EEXIST ? 75 : 1;
	}
	int status;
	waitpid((pid_t)child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
