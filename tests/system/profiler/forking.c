/* Preloaded into a target: once the file FORK_FLAG is there, the process forks, and the file holds the child's number. The child does
 * nothing, without another program in it, and ends with its parent. FORK_THREAD: the name of the thread that waits for it. gcc -shared -fPIC forking.c */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static const char *flag;

static void fork_child(void)
{
	char text[16], path[4096];
	pid_t child = fork();

	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	snprintf(path, sizeof path, "%s.new", flag);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	int len = snprintf(text, sizeof text, "%d", (int)child);
	if (fd < 0 || write(fd, text, (size_t)len) != len || close(fd) < 0 || rename(path, flag) < 0)
		abort();
}

__attribute__((noreturn)) static void *wait_for_flag(void *unused)
{
	const struct timespec moment = {.tv_nsec = 5000000};

	(void)unused;
	if (getenv("FORK_THREAD"))
		prctl(PR_SET_NAME, getenv("FORK_THREAD"), 0, 0, 0);
	while (access(flag, F_OK) < 0)
		nanosleep(&moment, NULL);
	fork_child();
	for (;;)
		pause(); /* the child ends when the thread does that made it */
}

__attribute__((constructor)) static void begin(void)
{
	sigset_t all, before;
	pthread_t thread;

	flag = getenv("FORK_FLAG");
	if (!flag)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	if (pthread_create(&thread, NULL, wait_for_flag, NULL))
		abort();
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}
