#include "agent/locks/thread_wait.h"

#include "agent/host/proc.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/mem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define STATUS_BYTES 4096
#define FUTEX_TIMEOUT 3 /* of its arguments */

int thread_wait_parse_syscall(const char *text, struct thread_wait *out)
{
	uint64_t words[8];
	int used = 0, count = 0;
	out->system_call = -1;
	out->sp = out->ip = out->arguments[0] = out->arguments[1] = 0;
	out->timed = false;
	if (strncmp(text, "running", 7) == 0)
		return 0;
	if (sscanf(text, "%" SCNd64 "%n", &out->system_call, &used) != 1)
		return -1;
	for (text += used; count < 8 && sscanf(text, " %" SCNx64 "%n", &words[count], &used) == 1; text += used)
		count++;
	if (count != 8 && (count != 2 || out->system_call != -1))
		return -1;
	out->sp = words[count - 2];
	out->ip = words[count - 1];
	out->arguments[0] = count == 8 ? words[0] : 0;
	out->arguments[1] = count == 8 ? words[1] : 0;
	out->timed = out->system_call == SYS_futex && words[FUTEX_TIMEOUT] != 0;
	return 0;
}

static uint64_t number_after(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	return at ? strtoull(at + strlen(key), NULL, 10) : 0;
}

static bool read_thread_file(int task_fd, pid_t tid, const char *name, char *out, size_t size)
{
	char path[64];
	snprintf(path, sizeof path, "%d/%s", (int)tid, name);
	return fsio_read_small(task_fd, path, out, size) >= 0;
}

/* false: it has ended. */
static bool read_thread_wait(int task_fd, pid_t tid, struct thread_wait *out)
{
	char text[STATUS_BYTES];
	struct proc_status status;
	*out = (struct thread_wait){.tid = tid, .system_call = -1};
	if (!read_thread_file(task_fd, tid, "status", text, sizeof text) || proc_parse_status(text, &status) < 0)
		return false;
	out->inner_tid = (uint32_t)status.inner_pid;
	out->state = status.state;
	if (status.state == 'Z' || status.state == 'X') /* it has ended, and nobody has asked yet how */
		return false;
	out->switches = number_after(text, "\nvoluntary_ctxt_switches:") + number_after(text, "\nnonvoluntary_ctxt_switches:");
	if (read_thread_file(task_fd, tid, "syscall", text, sizeof text))
		thread_wait_parse_syscall(text, out);
	if (read_thread_file(task_fd, tid, "comm", text, sizeof text)) {
		text[strcspn(text, "\n")] = '\0';
		memcpy(out->name, text, strnlen(text, sizeof out->name - 1)); /* zeroed above */
	}
	return true;
}

int thread_wait_parse_schedstat(const char *text, struct thread_times *out)
{
	return sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNu64, &out->run_ns, &out->delay_ns, &out->ran) == 3 ? 0 : -1;
}

int thread_wait_times(int task_fd, pid_t tid, struct thread_times *out)
{
	char text[96];
	return read_thread_file(task_fd, tid, "schedstat", text, sizeof text) ? thread_wait_parse_schedstat(text, out) : -1;
}

int thread_wait_call(int task_fd, pid_t tid, struct thread_wait *out)
{
	char text[256];
	*out = (struct thread_wait){.tid = tid, .system_call = -1};
	return read_thread_file(task_fd, tid, "syscall", text, sizeof text) ? thread_wait_parse_syscall(text, out) : -1;
}

static int by_tid(const void *a, const void *b)
{
	const struct thread_wait *x = a, *y = b;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

/* We have, not the process. */
static bool has_run_out(int errnum)
{
	return errnum == EMFILE || errnum == ENFILE || errnum == ENOMEM;
}

ssize_t thread_wait_list(int proc_fd, struct thread_wait **out, bool *more)
{
	int task_fd = openat(proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_DIR DIR *dir = fsio_opendir_take(task_fd);
	AUTO_FREE struct thread_wait *list = NULL;
	size_t count = 0, cap = 0;
	*more = false;
	if (!dir)
		return -1;
	for (struct dirent *entry; (entry = readdir(dir));) {
		pid_t tid = (pid_t)atoi(entry->d_name);
		if (tid <= 0)
			continue;
		if (count == THREAD_WAITS_MAX) {
			*more = true;
			break;
		}
		GROW(list, count, cap);
		errno = 0;
		bool there = read_thread_wait(dirfd(dir), tid, &list[count]);
		if (!there && has_run_out(errno))
			return -1;
		count += there;
	}
	if (count)
		qsort(list, count, sizeof *list, by_tid);
	*out = steal_ptr(&list);
	return (ssize_t)count;
}

int thread_wait_explain(int errnum, struct err *e)
{
	static const char what[] = "the process's threads could not be looked at";
	switch (errnum) {
	case ENOENT:
	case ESRCH:
		return 0;
	case EMFILE:
		return err_set_reason(e, ERR_RETRY, REASON_AgentLimitReached, "%s: the agent may open no more descriptors (its RLIMIT_NOFILE)", what);
	case ENFILE:
		return err_set_reason(e, ERR_RETRY, REASON_AgentLimitReached, "%s: the agent's node may open no more descriptors (fs.file-max)", what);
	case ENOMEM:
		return err_set_reason(e, ERR_RETRY, REASON_AgentLimitReached, "%s: its container or node is out of memory", what);
	case EACCES:
	case EPERM:
		return err_set_reason(e, ERR_DENIED, REASON_PermissionDenied, "%s: the agent may not (SYS_PTRACE)", what);
	default:
		return err_set_reason(e, ERR_INTERNAL, REASON_InternalError, "%s: %s", what, strerror(errnum));
	}
}
