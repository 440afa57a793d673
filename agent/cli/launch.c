#include "agent/cli/launch.h"

#include "agent/cli/hold.h"
#include "agent/diag/diag_port.h"
#include "agent/host/proc.h"
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
#define HOLD_MS 2000
#define LOOK_AFTER_MS 5000 /* a runtime that has started comes within moments */
#define LOOK_EACH_MS 1000
#define STRANGERS_MOST 64
#define GENERATIONS_MOST 64

struct launch {
	pid_t pid;
	int pid_fd, signal_fd, cancel_fd, quit_fd;
	sigset_t before; /* the mask of signals that the command starts with */
	struct diag_port port;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock */
	struct diag_visitor first; /* its connection rests: closed, it would come again at once; pid 0: not there yet */
	struct hold hold;          /* of the first */
	bool held, released, ended, canceled, stopped;
	/* the thread's */
	int strangers[STRANGERS_MOST]; /* connections that rest */
	size_t stranger_count;
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

/* Who left the tree of the command and changed its user could be anybody. */
static bool is_of_command(const struct launch *l, const struct diag_visitor *v)
{
	pid_t pid = v->pid;

	for (int i = 0; i < GENERATIONS_MOST && pid > 1 && pid != l->pid; i++) {
		struct proc_stat stat;
		AUTO_FD int fd = proc_open(PROC_ROOT, pid);
		pid = fd >= 0 && proc_read_stat(fd, &stat) == 0 ? stat.ppid : 0;
	}
	return pid == l->pid || v->uid == geteuid();
}

static void let_rest(struct launch *l, int fd)
{
	if (l->stranger_count < STRANGERS_MOST)
		l->strangers[l->stranger_count++] = fd;
	else
		close(fd);
}

static bool hold(struct hold *h, pid_t pid)
{
	struct err e = ERR_INIT;

	if (hold_start(h, pid, HOLD_MS, &e) == 0)
		return true;
	LOG_WARN("launch", "the process was not held at its start: what it did before sampling began is in no report", LOG_I("pid", pid),
		 LOG_S("why", e.message));
	return false;
}

/* True when the first .NET process is there. Others wait for nothing, and are left in the queue of the port. */
static bool receive_visitor(struct launch *l)
{
	struct diag_visitor v;

	if (diag_port_accept(&l->port, &v) < 0)
		return false;
	if (!is_of_command(l, &v) || diag_port_await_advert(&v, clock_mono_ms() + ADVERT_MS) < 0) {
		let_rest(l, v.fd);
		return false;
	}
	pthread_mutex_lock(&l->lock);
	l->first = v;
	l->held = !l->released && hold(&l->hold, v.pid);
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
	return true;
}

static void end_session(struct launch *l, bool stopped)
{
	uint64_t one = 1;

	(void)!write(l->cancel_fd, &one, sizeof one);
	pthread_mutex_lock(&l->lock);
	l->canceled = true;
	l->stopped |= stopped;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

/* As the terminal would have done, had the signal not been caught; until SIGCONT. */
static void stop_here(void)
{
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	pthread_sigmask(SIG_UNBLOCK, &stop, NULL);
	raise(SIGTSTP);
	pthread_sigmask(SIG_BLOCK, &stop, NULL);
}

static void send_signal(const struct launch *l, int signal)
{
	syscall(SYS_pidfd_send_signal, l->pid_fd, signal, NULL, 0);
}

/* A terminal's signal has reached the command already: it goes to all of the foreground's processes. */
static void pass_signal(struct launch *l)
{
	struct signalfd_siginfo s;

	if (read(l->signal_fd, &s, sizeof s) != sizeof s)
		return;
	bool pass = s.ssi_code != SI_KERNEL;
	if (pass)
		send_signal(l, (int)s.ssi_signo);
	if (s.ssi_signo == SIGUSR1 || s.ssi_signo == SIGUSR2)
		return;
	bool stop = s.ssi_signo == SIGTSTP;
	end_session(l, stop);
	if (!stop)
		return;
	launch_release(l);
	stop_here();
	if (pass)
		send_signal(l, SIGCONT);
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
		if (on[2].revents && receive_visitor(l))
			on[2].fd = -1;
		if (on[3].revents) {
			note_end(l);
			on[3].fd = -1;
		}
	}
}

/* the caller's ----------------------------------------------------------------------------------------------------- */

static int catch_signals(struct launch *l, struct err *e)
{
	static const int passed[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP};
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
	int *const fds[] = {&l->pid_fd, &l->signal_fd, &l->cancel_fd, &l->quit_fd, &l->first.fd};

	for (size_t i = 0; i < l->stranger_count; i++)
		close(l->strangers[i]);
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		if (*fds[i] >= 0)
			close(*fds[i]);
	diag_port_close(&l->port);
	pthread_mutex_destroy(&l->lock);
	pthread_cond_destroy(&l->changed);
	free(l);
}

struct launch *launch_start(char *const argv[], struct err *e)
{
	struct launch *l = mem_alloc(sizeof *l);

	l->pid = -1;
	l->pid_fd = l->signal_fd = l->cancel_fd = l->quit_fd = l->first.fd = l->port.fd = -1;
	pthread_mutex_init(&l->lock, NULL);
	thread_cond_init(&l->changed);
	if (diag_port_open(&l->port, e) == 0 && catch_signals(l, e) == 0 && make_events(l, e) == 0 && fork_command(l, argv, e) == 0 &&
	    watch_command(l, e) == 0)
		return l;
	if (l->pid > 0) { /* nobody would pass signals on to it */
		kill(l->pid, SIGKILL);
		waitpid(l->pid, NULL, 0);
	}
	free_launch(l);
	return NULL;
}

/* False when the time has come, and nothing else. */
static bool await_change(struct launch *l, int64_t deadline_ms)
{
	pthread_mutex_lock(&l->lock);
	while (!l->first.pid && !l->ended && !l->canceled && thread_cond_wait_until(&l->changed, &l->lock, deadline_ms) == 0)
		;
	bool changed = l->first.pid || l->ended || l->canceled;
	pthread_mutex_unlock(&l->lock);
	return changed;
}

/* A runtime that was seen twice, and has not come, will not. 0: there is none. */
static pid_t await_first(struct launch *l, int64_t deadline_ms)
{
	int64_t look_ms = clock_mono_ms() + LOOK_AFTER_MS;
	pid_t seen = 0;

	while (!await_change(l, look_ms < deadline_ms ? look_ms : deadline_ms) && clock_mono_ms() < deadline_ms) {
		pid_t now = diag_port_find_user(&l->port, true);
		if (now && now == seen)
			return now;
		seen = now;
		look_ms = clock_mono_ms() + LOOK_EACH_MS;
	}
	return 0;
}

pid_t launch_await_runtime(struct launch *l, int64_t deadline_ms, struct err *e)
{
	pid_t away = await_first(l, deadline_ms), found = -1;

	pthread_mutex_lock(&l->lock);
	if (l->first.pid)
		found = l->first.pid;
	else if (away)
		err_set(e, ERR_NOT_FOUND, 0,
			"process %d runs .NET, and has not come to the port %s: its user or mount namespace cannot reach it, or "
			"DOTNET_EnableDiagnostics=0; the command goes on, and \"drdotnet run %d\" profiles that process",
			(int)away, l->port.path, (int)away);
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
	if (l->held)
		hold_release(&l->hold);
	l->held = false;
	l->released = true;
	pthread_mutex_unlock(&l->lock);
}

int launch_cancel_fd(const struct launch *l)
{
	return l->cancel_fd;
}

bool launch_stopped(struct launch *l)
{
	pthread_mutex_lock(&l->lock);
	bool stopped = l->stopped;
	pthread_mutex_unlock(&l->lock);
	return stopped;
}

int launch_finish(struct launch *l)
{
	uint64_t one = 1;
	int status = 0;

	launch_release(l);
	while ((waitpid(l->pid, &status, 0) < 0 && errno == EINTR) || WIFSTOPPED(status))
		;
	(void)!write(l->quit_fd, &one, sizeof one);
	pthread_join(l->thread, NULL);
	free_launch(l);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
