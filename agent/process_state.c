#include "agent/process_state.h"

#include "agent/cgroup.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/text.h"

#include <string.h>

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

int process_state_check(const char *proc_root, pid_t pid, const struct proc_status *status, struct err *e)
{
	if (status->tracer_pid != 0)
		return refuse_traced(proc_root, status->tracer_pid, e);
	if (status->is_dumping)
		return err_set_reason(e, ERR_RETRY, REASON_BeingDebugged, "the kernel is writing its core dump: it has crashed");
	if (status->state == 'T' || status->state == 't')
		return err_set_reason(e, ERR_RETRY, REASON_ProcessStopped, "it is stopped (state %c, as after SIGSTOP)", status->state);
	if (cgroup_is_frozen(proc_root, pid))
		return err_set_reason(e, ERR_RETRY, REASON_ProcessStopped, "its control group is frozen (a paused container)");
	return 0;
}
