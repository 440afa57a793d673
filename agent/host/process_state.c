#include "agent/host/process_state.h"

#include "agent/host/cgroup.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/fsio.h"
#include "common/base/text.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_THREADS 4096 /* one that waits has three or four */

/* "gdb (pid 7)" for the process that holds it; its name is that process's own word. */
static int refuse_traced(const char *proc_root, pid_t tracer, struct err *e)
{
	struct proc_stat stat;
	AUTO_FD int fd = proc_open(proc_root, tracer);
	AUTO_BUF struct buf name;
	buf_init(&name, 512);
	if (fd >= 0 && proc_read_stat(fd, &stat) == 0)
		text_append_printable(&name, stat.comm, strlen(stat.comm));
	return err_set_reason(e, ERR_RETRY, REASON_BeingDebugged, "it is traced by %s (process %d), a debugger or a dump",
			      name.len ? buf_str(&name) : "another process", (int)tracer);
}

/* It holds the process at its start (agent/cli/hold.h). */
static bool is_our_thread(pid_t tid)
{
	char path[64];
	snprintf(path, sizeof path, PROC_ROOT "/self/task/%d", (int)tid);
	return access(path, F_OK) == 0;
}

int process_state_check(const char *proc_root, pid_t pid, const struct proc_status *status, struct err *e)
{
	bool ours = status->tracer_pid != 0 && is_our_thread(status->tracer_pid);
	if (status->tracer_pid != 0 && !ours)
		return refuse_traced(proc_root, status->tracer_pid, e);
	if (status->is_dumping)
		return err_set_reason(e, ERR_RETRY, REASON_BeingDebugged, "the kernel is writing its core dump: it has crashed");
	if ((status->state == 'T' || status->state == 't') && !ours)
		return err_set_reason(e, ERR_RETRY, REASON_ProcessStopped, "it is stopped (state %c, as after SIGSTOP)", status->state);
	if (cgroup_is_frozen(proc_root, &(struct cgroup_owner){.pid = pid}))
		return err_set_reason(e, ERR_RETRY, REASON_ProcessStopped, "its control group is frozen (a paused container)");
	return 0;
}

/* 1: a thread's name begins so; 0: none does; -1: they cannot be seen, or are too many to look at all. */
static int has_thread_named(int proc_fd, const char *name)
{
	int task_fd = openat(proc_fd, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO_DIR DIR *dir = fsio_opendir_take(task_fd);
	struct dirent *entry;
	int seen = 0;
	while (dir && seen < MAX_THREADS && (entry = readdir(dir))) {
		char path[300], comm[32];
		if (entry->d_name[0] == '.')
			continue;
		seen++;
		snprintf(path, sizeof path, "%s/comm", entry->d_name);
		if (fsio_read_small(dirfd(dir), path, comm, sizeof comm) > 0 && strncmp(comm, name, strlen(name)) == 0)
			return 1;
	}
	return seen == 0 || seen == MAX_THREADS ? -1 : 0;
}

bool process_state_runtime_runs(int proc_fd)
{
	return has_thread_named(proc_fd, ".NET Finalizer") != 0;
}
