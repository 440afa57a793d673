#include "controller/kubectl/child.h"

#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOT_STARTED 127

static void push_word(char ***items, size_t *count, size_t *cap, char *word)
{
	GROW(*items, *count, *cap);
	(*items)[(*count)++] = word;
	GROW(*items, *count, *cap);
	(*items)[*count] = NULL;
}

void child_words_add(struct child_words *w, const char *word)
{
	push_word(&w->items, &w->count, &w->cap, mem_strdup(word));
}

void child_words_env(struct child_words *w, const char *name, const char *value)
{
	push_word(&w->env, &w->env_count, &w->env_cap, mem_printf("%s=%s", name, value));
}

void child_words_fini(struct child_words *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->items[i]);
	for (size_t i = 0; i < w->env_count; i++)
		free(w->env[i]);
	free(w->items);
	free(w->env);
	*w = (struct child_words){0};
}

/* In the child: never comes back. The error of exec goes to the parent through `failed_fd`, which exec closes. */
static void exec_child(const struct child_words *w, int out_fd, int failed_fd, bool background)
{
	sigset_t none;
	sigemptyset(&none);
	if (background) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		int null_fd = open("/dev/null", O_RDONLY);
		dup2(null_fd, STDIN_FILENO);
		setpgid(0, 0); /* Ctrl-C is for us */
	}
	sigprocmask(SIG_SETMASK, &none, NULL);
	dup2(out_fd, STDOUT_FILENO);
	for (size_t i = 0; i < w->env_count; i++)
		putenv(w->env[i]);
	execvp(w->items[0], w->items);
	int why = errno;
	if (write(failed_fd, &why, sizeof why) < 0)
		_exit(NOT_STARTED + 1);
	_exit(NOT_STARTED);
}

static int start_child(const struct child_words *w, bool background, pid_t *pid, int *out_fd, struct err *e)
{
	int out[2], failed[2], why = 0;
	if (pipe2(out, O_CLOEXEC) < 0)
		return err_set_errno(e, errno, "a pipe");
	if (pipe2(failed, O_CLOEXEC) < 0) {
		err_set_errno(e, errno, "a pipe");
		close(out[0]);
		close(out[1]);
		return -1;
	}
	*pid = fork();
	if (*pid == 0)
		exec_child(w, out[1], failed[1], background);
	int fork_errno = errno;
	close(out[1]);
	close(failed[1]);
	ssize_t n = *pid > 0 ? read(failed[0], &why, sizeof why) : 0;
	close(failed[0]);
	*out_fd = out[0];
	if (*pid > 0 && n != sizeof why)
		return 0;
	close(out[0]);
	if (*pid < 0)
		return err_set_errno(e, fork_errno, "starting %s", w->items[0]);
	waitpid(*pid, NULL, 0);
	return err_set_errno(e, why, "starting %s", w->items[0]);
}

int child_start(const struct child_words *w, pid_t *pid, int *out_fd, struct err *e)
{
	return start_child(w, true, pid, out_fd, e);
}

void child_stop(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGTERM);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static int read_child_output(int fd, struct buf *out, const char *name, struct err *e)
{
	char piece[4096];
	for (;;) {
		ssize_t n = read(fd, piece, sizeof piece);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return err_set_errno(e, errno, "reading from %s", name);
		if (n > 0 && buf_append(out, piece, (size_t)n) < 0)
			return err_set(e, ERR_INVALID, 0, "%s printed more than %zu bytes", name, out->max);
	}
}

int child_output(const struct child_words *w, struct buf *out, struct err *e)
{
	pid_t pid;
	AUTO_FD int fd = -1;
	int status = 0;
	if (start_child(w, false, &pid, &fd, e) < 0)
		return -1;
	int rc = read_child_output(fd, out, w->items[0], e);
	close(steal_fd(&fd)); /* one that goes on printing ends */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (rc < 0)
		return -1;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return err_set(e, ERR_DENIED, 0, "%s ended with %s %d", w->items[0], WIFEXITED(status) ? "code" : "signal",
			       WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	return 0;
}
