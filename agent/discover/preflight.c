#include "agent/discover/preflight.h"

#include "agent/arch/arch.h"
#include "agent/host/cgroup.h"
#include "agent/diag/diag_env.h"
#include "agent/host/proc.h"
#include "agent/host/process_state.h"
#include "agent/host/rights.h"
#include "agent/host/runtime_kind.h"
#include "agent/attach/stage.h"
#include "agent/target/target_fs.h"
#include "common/api/reason.h"
#include "common/base/cleanup.h"
#include "common/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#define OLDEST_RUNTIME 8
#define HEAD_ROOM_BYTES (4 << 20)       /* what a session may add to the process, with a margin */
#define THREADS_NEEDED 4                /* the library's, those that the runtime starts for it, and one to spare */
#define DESCRIPTORS_NEEDED 8
#define STAGING_BYTES (1 << 20)         /* the library and a socket */
#define STAGED_PATH_LONGEST 30          /* "/.drdotnet-0123456789abcdef/c" + NUL */

/* The folder of all processes, from the target's own: tests have another than /proc. */
static char *proc_root_of(const struct target *t)
{
	const char *slash = t->proc_dir ? strrchr(t->proc_dir, '/') : NULL;
	return slash ? mem_strndup(t->proc_dir, (size_t)(slash - t->proc_dir)) : mem_strdup(PROC_ROOT);
}

static int check_state(const struct target *t, int proc_fd, struct err *e)
{
	struct proc_status status;
	if (proc_read_status(proc_fd, &status) < 0)
		return err_set_reason(e, ERR_GONE, REASON_ProcessExited, "process %d has ended", (int)t->pid);
	AUTO_FREE char *proc_root = proc_root_of(t);
	return process_state_check(proc_root, t->pid, &status, e);
}

/* What is left of a process's state where only its control group can be seen. */
static int check_frozen(const struct target *t, struct err *e)
{
	return target_stopped(t) ? err_set_reason(e, ERR_RETRY, REASON_ProcessStopped, "its control group is frozen (a paused container)") : 0;
}

static int check_runtime(const struct target *t, struct err *e)
{
	if (!t->socket_path)
		return err_set_reason(e, ERR_INVALID, REASON_DiagnosticsDisabled, "the process has no diagnostics socket");
	if (!t->runtime_version)
		return err_set_reason(e, ERR_INVALID, REASON_AttachFailed, "its diagnostics port accepts connections but does not answer");
	long major = strtol(t->runtime_version, NULL, 10);
	if (major > 0 && major < OLDEST_RUNTIME)
		return err_set_reason(e, ERR_INVALID, REASON_RuntimeTooOld, "the process runs .NET %s; .NET %d is the oldest that works",
				      t->runtime_version, OLDEST_RUNTIME);
	if (t->arch && strcmp(t->arch, arch_ours.name) != 0)
		return err_set_reason(e, ERR_INVALID, REASON_ArchitectureMismatch, "the runtime is for %s, the agent for %s", t->arch,
				      arch_ours.name);
	return 0;
}

static int check_kind(const struct target *t, int proc_fd, struct err *e)
{
	char why[RIGHTS_TEXT_SIZE];
	switch (runtime_kind_of(proc_fd)) {
	case RUNTIME_NATIVE_AOT:
		return err_set_reason(e, ERR_INVALID, REASON_NativeAOT, NATIVE_AOT_TEXT);
	case RUNTIME_MONO:
		return err_set_reason(e, ERR_INVALID, REASON_UnsupportedRuntime, "the application runs on Mono");
	case RUNTIME_UNREADABLE:
		return err_set_reason(e, ERR_DENIED, REASON_PermissionDenied, "the agent may not read the memory map of process %d: %s",
				      (int)t->pid, rights_explain_own_refusal(why));
	default:
		return 0;
	}
}

static int check_environment(int proc_fd, bool held, struct err *e)
{
	AUTO_BUF struct buf variables = {0};
	if (proc_read_environ(proc_fd, &variables) < 0)
		return 0; /* the attach will tell */
	const char *setting = diag_env_disabled(variables.data, variables.len);
	if (setting)
		return err_set_reason(e, ERR_INVALID, REASON_DiagnosticsDisabled, "%s=0 switches attaching a profiler off", setting);
	setting = diag_env_suspends(variables.data, variables.len);
	if (setting && !held && !process_state_runtime_runs(proc_fd))
		return err_set_reason(e, ERR_INVALID, REASON_ProcessSuspended, "its runtime waits at its start to be resumed, as %s says", setting);
	return 0;
}

static int check_staging_place(const struct target *t, struct err *e)
{
	if (strlen(t->tmp_inner) + STAGED_PATH_LONGEST > sizeof((struct sockaddr_un *)0)->sun_path)
		return err_set_reason(e, ERR_INVALID, REASON_PathTooLong, "its temporary folder's path has %zu bytes, %zu are possible",
				      strlen(t->tmp_inner), sizeof((struct sockaddr_un *)0)->sun_path - STAGED_PATH_LONGEST);
	AUTO_FD int tmp = target_open_tmp(t, e);
	if (tmp < 0)
		return -1;
	struct statvfs fs;
	if (fstatvfs(tmp, &fs) < 0)
		return err_set_errno(e, errno, "cannot look at the file system of %s", t->tmp_inner);
	const char *what = fs.f_flag & ST_RDONLY ? "read-only" : fs.f_flag & ST_NOEXEC ? "mounted noexec" : NULL;
	if (!what && ((uint64_t)fs.f_bavail * fs.f_frsize < STAGING_BYTES || (fs.f_files > 0 && fs.f_favail < 4)))
		what = "full";
	if (!what && faccessat(tmp, ".", W_OK | X_OK, AT_EACCESS) < 0)
		what = "not writable for the agent";
	if (what)
		return err_set_reason(e, ERR_INVALID, REASON_NoStagingPlace, "its temporary folder %s is %s", t->tmp_inner, what);
	return 0;
}

/* A runtime that gets no thread or no descriptor may end itself, without us, too (docs/fault-matrix.md): such a process is left alone. */
static int check_room(const struct target *t, int proc_fd, struct err *e)
{
	AUTO_FREE char *proc_root = proc_root_of(t);
	struct cgroup_owner group = target_cgroup(t);
	int64_t threads = cgroup_threads_left(proc_root, &group), descriptors = proc_fd < 0 ? -1 : proc_descriptors_left(proc_fd);
	if (threads < THREADS_NEEDED)
		return err_set_reason(e, ERR_RETRY, REASON_ProcessLimitReached, "%lld more threads are allowed by the container's pids.max; %d are needed",
				      (long long)threads, THREADS_NEEDED);
	if (descriptors >= 0 && descriptors < DESCRIPTORS_NEEDED)
		return err_set_reason(e, ERR_RETRY, REASON_ProcessLimitReached,
				      "%lld more descriptors are allowed by the process's RLIMIT_NOFILE; %d are needed", (long long)descriptors,
				      DESCRIPTORS_NEEDED);
	return 0;
}

static int check_memory(const struct target *t, struct err *e)
{
	struct cgroup_memory memory;
	AUTO_FREE char *proc_root = proc_root_of(t);
	struct cgroup_owner group = target_cgroup(t);
	cgroup_read_memory(proc_root, &group, &memory);
	if (memory.usage_bytes < 0 || memory.limit_bytes <= 0 || memory.limit_bytes - memory.usage_bytes >= HEAD_ROOM_BYTES)
		return 0;
	int64_t left = memory.limit_bytes - memory.usage_bytes;
	return err_set_reason(e, ERR_RETRY, REASON_NotEnoughMemory, "%lld KiB are left under the container's limit of %lld MiB; %d MiB are needed",
			      (long long)(left > 0 ? left / 1024 : 0), (long long)(memory.limit_bytes >> 20), HEAD_ROOM_BYTES >> 20);
}

int preflight_check(const struct target *t, struct err *e)
{
	if (t->mode == AGENT_MODE_SHARED_TMP)
		return check_frozen(t, e) < 0 || check_runtime(t, e) < 0 || check_room(t, -1, e) < 0 || check_staging_place(t, e) < 0 ? -1 : check_memory(t, e);
	AUTO_FD int proc_fd = target_open_proc(t, e);
	if (proc_fd < 0 || check_state(t, proc_fd, e) < 0 || check_kind(t, proc_fd, e) < 0 ||
	    check_environment(proc_fd, t->held, e) < 0 || check_runtime(t, e) < 0 ||
	    check_room(t, proc_fd, e) < 0 || check_staging_place(t, e) < 0)
		return -1;
	return check_memory(t, e);
}
