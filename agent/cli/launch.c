#include "agent/cli/launch.h"

#include "agent/diag/diag_ipc.h"
#include "agent/diag/diag_port.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/mem.h"
#include "common/base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORTS_VARIABLE "DOTNET_DiagnosticPorts"
#define ADVERT_MS 1000
#define RESUME_MS 5000
#define VISITORS_MOST 1024

struct visitor {
	uint8_t cookie[16];
	int fd; /* its connection at rest: closed, it would come again at once */
};

struct launch {
	pid_t pid;
	int pid_fd, signal_fd, cancel_fd, quit_fd;
	sigset_t before; /* the mask of signals that the command starts with */
	struct diag_port port;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock */
	struct diag_visitor held; /* the first one; fd -1: not there yet, or let go */
	bool released, ended, canceled;
	/* the thread's */
	struct visitor *visitors;
	size_t visitor_count, visitor_cap;
};

/* the command ------------------------------------------------------------------------------------------------------ */

/* In the child: only what may be called between fork and exec. Returns only by exiting. */
static void run_command(char *const argv[], const sigset_t *mask, int errno_fd)
{
	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execvp(argv[0], argv);
	int why = errno;
	(void)!write(errno_fd, &why, sizeof why);
	_exit(why == ENOENT ? LAUNCH_NOT_FOUND : LAUNCH_NOT_EXECUTABLE);
}

/* The variable is inherited by way of our own environment, and taken out of it again. */
static int fork_command(struct launch *l, char *const argv[], struct err *e)
{
	AUTO_FREE char *before = getenv(PORTS_VARIABLE) ? mem_strdup(getenv(PORTS_VARIABLE)) : NULL;
	AUTO_FREE char *ports = diag_port_variable(&l->port, before);
	int told[2], why;

	if (pipe2(told, O_CLOEXEC) < 0)
		return err_set_errno(e, errno, "pipe");
	setenv(PORTS_VARIABLE, ports, 1);
	l->pid = fork();
	if (l->pid == 0)
		run_command(argv, &l->before, told[1]);
	int fork_errno = errno;
	if (before)
		setenv(PORTS_VARIABLE, before, 1);
	else
		unsetenv(PORTS_VARIABLE);
	close(told[1]);
	ssize_t n = l->pid < 0 ? 0 : read(told[0], &why, sizeof why);
	close(told[0]);
	if (l->pid < 0)
		return err_set_errno(e, fork_errno, "cannot start %s", argv[0]);
	if (n != sizeof why)
		return 0;
	waitpid(l->pid, NULL, 0);
	l->pid = -1;
	err_set_errno(e, why, "cannot start %s", argv[0]);
	if (e)
		e->code = why == ENOENT ? LAUNCH_NOT_FOUND : LAUNCH_NOT_EXECUTABLE;
	return -1;
}

/* the thread ------------------------------------------------------------------------------------------------------- */

static void resume_visitor(const struct diag_visitor *v)
{
	struct err e = ERR_INIT;

	if (diag_ipc_resume(v->fd, clock_mono_ms() + RESUME_MS, &e) < 0)
		LOG_WARN("launch", "a runtime did not go on", LOG_I("pid", v->pid), LOG_S("why", e.message));
	close(v->fd);
}

static struct visitor *find_visitor(struct launch *l, const struct diag_visitor *v)
{
	for (size_t i = 0; i < l->visitor_count; i++)
		if (memcmp(l->visitors[i].cookie, v->cookie, sizeof v->cookie) == 0)
			return &l->visitors[i];
	return NULL;
}

/* One that has come before was let go then, or is held. */
static void receive_visitor(struct launch *l)
{
	struct diag_visitor v;

	if (diag_port_accept(&l->port, clock_mono_ms() + ADVERT_MS, &v) < 0)
		return;
	struct visitor *known = find_visitor(l, &v);
	if (known) {
		if (known->fd >= 0)
			close(known->fd);
		known->fd = v.fd;
		return;
	}
	if (l->visitor_count < VISITORS_MOST) {
		GROW(l->visitors, l->visitor_count, l->visitor_cap);
		l->visitors[l->visitor_count] = (struct visitor){.fd = -1};
		memcpy(l->visitors[l->visitor_count++].cookie, v.cookie, sizeof v.cookie);
	}
	pthread_mutex_lock(&l->lock);
	bool first = !l->held.pid && !l->released;
	if (first) {
		l->held = v;
		pthread_cond_broadcast(&l->changed);
	}
	pthread_mutex_unlock(&l->lock);
	if (!first)
		resume_visitor(&v);
}

/* A terminal's signal has reached the command already: it goes to all of the foreground's processes. */
static void pass_signal(struct launch *l)
{
	struct signalfd_siginfo s;
	uint64_t one = 1;

	if (read(l->signal_fd, &s, sizeof s) != sizeof s)
		return;
	if (s.ssi_code != SI_KERNEL)
		syscall(SYS_pidfd_send_signal, l->pid_fd, (int)s.ssi_signo, NULL, 0);
	if (s.ssi_signo == SIGUSR1 || s.ssi_signo == SIGUSR2)
		return;
	(void)!write(l->cancel_fd, &one, sizeof one);
	pthread_mutex_lock(&l->lock);
	l->canceled = true;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

static void note_end(struct launch *l)
{
	pthread_mutex_lock(&l->lock);
	l->ended = true;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

static void *serve_launch(void *launch)
{
	struct launch *l = launch;
	struct pollfd on[] = {
		{.fd = l->quit_fd, .events = POLLIN},
		{.fd = l->signal_fd, .events = POLLIN},
		{.fd = l->port.fd, .events = POLLIN},
		{.fd = l->pid_fd, .events = POLLIN},
	};

	for (;;) {
		if (poll(on, sizeof on / sizeof *on, -1) < 0 && errno != EINTR)
			return NULL;
		if (on[0].revents)
			return NULL;
		if (on[1].revents)
			pass_signal(l);
		if (on[2].revents)
			receive_visitor(l);
		if (on[3].revents) {
			note_end(l);
			on[3].fd = -1;
		}
	}
}

/* the caller's ----------------------------------------------------------------------------------------------------- */

static int catch_signals(struct launch *l, struct err *e)
{
	static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
		sigaddset(&set, passed[i]);
	sigprocmask(SIG_BLOCK, &set, &l->before);
	l->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return l->signal_fd >= 0 ? 0 : err_set_errno(e, errno, "signalfd");
}

static int make_events(struct launch *l, struct err *e)
{
	l->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	l->quit_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return l->cancel_fd >= 0 && l->quit_fd >= 0 ? 0 : err_set_errno(e, errno, "eventfd");
}

static int watch_command(struct launch *l, struct err *e)
{
	l->pid_fd = (int)syscall(SYS_pidfd_open, l->pid, 0);
	if (l->pid_fd < 0)
		return err_set_errno(e, errno, "pidfd_open");
	return thread_start(&l->thread, "launch", THREAD_STACK_USUAL, serve_launch, l, e);
}

static void free_launch(struct launch *l)
{
	int *const fds[] = {&l->pid_fd, &l->signal_fd, &l->cancel_fd, &l->quit_fd, &l->held.fd};

	for (size_t i = 0; i < l->visitor_count; i++)
		if (l->visitors[i].fd >= 0)
			close(l->visitors[i].fd);
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		if (*fds[i] >= 0)
			close(*fds[i]);
	diag_port_close(&l->port);
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->changed);
	free(l->visitors);
	free(l);
}

struct launch *launch_start(char *const argv[], struct err *e)
{
	struct launch *l = mem_alloc(sizeof *l);

	l->pid = -1;
	l->pid_fd = l->signal_fd = l->cancel_fd = l->quit_fd = l->held.fd = l->port.fd = -1;
	pthread_mutex_init(&l->lock, NULL);
	thread_cond_init(&l->changed);
	if (diag_port_open(&l->port, e) == 0 && catch_signals(l, e) == 0 && make_events(l, e) == 0 && fork_command(l, argv, e) == 0 &&
	    watch_command(l, e) == 0)
		return l;
	if (l->pid > 0) { /* it would wait for us for ever */
		kill(l->pid, SIGKILL);
		waitpid(l->pid, NULL, 0);
	}
	free_launch(l);
	return NULL;
}

pid_t launch_await_runtime(struct launch *l, int64_t deadline_ms, struct err *e)
{
	pid_t found = -1;

	pthread_mutex_lock(&l->lock);
	while (!l->held.pid && !l->ended && !l->canceled && thread_cond_wait_until(&l->changed, &l->lock, deadline_ms) == 0)
		;
	if (l->held.pid)
		found = l->held.pid;
	else if (l->ended)
		err_set(e, ERR_GONE, 0, "the command ended before a .NET process of it had started");
	else if (l->canceled)
		err_set(e, ERR_GONE, 0, "ended early on request, before a .NET process had started");
	else
		err_set(e, ERR_TIMEOUT, 0, "the command has started no .NET process that opens its diagnostics port");
	pthread_mutex_unlock(&l->lock);
	return found;
}

void launch_release(void *launch)
{
	struct launch *l = launch;

	pthread_mutex_lock(&l->lock);
	struct diag_visitor v = l->held;
	bool waits = !l->released && v.fd >= 0;
	l->released = true;
	l->held.fd = -1;
	pthread_mutex_unlock(&l->lock);
	if (waits)
		resume_visitor(&v);
}

int launch_cancel_fd(const struct launch *l)
{
	return l->cancel_fd;
}

int launch_finish(struct launch *l)
{
	uint64_t one = 1;
	int status = 0;

	launch_release(l);
	while (waitpid(l->pid, &status, 0) < 0 && errno == EINTR)
		;
	(void)!write(l->quit_fd, &one, sizeof one);
	pthread_join(l->thread, NULL);
	free_launch(l);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
